//! SQL Server's page format as bytes.

#![deny(
    clippy::indexing_slicing,
    clippy::string_slice,
    clippy::panic,
    clippy::unreachable
)]

pub mod boot;
mod bytes;
pub mod catalog;
mod change;
mod file_header;
mod ids;
mod lsn;
mod maps;
pub mod mdf;
mod page;
mod protect;
mod record;
mod row;
pub mod types;

pub use boot::{Boot, OwnBoot, PageVerify, RecoveryModel};
pub use bytes::Field;
pub use change::{Change, ChangeError, ChangeReader, ChangeWriter, RowList, RowListBuilder, apply};
pub use file_header::{FileGrowth, FileHeader, FileHeaderError};
pub use ids::{
    AllocUnitId, DatabaseId, EXTENT_PAGES, ExtentNo, FileId, ObjectId, PAGE_SIZE, PageId, PageNo,
    RowId, RowsetId, TxnId,
};
pub use lsn::Lsn;
pub use maps::*;
pub use page::{
    BODY_SIZE, HEADER_SIZE, MAX_SLOTS, Page, PageBuf, PageError, PageFlags, PageInit, PageMut,
    PageType, Records, SLOT_SIZE,
};
pub use protect::{
    PageFault, Protection, admit, page_checksum, stamp_checksum, stamp_nothing, stamp_torn_bits,
    untear, verify,
};
pub use record::{
    DATA_HEADER_SIZE, FORWARDING_STUB_SIZE, INDEX_HEADER_SIZE, MAX_ROW_SIZE, Record, RecordBuilder,
    RecordKind, Status, VERSION_TAG_SIZE, VarColumn, forwarding_stub, record_len,
};
pub use row::{ColumnLayout, ColumnSpec, Place, RowError, RowExtras, RowForm, RowLayout};
