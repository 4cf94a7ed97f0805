//! Messages of media.

use super::MessageInfo;

pub(super) const ROWS: &[MessageInfo] = &[];
