//! Database snapshots: they read the same whatever becomes of the source, after every power loss too; and
//! reverts to them.

#![expect(clippy::unwrap_used, reason = "a failed step is a failed test")]

use crate::repair_crash::start;
use crate::simulated::{self, new_volume};
use crate::tables_common::s;
use furrow_engine::{
    BulkOptions, ColumnSpec, Database, DatabaseState, EngineError, FileChange, FileSpec, IndexSpec,
    Instance, ScanSpec, Session, Shrink, SnapshotSpec, TableSpec,
};
use furrow_format::{PAGE_SIZE, Page, PageBuf, PageType};
use furrow_io::random::{Rng, SeededRng, seeded};
use furrow_io::sim::{Crash, Effect, Fault, OpKind, Ops};
use furrow_io::{SimVolume, Volume};
use furrow_types::{DataType, TypeId, Value};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};

/// Rows: id, and a number.
type Rows = BTreeMap<i64, i32>;

const ROWS: i64 = 120;

fn table() -> TableSpec {
    let note = DataType::sized(TypeId::VarChar, 1_500);
    TableSpec::new("t")
        .column(ColumnSpec::new("id", DataType::simple(TypeId::BigInt)).not_null())
        .column(ColumnSpec::new("n", DataType::simple(TypeId::Int)).not_null())
        .column(ColumnSpec::new("note", note).not_null())
        .primary_key(["id"])
        .index(IndexSpec::new("by_n", ["n"]))
}

fn row(id: i64, n: i32) -> [Value; 3] {
    let note = "n".repeat((id * 37 % 1_400) as usize);
    [Value::BigInt(id), Value::Int(n), s(&note)]
}

/// The rows that a database has, by the table and by its index, which agree.
fn rows(database: &Arc<Database>) -> Rows {
    let mut session = Session::new(database).unwrap();
    let table = session.table("t").unwrap();
    let mut all = Vec::new();
    for index in 0..2 {
        let mut found = Rows::new();
        let spec = ScanSpec {
            index,
            ..ScanSpec::default()
        };
        let scan = session.scan(&table, &spec).unwrap();
        scan.for_each(|row| {
            let (id, n) = (row.i64(0).unwrap(), row.i32(1).unwrap());
            assert!(found.insert(id, n).is_none(), "row {id} twice");
            Ok(())
        })
        .unwrap();
        all.push(found);
    }
    assert_eq!(all[0], all[1], "table and index differ");
    all.swap_remove(0)
}

fn snapshot(name: &str) -> SnapshotSpec {
    SnapshotSpec {
        name: name.into(),
        source: "Db".into(),
        files: vec![
            ("P".into(), format!("d/p.{name}").into()),
            ("S".into(), format!("d/s.{name}").into()),
        ],
    }
}

/// A machine with a database of some rows, shut down.
fn ready() -> SimVolume {
    let volume = new_volume();
    let instance = start(&volume).unwrap();
    let spec = simulated::spec(FileSpec::new("L", "d/l.ldf").size_kb(1024));
    let database = instance.create_database(&spec).unwrap();
    let mut session = Session::new(&database).unwrap();
    let table = session.create_table(&table()).unwrap();
    session.begin().unwrap();
    for id in 0..ROWS {
        session.insert(&table, &row(id, id as i32)).unwrap();
    }
    session.commit().unwrap();
    drop(session);
    drop(database);
    instance.shut_down().unwrap();
    volume.fork()
}

/// Some changes in one transaction, which ends either way.
fn change(database: &Arc<Database>, rng: &mut SeededRng) -> Result<(), EngineError> {
    let mut session = Session::new(database)?;
    let table = session.table("t")?;
    session.begin()?;
    for _ in 0..rng.random_range(5..30) {
        let (id, n) = (rng.random_range(0..300), rng.random_range(0..1_000));
        let key = table.row_key(&[Value::BigInt(id)])?;
        match rng.random_range(0..4) {
            0 => drop(session.delete(&table, &key)?),
            _ => {
                if !session.update(&table, &key, &[(1, Value::Int(n))])? {
                    session.insert(&table, &row(id, n))?;
                }
            }
        }
    }
    match rng.random_range(0..4) {
        0 => session.rollback(),
        _ => session.commit(),
    }
}

