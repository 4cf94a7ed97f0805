//! Scenes of data files: the image of a page's old content, a file that becomes shorter, an old copy.

use super::as_text;
use crate::engine::{Engine, EngineSession, EngineStore};
use crate::rows::{Row, TABLES};
use crate::subject::{Failure, FullBackups, Layout, Session as _, Store as _, Subject as _};
use furrow_format::{FileId, PAGE_SIZE, PageBuf, PageId, verify};
use furrow_io::sim::{Crash, SimOptions};
use furrow_io::{Access, Open, SimVolume, Volume};
use furrow_pool::double_write;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

const LAYOUT: Layout = Layout {
    files: 1,
    pool_pages: 1024,
    log_kb: 512,
    log_grows: true,
    file_kb: 512,
    growth_kb: 64,
    grow_all: false,
    mixed_pages: false,
    // More than a scene writes: no image is written over.
    double_write_pages: 256,
    waits_for_locks: false,
    full_backups: FullBackups::Never,
    background: false,
};

/// Clustered, without another index.
const TABLE: u16 = TABLES;
/// Texts from this length on: one row a page.
const PAGE_FILLING: usize = 4_100;
const BIT: u8 = 4;
const ROTTEN_BYTE: usize = 6_000;

/// Versions whose rows fill a page each.
fn versions() -> impl Iterator<Item = u64> {
    let fills = |text: Vec<u8>| text.len() >= PAGE_FILLING;
    (10..).filter(move |version| Row::new(0, *version).text.is_some_and(fills))
}

type Statement = fn(&mut EngineSession, i64, u64) -> Result<(), Failure>;

/// A transaction of one statement for each of these keys.
fn each(
    store: &EngineStore,
    keys: std::ops::Range<i64>,
    versions: &mut impl Iterator<Item = u64>,
    statement: Statement,
) -> Result<(), Failure> {
    let mut session = store.session()?;
    session.begin()?;
    for (key, version) in keys.zip(versions) {
        statement(&mut session, key, version)?;
    }
    session.commit()
}

const INSERT: Statement = |session, key, version| session.insert(TABLE, key, version);
const UPDATE: Statement = |session, key, version| session.update(TABLE, key, version);
const DELETE: Statement = |session, key, _| session.delete(TABLE, key);

fn begun(engine: &Engine, volume: &SimVolume, layout: &Layout) -> Result<EngineStore, Failure> {
    let store = engine.create(Arc::new(volume.clone()), layout)?;
    let mut session = store.session()?;
    session.begin()?;
    session.create_table(TABLE, 1)?;
    session.commit()?;
    Ok(store)
}

/// Pages with an image are emptied, given back, created again and written; then each of them rots. What is
/// put back is what was written last, or nothing: never the old page.
pub(super) fn image_of_a_former_life(_: u64) -> Result<(), String> {
    let volume = SimVolume::new(SimOptions::default());
    let (before, after) = two_lives(&volume).map_err(as_text)?;
    let imaged = rot_and_repair(&before)?;
    let last = pages(&after)?;
    let earlier = pages(&before)?;
    let rewritten = imaged.keys().filter(|id| last.get(id) != earlier.get(id));
    if rewritten.count() < 5 {
        return Err("hardly a page with an image was written again".to_owned());
    }
    for (page, restored) in rot_and_repair(&after)? {
        if last.get(&page) != Some(&restored) {
            return Err(format!(
                "page {page} rotted, and what it was in a former life was put in its place"
            ));
        }
    }
    Ok(())
}

/// The machine when there are images, and the machine after their pages were created again.
fn two_lives(volume: &SimVolume) -> Result<(SimVolume, SimVolume), Failure> {
    const KEYS: i64 = 24;
    let mut versions = versions();
    let store = begun(&Engine::default(), volume, &LAYOUT)?;
    each(&store, 0..KEYS, &mut versions, INSERT)?;
    store.checkpoint()?;
    each(&store, 0..KEYS, &mut versions, UPDATE)?;
    store.checkpoint()?;
    let before = volume.crash(&Crash::KeepAll);
    each(&store, 1..KEYS - 1, &mut versions, DELETE)?;
    store.clean()?;
    each(&store, 1..KEYS - 1, &mut versions, INSERT)?;
    store.checkpoint()?;
    let after = volume.crash(&Crash::KeepAll);
    store.abandon();
    Ok((before, after))
}

fn primary() -> PathBuf {
    Engine::default().home.join("v0").join("primary.mdf")
}

/// All pages of the primary file that are whole.
fn pages(machine: &SimVolume) -> Result<BTreeMap<PageId, PageBuf>, String> {
    let bytes = machine.contents(&primary()).map_err(as_text)?;
    let pages = bytes.as_chunks::<PAGE_SIZE>().0.iter().zip(0..);
    let named = pages.map(|(page, number)| (PageId::new(1, number), *page));
    Ok(named
        .filter(|(id, page)| verify(page, *id).is_ok())
        .collect())
}

