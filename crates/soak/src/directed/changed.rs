//! A scene of the changed-extent map: power losses at random behind a point in time from which changes count.
//!
//! 1. A database with rows is shut down. All bits of its changed-extent maps are cleared in the files, as a
//!    full backup does, and the files are copied.
//! 2. It is opened several times, one after the other, and worked on until the power goes: sometimes between
//!    two operations of the disk, sometimes in the middle of a checkpoint.
//! 3. After each power loss a copy of the machine is recovered and shut down. Every page that differs from
//!    the saved copy must have its extent's bit set.

use super::as_text;
use crate::engine::{Engine, EngineStore, unmarked};
use crate::rows::TABLES;
use crate::subject::{Failure, FullBackups, Layout, Session as _, Store as _, Subject as _};
use furrow_format::{
    Bitmap, GAM_INTERVAL, PAGE_SIZE, PageBuf, add_map_bits, dcm_page_of, stamp_checksum,
};
use furrow_format::{Page, PageNo};
use furrow_io::random::{Rng, seeded};
use furrow_io::sim::{Crash, Effect, Fault, Ops, SimOptions};
use furrow_io::{Access, Open, SimVolume, Volume};
use std::path::{Path, PathBuf};
use std::sync::Arc;

const LAYOUT: Layout = Layout {
    files: 2,
    pool_pages: 128,
    log_kb: 1024,
    log_grows: true,
    file_kb: 512,
    growth_kb: 256,
    grow_all: false,
    mixed_pages: false,
    double_write_pages: 64,
    waits_for_locks: false,
    full_backups: FullBackups::Never,
    background: false,
};
/// Clustered, without another index; and one with others.
const TABLES_USED: [u16; 2] = [TABLES, 1];
const KEYS: i64 = 300;
const LIVES: u64 = 4;
const MACHINES: u64 = 6;
/// Most changes of the disk between two power losses.
const MOST_CHANGES: u64 = 160;

/// The files as they were when changes began to count.
struct Reference {
    files: Vec<(PathBuf, Vec<PageBuf>)>,
}

pub(super) fn changed_extents(seed: u64) -> Result<(), String> {
    (0..MACHINES).try_for_each(|n| one_machine(seed.wrapping_add(n * 7919)))
}

fn one_machine(seed: u64) -> Result<(), String> {
    let mut rng = seeded(seed);
    let engine = Engine::default();
    let mut volume = SimVolume::new(SimOptions::default());
    first_life(&engine, &volume, &mut rng).map_err(as_text)?;
    let reference = take_reference(&engine, &volume)?;
    for life in 0..LIVES {
        let nth = rng.random_range(1..=MOST_CHANGES);
        volume.inject(Fault::new(Ops::Changes, Effect::PowerLoss).nth(nth));
        match one_life(&engine, &volume, &mut rng) {
            Ok(()) | Err(Failure::Gone(_) | Failure::Full(_)) => {}
            Err(failure) => return Err(format!("seed {seed}, life {life}: {failure}")),
        }
        volume = volume.crash(&Crash::Torn { seed: rng.random() });
        let recovered = volume.fork();
        let opened = engine.open(Arc::new(recovered.clone()), &LAYOUT);
        opened.and_then(EngineStore::close).map_err(as_text)?;
        let place = |what| format!("seed {seed}, life {life}, change {nth}: {what}");
        compare(&reference, &recovered).map_err(place)?;
    }
    Ok(())
}

fn first_life(engine: &Engine, volume: &SimVolume, rng: &mut impl Rng) -> Result<(), Failure> {
    let store = engine.create(Arc::new(volume.clone()), &LAYOUT)?;
    let mut session = store.session()?;
    session.begin()?;
    for table in TABLES_USED {
        session.create_table(table, 1)?;
    }
    for key in 0..KEYS {
        for table in TABLES_USED {
            unless_refused(session.insert(table, key, rng.random_range(1..50)))?;
        }
    }
    session.commit()?;
    drop(session);
    store.close()
}

/// Whether there is such a row does not matter here.
fn unless_refused(done: Result<(), Failure>) -> Result<(), Failure> {
    match done {
        Err(Failure::Missing | Failure::Duplicate) => Ok(()),
        done => done,
    }
}

