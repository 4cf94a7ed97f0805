//! The check of a database that is in use: no false alarm beside writers, and damage where it was planted.

#![expect(clippy::unwrap_used, reason = "helpers of tests are tests")]

use crate::tables_common::{House, bigint, config, house_of, house_on, int, n, s, varchar};
use furrow_check::{Depth, Options, Progress};
use furrow_engine::{Checked, ColumnSpec, EngineError, IndexSpec, Session, TableSpec};
use furrow_format::{PAGE_SIZE, PageId};
use furrow_io::random::{Rng, SeededRng, seeded};
use furrow_io::{Access, File, IoError, MemoryVolume, Open, Space, Volume, thread};
use furrow_types::Value;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, Weak};

const WRITERS: i64 = 16;

fn clustered() -> TableSpec {
    TableSpec::new("t")
        .column(ColumnSpec::new("id", bigint()).not_null())
        .column(ColumnSpec::new("v", int()))
        .column(ColumnSpec::new("note", varchar(3_000)).not_null())
        .primary_key(["id"])
        .index(IndexSpec::new("by_v", ["v"]))
        .index(IndexSpec::new("by_v_id", ["v", "id"]))
}

fn heap() -> TableSpec {
    TableSpec::new("h")
        .column(ColumnSpec::new("id", bigint()).not_null())
        .column(ColumnSpec::new("note", varchar(3_000)).not_null())
        .index(IndexSpec::new("by_id", ["id"]))
}

/// Some changes of a writer's own rows, in the clustered table and the heap.
fn change(session: &mut Session, rng: &mut SeededRng, who: i64) -> Result<(), EngineError> {
    let table = session.table("t")?;
    let heap = session.table("h")?;
    for _ in 0..rng.random_range(1..8) {
        let id = who + WRITERS * rng.random_range(0..200);
        let v = Value::Int(rng.random_range(0..1_000));
        let note = s(&"n".repeat(rng.random_range(0..2_500)));
        let key = table.row_key(&[n(id)])?;
        match rng.random_range(0..8) {
            0 => drop(session.delete(&table, &key)?),
            1 => drop(session.insert(&heap, &[n(id), note])?),
            _ => {
                if !session.update(&table, &key, &[(1, v.clone()), (2, note.clone())])? {
                    session.insert(&table, &[n(id), v, note])?;
                }
            }
        }
    }
    Ok(())
}

/// A table of the writer's own that comes and goes.
fn come_and_go(session: &mut Session, who: i64) -> Result<(), EngineError> {
    let name = format!("own{who}");
    let spec = TableSpec::new(&name)
        .column(ColumnSpec::new("id", bigint()).not_null())
        .primary_key(["id"]);
    let table = session.create_table(&spec)?;
    for id in 0..400 {
        session.insert(&table, &[n(id)])?;
    }
    session.drop_table(&name)
}

fn write(house: &House, seed: u64, who: i64, done: &AtomicBool, committed: &AtomicU64) {
    let mut rng = seeded(seed ^ (who as u64 + 1) << 32);
    let mut session = house.session();
    while !done.load(Ordering::Relaxed) {
        session.begin().unwrap();
        let changed = match rng.random_range(0..40) {
            0 => come_and_go(&mut session, who),
            _ => change(&mut session, &mut rng, who),
        };
        if changed.is_ok() && rng.random_range(0..5) > 0 {
            session.commit().unwrap();
            committed.fetch_add(1, Ordering::Relaxed);
        } else {
            // A deadlock's victim is rolled back already.
            drop(session.rollback());
        }
    }
}

fn check(house: &House, depth: Depth) -> Checked {
    let options = Options {
        depth,
        workers: 2,
        ..Options::default()
    };
    house
        .db
        .check_consistency(options, &|_: Progress| true)
        .unwrap()
}

fn filled() -> House {
    let house = house_of(3);
    let mut session = house.session();
    for spec in [clustered(), heap()] {
        session.create_table(&spec).unwrap();
    }
    house
}

