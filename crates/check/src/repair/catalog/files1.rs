//! `sysfiles1`: a heap of one page that opening a database reads before anything is redone, to find the log.
//! It is computed again from the rows of `sysprufiles`.

use super::store::Store;
use crate::base_rows::{FILES1_PAGE, names_log};
use crate::repair::state::State;
use furrow_format::catalog::{BaseRow, DatabaseFile, File1, SYSFILES1, base_layout};
use furrow_format::{PAGE_SIZE, PageBuf, PageInit, PageMut, PageType};

/// `sysfiles1.status`: a data file, the log, growth in percent.
const DATA: i32 = 0x2;
const OF_LOG: i32 = 0x42;
const PERCENT: i32 = 0x10_0000;
/// `sysprufiles.status`: growth in percent.
const GROWS_BY_PERCENT: i32 = 0x20;
/// Characters of a path in a row.
const PATH_CHARS: usize = 260;

/// Whether the page can be read, all its rows are sound, and it has those of the primary file and the log.
pub(super) fn is_right(state: &State<'_>) -> bool {
    let unit = state.plan().unit_of(SYSFILES1.unit_id().0);
    let Some(page) = state.page(FILES1_PAGE) else {
        return false;
    };
    let sound = state.judged(FILES1_PAGE, unit, &page, |rows| {
        rows.iter().all(|row| row.sound)
    });
    sound && names_log(&page)
}

fn row_of(file: &DatabaseFile) -> Option<File1> {
    let kind = if file.filetype == 1 { OF_LOG } else { DATA };
    let percent = match file.status & GROWS_BY_PERCENT {
        0 => 0,
        _ => PERCENT,
    };
    Some(File1 {
        status: kind | percent,
        fileid: i16::try_from(file.fileid).ok()?,
        name: file.lname.clone(),
        filename: file.pname.chars().take(PATH_CHARS).collect(),
    })
}

/// The page as a new database with these files has it; `None` where a row cannot be encoded.
pub(super) fn page_of(store: &Store) -> Option<Box<PageBuf>> {
    let layout = SYSFILES1.row_layout().ok()?;
    let least = base_layout(&SYSFILES1).minleaf as u16;
    let mut page: Box<PageBuf> = Box::new([0; PAGE_SIZE]);
    let mut view = PageMut::new(&mut page);
    let unit = SYSFILES1.unit_id();
    view.format(&PageInit::new(FILES1_PAGE, PageType::Data, unit, least));
    // Rows that the page does not take are left out: the first two are those that count.
    let mut files: Vec<DatabaseFile> = store.all();
    files.retain(|file| file.filestate == 0);
    for (slot, row) in (0..).zip(files.iter().filter_map(row_of)) {
        let mut bytes = Vec::new();
        let encoded = SYSFILES1.encode_row(&layout, &row.to_values(), &mut bytes);
        encoded.ok()?;
        if view.heap_put(slot, &bytes).is_err() {
            break;
        }
    }
    names_log(&page).then_some(page)
}
