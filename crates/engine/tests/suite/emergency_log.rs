//! A repair in EMERGENCY never loses what a good log has.

#![expect(clippy::unwrap_used, reason = "a failed step is a failed test")]

use crate::repair_crash::{fill, findings, is_journal_lost, start};
use crate::simulated::{new_volume, spec};
use furrow_check::{Options, Repaired};
use furrow_engine::{DatabaseState, EngineError, FileSpec, Instance, Session};
use furrow_format::{PAGE_SIZE, PageBuf, UserAccess};
use furrow_io::random::{Rng, seeded, test_seed};
use furrow_io::sim::{Crash, Effect, Fault, Ops};
use furrow_io::{SimVolume, Volume};
use furrow_types::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub(crate) const PRIMARY: &str = "d/p.mdf";
pub(crate) const SECOND: &str = "d/s.ndf";
pub(crate) const LOG: &str = "d/l.ldf";
pub(crate) const JOURNAL: &str = "d/p.mdf_MSSQL_REPAIR";
/// Pages of the primary file: its header, the boot page, `sysfiles1`.
pub(crate) const HEADER: usize = 0;
pub(crate) const BOOT: usize = 9;
const FILES1: usize = 32;
/// Rows that were committed: up to `IN_FILES` before the last checkpoint, the others after it.
const IN_FILES: i64 = 150;
const COMMITTED: i64 = 350;
const ALL: i64 = 400;

/// A machine whose power went while a database was in use: the rows of its last transactions are in its log
/// alone, and one transaction had not ended.
pub(crate) fn in_use() -> SimVolume {
    let volume = new_volume();
    let instance = start(&volume).unwrap();
    let database = instance
        .create_database(&spec(FileSpec::new("L", LOG).size_mb(2)))
        .unwrap();
    fill(&database, &mut seeded(17));
    database.checkpoint().unwrap();
    let mut session = Session::new(&database).unwrap();
    let table = session.table("c").unwrap();
    for id in IN_FILES..ALL {
        if id == COMMITTED {
            session.begin().unwrap();
        }
        let row = [Value::BigInt(id), crate::tables_common::s("late")];
        session.insert(&table, &row).unwrap();
    }
    // So that the log has the records of the transaction that never ends.
    let mut other = Session::new(&database).unwrap();
    let heap = other.table("h").unwrap();
    let row = [Value::BigInt(ALL), crate::tables_common::s("late")];
    other.insert(&heap, &row).unwrap();
    volume.power_off();
    instance.abandon();
    drop((session, table, other, heap, database, instance));
    volume.crash(&Crash::KeepAll)
}

/// What recovery makes of the machine if no page is damaged.
pub(crate) fn committed(instance: &Instance) -> BTreeSet<i64> {
    let database = instance.database("Db").unwrap();
    let mut session = Session::new(&database).unwrap();
    let table = session.table("c").unwrap();
    let there = |id: &i64| {
        let row = session.get(&table, &[Value::BigInt(*id)]);
        row.unwrap().is_some()
    };
    (0..ALL + 1).filter(there).collect()
}

pub(crate) fn is_all_committed(rows: &BTreeSet<i64>) -> bool {
    *rows == (0..COMMITTED).collect()
}

pub(crate) fn put(volume: &SimVolume, path: &str, bytes: &[u8]) {
    let path = Path::new(path);
    if volume.exists(path).unwrap() {
        volume.remove(path).unwrap();
    }
    furrow_io::write_file(volume, path, bytes).unwrap();
}

pub(crate) fn read(volume: &SimVolume, path: &str) -> Vec<u8> {
    volume.contents(Path::new(path)).unwrap()
}

/// Changes a page of a file.
pub(crate) fn change(volume: &SimVolume, (path, page): (&str, usize), how: impl Fn(&mut PageBuf)) {
    let mut bytes = read(volume, path);
    how(&mut bytes.as_chunks_mut::<PAGE_SIZE>().0[page]);
    put(volume, path, &bytes);
}

pub(crate) fn damage(volume: &SimVolume, place: (&str, usize)) {
    change(volume, place, |page| {
        page[1_000] ^= 0x5A;
        page[5_001] ^= 0x33;
    });
}