fn beside_writers(seed: u64, checks: usize) {
    println!("FURROW_SEED={seed}");
    let house = filled();
    let (done, committed) = (AtomicBool::new(false), AtomicU64::new(0));
    thread::scope(|scope| {
        let (house, done, committed) = (&house, &done, &committed);
        let _ends = Ends(done);
        for who in 0..WRITERS {
            scope.spawn(move || write(house, seed, who, done, committed));
        }
        for round in 0..checks {
            let target = committed.load(Ordering::Relaxed) + 60;
            while committed.load(Ordering::Relaxed) < target {
                thread::yield_now();
            }
            let depth = if round % 3 == 2 {
                Depth::Physical
            } else {
                Depth::Full
            };
            let checked = check(house, depth);
            let reported: Vec<String> = checked
                .report
                .findings
                .iter()
                .map(ToString::to_string)
                .collect();
            assert!(
                reported.is_empty(),
                "seed {seed}, check {round}: {}",
                reported.join("\n")
            );
            assert!(checked.snapshot.is_some_and(|snapshot| snapshot.recovered));
        }
    });
    let left = house.volume.list(Path::new("d")).unwrap();
    let is_spill = |path: &&PathBuf| path.to_string_lossy().contains("MSSQL_DBCC");
    assert_eq!(left.iter().find(is_spill), None);
}

#[test]
fn a_check_beside_sixteen_writers_finds_nothing_wrong() {
    let fixed = std::env::var("FURROW_SEED")
        .ok()
        .and_then(|s| s.parse().ok());
    let runs = std::env::var("FURROW_RUNS")
        .ok()
        .and_then(|s| s.parse().ok());
    match fixed {
        Some(seed) => beside_writers(seed, 6),
        None => (1..=runs.unwrap_or(3)).for_each(|seed| beside_writers(seed, 4)),
    }
}

#[test]
fn a_check_beside_writers_finds_a_page_that_was_damaged_on_the_disk() {
    let house = filled();
    let mut session = house.session();
    let table = session.table("t").unwrap();
    for id in 0..2_000 {
        let row = [n(id), Value::Int(1), s(&"x".repeat(200))];
        session.insert(&table, &row).unwrap();
    }
    assert!(check(&house, Depth::Full).report.is_clean());
    let leaf = table
        .indexes()
        .iter()
        .find(|index| index.id() == 1)
        .unwrap();
    let pages = house.db.pages_of(leaf.rowset()).unwrap();
    let victim = *pages.last().unwrap();
    let object = table.id().0;
    let files = house.db.file_list().unwrap();
    let path = files
        .into_iter()
        .find(|file| file.id == victim.file)
        .unwrap()
        .path;
    drop((session, table));
    let volume = Arc::clone(&house.volume);
    let house = house.restart_after(|| damage(&*volume, &path, victim));
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        // Also when an assertion fails: the scope waits for the writer.
        let _ends = Ends(&done);
        scope.spawn(|| {
            let mut session = house.session();
            let heap = session.table("h").unwrap();
            while !done.load(Ordering::Relaxed) {
                session.insert(&heap, &[n(1), s("beside")]).unwrap();
            }
        });
        for depth in [Depth::Physical, Depth::Full] {
            let report = check(&house, depth).report;
            let named = report.findings.iter().any(|finding| {
                let subject = finding.subject.as_ref();
                finding.page == Some(victim) && subject.is_some_and(|s| s.object_id == object)
            });
            assert!(named, "{victim}: {:?}", report.findings);
        }
    });
}

/// A volume through whose open files a test can write, as a device does that damages what it has.
#[derive(Debug)]
struct Tapped {
    inner: MemoryVolume,
    open: Mutex<Vec<(PathBuf, Weak<dyn File>)>>,
}

