//! Messages of statements.

use super::MessageInfo;

pub(super) const ROWS: &[MessageInfo] = &[];