/// A table that comes, is filled past the log, and goes: pages that were free at the split, and pages that
/// are formatted anew.
fn come_and_go(database: &Arc<Database>, rng: &mut SeededRng) -> Result<(), EngineError> {
    let mut session = Session::new(database)?;
    let name = format!("x{}", rng.random_range(0..1_000_000));
    let spec = TableSpec::new(&name)
        .column(ColumnSpec::new("id", DataType::simple(TypeId::BigInt)).not_null())
        .primary_key(["id"]);
    let table = session.create_table(&spec)?;
    let mut bulk = session.bulk_inserter(&table, &[0], BulkOptions::default())?;
    for id in 0..2_000 {
        bulk.i64(id)?;
        bulk.insert()?;
    }
    bulk.finish()?;
    if rng.random_range(0..2) == 0 {
        session.drop_table(&name)?;
    }
    Ok(())
}

/// One step of the life of a source.
fn step(database: &Arc<Database>, rng: &mut SeededRng) -> Result<(), EngineError> {
    match rng.random_range(0..12) {
        0 => come_and_go(database, rng),
        1 => {
            let larger = FileChange {
                size_kb: Some(64 * rng.random_range(16..40)),
                ..FileChange::default()
            };
            // Smaller than it is: refused.
            match database.modify_file("S", &larger) {
                Err(e) if e.has(5039) => Ok(()),
                other => other,
            }
        }
        2 => database.shrink_file("S", Shrink::Full(None)).map(drop),
        3..6 => database.checkpoint().map(drop),
        _ => change(database, rng),
    }
}

fn expect(instance: &Instance, name: &str, expected: &Rows, context: &str) {
    let database = instance.database(name).unwrap_or_else(|e| {
        let lines = instance.error_log().tail(12);
        let lines: Vec<String> = lines.iter().map(|l| l.text.clone()).collect();
        panic!("{context}: snapshot {name}: {e}\n{}", lines.join("\n"))
    });
    assert_eq!(&rows(&database), expected, "{context}: snapshot {name}");
}

fn is_listed(instance: &Instance, name: &str) -> bool {
    instance.databases().iter().any(|d| d.name == name)
}

/// A transaction is open while the snapshot is taken: it does not show in it.
fn take(instance: &Instance, name: &str) -> Result<(), EngineError> {
    let database = instance.database("Db")?;
    let mut open = Session::new(&database)?;
    let table = open.table("t")?;
    open.begin()?;
    for id in 1_000..1_010 {
        open.insert(&table, &row(id, 7))?;
    }
    let key = table.row_key(&[Value::BigInt(500)])?;
    open.delete(&table, &key)?;
    instance.create_snapshot(&snapshot(name))?;
    open.rollback()
}

