//! Sizes of the parts of a record, and where a record ends.

use super::status::{RecordKind, Status};
use crate::PageType;
use crate::bytes::u16_at;

/// Largest row, its overhead included.
pub const MAX_ROW_SIZE: usize = 8060;
/// Size of a forwarding stub. Heap rows are at least this long so that one can take their place.
pub const FORWARDING_STUB_SIZE: usize = 9;
/// Size of the version tag behind a record.
pub const VERSION_TAG_SIZE: usize = 14;
/// Size of a data record's header: status bytes and fixed end.
pub(crate) const DATA_HEADER_SIZE: usize = 4;
/// Size of an index record's header: the status byte.
pub(crate) const INDEX_HEADER_SIZE: usize = 1;

/// Length of the record at the start of `bytes` on a page of this type; `None` when no sound record is there.
#[inline]
pub fn record_len(page_type: PageType, pminlen: u16, bytes: &[u8]) -> Option<usize> {
    let status = Status(*bytes.first()?);
    if page_type == PageType::Index {
        return frame_end(bytes, status, usize::from(pminlen));
    }
    let len = match status.kind() {
        RecordKind::ForwardingStub => FORWARDING_STUB_SIZE,
        RecordKind::BlobFragment => usize::from(u16_at(bytes, 2)?).max(DATA_HEADER_SIZE),
        _ => {
            let fixed_end = usize::from(u16_at(bytes, 2)?);
            if fixed_end < DATA_HEADER_SIZE {
                return None;
            }
            return frame_end(bytes, status, fixed_end);
        }
    };
    (len <= bytes.len()).then_some(len)
}

pub(super) const COMPLEX: u16 = 0x8000;

/// Places of a record's parts, proven to lie in its bytes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Frame {
    /// First byte of the null bitmap; 0 = none.
    pub(super) null_bitmap: usize,
    /// Column count beside the bitmap.
    pub(super) columns: u16,
    /// First byte of the array of variable ends.
    pub(super) ends: usize,
    /// Entries of that array.
    pub(super) vars: u16,
    /// First byte behind the version tag.
    pub(super) end: usize,
}

/// Walks the parts behind the fixed columns.
#[inline]
pub(super) fn frame(bytes: &[u8], status: Status, fixed_end: usize) -> Option<Frame> {
    let mut frame = Frame {
        null_bitmap: 0,
        columns: 0,
        ends: 0,
        vars: 0,
        end: fixed_end,
    };
    if status.has(Status::NULL_BITMAP) {
        frame.columns = u16_at(bytes, frame.end)?;
        frame.null_bitmap = frame.end + 2;
        frame.end = frame.null_bitmap + usize::from(frame.columns).div_ceil(8);
    }
    if status.has(Status::VARIABLE) {
        frame.vars = u16_at(bytes, frame.end)?;
        frame.ends = frame.end + 2;
        let data = frame.ends + 2 * usize::from(frame.vars);
        frame.end = match frame.vars {
            0 => data,
            _ => usize::from(u16_at(bytes, data - 2)? & !COMPLEX),
        };
        if frame.end < data {
            return None;
        }
    }
    if status.has(Status::VERSION_TAG) {
        frame.end += VERSION_TAG_SIZE;
    }
    (frame.end <= bytes.len()).then_some(frame)
}

/// Where the record ends.
#[inline]
pub(super) fn frame_end(bytes: &[u8], status: Status, fixed_end: usize) -> Option<usize> {
    if fixed_end < INDEX_HEADER_SIZE {
        return None;
    }
    frame(bytes, status, fixed_end).map(|frame| frame.end)
}
