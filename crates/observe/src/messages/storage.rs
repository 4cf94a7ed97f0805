//! Messages of storage.

use super::MessageInfo;

pub(super) const ROWS: &[MessageInfo] = &[];