/// Works until the power goes, or to its end, and leaves abruptly.
fn one_life(engine: &Engine, volume: &SimVolume, rng: &mut impl Rng) -> Result<(), Failure> {
    let store = engine.open(Arc::new(volume.clone()), &LAYOUT)?;
    let worked = work(&store, rng);
    store.abandon();
    worked
}

fn work(store: &EngineStore, rng: &mut impl Rng) -> Result<(), Failure> {
    // Each round works on a few neighbours, so that most extents have not changed yet.
    let first = rng.random_range(0..KEYS);
    for _ in 0..12 {
        let mut session = store.session()?;
        session.begin()?;
        for _ in 0..rng.random_range(1..6) {
            let table = TABLES_USED[rng.random_range(0..TABLES_USED.len())];
            let key = (first + rng.random_range(0..20)) % (2 * KEYS);
            let version = rng.random_range(1..50);
            let done = match rng.random_range(0..4) {
                0 => session.insert(table, key, version),
                1 => session.delete(table, key),
                _ => session.update(table, key, version),
            };
            unless_refused(done)?;
        }
        match rng.random_range(0..4) {
            0 => session.rollback()?,
            _ => session.commit()?,
        }
        drop(session);
        if rng.random_range(0..3) == 0 {
            store.checkpoint()?;
        }
    }
    Ok(())
}

fn data_files(engine: &Engine) -> [PathBuf; 2] {
    let home = &engine.home;
    [
        home.join("v0").join("primary.mdf"),
        home.join("v1").join("data1.ndf"),
    ]
}

fn pages_of(volume: &SimVolume, path: &Path) -> Result<Vec<PageBuf>, String> {
    let bytes = volume.contents(path).map_err(as_text)?;
    Ok(bytes.as_chunks::<PAGE_SIZE>().0.to_vec())
}

/// Clears the maps in the files, and copies the files.
fn take_reference(engine: &Engine, volume: &SimVolume) -> Result<Reference, String> {
    let mut files = Vec::new();
    for path in data_files(engine) {
        let mut pages = pages_of(volume, &path)?;
        let maps = (0..pages.len() as u32).step_by(GAM_INTERVAL as usize);
        for map in maps.map(|start| dcm_page_of(PageNo(start))) {
            let Some(page) = pages.get_mut(map.0 as usize) else {
                continue;
            };
            clear(page)?;
            let file = volume.open(&path, Open::Existing, Access::Data);
            let offset = u64::from(map.0) * PAGE_SIZE as u64;
            let file = file.map_err(as_text)?;
            file.write_durable_at(offset, &page[..]).map_err(as_text)?;
        }
        files.push((path, pages));
    }
    Ok(Reference { files })
}

/// Clears all bits of a changed-extent page.
fn clear(page: &mut PageBuf) -> Result<(), String> {
    let no_map = || "a changed-extent page has no map".to_owned();
    let map = Bitmap::new(page).ok_or_else(no_map)?;
    if map.count(Bitmap::BITS) == 0 {
        return Err("nothing has changed since the database was created".to_owned());
    }
    let start = Page::new(page).slot_offset(1).ok_or_else(no_map)?;
    // The record has a header of four bytes.
    let body = page.get_mut(usize::from(start) + 4..).ok_or_else(no_map)?;
    let bytes = Bitmap::BITS.div_ceil(8) as usize;
    body.get_mut(..bytes).ok_or_else(no_map)?.fill(0);
    // The map is still one, and takes bits.
    if !add_map_bits(page, 0, 0) {
        return Err(no_map());
    }
    stamp_checksum(page);
    Ok(())
}

fn compare(reference: &Reference, machine: &SimVolume) -> Result<(), String> {
    for (path, before) in &reference.files {
        let now = pages_of(machine, path)?;
        let changed = |number: PageNo, page: &PageBuf| match before.get(number.0 as usize) {
            Some(before) => before != page,
            None => page.iter().any(|&byte| byte != 0),
        };
        if let Some(page) = unmarked(&now, &changed) {
            return Err(format!(
                "page {page} of {} differs from its copy, and its extent's bit is not set",
                path.display()
            ));
        }
    }
    Ok(())
}
