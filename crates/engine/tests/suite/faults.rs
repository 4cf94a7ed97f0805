//! Power lost, disks full and devices failing at every step of creating a database, adding a file, growing
//! one.

#![expect(clippy::unwrap_used, reason = "a failed step is a failed test")]

use crate::simulated;

use furrow_engine::{
    Database, DatabaseSpec, DatabaseState, EngineError, FileChange, FileSpec, Instance,
};
use furrow_io::sim::{Crash, Effect, Fault, Ops};
use furrow_io::{SimVolume, Volume, thread};
use simulated::{new_volume, start};
use std::path::{Path, PathBuf};
use std::sync::Arc;

fn spec() -> DatabaseSpec {
    let log = FileSpec::new("L", "d/l.ldf").size_kb(1024).no_growth();
    simulated::spec(log)
}

fn files_in(volume: &SimVolume) -> Vec<PathBuf> {
    volume.list(Path::new("d")).unwrap()
}

/// Some outcomes of a power loss now.
fn outcomes(n: u64) -> Vec<Crash> {
    let torn = |i| Crash::Torn { seed: n * 7 + i };
    vec![Crash::DropAll, Crash::KeepAll, torn(1), torn(2)]
}

/// Points of power loss tried side by side: an instance without power takes its time to end.
const SIDE_BY_SIDE: u64 = 12;

/// Loses power at the n-th change of `work`, for every n until it ends first; hands each machine after it to
/// `look`. Returns how often the work was interrupted.
fn lose_power_everywhere(
    ready: &SimVolume,
    work: impl Fn(&SimVolume) -> Result<(), EngineError> + Sync,
    look: impl Fn(&SimVolume, &str) + Sync,
) -> u64 {
    let attempt = |n: u64| {
        let volume = ready.fork();
        volume.inject(Fault::new(Ops::Changes, Effect::PowerLoss).nth(n));
        let done = work(&volume).is_ok() && volume.is_powered();
        for outcome in outcomes(n) {
            look(
                &volume.crash(&outcome),
                &format!("operation {n}, {outcome:?}"),
            );
        }
        done
    };
    let (mut n, mut interrupted) = (0, 0);
    loop {
        let batch = n + 1..=n + SIDE_BY_SIDE;
        n += SIDE_BY_SIDE;
        let done = thread::scope(|s| {
            let attempt = &attempt;
            let threads: Vec<_> = batch.map(|n| s.spawn(move || attempt(n))).collect();
            let ended = threads.into_iter().map(|t| t.join().unwrap());
            ended.filter(|&done| done).count() as u64
        });
        interrupted += SIDE_BY_SIDE - done;
        if done > 0 {
            return interrupted;
        }
    }
}

#[test]
fn power_lost_while_creating_leaves_no_database_or_a_whole_one() {
    let work = |volume: &SimVolume| {
        let instance = start(volume)?;
        instance.create_database(&spec())?;
        instance.abandon();
        Ok(())
    };
    let look = |after: &SimVolume, what: &str| {
        let instance = start(after).unwrap_or_else(|e| panic!("{what}: {e}"));
        let databases = instance.databases();
        if let [database] = &databases[..] {
            assert_eq!(database.state, DatabaseState::Online, "{what}");
            let open = instance.database("Db").unwrap();
            assert_eq!(open.file_list().unwrap().len(), 3, "{what}");
            return;
        }
        assert_eq!(databases, [], "{what}");
        assert_eq!(files_in(after), Vec::<PathBuf>::new(), "{what}");
        instance
            .create_database(&spec())
            .unwrap_or_else(|e| panic!("{what}: {e}"));
    };
    let steps = lose_power_everywhere(&new_volume(), work, look);
    assert!(steps > 30, "{steps}");
}

fn with_database() -> SimVolume {
    let volume = new_volume();
    let instance = start(&volume).unwrap();
    instance.create_database(&spec()).unwrap();
    instance.shut_down().unwrap();
    volume.fork()
}

