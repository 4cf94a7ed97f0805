//! Database snapshots beside writers in threads: each shows sums that every transaction preserves, from its
//! creation to its end. And what they cost the writers.

#![expect(clippy::unwrap_used, reason = "a failed step is a failed test")]

use crate::tables_common::s;
use furrow_engine::{
    ColumnSpec, Database, DatabaseSpec, EngineError, FileSpec, Instance, InstanceConfig, LockHints,
    ReadLock, ScanSpec, Session, SnapshotSpec, TableSpec,
};
use furrow_io::random::{Rng, seeded, test_seed};
use furrow_io::sim::{Crash, Effect, Fault, Ops, SimOptions};
use furrow_io::time::Moment;
use furrow_io::{MemoryVolume, SimVolume, SystemVolume, Volume, thread};
use furrow_types::{DataType, TypeId, Value};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

const START: i64 = 1_000;

fn table() -> TableSpec {
    TableSpec::new("t")
        .column(ColumnSpec::new("id", DataType::simple(TypeId::BigInt)).not_null())
        .column(ColumnSpec::new("n", DataType::simple(TypeId::BigInt)).not_null())
        .column(ColumnSpec::new("note", DataType::sized(TypeId::VarChar, 800)).not_null())
        .primary_key(["id"])
}

struct Place {
    instance: Arc<Instance>,
    dir: PathBuf,
    rows: i64,
}

fn instance_on(volume: Arc<dyn Volume>, dir: &Path, pool_pages: usize) -> Arc<Instance> {
    let config = InstanceConfig {
        directory: Some(dir.join("inst")),
        pool_pages,
        double_write_pages: 256,
        ..InstanceConfig::default()
    };
    Instance::start(volume, config).unwrap()
}

fn place(volume: Arc<dyn Volume>, dir: &Path, (rows, pool_pages): (i64, usize)) -> Place {
    volume.create_dir(dir).unwrap();
    let instance = instance_on(volume, dir, pool_pages);
    let spec = DatabaseSpec::new("Db", FileSpec::new("P", dir.join("p.mdf")).size_mb(64))
        .file(FileSpec::new("S", dir.join("s.ndf")).size_mb(64))
        .log(FileSpec::new("L", dir.join("l.ldf")).size_mb(64));
    let database = instance.create_database(&spec).unwrap();
    let mut session = Session::new(&database).unwrap();
    let table = session.create_table(&table()).unwrap();
    session.begin().unwrap();
    for id in 0..rows {
        let row = [Value::BigInt(id), Value::BigInt(START), s(&"n".repeat(400))];
        session.insert(&table, &row).unwrap();
    }
    session.commit().unwrap();
    database.checkpoint().unwrap();
    let dir = dir.to_path_buf();
    Place {
        instance,
        dir,
        rows,
    }
}

impl Place {
    fn snapshot(&self, name: &str) -> Result<Arc<Database>, EngineError> {
        self.instance.create_snapshot(&SnapshotSpec {
            name: name.into(),
            source: "Db".into(),
            files: vec![
                ("P".into(), self.dir.join(format!("p.{name}"))),
                ("S".into(), self.dir.join(format!("s.{name}"))),
            ],
        })
    }

    /// Moves something from a row to another until it is to end.
    fn write(&self, seed: u64, done: &AtomicBool, commits: &AtomicU64) {
        self.move_values(seed, done, commits).unwrap();
    }

    /// The same, or until the power goes.
    fn write_until_dark(&self, seed: u64, done: &AtomicBool, commits: &AtomicU64) {
        let _dark = self.move_values(seed, done, commits);
    }

    fn move_values(
        &self,
        seed: u64,
        done: &AtomicBool,
        commits: &AtomicU64,
    ) -> Result<(), EngineError> {
        let mut rng = seeded(seed);
        let database = self.instance.database("Db")?;
        let mut session = Session::new(&database)?;
        let table = session.table("t")?;
        while !done.load(Ordering::Relaxed) {
            let (a, b) = (
                rng.random_range(0..self.rows),
                rng.random_range(0..self.rows),
            );
            let by = rng.random_range(-5..=5);
            if a == b {
                continue;
            }
            session.begin()?;
            let mut add = |id: i64, by: i64| {
                let key = table.row_key(&[Value::BigInt(id)])?;
                let hints = LockHints {
                    lock: ReadLock::Update,
                    ..LockHints::default()
                };
                let n = session.hinted(hints, |s| {
                    let row = s.get(&table, &[Value::BigInt(id)])?;
                    Ok::<_, EngineError>(row.and_then(|row| row.i64(1)).unwrap_or(0))
                })?;
                session
                    .update(&table, &key, &[(1, Value::BigInt(n + by))])
                    .map(drop)
            };
            let moved = add(a.min(b), -by).and_then(|()| add(a.max(b), by));
            match moved {
                Ok(()) if rng.random_range(0..8) > 0 => {
                    session.commit()?;
                    commits.fetch_add(1, Ordering::Relaxed);
                }
                // A deadlock's victim is rolled back already.
                _ => drop(session.rollback()),
            }
        }
        Ok(())
    }
}

