//! What goes on behind sessions: room in the log, growth, checkpoints, ghosts; and what a failure or a kill
//! leaves.

#![expect(clippy::unwrap_used, reason = "a failed step is a failed test")]

use furrow_engine::{
    ColumnSpec, Database, DatabaseSpec, DatabaseState, FileSpec, Instance, InstanceConfig,
    ScanSpec, Session, Table, TableSpec,
};
use furrow_io::sim::{Effect, Fault, Ops, SimOptions};
use furrow_io::time::{Duration, Moment, sleep};
use furrow_io::{MemoryVolume, SimVolume, SystemVolume, Volume, thread};
use furrow_observe::traceflags::Target;
use furrow_types::{DataType, TypeId, Value};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::sync::Arc;

fn config() -> InstanceConfig {
    InstanceConfig {
        directory: Some("inst".into()),
        pool_pages: 512,
        double_write_pages: 64,
        ..InstanceConfig::default()
    }
}

fn memory() -> Arc<dyn Volume> {
    let volume = MemoryVolume::new();
    volume.create_dir(Path::new("d")).unwrap();
    Arc::new(volume)
}

fn spec(dir: &Path, log: FileSpec) -> DatabaseSpec {
    let data = |name: &str| FileSpec::new(name, dir.join(format!("{name}.mdf"))).size_mb(5);
    DatabaseSpec::new("Db", data("one").growth_mb(1))
        .file(data("two").growth_mb(1))
        .log(log)
}

fn log_file() -> FileSpec {
    FileSpec::new("log", "d/log.ldf").size_mb(1)
}

fn start(volume: &Arc<dyn Volume>) -> Arc<Instance> {
    Instance::start(Arc::clone(volume), config()).unwrap()
}

fn table(database: &Arc<Database>) -> Arc<Table> {
    let pad = DataType::sized(TypeId::VarChar, 4000);
    let spec = TableSpec::new("t")
        .column(ColumnSpec::new("id", DataType::simple(TypeId::BigInt)).identity(1, 1))
        .column(ColumnSpec::new("pad", pad))
        .primary_key(["id"]);
    Session::new(database).unwrap().create_table(&spec).unwrap()
}

fn pad(len: usize) -> [Value; 1] {
    [Value::VarChar("x".repeat(len))]
}

fn ids(database: &Arc<Database>) -> Vec<i64> {
    let mut session = Session::new(database).unwrap();
    let table = session.table("t").unwrap();
    let mut ids = Vec::new();
    let scan = session.scan(&table, &ScanSpec::default()).unwrap();
    scan.for_each(|row| {
        ids.extend(row.i64(0));
        Ok(())
    })
    .unwrap();
    ids
}

fn log_pages(database: &Database) -> u64 {
    database
        .file_list()
        .unwrap()
        .iter()
        .find(|f| f.filegroup == 0)
        .unwrap()
        .size_pages
}