fn online(after: &SimVolume, what: &str) -> (Arc<Instance>, Arc<Database>) {
    let instance = start(after).unwrap_or_else(|e| panic!("{what}: {e}"));
    let tail = || {
        let lines = instance.error_log().tail(6);
        lines
            .iter()
            .map(|l| l.text.clone())
            .collect::<Vec<_>>()
            .join("\n")
    };
    let database = instance
        .database("Db")
        .unwrap_or_else(|e| panic!("{what}: {e}\n{}", tail()));
    (instance, database)
}

#[test]
fn power_lost_while_adding_a_file_leaves_it_whole_or_no_trace_of_it() {
    let added = FileSpec::new("N", "d/n.ndf").size_kb(512);
    let work = |volume: &SimVolume| {
        let instance = start(volume)?;
        instance.database("Db")?.add_file(&added, None)?;
        instance.abandon();
        Ok(())
    };
    let look = |after: &SimVolume, what: &str| {
        let (_instance, database) = online(after, what);
        let there = database.file_list().unwrap().iter().any(|f| f.name == "N");
        assert_eq!(files_in(after).contains(&"d/n.ndf".into()), there, "{what}");
        if there {
            database
                .remove_file("N")
                .unwrap_or_else(|e| panic!("{what}: {e}"));
        }
        assert!(!files_in(after).contains(&"d/n.ndf".into()), "{what}");
        database
            .add_file(&added, None)
            .unwrap_or_else(|e| panic!("{what}: {e}"));
    };
    let steps = lose_power_everywhere(&with_database(), work, look);
    assert!(steps > 10, "{steps}");
}

#[test]
fn power_lost_while_removing_a_file_leaves_it_whole_or_no_trace_of_it() {
    let work = |volume: &SimVolume| {
        let instance = start(volume)?;
        instance.database("Db")?.remove_file("S")?;
        instance.abandon();
        Ok(())
    };
    let look = |after: &SimVolume, what: &str| {
        let (_instance, database) = online(after, what);
        let there = database.file_list().unwrap().iter().any(|f| f.name == "S");
        assert_eq!(files_in(after).contains(&"d/s.ndf".into()), there, "{what}");
    };
    lose_power_everywhere(&with_database(), work, look);
}

#[test]
fn power_lost_while_a_file_grows_leaves_the_old_size_or_the_new() {
    let grow = FileChange {
        size_kb: Some(1024),
        ..FileChange::default()
    };
    let work = |volume: &SimVolume| {
        let instance = start(volume)?;
        instance.database("Db")?.modify_file("S", &grow)?;
        instance.abandon();
        Ok(())
    };
    let look = |after: &SimVolume, what: &str| {
        let (_instance, database) = online(after, what);
        let files = database.file_list().unwrap();
        let file = files.iter().find(|f| f.name == "S").unwrap();
        match file.size_pages {
            64 => assert_eq!(file.free_extents, 7, "{what}"),
            128 => assert_eq!(file.free_extents, 15, "{what}"),
            other => panic!("{what}: {other} pages"),
        }
    };
    lose_power_everywhere(&with_database(), work, look);
}

#[test]
fn any_failing_operation_while_creating_leaves_nothing_behind() {
    for effect in [Effect::Fail, Effect::NoSpace] {
        let mut n = 0;
        loop {
            n += 1;
            let volume = new_volume();
            let instance = start(&volume).unwrap();
            volume.inject(Fault::new(Ops::Changes, effect).under("d").nth(n));
            let created = instance.create_database(&spec());
            if created.is_ok() {
                break;
            }
            volume.heal();
            assert_eq!(files_in(&volume), Vec::<PathBuf>::new(), "{effect:?} {n}");
            assert_eq!(instance.databases(), []);
            instance
                .create_database(&spec())
                .unwrap_or_else(|e| panic!("{effect:?} {n}: {e}"));
        }
        assert!(n > 15, "{n}");
    }
}

/// Numbers of an error's messages.
fn numbers(error: &EngineError) -> Vec<u32> {
    error.messages().iter().map(|m| m.number).collect()
}