/// All numbers, by id.
fn numbers(database: &Arc<Database>) -> Vec<i64> {
    let mut session = Session::new(database).unwrap();
    let table = session.table("t").unwrap();
    let mut all = Vec::new();
    let scan = session.scan(&table, &ScanSpec::default()).unwrap();
    scan.for_each(|row| {
        all.push(row.i64(1).unwrap());
        Ok(())
    })
    .unwrap();
    all
}

#[test]
fn snapshots_beside_sixteen_writers_hold_whole_transactions() {
    let seed = test_seed();
    println!("FURROW_SEED={seed}");
    // Fewer frames than pages: write-back goes on all the time.
    let place = place(Arc::new(MemoryVolume::new()), Path::new("m"), (4_000, 200));
    let (done, commits) = (AtomicBool::new(false), AtomicU64::new(0));
    thread::scope(|scope| {
        let (place, done, commits) = (&place, &done, &commits);
        for who in 0..16 {
            scope.spawn(move || place.write(seed ^ who, done, commits));
        }
        let database = place.instance.database("Db").unwrap();
        let mut before: Option<(String, Vec<i64>)> = None;
        for round in 0..6 {
            let name = format!("s{round}");
            let snapshot = place.snapshot(&name).unwrap();
            let first = numbers(&snapshot);
            assert_eq!(first.len() as i64, place.rows, "seed {seed}");
            assert_eq!(first.iter().sum::<i64>(), START * place.rows, "seed {seed}");
            database.checkpoint().unwrap();
            assert!(numbers(&snapshot) == first, "seed {seed}, round {round}");
            if let Some((name, numbers_before)) = before.take() {
                let snapshot = place.instance.database(&name).unwrap();
                assert!(numbers(&snapshot) == numbers_before, "seed {seed}, {name}");
                drop(snapshot);
                place.instance.drop_database(&name).unwrap();
            }
            before = Some((name, first));
        }
        done.store(true, Ordering::Relaxed);
    });
    assert!(commits.load(Ordering::Relaxed) > 50);
}

/// A machine on which writers work beside two snapshots when the power goes; then each snapshot is what it
/// was when it was created.
fn power_loss_beside_writers(seed: u64) {
    let mut rng = seeded(seed);
    let volume = SimVolume::new(SimOptions::default());
    let mut place = place(Arc::new(volume.clone()), Path::new("m"), (5_000, 120));
    let (done, commits) = (AtomicBool::new(false), AtomicU64::new(0));
    let mut taken: Vec<(String, Vec<i64>)> = Vec::new();
    thread::scope(|scope| {
        let (place, done, commits) = (&place, &done, &commits);
        for who in 0..4 {
            scope.spawn(move || place.write_until_dark(seed ^ who, done, commits));
        }
        for name in ["one", "two"] {
            let snapshot = place.snapshot(name).unwrap();
            taken.push((name.to_owned(), numbers(&snapshot)));
            let database = place.instance.database("Db").unwrap();
            database.checkpoint().unwrap();
        }
        let nth = rng.random_range(1..400);
        volume.inject(Fault::new(Ops::Changes, Effect::PowerLoss).nth(nth));
        let begun = Moment::now();
        while volume.is_powered() && begun.elapsed_us() < 20_000_000 {
            let database = place.instance.database("Db");
            let _dark = database.map(|database| database.checkpoint());
        }
        done.store(true, Ordering::Relaxed);
    });
    volume.power_off();
    place.instance.abandon();
    for outcome in [Crash::DropAll, Crash::KeepAll, Crash::Torn { seed }] {
        let after = volume.crash(&outcome);
        place.instance = instance_on(Arc::new(after), &place.dir, 120);
        for (name, expected) in &taken {
            let snapshot = place.instance.database(name).unwrap();
            assert!(
                &numbers(&snapshot) == expected,
                "seed {seed}, {outcome:?}: {name}"
            );
        }
        let database = place.instance.database("Db").unwrap();
        let sum: i64 = numbers(&database).iter().sum();
        assert_eq!(sum, START * place.rows, "seed {seed}, {outcome:?}");
        place.instance.abandon();
    }
}