pub(crate) fn without_images(volume: &SimVolume) {
    for path in [PRIMARY, SECOND] {
        volume.remove(Path::new(&format!("{path}.dw"))).unwrap();
    }
}

pub(crate) fn enter(instance: &Instance) -> Result<(), EngineError> {
    let database = instance.set_emergency("Db")?;
    assert!(database.set_user_access(UserAccess::Single, 0)?);
    Ok(())
}

pub(crate) fn state(instance: &Instance) -> DatabaseState {
    let views = instance.databases();
    views.iter().find(|view| view.name == "Db").unwrap().state
}

pub(crate) fn options() -> Options {
    Options {
        workers: 1,
        ..Options::default()
    }
}

pub(crate) fn repair(instance: &Instance) -> Result<Repaired, EngineError> {
    instance.repair_database("Db", &options(), &mut |repaired| repaired.left.is_empty())
}

/// What is left of a machine on which a repair lost its power when its journal was whole, and that `fits`.
pub(crate) fn with_a_whole_journal(
    ready: &SimVolume,
    fits: impl Fn(&SimVolume) -> bool,
) -> SimVolume {
    for n in 1..500 {
        let volume = ready.fork();
        let instance = start(&volume).unwrap();
        enter(&instance).unwrap();
        volume.inject(Fault::new(Ops::Changes, Effect::PowerLoss).nth(n));
        assert!(repair(&instance).is_err(), "no journal was whole");
        instance.abandon();
        drop(instance);
        let after = volume.crash(&Crash::KeepAll);
        // The first sector is written last.
        let is_whole = after.exists(Path::new(JOURNAL)).unwrap()
            && read(&after, JOURNAL).starts_with(b"FURROWR");
        if is_whole && fits(&after) {
            return after;
        }
    }
    panic!("no journal was whole")
}

/// All files beside the database, with their bytes.
pub(crate) fn files(volume: &SimVolume) -> BTreeMap<PathBuf, Vec<u8>> {
    let paths = volume.list(Path::new("d")).unwrap().into_iter();
    paths
        .map(|path| (path.clone(), volume.contents(&path).unwrap()))
        .collect()
}

/// The files that are not as they were.
pub(crate) fn changed(volume: &SimVolume, before: &BTreeMap<PathBuf, Vec<u8>>) -> Vec<PathBuf> {
    let now = files(volume);
    let all: BTreeSet<&PathBuf> = before.keys().chain(now.keys()).collect();
    let differs = |path: &&&PathBuf| before.get(**path) != now.get(**path);
    all.iter()
        .filter(differs)
        .map(|path| (*path).clone())
        .collect()
}

/// Proves that the database is in EMERGENCY, with its user access, and that no file has changed.
pub(crate) fn prove_untouched(
    (instance, volume): (&Instance, &SimVolume),
    before: &BTreeMap<PathBuf, Vec<u8>>,
    context: &str,
) {
    assert_eq!(state(instance), DatabaseState::Emergency, "{context}");
    let database = instance.database("Db").unwrap();
    let access = database.options().user_access;
    assert_eq!(access, UserAccess::Single, "{context}");
    drop(database);
    assert_eq!(changed(volume, before), Vec::<PathBuf>::new(), "{context}");
}

/// Sets of pages without which a database cannot be opened.
const HURT: [&[(&str, usize)]; 5] = [
    &[(PRIMARY, BOOT)],
    &[(PRIMARY, HEADER)],
    &[(SECOND, HEADER)],
    &[(PRIMARY, BOOT), (PRIMARY, FILES1)],
    &[
        (PRIMARY, BOOT),
        (PRIMARY, HEADER),
        (PRIMARY, FILES1),
        (SECOND, HEADER),
    ],
];

