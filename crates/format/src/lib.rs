//! SQL Server's page format as bytes.
//!
//! Purpose: the meaning of the bytes of a page, for the engine and its tools: headers, slots, records, rows,
//! allocation maps, file headers, the boot page, base tables, values; the protection of pages; and the page
//! changes that the log stores. No I/O, no threads, no unsafe code. The same code reads real files of
//! versions 611 to 957 and writes Furrow's own (version 706).
//!
//! The layers, each on the ones before:
//! 1. [`Page`] and [`PageMut`] view 8,192 bytes: header fields, slots, records, and edits that keep the
//!    free-space identity `m_freeCnt = 8096 - records - 2 * slots`;
//! 2. [`Record`] and [`RecordBuilder`] handle one record's frame, [`RowLayout`] the positions of its columns,
//!    [`furrow_types`] the meaning of the columns' bytes;
//! 3. [`Bitmap`], [`Pfs`] and [`Iam`] read allocation maps; [`FileHeader`] and [`Boot`] read the two pages
//!    that identify the file and the database; [`catalog`] reads the base tables;
//! 4. [`verify`], [`untear`] and the `stamp_` functions check a page after it is read and prepare it for a
//!    write;
//! 5. [`Change`] and [`apply`]: the only way to change pages of a running engine, for do and redo alike.
//!
//! Invariants
//! - **Hostile bytes never panic.** Any 8,192 bytes can be viewed as a page and any bytes read as
//!   changes. Readers give `None` or an error; indexing that could panic is a compile error in this crate.
//! - **Edits are atomic and deterministic**: a failed edit does not change the page's live content, and the
//!   result depends on live content only, so that redo repeats the original change.
//! - **Layouts are checked**: each field has its byte range beside it, and the compiler checks that ranges
//!   are contiguous.
//!
//! Steps of a read: read 8,192 bytes; [`verify`] against the requested id (checksum or torn bits, then page
//! id); [`untear`] if the page has torn bits ([`admit`] does both); view it. Steps of a write: copy the page,
//! [`stamp_checksum`] the copy, write the copy.
//!
//! What can fail: [`PageFault`] for a page that is damaged or not the requested one (message 824),
//! [`PageError`] for an edit that the page rejects, [`ChangeError`] for a change that cannot be read or
//! does not suit its page, [`RowError`] for values that do not fit their row, and an error type for each of
//! the fixed pages.

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
pub mod lob_record;
mod lsn;
mod maps;
mod page;
mod page_type;
mod protect;
mod record;
mod row;

pub use boot::{
    BOOT_PAGE, Boot, BootError, DelayedDurability, Fork, Forks, OwnBoot, PageVerify, RecoveryModel,
    SessionDefaults, UserAccess,
};
pub use bytes::{Field, PageBuf, chunk, u16_at, u32_at};
pub use change::{Change, ChangeError, ChangeReader, ChangeWriter, RowList, RowListBuilder, apply};
pub use file_header::{FileGrowth, FileHeader, FileHeaderError, NEW_LOG_APART};
pub use ids::{
    AllocUnitId, DatabaseId, EXTENT_PAGES, ExtentNo, FileId, ObjectId, PAGE_SIZE, PageId, PageNo,
    RowId, RowsetId, TxnId,
};
pub use lsn::Lsn;
pub use maps::{
    Bitmap, ExtentRange, Fullness, GAM_INTERVAL, GAM_INTERVAL_EXTENTS, Iam, MAX_FILE_PAGES,
    MapInit, MapKind, PFS_INTERVAL, Pfs, PfsByte, SINGLE_PAGE_SLOTS, SYSTEM_MAPS_UNIT,
    add_map_bits, bcm_page_of, dcm_page_of, extent_at_bit, extent_bit, fixed_page_type,
    fixed_pages, gam_page_of, interval_extents, interval_start_of, pfs_index_of, pfs_page_of,
    set_map_word, sgam_page_of,
};
pub use page::{
    BODY_SIZE, HEADER_SIZE, MAX_SLOTS, Page, PageError, PageInit, PageMut, Records, SLOT_SIZE,
};
pub use page_type::{PageFlags, PageType};
pub(crate) use protect::stamp_nothing;
pub use protect::{
    PageFault, Protection, admit, page_checksum, stamp_checksum, stamp_torn_bits, untear, verify,
};
pub(crate) use record::DATA_HEADER_SIZE;
pub(crate) use record::INDEX_HEADER_SIZE;
pub use record::{
    FORWARDING_STUB_SIZE, MAX_ROW_SIZE, Record, RecordBuilder, RecordKind, Status,
    VERSION_TAG_SIZE, VarColumn, forwarding_stub, record_len,
};
pub use row::{
    ColumnLayout, ColumnSpec, Extent, Held, Place, RowDraft, RowError, RowExtras, RowForm,
    RowLayout, RowTemplate,
};
