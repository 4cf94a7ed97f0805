//! Records in SQL Server's "FixedVar" form.
//!
//! ```text
//! data record                                  index record
//! 0     status A                               0     status A
//! 1     status B                               1     fixed columns, up to the page's pminlen
//! 2..4  fixed end                              ...   from here on as in a data record
//! 4     fixed columns, up to fixed end
//! ...   column count u16, null bitmap          when status A has NULL_BITMAP
//! ...   variable count u16, end offsets        when status A has VARIABLE
//! ...   variable columns
//! ...   version tag, 14 bytes                  when status A has VERSION_TAG
//! ```
//!
//! An end offset counts from the record's start; its high bit marks a complex column: a pointer to
//! data elsewhere. Two forms differ: a forwarding stub is nine bytes, and a piece of a large value
//! (status type 4) states its length in bytes 2..4.
//!
//! [`Record::data`] and [`Record::index`] prove the frame once (every part lies inside the bytes given,
//! end offsets do not fall); after that columns are found without further failure other than "not there".

mod build;
mod status;
mod view;

use crate::PageType;
use crate::bytes::u16_at;

pub use build::{RecordBuilder, VarColumn, forwarding_stub};
pub(crate) use build::{Tail, put_header};
pub use status::{RecordKind, Status};
pub use view::Record;

/// Largest row, its overhead included.
pub const MAX_ROW_SIZE: usize = 8060;
/// Size of a forwarding stub. Heap rows are at least this long so that one can take their place.
pub const FORWARDING_STUB_SIZE: usize = 9;
/// Size of the version tag behind a record.
pub const VERSION_TAG_SIZE: usize = 14;
/// Size of a data record's header: status bytes and fixed end.
pub const DATA_HEADER_SIZE: usize = 4;
/// Size of an index record's header: the status byte.
pub const INDEX_HEADER_SIZE: usize = 1;

/// Length of the record at the start of `bytes` on a page of this type; `None` when no sound record is there.
#[inline]
pub fn record_len(page_type: PageType, pminlen: u16, bytes: &[u8]) -> Option<usize> {
    let status = Status(*bytes.first()?);
    if page_type == PageType::Index {
        return view::frame_end(bytes, status, usize::from(pminlen));
    }
    let len = match status.kind() {
        RecordKind::ForwardingStub => FORWARDING_STUB_SIZE,
        RecordKind::BlobFragment => usize::from(u16_at(bytes, 2)?).max(DATA_HEADER_SIZE),
        _ => {
            let fixed_end = usize::from(u16_at(bytes, 2)?);
            if fixed_end < DATA_HEADER_SIZE {
                return None;
            }
            return view::frame_end(bytes, status, fixed_end);
        }
    };
    (len <= bytes.len()).then_some(len)
}
