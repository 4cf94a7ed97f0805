//! The scene of a page that becomes dirty late.

use super::{as_text, small_pool};
use furrow_format::{
    AllocUnitId, DatabaseId, FileHeader, FileId, Lsn, PAGE_SIZE, PageId, PageInit, PageMut, PageNo,
    PageType,
};
use furrow_io::sim::SimOptions;
use furrow_io::{Access, Fill, Open, SimVolume, Volume};
use furrow_log::{Log, LogConfig, Record, RecordKind};
use furrow_observe::files::FileStats;
use furrow_pool::{CheckpointOptions, LatchRank, PoolFile};
use furrow_recovery::checkpoint;
use furrow_txn::Store;
use furrow_types::Guid;
use parking_lot::Mutex;
use std::path::Path;
use std::sync::Arc;

const DB: DatabaseId = DatabaseId(5);
const FILE: u16 = 1;
const PATH: &str = "/d/late.ndf";
const LOG_PATH: &str = "/d/late.ldf";
const PAGES: u32 = 8;
const BINDING: [u8; 16] = *b"scene of a point";

/// The page that becomes dirty late, and one that is changed meanwhile.
const LATE: u32 = 3;
const OTHER: u32 = 4;

fn open(volume: &SimVolume) -> Result<Arc<Store>, String> {
    volume.create_dir(Path::new("/d")).map_err(as_text)?;
    let data = volume.open(Path::new(PATH), Open::Create, Access::Data);
    let data = data.map_err(as_text)?;
    let bytes = u64::from(PAGES) * PAGE_SIZE as u64;
    data.resize(bytes, Fill::Zero).map_err(as_text)?;
    let file = volume.open(Path::new(LOG_PATH), Open::Create, Access::Log);
    let config = LogConfig {
        background: false,
        ..LogConfig::default()
    };
    let log = Log::create(file.map_err(as_text)?, 4 << 20, BINDING, config).map_err(as_text)?;
    let pool = small_pool()?;
    let store = Store::new(DB, Arc::clone(&pool), log, Lsn::ZERO, 1).map_err(as_text)?;
    let file = PoolFile {
        file: data,
        stats: Arc::new(FileStats::new(DB.0, FILE, PATH)),
        double_write: None,
    };
    pool.add_file(DB, FileId(FILE), file).map_err(as_text)?;
    Ok(store)
}

fn id(page: u32) -> PageId {
    PageId {
        file: FileId(FILE),
        page: PageNo(page),
    }
}

/// Makes a page, whatever it held.
fn make(store: &Store, page: u32) -> Result<(), String> {
    let mut guard = store.create(id(page), LatchRank::Data).map_err(as_text)?;
    guard.begin_change();
    let lsn = note(store)?;
    let init = PageInit::new(id(page), PageType::Data, AllocUnitId(99 << 16), 4);
    PageMut::new(&mut guard).format(&init);
    guard.finish_change(lsn, true);
    Ok(())
}

/// Makes the header of the file, in which checkpoints are noted.
fn make_header(store: &Store) -> Result<(), String> {
    let mut guard = store
        .create(id(0), LatchRank::FileHeader)
        .map_err(as_text)?;
    guard.begin_change();
    let lsn = note(store)?;
    let header = FileHeader {
        name: "late".to_owned(),
        ..FileHeader::new(Guid(BINDING), FileId(FILE), 1, PAGES)
    };
    header.format(&mut guard).map_err(as_text)?;
    guard.finish_change(lsn, true);
    Ok(())
}

/// A change of a page, which is dirty from this LSN on, or from now on.
fn change(store: &Store, page: u32, since: Option<Lsn>) -> Result<(), String> {
    let mut guard = store.write(id(page), LatchRank::Data).map_err(as_text)?;
    match since {
        Some(lsn) => guard.begin_change_at(lsn),
        None => guard.begin_change(),
    }
    let lsn = note(store)?;
    guard.finish_change(lsn, false);
    Ok(())
}

fn note(store: &Store) -> Result<Lsn, String> {
    let record = Record::system(RecordKind::Change, b"of a page");
    store.log().append(&record).map_err(as_text)
}

fn redo_point(store: &Store) -> Result<Lsn, String> {
    let taken = checkpoint(store, CheckpointOptions::default());
    Ok(taken.map_err(as_text)?.redo_point)
}

/// A thread reads the log's tail and sleeps. One checkpoint completes and another begins before the thread
/// wakes up and marks its page dirty from that LSN on. The second checkpoint must not move the redo point
/// back to an LSN before which, after the first one, the log may already be reused.
pub(super) fn dirty_too_late(_: u64) -> Result<(), String> {
    let volume = SimVolume::new(SimOptions::default());
    let store = open(&volume)?;
    make_header(&store)?;
    (1..PAGES).try_for_each(|page| make(&store, page))?;
    redo_point(&store)?;
    let asked = store.log().tail();
    change(&store, OTHER, None)?;
    let first = redo_point(&store)?;
    if first <= asked {
        return Err(format!(
            "the first checkpoint's redo point {first} is not behind {asked}: no scene"
        ));
    }
    change(&store, OTHER, None)?;
    // Once the second has written its pages, and before it reads which pages are dirty now.
    let woken: Arc<Mutex<Option<Result<(), String>>>> = Arc::default();
    let (sleeper, to) = (Arc::clone(&store), Arc::clone(&woken));
    volume.on_boundary_of(move |file, _| {
        if file == Path::new(PATH) && to.lock().is_none() {
            let done = change(&sleeper, LATE, Some(asked));
            *to.lock() = Some(done);
        }
    });
    let second = redo_point(&store)?;
    let woken = woken.lock().take();
    woken.ok_or("the second checkpoint did not sync the file")??;
    if second < first {
        return Err(format!(
            "redo was to begin at {first}, and is now to begin at {second}, before it"
        ));
    }
    Ok(())
}
