//! Messages of database.

use super::MessageInfo;

pub(super) const ROWS: &[MessageInfo] = &[];
