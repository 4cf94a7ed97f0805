//! Messages of DBCC.

use super::{MessageInfo, messages};

pub(super) const ROWS: &[MessageInfo] = messages! {
    2560 16 9 "Parameter %d is incorrect for this DBCC statement.";
    2597 10 1 "Ignoring trace flag %d. It is either an invalid trace flag or a trace flag that can only be \
        specified during server startup.";
};
