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
mod frame;
mod status;
mod view;

pub use build::{RecordBuilder, VarColumn, forwarding_stub};
pub(crate) use build::{Tail, put_header};
pub(crate) use frame::DATA_HEADER_SIZE;
pub(crate) use frame::INDEX_HEADER_SIZE;

pub use frame::{FORWARDING_STUB_SIZE, MAX_ROW_SIZE, VERSION_TAG_SIZE, record_len};
pub use status::{RecordKind, Status};
pub use view::Record;