#[test]
fn a_repair_keeps_a_good_log_whatever_pages_the_opening_lacks() {
    for (with_images, hurt) in HURT.iter().flat_map(|hurt| [(true, hurt), (false, hurt)]) {
        let context = format!("images {with_images}, {hurt:?}");
        let volume = in_use();
        if !with_images {
            without_images(&volume);
        }
        hurt.iter().for_each(|place| damage(&volume, *place));
        let instance = start(&volume).unwrap();
        if state(&instance) == DatabaseState::Online {
            assert!(with_images, "{context}");
            instance.abandon();
            continue;
        }
        enter(&instance).unwrap();
        let repaired = repair(&instance).map(|done| (done.new_log, done.left.len()));
        assert_eq!(repaired.unwrap(), (false, 0), "{context}");
        assert_eq!(state(&instance), DatabaseState::Online, "{context}");
        let all: BTreeSet<i64> = (0..COMMITTED).collect();
        assert_eq!(committed(&instance), all, "{context}");
        assert_eq!(findings(&instance), Vec::<String>::new(), "{context}");
        assert!(!volume.exists(Path::new("d/l.ldf.lost")).unwrap());
        let database = instance.database("Db").unwrap();
        assert_eq!(database.options().user_access, UserAccess::Single);
        let mut session = Session::new(&database).unwrap();
        let table = session.table("c").unwrap();
        let row = [Value::BigInt(ALL), crate::tables_common::s("new")];
        session.insert(&table, &row).unwrap();
        drop((session, table, database));
        instance.abandon();
        drop(instance);
        let instance = start(&volume.crash(&Crash::DropAll)).unwrap();
        assert_eq!(committed(&instance).len(), all.len() + 1, "{context}");
        instance.abandon();
    }
}

#[test]
fn a_log_that_no_row_names_stays_as_it_is() {
    let volume = in_use();
    without_images(&volume);
    let rows = |page: &PageBuf| page.windows(10).any(|w| w == b"d\0/\0l\0.\0l\0");
    let pages = read(&volume, PRIMARY);
    let named = pages.as_chunks::<PAGE_SIZE>().0.iter().enumerate();
    let named: Vec<usize> = named
        .filter(|(_, page)| rows(page))
        .map(|(at, _)| at)
        .collect();
    assert!(named.contains(&FILES1) && named.len() > 1, "{named:?}");
    for page in named {
        damage(&volume, (PRIMARY, page));
    }
    damage(&volume, (PRIMARY, BOOT));
    let log = read(&volume, LOG);
    let instance = start(&volume).unwrap();
    // Without the rows of the files it cannot be read either: it stays as it is.
    assert!(enter(&instance).is_err());
    assert_ne!(state(&instance), DatabaseState::Online);
    assert_eq!(read(&volume, LOG), log);
}

/// Pages without which the machine does not come online, and that EMERGENCY does without.
fn needed_pages(volume: &SimVolume) -> Vec<(&'static str, usize)> {
    let count = |path: &str| read(volume, path).len() / PAGE_SIZE;
    let of = |path: &'static str| (0..count(path)).map(move |page| (path, page));
    let is_needed = |place: &(&str, usize)| {
        let probe = volume.fork();
        damage(&probe, *place);
        let instance = start(&probe).unwrap();
        let opened = state(&instance) == DatabaseState::Online;
        let found = !opened && enter(&instance).is_ok();
        instance.abandon();
        found
    };
    of(PRIMARY).chain(of(SECOND)).filter(is_needed).collect()
}

/// Repairs a machine with its log; whether that was possible. Without it, the log's loss has to be accepted.
fn repaired_or_refused(volume: &SimVolume, context: &str) -> bool {
    let instance = start(volume).unwrap();
    enter(&instance).unwrap();
    let before = files(volume);
    let refused = match repair(&instance) {
        Err(refused) => refused,
        Ok(repaired) => {
            assert!(!repaired.new_log && repaired.left.is_empty(), "{context}");
            assert_eq!(state(&instance), DatabaseState::Online, "{context}");
            assert_eq!(findings(&instance), Vec::<String>::new(), "{context}");
            let rows = committed(&instance);
            let is_whole = is_all_committed(&rows);
            assert!(is_whole || !repaired.losses.is_empty(), "{context}");
            assert!(rows.iter().all(|id| *id < COMMITTED), "{context}");
            instance.abandon();
            return true;
        }
    };
    assert!(refused.has(40517), "{context}: {refused}");
    let text: String = refused.messages().iter().map(|m| m.text.clone()).collect();
    assert!(
        text.contains("is good, and is not replaced"),
        "{context}: {text}"
    );
    prove_untouched((&instance, volume), &before, context);
    volume.remove(Path::new(LOG)).unwrap();
    let repaired = repair(&instance).map(|done| (done.new_log, done.loses_nothing()));
    assert_eq!(repaired.unwrap(), (true, false), "{context}");
    instance.abandon();
    false
}

