//! SQL Server's page format as bytes.

mod ids;
mod lsn;

pub use ids::{
    AllocUnitId, DatabaseId, EXTENT_PAGES, ExtentNo, FileId, ObjectId, PAGE_SIZE, PageId, PageNo,
    RowId, RowsetId, TxnId,
};
pub use lsn::Lsn;