/// Each page of the primary file rots, and images are put back; returns the restored pages.
fn rot_and_repair(machine: &SimVolume) -> Result<BTreeMap<PageId, PageBuf>, String> {
    let (machine, path) = (machine.fork(), primary());
    for id in pages(&machine)?.into_keys() {
        let at = u64::from(id.page.0) * PAGE_SIZE as u64 + ROTTEN_BYTE as u64;
        machine.rot(&path, at, BIT).map_err(as_text)?;
    }
    let mut guard = path.clone().into_os_string();
    guard.push(".dw");
    let open = |path: PathBuf| machine.open(&path, Open::Existing, Access::Data);
    let (file, images) = (
        open(path).map_err(as_text)?,
        open(guard.into()).map_err(as_text)?,
    );
    double_write::repair(&*file, &*images, FileId(1)).map_err(as_text)?;
    pages(&machine)
}

/// A table grows a file, changes, and is dropped; the file is cut, and the power goes at once. The log still
/// has changes of pages that lay behind the file's new end.
pub(super) fn file_cut_off(_: u64) -> Result<(), String> {
    let layout = Layout { files: 2, ..LAYOUT };
    let volume = SimVolume::new(SimOptions::default());
    let engine = Engine::default();
    grow_and_cut(&engine, &volume, &layout).map_err(as_text)?;
    for outcome in [Crash::KeepAll, Crash::DropAll] {
        let after = volume.crash(&outcome);
        let read = || -> Result<usize, Failure> {
            let store = engine.open(Arc::new(after), &layout)?;
            let left = store.read_all()?.len();
            store.audit()?;
            store.close()?;
            Ok(left)
        };
        match read() {
            Ok(0) => {}
            Ok(left) => return Err(format!("{outcome:?}: {left} rows and tables are left")),
            Err(failure) => return Err(format!("{outcome:?}, behind the cut: {failure}")),
        }
    }
    Ok(())
}

/// A data file from before a checkpoint is put beside the log that names the checkpoint: the log could not
/// restore what the file lacks.
pub(super) fn old_copy(_: u64) -> Result<(), String> {
    let layout = Layout { files: 2, ..LAYOUT };
    let volume = SimVolume::new(SimOptions::default());
    let engine = Engine::default();
    let early = two_checkpoints(&engine, &volume, &layout).map_err(as_text)?;
    for (path, refusal) in [(primary(), "9003"), (secondary(&engine), "5173")] {
        let mixed = volume.crash(&Crash::KeepAll);
        mixed.take_file_from(&early, &path).map_err(as_text)?;
        match engine.open(Arc::new(mixed), &layout) {
            Err(failure) if failure.to_string().contains(refusal) => {}
            Err(failure) => return Err(format!("{}: {failure}", path.display())),
            Ok(_) => return Err(format!("an old copy of {} was opened", path.display())),
        }
    }
    let whole = engine.open(Arc::new(volume.crash(&Crash::KeepAll)), &layout);
    whole.and_then(EngineStore::close).map_err(as_text)
}

/// The machine as it was behind the first one.
fn two_checkpoints(
    engine: &Engine,
    volume: &SimVolume,
    layout: &Layout,
) -> Result<SimVolume, Failure> {
    let store = begun(engine, volume, layout)?;
    each(&store, 0..20, &mut versions(), INSERT)?;
    store.checkpoint()?;
    let early = volume.crash(&Crash::KeepAll);
    each(&store, 20..40, &mut versions(), INSERT)?;
    store.checkpoint()?;
    store.abandon();
    Ok(early)
}

fn secondary(engine: &Engine) -> PathBuf {
    engine.home.join("v1").join("data1.ndf")
}

fn grow_and_cut(engine: &Engine, volume: &SimVolume, layout: &Layout) -> Result<(), Failure> {
    const KEYS: i64 = 320;
    let store = begun(engine, volume, layout)?;
    let mut versions = versions();
    for first in (0..KEYS).step_by(40) {
        each(&store, first..first + 40, &mut versions, INSERT)?;
    }
    store.checkpoint()?;
    let size = || {
        let bytes = volume.contents(&secondary(engine));
        bytes.map_or(0, |bytes| bytes.len())
    };
    let grown = size();
    // Rows become shorter where they are.
    each(&store, 0..KEYS, &mut (1..).filter(|v| v % 2 == 1), UPDATE)?;
    let mut session = store.session()?;
    session.begin()?;
    session.drop_table(TABLE)?;
    session.commit()?;
    drop(session);
    store.shrink("data1", layout.file_kb)?;
    let cut = size();
    store.abandon();
    if cut >= grown {
        return Err(Failure::Wrong(format!("{grown} bytes before, {cut} since")));
    }
    Ok(())
}