#[test]
fn a_good_log_is_never_replaced() {
    let volume = in_use();
    without_images(&volume);
    let (mut repaired, mut refused) = (Vec::new(), Vec::new());
    for place in needed_pages(&volume) {
        let hurt = volume.fork();
        damage(&hurt, place);
        match repaired_or_refused(&hurt, &format!("{place:?}")) {
            true => repaired.push(place),
            false => refused.push(place),
        }
    }
    println!("repaired: {repaired:?}, refused: {refused:?}");
    assert!(repaired.len() > 3, "{repaired:?}, {refused:?}");
}

#[test]
fn a_good_log_that_recovery_cannot_use_is_not_replaced() {
    let volume = in_use();
    without_images(&volume);
    // What recovery rolls back lies on a page that cannot be read.
    for page in pages_of_c(&volume) {
        damage(&volume, (PRIMARY, page));
    }
    assert!(!repaired_or_refused(
        &volume,
        "the pages of an open transaction"
    ));
}

/// Pages of the primary file that table `c` lies on.
fn pages_of_c(volume: &SimVolume) -> BTreeSet<usize> {
    let probe = volume.fork();
    let instance = start(&probe).unwrap();
    let database = instance.database("Db").unwrap();
    let session = Session::new(&database).unwrap();
    let table = session.table("c").unwrap();
    let pages = table
        .indexes()
        .iter()
        .flat_map(|index| database.pages_of(index.rowset()).unwrap());
    let pages: Vec<_> = pages.collect();
    drop((session, table, database));
    instance.abandon();
    let own = pages.iter().filter(|page| page.file.0 == 1);
    own.map(|page| page.page.0 as usize).collect()
}

/// Machines on which a repair has work to do: with their log, and without it.
pub(crate) fn machines() -> Vec<(&'static str, SimVolume)> {
    let with_log = in_use();
    without_images(&with_log);
    damage(&with_log, (PRIMARY, BOOT));
    damage(&with_log, (SECOND, HEADER));
    let without_log = in_use();
    without_log.remove(Path::new(LOG)).unwrap();
    let zeroed = in_use();
    let bytes = read(&zeroed, LOG).len();
    put(&zeroed, LOG, &vec![0; bytes]);
    vec![
        ("with its log", with_log),
        ("without its log", without_log),
        ("with zeros for a log", zeroed),
    ]
}

#[test]
fn a_repair_with_a_good_log_that_a_power_loss_cuts_short_loses_no_row() {
    let seed = test_seed();
    println!("FURROW_SEED={seed}");
    let mut rng = seeded(seed);
    let (_, ready) = machines().swap_remove(0);
    let (mut n, mut finished, mut points) = (0, 0, 0);
    loop {
        n += 1;
        let volume = ready.fork();
        let instance: Arc<Instance> = start(&volume).unwrap();
        enter(&instance).unwrap();
        volume.inject(Fault::new(Ops::Changes, Effect::PowerLoss).nth(n));
        let done = repair(&instance).is_ok() && volume.is_powered();
        instance.abandon();
        drop(instance);
        for outcome in [
            Crash::DropAll,
            Crash::KeepAll,
            Crash::Torn { seed: rng.random() },
            Crash::Unreadable { seed: rng.random() },
        ] {
            let context = format!("seed {seed}, operation {n}, {outcome:?}");
            let after = volume.crash(&outcome);
            if is_journal_lost(&after) {
                continue;
            }
            let instance = start(&after).unwrap();
            let online = state(&instance) == DatabaseState::Online;
            if !online {
                enter(&instance).unwrap();
                let again = repair(&instance).map(|done| done.left.len());
                assert_eq!(again.unwrap(), 0, "{context}");
            }
            let all: BTreeSet<i64> = (0..COMMITTED).collect();
            assert_eq!(committed(&instance), all, "{context}");
            assert_eq!(findings(&instance), Vec::<String>::new(), "{context}");
            instance.abandon();
            (finished, points) = (finished + u32::from(online), points + 1);
        }
        if done {
            break;
        }
    }
    println!("{n} operations, {points} points, {finished} finished");
    assert!(finished > 3 && points - finished > 3, "{points} {finished}");
}