/// What a run has come to when the power goes.
#[derive(Default)]
struct Seen {
    /// Snapshots that exist, and what they hold.
    taken: BTreeMap<&'static str, Rows>,
    /// One that is being created, and what it will hold.
    begun: Option<(&'static str, Rows)>,
    done: bool,
}

fn live(volume: &SimVolume, seed: u64, seen: &mut Seen) -> Result<(), EngineError> {
    let mut rng = seeded(seed);
    let instance = start(volume)?;
    let database = instance.database("Db")?;
    for _ in 0..3 {
        step(&database, &mut rng)?;
    }
    for name in ["one", "two"] {
        let now = rows(&database);
        seen.begun = Some((name, now.clone()));
        take(&instance, name)?;
        seen.begun = None;
        seen.taken.insert(name, now);
        for _ in 0..12 {
            step(&database, &mut rng)?;
        }
    }
    drop(database);
    instance.shut_down()?;
    drop(instance);
    let instance = start(volume)?;
    let database = instance.database("Db")?;
    for _ in 0..6 {
        step(&database, &mut rng)?;
    }
    seen.done = true;
    Ok(())
}

/// After a crash: each snapshot holds what it held, before and after more changes and another start.
fn prove(after: &SimVolume, seed: u64, seen: &Seen, context: &str) {
    let instance = start(after).unwrap();
    let mut expected: Vec<(&str, &Rows)> = seen.taken.iter().map(|(n, rows)| (*n, rows)).collect();
    if let Some((name, rows)) = &seen.begun
        && is_listed(&instance, name)
    {
        expected.push((name, rows));
    }
    let database = instance.database("Db").unwrap();
    let before = rows(&database);
    for (name, rows) in &expected {
        expect(&instance, name, rows, context);
    }
    let mut rng = seeded(seed ^ 0xABCD);
    for _ in 0..4 {
        change(&database, &mut rng).unwrap();
    }
    database.checkpoint().unwrap();
    for (name, rows) in &expected {
        expect(&instance, name, rows, context);
    }
    drop(database);
    match seed % 2 {
        0 => instance.abandon(),
        _ => instance.shut_down().unwrap(),
    }
    drop(instance);
    let instance = start(after).unwrap();
    for (name, rows) in &expected {
        expect(&instance, name, rows, context);
    }
    assert!(!before.is_empty(), "{context}: the source has rows");
}

fn outcomes(n: u64) -> [Crash; 3] {
    [Crash::DropAll, Crash::KeepAll, Crash::Torn { seed: n }]
}

#[test]
fn a_snapshot_reads_the_same_after_every_power_loss() {
    let seed = furrow_io::random::test_seed();
    println!("FURROW_SEED={seed}");
    let ready = ready();
    let dry = ready.fork();
    let mut seen = Seen::default();
    live(&dry, seed, &mut seen).unwrap();
    assert!(seen.done);
    prove(&dry.fork(), seed, &seen, "no crash");
    let total = dry.counts().matching(Ops::Changes);
    let mut rng = seeded(seed);
    for _ in 0..60 {
        let n = rng.random_range(1..=total);
        let volume = ready.fork();
        volume.inject(Fault::new(Ops::Changes, Effect::PowerLoss).nth(n));
        let mut seen = Seen::default();
        let ended = live(&volume, seed, &mut seen);
        assert!(ended.is_err() || seen.done, "operation {n}");
        for outcome in outcomes(n) {
            let context = format!("seed {seed}, operation {n} of {total}, {outcome:?}");
            prove(&volume.crash(&outcome), n, &seen, &context);
        }
    }
}

#[test]
fn a_revert_can_be_cut_short_anywhere() {
    let seed = furrow_io::random::test_seed();
    println!("FURROW_SEED={seed}");
    let volume = ready();
    let instance = start(&volume).unwrap();
    take(&instance, "one").unwrap();
    let expected = rows(&instance.database("one").unwrap());
    let database = instance.database("Db").unwrap();
    let mut rng = seeded(seed);
    for _ in 0..25 {
        step(&database, &mut rng).unwrap();
    }
    let more = FileSpec::new("More", "d/more.ndf").size_kb(512);
    database.add_file(&more, None).unwrap();
    assert_ne!(rows(&database), expected);
    drop(database);
    instance.shut_down().unwrap();
    drop(instance);
    let changed = volume.fork();
    let (mut n, mut cut) = (0, 0);
    loop {
        n += 1;
        let volume = changed.fork();
        let instance = start(&volume).unwrap();
        volume.inject(Fault::new(Ops::Changes, Effect::PowerLoss).nth(n));
        let done = instance.revert_to_snapshot("Db", "one").is_ok() && volume.is_powered();
        for outcome in outcomes(n) {
            let context = format!("operation {n}, {outcome:?}");
            let after = volume.crash(&outcome);
            let instance = start(&after).unwrap();
            expect(&instance, "one", &expected, &context);
            let database = instance.database("Db").unwrap();
            if done {
                assert_eq!(rows(&database), expected, "{context}");
            } else {
                cut += 1;
            }
            drop(database);
            instance.revert_to_snapshot("Db", "one").unwrap();
            let database = instance.database("Db").unwrap();
            assert_eq!(rows(&database), expected, "{context}");
            assert!(!after.exists(Path::new("d/more.ndf")).unwrap(), "{context}");
            let mut rng = seeded(n);
            change(&database, &mut rng).unwrap();
            change(&database, &mut rng).unwrap();
            let now = rows(&database);
            drop(database);
            instance.abandon();
            drop(instance);
            let instance = start(&after).unwrap();
            assert_eq!(rows(&instance.database("Db").unwrap()), now, "{context}");
            expect(&instance, "one", &expected, &context);
        }
        if done {
            break;
        }
    }
    assert!(n > 10 && cut > 20, "{n} {cut}");
}

#[test]
fn a_revert_over_a_lost_page_is_refused_before_anything_is_written() {
    let volume = ready();
    let instance = start(&volume).unwrap();
    instance.create_snapshot(&snapshot("one")).unwrap();
    instance.shut_down().unwrap();
    drop(instance);
    // The last data page of a file is one of the table: the catalog came first.
    let is_data = |page: &PageBuf| Page::new(page).page_type() == PageType::Data;
    let lost = ["d/s.ndf", "d/p.mdf"].into_iter().any(|path| {
        let path = Path::new(path);
        let mut bytes = volume.contents(path).unwrap();
        let pages = bytes.as_chunks_mut::<PAGE_SIZE>().0;
        let page = pages.iter_mut().rfind(|page| is_data(page));
        let lost = page.map(|page| page.fill(0)).is_some();
        volume.remove(path).unwrap();
        furrow_io::write_file(&volume, path, &bytes).unwrap();
        lost
    });
    assert!(lost);
    let instance = start(&volume).unwrap();
    let error = instance.revert_to_snapshot("Db", "one").unwrap_err();
    assert_eq!(error.number(), 3420, "{error}");
    let view = instance.databases().into_iter().find(|d| d.name == "Db");
    assert_eq!(view.unwrap().state, DatabaseState::Online);
    instance.database("Db").unwrap().checkpoint().unwrap();
}

#[test]
fn a_tail_that_a_shrink_left_goes_at_the_next_start() {
    let volume = ready();
    let path = Path::new("d/s.ndf");
    let bytes = || volume.contents(path).unwrap().len();
    let instance = start(&volume).unwrap();
    let database = instance.database("Db").unwrap();
    let larger = FileChange {
        size_kb: Some(4_096),
        ..FileChange::default()
    };
    database.modify_file("S", &larger).unwrap();
    instance.create_snapshot(&snapshot("one")).unwrap();
    let expected = rows(&instance.database("one").unwrap());
    volume.inject(Fault::new(Ops::Only(OpKind::Resize), Effect::Fail).under("d/s.ndf"));
    database.shrink_file("S", Shrink::Cut).unwrap_err();
    volume.heal();
    drop(database);
    instance.abandon();
    drop(instance);
    assert_eq!(bytes(), 4_096 * 1024);
    let instance = start(&volume).unwrap();
    assert!(bytes() < 4_096 * 1024, "{}", bytes());
    expect(&instance, "one", &expected, "after the cut");
}

#[test]
fn a_full_disk_ends_a_revert_while_the_source_is_whole() {
    let volume = ready();
    let instance = start(&volume).unwrap();
    instance.create_snapshot(&snapshot("one")).unwrap();
    let expected = rows(&instance.database("one").unwrap());
    let database = instance.database("Db").unwrap();
    change(&database, &mut seeded(5)).unwrap();
    let now = rows(&database);
    drop(database);
    volume.inject(Fault::new(Ops::Writes, Effect::NoSpace).under("d/s.one"));
    instance.revert_to_snapshot("Db", "one").unwrap_err();
    assert_eq!(rows(&instance.database("Db").unwrap()), now);
    volume.heal();
    expect(&instance, "one", &expected, "after a full disk");
    instance.revert_to_snapshot("Db", "one").unwrap();
    assert_eq!(rows(&instance.database("Db").unwrap()), expected);
}

#[test]
fn the_snapshot_of_a_half_revert_outlives_it() {
    let volume = ready();
    let instance = start(&volume).unwrap();
    instance.create_snapshot(&snapshot("one")).unwrap();
    let database = instance.database("Db").unwrap();
    change(&database, &mut seeded(5)).unwrap();
    drop(database);
    volume.inject(Fault::new(Ops::Writes, Effect::NoSpace).under("d/s.ndf"));
    instance.revert_to_snapshot("Db", "one").unwrap_err();
    volume.heal();
    let error = instance.drop_database("one").unwrap_err();
    assert_eq!(error.number(), 3702, "{error}");
    assert!(volume.exists(Path::new("d/s.one")).unwrap());
    // The source can go, and a database that gets its number is none of the snapshot's.
    instance.drop_database("Db").unwrap();
    assert!(!volume.exists(Path::new("d/s.ndf")).unwrap());
    let spec = simulated::spec(FileSpec::new("L", "d/l.ldf").size_kb(1024));
    instance.create_database(&spec).unwrap();
    let view = instance.databases().into_iter().find(|d| d.name == "one");
    assert_eq!(view.unwrap().state, DatabaseState::Suspect);
    instance.drop_database("Db").unwrap();
    drop(instance);
    let instance = start(&volume).unwrap();
    instance.drop_database("one").unwrap();
    assert!(!volume.exists(Path::new("d/s.one")).unwrap());
}

#[test]
fn a_full_disk_ends_the_snapshot_and_not_the_source() {
    let volume = ready();
    let instance = start(&volume).unwrap();
    instance.create_snapshot(&snapshot("one")).unwrap();
    let expected = rows(&instance.database("one").unwrap());
    let database = instance.database("Db").unwrap();
    for path in ["d/p.one", "d/s.one"] {
        volume.inject(Fault::new(Ops::Writes, Effect::NoSpace).under(path));
    }
    let mut rng = seeded(5);
    for _ in 0..10 {
        change(&database, &mut rng).unwrap();
    }
    database.checkpoint().unwrap();
    let now = rows(&database);
    let error = instance.database("one").map(drop).unwrap_err();
    assert_eq!(error.number(), 926, "{error}");
    let log = instance.error_log().tail(20);
    let text: Vec<&str> = log.iter().map(|l| l.text.as_str()).collect();
    assert!(
        text.iter()
            .any(|t| t.contains("5128") || t.contains("lack of disk space")),
        "{text:?}"
    );
    assert!(
        text.iter().any(|t| t.contains("marked suspect")),
        "{text:?}"
    );
    drop(database);
    instance.shut_down().unwrap();
    drop(instance);
    volume.heal();
    let instance = start(&volume).unwrap();
    assert_eq!(rows(&instance.database("Db").unwrap()), now);
    let view = instance.databases().into_iter().find(|d| d.name == "one");
    assert_eq!(view.unwrap().state, DatabaseState::Suspect);
    instance.drop_database("one").unwrap();
    assert!(!volume.exists(Path::new("d/p.one")).unwrap());
    instance.create_snapshot(&snapshot("one")).unwrap();
    assert_ne!(rows(&instance.database("one").unwrap()), expected);
}

/// Reads each row by its key: an error, or whether all are as they were when the machine was made.
fn reads_as_made(database: &Arc<Database>) -> Result<bool, EngineError> {
    let mut session = Session::new(database)?;
    let table = session.table("t")?;
    let mut same = true;
    for id in 0..ROWS {
        let row = session.get(&table, &[Value::BigInt(id)])?;
        same &= row.and_then(|row| row.i32(1)) == Some(id as i32);
    }
    Ok(same)
}

#[test]
fn a_disk_that_takes_no_mark_of_the_failure_either_gives_no_wrong_row() {
    let volume = ready();
    let instance = start(&volume).unwrap();
    instance.create_snapshot(&snapshot("one")).unwrap();
    let database = instance.database("Db").unwrap();
    for path in ["d/p.one", "d/s.one"] {
        volume.inject(Fault::new(Ops::Writes, Effect::Fail).under(path).sticky());
    }
    let mut session = Session::new(&database).unwrap();
    let table = session.table("t").unwrap();
    for id in 0..ROWS {
        let key = table.row_key(&[Value::BigInt(id)]).unwrap();
        session
            .update(&table, &key, &[(1, Value::Int(-5))])
            .unwrap();
    }
    drop((session, table));
    database.checkpoint().unwrap();
    assert_eq!(
        instance.database("one").map(drop).unwrap_err().number(),
        926
    );
    drop(database);
    instance.shut_down().unwrap();
    drop(instance);
    // The disk works again, and its files say that the snapshot is whole.
    volume.heal();
    let instance = start(&volume).unwrap();
    let read = instance.database("one").and_then(|one| reads_as_made(&one));
    assert!(read.is_err(), "{read:?}");
    assert_eq!(
        instance.database("one").map(drop).unwrap_err().number(),
        926
    );
    assert_eq!(rows(&instance.database("Db").unwrap()).len(), ROWS as usize);
}

#[test]
fn a_snapshot_whose_files_are_away_is_suspect_for_good() {
    let volume = ready();
    let instance = start(&volume).unwrap();
    instance.create_snapshot(&snapshot("one")).unwrap();
    instance.shut_down().unwrap();
    drop(instance);
    let before = volume.fork();
    volume.remove(Path::new("d/s.one")).unwrap();
    let instance = start(&volume).unwrap();
    assert_eq!(
        instance.database("one").map(drop).unwrap_err().number(),
        926
    );
    let database = instance.database("Db").unwrap();
    change(&database, &mut seeded(1)).unwrap();
    drop(database);
    instance.shut_down().unwrap();
    drop(instance);
    // The file comes back, but the source has changed meanwhile.
    let bytes = before.contents(Path::new("d/s.one")).unwrap();
    furrow_io::write_file(&volume, Path::new("d/s.one"), &bytes).unwrap();
    let instance = start(&volume).unwrap();
    assert_eq!(
        instance.database("one").map(drop).unwrap_err().number(),
        926
    );
    assert_eq!(
        instance
            .reopen_database("one")
            .map(drop)
            .unwrap_err()
            .number(),
        3420
    );
    instance.drop_database("one").unwrap();
    instance.drop_database("Db").unwrap();
}

#[test]
fn a_source_that_changed_without_its_snapshot_is_found() {
    let volume = ready();
    let instance = start(&volume).unwrap();
    instance.create_snapshot(&snapshot("one")).unwrap();
    instance.shut_down().unwrap();
    drop(instance);
    // Another instance opens the source's files, and changes most pages.
    let other = volume.fork();
    other.remove_tree(Path::new("inst")).unwrap();
    let instance = start(&other).unwrap();
    let options = furrow_engine::AttachOptions::default();
    let database = instance
        .attach_database(Path::new("d/p.mdf"), &options)
        .unwrap();
    let mut session = Session::new(&database).unwrap();
    let table = session.table("t").unwrap();
    for id in 0..ROWS {
        let key = table.row_key(&[Value::BigInt(id)]).unwrap();
        session
            .update(&table, &key, &[(1, Value::Int(-5))])
            .unwrap();
    }
    drop(session);
    drop(database);
    instance.shut_down().unwrap();
    drop(instance);
    for path in ["d/p.mdf", "d/s.ndf", "d/l.ldf", "d/p.mdf.dw", "d/s.ndf.dw"] {
        volume.take_file_from(&other, Path::new(path)).unwrap();
    }
    let instance = start(&volume).unwrap();
    let read = instance.database("one").and_then(|one| reads_as_made(&one));
    assert!(read.is_err(), "pages of another time were read");
    assert_eq!(
        instance.database("one").map(drop).unwrap_err().number(),
        926
    );
    assert_eq!(rows(&instance.database("Db").unwrap()).len(), ROWS as usize);
}

#[test]
fn a_cancelled_create_leaves_nothing() {
    let volume = ready();
    let instance = start(&volume).unwrap();
    let database = instance.database("Db").unwrap();
    for seed in 0..6 {
        change(&database, &mut seeded(seed)).unwrap();
    }
    let task = furrow_observe::task::Task::new(instance.instruments(), 99, "session");
    let entered = furrow_observe::task::enter(&task);
    task.cancel();
    let error = instance
        .create_snapshot(&snapshot("one"))
        .map(drop)
        .unwrap_err();
    assert!(error.is_cancelled(), "{error}");
    drop(entered);
    assert!(!is_listed(&instance, "one"));
    assert!(!volume.exists(Path::new("d/p.one")).unwrap());
    instance.create_snapshot(&snapshot("one")).unwrap();
    expect(&instance, "one", &rows(&database), "after a cancelled one");
}

/// Reverts to a snapshot, and returns the number of what another thread gets meanwhile: before anything is
/// written to the database.
fn meanwhile(look: fn(&Instance) -> u32) -> u32 {
    let volume = ready();
    let instance = start(&volume).unwrap();
    instance.create_snapshot(&snapshot("one")).unwrap();
    let (first, done) = (Arc::new(AtomicBool::new(true)), mpsc::channel());
    let other = Arc::clone(&instance);
    // The first thing that a revert makes durable is what it takes in the sparse files.
    volume.on_boundary(move |_| {
        if !first.swap(false, Ordering::Relaxed) {
            return;
        }
        let (other, sender) = (Arc::clone(&other), done.0.clone());
        let (reported, heard) = mpsc::channel();
        let look = move || reported.send(look(&other)).unwrap();
        furrow_io::thread::spawn_named("other", look).unwrap();
        let made = heard.recv_timeout(std::time::Duration::from_secs(60));
        sender.send(made.unwrap_or(0)).unwrap();
    });
    let database = instance.revert_to_snapshot("Db", "one").unwrap();
    assert_eq!(database.state(), DatabaseState::Online);
    done.1.recv().unwrap()
}

#[test]
fn while_a_revert_makes_itself_ready_other_databases_come_and_go() {
    // 911: the list of databases was looked at.
    let look = |other: &Instance| other.set_emergency("nothing").unwrap_err().number();
    assert_eq!(meanwhile(look), 911);
}

#[test]
fn of_two_reverts_at_once_one_is_refused_and_the_other_done() {
    let look = |other: &Instance| {
        let refused = other.revert_to_snapshot("Db", "one");
        refused.unwrap_err().number()
    };
    assert_eq!(meanwhile(look), 3101);
}