#[test]
fn a_disk_too_small_for_a_database_says_5149_and_1802_and_keeps_nothing() {
    // Too small for the first data file, for its double-write file, for the log, for the second one, ...
    for kb in (64..8 * 1024).step_by(192) {
        let volume = new_volume();
        volume.set_capacity(Path::new("d"), kb * 1024);
        let instance = start(&volume).unwrap();
        let Err(refused) = instance.create_database(&spec()) else {
            assert!(kb > 3 * 1024, "{kb} KB were enough");
            return;
        };
        assert_eq!(numbers(&refused), [5149, 1802], "{kb} KB: {refused}");
        assert_eq!(files_in(&volume), Vec::<PathBuf>::new(), "{kb} KB");
        assert_eq!(instance.databases(), []);
    }
    panic!("8 MB are too little for a database of 2");
}

#[test]
fn a_disk_too_small_for_a_new_file_says_5149_and_5009_and_keeps_nothing() {
    let volume = with_database();
    let (_instance, database) = online(&volume, "start");
    let before = files_in(&volume);
    let used: u64 = before
        .iter()
        .map(|p| volume.contents(p).unwrap().len() as u64)
        .sum();
    let spec = FileSpec::new("N", "d/n.ndf").size_mb(1);
    // Too small for the file, then for its double-write file of 256 KB.
    for kb in (64..1024 + 256).step_by(64) {
        volume.set_capacity(Path::new("d"), used + kb * 1024);
        let refused = database.add_file(&spec, None).unwrap_err();
        assert_eq!(numbers(&refused), [5149, 5009], "{kb} KB: {refused}");
        assert_eq!(files_in(&volume), before, "{kb} KB");
        assert_eq!(database.file_list().unwrap().len(), 3);
    }
    volume.set_capacity(Path::new("d"), used + 2 * 1024 * 1024);
    database.add_file(&spec, None).unwrap();
}

#[test]
fn a_disk_that_is_full_refuses_a_file_and_a_growth_and_the_database_goes_on() {
    let volume = with_database();
    let (instance, database) = online(&volume, "start");
    let used: u64 = files_in(&volume)
        .iter()
        .map(|p| volume.contents(p).unwrap().len() as u64)
        .sum();
    volume.set_capacity(Path::new("d"), used + 256 * 1024);
    let spec = FileSpec::new("N", "d/n.ndf").size_mb(4);
    let refused = database.add_file(&spec, None).unwrap_err();
    assert_eq!(numbers(&refused), [5149, 5009], "{refused}");
    let grow = FileChange {
        size_kb: Some(8192),
        ..FileChange::default()
    };
    let refused = database.modify_file("S", &grow).unwrap_err();
    assert_eq!(numbers(&refused), [5149], "{refused}");
    database.checkpoint().unwrap();
    assert_eq!(database.state(), DatabaseState::Online);
    assert!(!files_in(&volume).contains(&"d/n.ndf".into()));
    volume.set_capacity(Path::new("d"), 1 << 30);
    database.add_file(&spec, None).unwrap();
    database.modify_file("S", &grow).unwrap();
    drop(database);
    instance.shut_down().unwrap();
    drop(instance);
    let (_instance, database) = online(&volume, "again");
    assert_eq!(database.file_list().unwrap().len(), 4);
}

#[test]
fn a_sync_that_fails_makes_the_database_suspect_until_it_is_reopened() {
    let volume = with_database();
    let (instance, database) = online(&volume, "start");
    let grow = FileChange {
        size_kb: Some(1024),
        ..FileChange::default()
    };
    database.modify_file("S", &grow).unwrap();
    volume.inject(
        Fault::new(Ops::Syncs, Effect::Fail)
            .under("d/p.mdf")
            .sticky(),
    );
    assert!(database.checkpoint().is_err());
    assert_eq!(database.state(), DatabaseState::Suspect);
    assert_eq!(database.check().unwrap_err().number(), 926);
    assert_eq!(instance.database("Db").unwrap_err().number(), 926);
    assert!(instance.databases()[0].reason.is_some());
    assert!(instance.reopen_database("Db").is_err());
    volume.heal();
    drop(database);
    let database = instance.reopen_database("Db").unwrap();
    let files = database.file_list().unwrap();
    assert_eq!(
        files.iter().find(|f| f.name == "S").unwrap().size_pages,
        128
    );
}