impl Tapped {
    /// Flips a bit of a page of a file that is open.
    fn damage(&self, path: &Path, page: PageId, byte: usize) {
        let open = self.open.lock().unwrap();
        let mut files = open.iter().rev().filter(|(known, _)| known == path);
        let file = files.find_map(|(_, file)| file.upgrade()).unwrap();
        let mut bytes = vec![0; PAGE_SIZE];
        let offset = u64::from(page.page.0) * PAGE_SIZE as u64;
        file.read_at(offset, &mut bytes).unwrap();
        bytes[byte] ^= 8;
        file.write_at(offset, &bytes).unwrap();
    }
}

impl Volume for Tapped {
    fn open(&self, path: &Path, how: Open, access: Access) -> Result<Arc<dyn File>, IoError> {
        let file = self.inner.open(path, how, access)?;
        let entry = (path.to_path_buf(), Arc::downgrade(&file));
        self.open.lock().unwrap().push(entry);
        Ok(file)
    }

    fn exists(&self, path: &Path) -> Result<bool, IoError> {
        self.inner.exists(path)
    }

    fn list(&self, dir: &Path) -> Result<Vec<PathBuf>, IoError> {
        self.inner.list(dir)
    }

    fn create_dir(&self, dir: &Path) -> Result<(), IoError> {
        self.inner.create_dir(dir)
    }

    fn remove(&self, path: &Path) -> Result<(), IoError> {
        self.inner.remove(path)
    }

    fn space(&self, dir: &Path) -> Result<Space, IoError> {
        self.inner.space(dir)
    }
}

/// A table that no writer changes is damaged on the disk while 16 of them work.
fn planted(seed: u64) {
    println!("FURROW_SEED={seed}");
    let mut rng = seeded(seed);
    let volume = Arc::new(Tapped {
        inner: MemoryVolume::new(),
        open: Mutex::default(),
    });
    let house = house_on(Arc::clone(&volume) as _, 3, config());
    let mut session = house.session();
    for spec in [clustered(), heap()] {
        session.create_table(&spec).unwrap();
    }
    let spec = TableSpec::new("still")
        .column(ColumnSpec::new("id", bigint()).not_null())
        .column(ColumnSpec::new("note", varchar(300)).not_null())
        .primary_key(["id"])
        .index(IndexSpec::new("by_note", ["note"]));
    let still = session.create_table(&spec).unwrap();
    for id in 0..600 {
        let note = s(&format!("{:0100}", rng.random_range(0..1_000_000_i64)));
        session.insert(&still, &[n(id), note]).unwrap();
    }
    house.db.checkpoint().unwrap();
    let index = &still.indexes()[rng.random_range(0..still.indexes().len())];
    let pages = house.db.pages_of(index.rowset()).unwrap();
    let victim = pages[rng.random_range(0..pages.len())];
    let files = house.db.file_list().unwrap().into_iter();
    let file = files
        .into_iter()
        .find(|file| file.id == victim.file)
        .unwrap();
    let object = still.id().0;
    drop((session, still));
    let (done, committed) = (AtomicBool::new(false), AtomicU64::new(0));
    thread::scope(|scope| {
        let (house, done, committed) = (&house, &done, &committed);
        let _ends = Ends(done);
        for who in 0..WRITERS {
            scope.spawn(move || write(house, seed, who, done, committed));
        }
        let report = check(house, Depth::Full).report;
        assert!(report.is_clean(), "seed {seed}: {:?}", report.findings);
        volume.damage(&file.path, victim, rng.random_range(0..PAGE_SIZE));
        let target = committed.load(Ordering::Relaxed) + 20;
        while committed.load(Ordering::Relaxed) < target {
            thread::yield_now();
        }
        for depth in [Depth::Physical, Depth::Full] {
            let findings = check(house, depth).report.findings;
            let named = findings.iter().any(|f| f.names(victim));
            assert!(named, "seed {seed}, {victim}: {findings:?}");
            let of_others = |f: &&furrow_check::Finding| {
                f.subject.as_ref().is_some_and(|s| s.object_id != object)
            };
            assert_eq!(findings.iter().find(of_others), None, "seed {seed}");
        }
    });
}