/// Waits until something is so, for ten seconds at most.
fn until(what: &str, mut so: impl FnMut() -> bool) {
    let begun = Moment::now();
    while !so() {
        assert!(begun.elapsed() < Duration::from_secs(10), "{what}");
        sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_small_log_that_may_not_grow_carries_any_number_of_short_transactions() {
    let volume = memory();
    let instance = start(&volume);
    let spec = spec(Path::new("d"), log_file().no_growth());
    let database = instance.create_database(&spec).unwrap();
    let table = table(&database);
    thread::scope(|s| {
        for _ in 0..4 {
            s.spawn(|| {
                let mut session = Session::new(&database).unwrap();
                for _ in 0..400 {
                    session.insert(&table, &pad(4000)).unwrap();
                }
            });
        }
    });
    // Six times the log.
    assert_eq!(ids(&database).len(), 1600);
    assert_eq!(log_pages(&database), 128);
    assert!(database.checkpoints() >= 4, "{}", database.checkpoints());
    drop(table);
    drop(database);
    instance.abandon();
    drop(instance);
    let instance = start(&volume);
    assert_eq!(ids(&instance.database("db").unwrap()).len(), 1600);
}

#[test]
fn a_long_transaction_makes_the_log_grow_and_the_growth_is_known_after_a_restart() {
    let volume = memory();
    let instance = start(&volume);
    let database = instance
        .create_database(&spec(Path::new("d"), log_file().growth_mb(1)))
        .unwrap();
    let table = table(&database);
    let mut session = Session::new(&database).unwrap();
    session.begin().unwrap();
    for _ in 0..600 {
        session.insert(&table, &pad(4000)).unwrap();
    }
    session.commit().unwrap();
    assert!(log_pages(&database) > 384, "{}", log_pages(&database));
    assert!(database.log_view().growths >= 2);
    database.checkpoint().unwrap();
    let pages = log_pages(&database);
    let files = database.file_list().unwrap();
    drop((session, table, database));
    instance.shut_down().unwrap();
    drop(instance);
    let instance = start(&volume);
    let database = instance.database("Db").unwrap();
    assert_eq!(log_pages(&database), pages);
    assert_eq!(database.file_list().unwrap(), files);
    assert_eq!(ids(&database).len(), 600);
}

#[test]
fn a_transaction_that_fills_the_log_is_reported_so_and_can_be_rolled_back() {
    let volume = memory();
    let instance = start(&volume);
    let spec = spec(Path::new("d"), log_file().no_growth());
    let database = instance.create_database(&spec).unwrap();
    let table = table(&database);
    let mut session = Session::new(&database).unwrap();
    session.begin().unwrap();
    let full = loop {
        if let Err(error) = session.insert(&table, &pad(4000)) {
            break error;
        }
    };
    let message = &full.messages()[0];
    assert_eq!(
        (message.number, message.level, message.state),
        (9002, 17, 4),
        "{full}"
    );
    assert!(message.text.contains("ACTIVE_TRANSACTION"), "{full}");
    session.rollback().unwrap();
    for _ in 0..300 {
        session.insert(&table, &pad(4000)).unwrap();
    }
    assert_eq!(ids(&database).len(), 300);
    assert_eq!(database.state(), DatabaseState::Online);
}

/// A transaction whose statements fill the log, fail and are undone, with a checkpoint behind each, until not
/// even one row finds room: what it logged first keeps the log, and the redo point is at its other end. Then
/// it is rolled back.
fn jam(database: &Arc<Database>, table: &Arc<Table>) {
    let mut session = Session::new(database).unwrap();
    session.begin().unwrap();
    for _ in 0..500 {
        let before = session.savepoint().unwrap();
        let mut rows = 0;
        while session.insert(table, &pad(4000)).is_ok() {
            rows += 1;
        }
        session.rollback_to(before).unwrap();
        // One that would free nothing is refused when the log is nearly full.
        let _refused = database.checkpoint();
        if rows == 0 {
            session.rollback().unwrap();
            return;
        }
    }
    panic!("the log was never full");
}

#[test]
fn a_log_full_of_undone_statements_has_room_once_their_transaction_has_ended() {
    let volume = memory();
    let instance = start(&volume);
    let spec = spec(Path::new("d"), log_file().no_growth());
    let database = instance.create_database(&spec).unwrap();
    let table = table(&database);
    jam(&database, &table);
    let mut session = Session::new(&database).unwrap();
    for _ in 0..300 {
        session.insert(&table, &pad(4000)).unwrap();
    }
    assert_eq!(database.state(), DatabaseState::Online);
    drop((session, table, database));
    instance.shut_down().unwrap();
}

#[test]
fn a_log_full_of_undone_statements_has_room_after_a_crash() {
    let volume = memory();
    let instance = start(&volume);
    let spec = spec(Path::new("d"), log_file().no_growth());
    let database = instance.create_database(&spec).unwrap();
    let made = table(&database);
    jam(&database, &made);
    drop((made, database));
    instance.abandon();
    drop(instance);
    let instance = start(&volume);
    let database = instance.database("Db").unwrap();
    assert_eq!(database.state(), DatabaseState::Online);
    let mut session = Session::new(&database).unwrap();
    let table = session.table("t").unwrap();
    for _ in 0..300 {
        session.insert(&table, &pad(4000)).unwrap();
    }
    assert_eq!(ids(&database).len(), 300);
}

#[test]
fn data_files_grow_in_turn_until_their_limit_and_then_the_filegroup_is_full() {
    let volume = memory();
    let instance = start(&volume);
    let data = |name: &str| {
        FileSpec::new(name, format!("d/{name}"))
            .size_mb(5)
            .growth_mb(1)
            .max_mb(7)
    };
    let spec = DatabaseSpec::new("Db", data("a"))
        .file(data("b"))
        .log(log_file().growth_mb(4));
    let database = instance.create_database(&spec).unwrap();
    let table = table(&database);
    let mut session = Session::new(&database).unwrap();
    let full = loop {
        if let Err(error) = session.insert(&table, &pad(4000)) {
            break error;
        }
    };
    assert!(full.has(1105), "{full}");
    let text = full.to_string();
    let expected = "Could not allocate space for object 'dbo.t'.'PK_";
    assert!(text.contains(expected), "{text}");
    let expected = "in database 'Db' because the 'PRIMARY' filegroup is full.";
    assert!(text.contains(expected), "{text}");
    let reported = instance.error_log().tail(20);
    assert!(
        reported.iter().any(|line| line.text.contains(expected)),
        "{reported:?}"
    );
    let count = ids(&database).len();
    let sizes = |d: &Database| -> Vec<u64> {
        d.file_list()
            .unwrap()
            .iter()
            .filter(|f| f.filegroup > 0)
            .map(|f| f.size_pages)
            .collect()
    };
    assert_eq!(sizes(&database), [896, 896]);
    database.add_file(&data("c"), None).unwrap();
    session.insert(&table, &pad(4000)).unwrap();
    drop((session, table, database));
    instance.abandon();
    drop(instance);
    let instance = start(&volume);
    let database = instance.database("Db").unwrap();
    assert_eq!(sizes(&database), [896, 896, 640]);
    assert_eq!(ids(&database).len(), count + 1);
}

#[test]
fn ghosts_go_by_themselves_unless_trace_flag_661_is_on() {
    let volume = memory();
    let instance = start(&volume);
    let database = instance
        .create_database(&spec(Path::new("d"), log_file().growth_mb(1)))
        .unwrap();
    let flags = &instance.instruments().trace_flags;
    flags.turn_on(&[661], Target::Global).unwrap();
    let table = table(&database);
    let mut session = Session::new(&database).unwrap();
    for id in 1..=200 {
        session.insert(&table, &pad(100)).unwrap();
        let key = table.row_key(&[Value::BigInt(id)]).unwrap();
        assert!(session.delete(&table, &key).unwrap());
    }
    database.nudge_background();
    sleep(Duration::from_millis(100));
    flags.turn_off(&[661], Target::Global).unwrap();
    assert!(
        database.purge_ghosts().unwrap() > 0,
        "the flag did not rest the cleanup"
    );
    for _ in 0..200 {
        session.insert(&table, &pad(100)).unwrap();
    }
    for id in 201..=400 {
        session
            .delete(&table, &table.row_key(&[Value::BigInt(id)]).unwrap())
            .unwrap();
    }
    let ghosts = || {
        database.nudge_background();
        sleep(Duration::from_millis(20));
        database.purge_ghosts().unwrap()
    };
    until("ghosts are gone", || ghosts() == 0);
}

#[test]
fn checkpoints_are_printed_by_3502_and_3504() {
    let volume = memory();
    let instance = start(&volume);
    let database = instance
        .create_database(&spec(Path::new("d"), log_file()))
        .unwrap();
    instance
        .instruments()
        .trace_flags
        .turn_on(&[3502, 3504], Target::Global)
        .unwrap();
    table(&database);
    database.checkpoint().unwrap();
    assert_eq!(database.dirty_pages(), 0);
    let lines: Vec<String> = instance
        .error_log()
        .tail(3)
        .into_iter()
        .map(|l| l.text)
        .collect();
    assert_eq!(lines[0], "Ckpt dbid 5 started (Db)");
    assert!(lines[1].starts_with("Ckpt dbid 5: wrote "), "{lines:?}");
    assert_eq!(lines[2], "Ckpt dbid 5 complete (Db)");
}

#[test]
fn the_background_writer_takes_a_checkpoint_when_the_log_is_nearly_full() {
    let volume = memory();
    let instance = start(&volume);
    let spec = spec(Path::new("d"), log_file().no_growth());
    let database = instance.create_database(&spec).unwrap();
    let table = table(&database);
    let mut session = Session::new(&database).unwrap();
    let flags = &instance.instruments().trace_flags;
    flags.turn_on(&[3505], Target::Global).unwrap();
    while database.log_view().usage.used_percent() < 75.0 {
        session.insert(&table, &pad(2000)).unwrap();
    }
    flags.turn_off(&[3505], Target::Global).unwrap();
    until("the log is cut", || {
        database.nudge_background();
        database.log_view().usage.used_percent() < 60.0
    });
}

#[test]
fn a_small_log_that_fills_fast_is_cut_in_time() {
    let volume = memory();
    let instance = start(&volume);
    // It is full before the checkpointer's next look: only the alarm wakes it in time.
    let spec = spec(Path::new("d"), log_file().no_growth());
    let database = instance.create_database(&spec).unwrap();
    let table = table(&database);
    let mut session = Session::new(&database).unwrap();
    let (mut rows, mut high) = (0, 0);
    while rows * 4000 < 20 * database.log_view().usage.total_bytes {
        session.insert(&table, &pad(4000)).unwrap();
        high += u64::from(database.log_view().usage.used_percent() > 75.0);
        rows += 1;
        sleep(Duration::from_micros(150));
    }
    let checkpoints = database.checkpoints();
    assert!(checkpoints >= 20, "{checkpoints} checkpoints");
    assert!(
        high * 10 <= rows,
        "nearly full after {high} of {rows} inserts"
    );
}

#[test]
fn opening_after_a_clean_shutdown_reads_little_of_a_large_database() {
    let volume = memory();
    let instance = start(&volume);
    let large = FileSpec::new("large", "d/large.ndf").size_mb(512);
    let spec = spec(Path::new("d"), log_file().growth_mb(8)).file(large);
    let database = instance.create_database(&spec).unwrap();
    let table = table(&database);
    let mut session = Session::new(&database).unwrap();
    session.begin().unwrap();
    for _ in 0..1000 {
        session.insert(&table, &pad(4000)).unwrap();
    }
    session.commit().unwrap();
    drop((session, table, database));
    instance.shut_down().unwrap();
    drop(instance);
    let instance = start(&volume);
    let read: u64 = instance
        .instruments()
        .files
        .snapshot()
        .iter()
        .map(|f| f.reads.bytes)
        .sum();
    assert!(read < 4 << 20, "{read} bytes read");
    assert_eq!(ids(&instance.database("Db").unwrap()).len(), 1000);
}

#[test]
fn a_log_that_fails_makes_the_database_suspect_and_recovery_keeps_what_was_acknowledged() {
    let sim = SimVolume::new(SimOptions::default());
    sim.create_dir(Path::new("d")).unwrap();
    let volume: Arc<dyn Volume> = Arc::new(sim.clone());
    let instance = start(&volume);
    let database = instance
        .create_database(&spec(Path::new("d"), log_file()))
        .unwrap();
    let table = table(&database);
    let mut session = Session::new(&database).unwrap();
    for _ in 0..50 {
        session.insert(&table, &pad(100)).unwrap();
    }
    sim.inject(Fault::new(Ops::Syncs, Effect::Fail).under("d/log.ldf"));
    assert!(session.insert(&table, &pad(100)).is_err());
    until("suspect", || {
        database.nudge_background();
        database.state() == DatabaseState::Suspect
    });
    assert_eq!(instance.database("Db").unwrap_err().number(), 926);
    assert!(
        session
            .get(&table, &[Value::BigInt(1)])
            .is_err_and(|e| e.number() == 926)
    );
    drop((session, table, database));
    let database = instance.reopen_database("Db").unwrap();
    let left = ids(&database).len();
    // The row that was refused may be there or not: no message says that it is.
    assert!((50..=51).contains(&left), "{left}");
}

const CHILD: &str = "FURROW_TEST_KILLED_CHILD";

/// Not a test by itself: the process that the next test kills.
#[test]
fn child_that_is_killed() {
    let Ok(dir) = std::env::var(CHILD) else {
        return;
    };
    let volume: Arc<dyn Volume> = Arc::new(SystemVolume::new());
    let config = InstanceConfig {
        directory: Some(Path::new(&dir).join("i")),
        ..config()
    };
    let instance = Instance::start(volume, config).unwrap();
    let database = instance.database("Db").unwrap();
    thread::scope(|s| {
        for _ in 0..4 {
            s.spawn(|| {
                let mut session = Session::new(&database).unwrap();
                let table = session.table("t").unwrap();
                loop {
                    let id = session.insert(&table, &pad(1000)).unwrap().unwrap();
                    println!("acknowledged {id}");
                }
            });
        }
    });
}

#[test]
fn a_killed_process_loses_nothing_that_it_acknowledged() {
    let root = tempfile::tempdir().unwrap();
    let dir = root.path();
    let volume: Arc<dyn Volume> = Arc::new(SystemVolume::new());
    let config = || InstanceConfig {
        directory: Some(dir.join("i")),
        ..config()
    };
    {
        let instance = Instance::start(Arc::clone(&volume), config()).unwrap();
        let log = FileSpec::new("log", dir.join("log.ldf")).size_mb(1);
        let database = instance.create_database(&spec(dir, log)).unwrap();
        table(&database);
        instance.shut_down().unwrap();
    }
    let mut acknowledged = Vec::new();
    for round in 0..3 {
        let mut child = std::process::Command::new(std::env::current_exe().unwrap())
            .args([
                "lifecycle_background::child_that_is_killed",
                "--exact",
                "--nocapture",
            ])
            .env(CHILD, dir)
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap())
            .lines()
            .map_while(Result::ok);
        let id = |line: String| {
            line.split_once("acknowledged ")?
                .1
                .trim()
                .parse::<i64>()
                .ok()
        };
        acknowledged.extend(lines.by_ref().filter_map(id).take(100 + round * 150));
        child.kill().unwrap();
        acknowledged.extend(lines.filter_map(id));
        child.wait().unwrap();
        let instance = Instance::start(Arc::clone(&volume), config()).unwrap();
        let found = ids(&instance.database("Db").unwrap());
        let lost: Vec<_> = acknowledged
            .iter()
            .filter(|id| found.binary_search(id).is_err())
            .collect();
        assert!(
            lost.is_empty(),
            "round {round}: lost {lost:?} of {}",
            acknowledged.len()
        );
        assert!(found.windows(2).all(|w| w[0] < w[1]));
        instance.shut_down().unwrap();
    }
    assert!(acknowledged.len() >= 700);
}