#[test]
fn snapshots_survive_power_losses_beside_writers() {
    let seed = test_seed();
    println!("FURROW_SEED={seed}");
    let rounds = std::env::var("FURROW_ROUNDS").ok();
    let rounds = rounds.and_then(|rounds| rounds.parse().ok()).unwrap_or(6);
    for round in 0..rounds {
        power_loss_beside_writers(seed.wrapping_add(round));
    }
}

/// Microseconds between checkpoints of the measurement.
const CHECKPOINT_US: u64 = 2_000_000;

/// Commits in a second by 16 writers, beside checkpoints: pages are overwritten all the time.
fn rate(place: &Place, seed: u64, seconds: f64) -> f64 {
    let (done, commits) = (AtomicBool::new(false), AtomicU64::new(0));
    let begun = Moment::now();
    thread::scope(|scope| {
        let (done, commits) = (&done, &commits);
        for who in 0..16 {
            scope.spawn(move || place.write(seed ^ who << 8, done, commits));
        }
        let database = place.instance.database("Db").unwrap();
        let mut checkpoints = 0;
        while (begun.elapsed_us() as f64) < seconds * 1e6 {
            furrow_io::time::sleep(std::time::Duration::from_millis(20));
            if begun.elapsed_us() / CHECKPOINT_US > checkpoints {
                checkpoints += 1;
                database.checkpoint().unwrap();
            }
        }
        done.store(true, Ordering::Relaxed);
    });
    commits.load(Ordering::Relaxed) as f64 * 1e6 / begun.elapsed_us() as f64
}

fn number(variable: &str, default: i64) -> i64 {
    let written = std::env::var(variable).ok();
    written
        .and_then(|text| text.parse().ok())
        .unwrap_or(default)
}

/// What 16 writers keep of their rate beside one snapshot, on a real disk: `FURROW_DIR` names the directory,
/// `FURROW_ROWS` and `FURROW_POOL` the rows (18 on a page) and the frames.
///
/// `FURROW_DIR=/data cargo test -p furrow-engine --test suite what_a_snapshot_costs -- --ignored --nocapture`
#[test]
#[ignore = "a measurement: minutes, on a disk of its own"]
fn what_a_snapshot_costs() {
    let root = std::env::var("FURROW_DIR").unwrap_or_else(|_| "/tmp".into());
    let dir = Path::new(&root).join(format!("furrow-snapshot-{}", test_seed()));
    let volume: Arc<dyn Volume> = Arc::new(SystemVolume::new());
    let rows = number("FURROW_ROWS", 60_000);
    let frames = number("FURROW_POOL", 16_384) as usize;
    let place = place(Arc::clone(&volume), &dir, (rows, frames));
    let database = place.instance.database("Db").unwrap();
    let (mut without, mut with) = (Vec::new(), Vec::new());
    rate(&place, 0, 3.0);
    for round in 0..6_u64 {
        database.checkpoint().unwrap();
        let alone = rate(&place, round, 8.0);
        let name = format!("s{round}");
        let snapshot = place.snapshot(&name).unwrap();
        let beside = rate(&place, round + 100, 8.0);
        database.checkpoint().unwrap();
        let images = snapshot.snapshot_images().unwrap_or(0);
        println!("alone {alone:.0}/s, beside a snapshot {beside:.0}/s, {images} pages copied");
        drop(snapshot);
        place.instance.drop_database(&name).unwrap();
        without.push(alone);
        with.push(beside);
    }
    let mean = |all: &[f64]| all.iter().sum::<f64>() / all.len() as f64;
    let share = mean(&with) / mean(&without);
    println!("share of the commit rate: {:.1}%", share * 100.0);
    drop(database);
    place.instance.shut_down().unwrap();
    drop(place);
    volume.remove_tree(&dir).unwrap();
    assert!(share > 0.8, "writers keep {share:.2} of their rate");
}