#[test]
fn a_check_beside_sixteen_writers_finds_damage_that_is_planted_meanwhile() {
    let variable = |name| std::env::var(name).ok().and_then(|s| s.parse().ok());
    match variable("FURROW_SEED") {
        Some(seed) => planted(seed),
        None => (1..=variable("FURROW_RUNS").unwrap_or(2)).for_each(planted),
    }
}

/// Tells writers to end when it is dropped.
struct Ends<'a>(&'a AtomicBool);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Flips a bit of a page where it lies on the disk.
fn damage(volume: &dyn Volume, path: &Path, page: PageId) {
    let file = volume.open(path, Open::Existing, Access::Data).unwrap();
    let mut bytes = vec![0; PAGE_SIZE];
    let offset = u64::from(page.page.0) * PAGE_SIZE as u64;
    file.read_at(offset, &mut bytes).unwrap();
    bytes[4_000] ^= 8;
    file.write_at(offset, &bytes).unwrap();
}

#[test]
fn a_check_ends_when_its_listener_says_so() {
    let house = filled();
    let ended = house
        .db
        .check_consistency(Options::default(), &|_: Progress| false);
    assert!(ended.unwrap_err().is_cancelled());
    assert!(check(&house, Depth::Full).report.is_clean());
}

#[test]
fn a_restart_after_a_crash_removes_the_files_of_a_check_that_was_under_way() {
    let house = filled();
    let left = [
        "d/data.mdf_MSSQL_DBCC7",
        "d/f1.ndf_MSSQL_DBCC7",
        "d/f1.ndf_MSSQL_OTHER",
    ];
    for path in left {
        let made = house
            .volume
            .open(Path::new(path), Open::Create, Access::Data);
        drop(made.unwrap());
    }
    let house = house.restart(true, vec![]);
    let exists = left.map(|path| house.volume.exists(Path::new(path)).unwrap());
    assert_eq!(exists, [false, false, true]);
    assert!(check(&house, Depth::Full).report.is_clean());
}

#[test]
fn transactions_that_are_open_at_the_split_are_rolled_back_in_the_snapshot_alone() {
    let house = filled();
    let mut session = house.session();
    let table = session.table("t").unwrap();
    for id in 0..300 {
        let row = [n(id), Value::Int(1), s("before")];
        session.insert(&table, &row).unwrap();
    }
    session.begin().unwrap();
    for id in 0..300 {
        let key = table.row_key(&[n(id)]).unwrap();
        match id % 3 {
            0 => drop(session.delete(&table, &key).unwrap()),
            1 => {
                let long = s(&"y".repeat(2_000));
                session
                    .update(&table, &key, &[(1, Value::Int(7)), (2, long)])
                    .unwrap();
            }
            _ => drop(
                session
                    .insert(&table, &[n(id + 1_000), Value::Int(9), s("new")])
                    .unwrap(),
            ),
        }
    }
    let checked = check(&house, Depth::Full);
    assert!(checked.report.is_clean(), "{:?}", checked.report.findings);
    let snapshot = checked.snapshot.unwrap();
    assert!(snapshot.recovered && snapshot.first < snapshot.split && snapshot.images > 0);
    let total = checked
        .report
        .objects
        .iter()
        .find(|o| o.object_id == table.id().0);
    assert_eq!(total.unwrap().rows, 300, "as before the transaction");
    session.commit().unwrap();
    let checked = check(&house, Depth::Full);
    let total = checked
        .report
        .objects
        .iter()
        .find(|o| o.object_id == table.id().0);
    assert_eq!(total.unwrap().rows, 300, "100 deleted, 100 inserted");
    assert!(checked.report.is_clean());
    let moved = checked.report.objects.iter().map(|o| o.rows).sum::<u64>();
    assert!(moved > 300);
}
