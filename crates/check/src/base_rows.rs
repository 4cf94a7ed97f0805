//! Rows of base tables on single pages, without their trees; and `sysfiles1`, which is one page.

use furrow_format::catalog::{BaseRow, File1, SYSFILES1};
use furrow_format::{Page, PageBuf, PageId, PageType, Record, Status};

/// Where every database has `sysfiles1`: opening a database finds its log there.
pub(crate) const FILES1_PAGE: PageId = PageId::new(1, 32);

/// The number of the primary file.
const PRIMARY: i16 = 1;
/// The number of the log.
pub(crate) const LOG: i16 = 2;

/// The rows of a page of a base table.
pub(crate) fn rows_on<R: BaseRow>(page: &PageBuf) -> Vec<R> {
    let Ok(layout) = R::TABLE.row_layout() else {
        return Vec::new();
    };
    let live = |bytes: &&[u8]| !Status(bytes.first().copied().unwrap_or(0)).is_ghost();
    let records = Page::new(page).records().map(|(_, bytes)| bytes);
    let values = records
        .filter(live)
        .filter_map(|bytes| R::TABLE.decode_row(&layout, Record::data(bytes)?));
    values.filter_map(R::from_values).collect()
}

/// Whether a page is that of `sysfiles1`, with the rows of the primary file and the log.
pub(crate) fn names_log(page: &PageBuf) -> bool {
    let view = Page::new(page);
    if view.page_type() != PageType::Data || view.unit() != SYSFILES1.unit_id() {
        return false;
    }
    let rows: Vec<File1> = rows_on(page);
    let has = |id: i16| {
        rows.iter()
            .any(|row| row.fileid == id && !row.filename.trim_end().is_empty())
    };
    has(PRIMARY) && has(LOG)
}
