//! EMERGENCY: a database whose log is lost is readable, and a repair makes it one that can be used, whatever
//! cuts the repair short.

#![expect(clippy::unwrap_used, reason = "a failed step is a failed test")]

use crate::repair_crash::{fill, findings, is_file_left, start};
use crate::simulated::{new_volume, spec};
use furrow_check::{Options, Repaired};
use furrow_engine::{DatabaseState, EngineError, FileSpec, Instance, Session};
use furrow_format::{FileId, PageId, UserAccess};
use furrow_io::random::{Rng, SeededRng, seeded, test_seed};
use furrow_io::sim::{Crash, Effect, Fault, Ops};
use furrow_io::{Access, Open, SimVolume, Volume};
use furrow_pool::double_write;
use furrow_types::Value;
use std::path::Path;
use std::sync::Arc;

const LOG: &str = "d/l.ldf";
/// The number of the second data file: the log has 2.
const SECOND: FileId = FileId(3);

/// What becomes of the log.
#[derive(Debug, Clone, Copy)]
enum Hurt {
    Lost,
    Zeroed,
    Cut,
}

/// A machine with a database that was in use when the power went, and whose log is hurt; rows by then.
fn without_its_log(rng: &mut SeededRng, hurt: Hurt) -> SimVolume {
    let volume = new_volume();
    let instance = start(&volume).unwrap();
    let database = instance
        .create_database(&spec(FileSpec::new("L", LOG).size_mb(2)))
        .unwrap();
    fill(&database, rng);
    database.checkpoint().unwrap();
    // A transaction that is in the files and never ends.
    let mut session = Session::new(&database).unwrap();
    let table = session.table("c").unwrap();
    session.begin().unwrap();
    for id in 1_000..1_050 {
        let row = [Value::BigInt(id), crate::tables_common::s("open")];
        session.insert(&table, &row).unwrap();
    }
    database.checkpoint().unwrap();
    volume.power_off();
    instance.abandon();
    drop((session, database, instance));
    let volume = volume.crash(&Crash::KeepAll);
    let path = Path::new(LOG);
    let bytes = volume.contents(path).unwrap();
    volume.remove(path).unwrap();
    match hurt {
        Hurt::Lost => {}
        Hurt::Zeroed => furrow_io::write_file(&volume, path, &vec![0; bytes.len()]).unwrap(),
        Hurt::Cut => furrow_io::write_file(&volume, path, &bytes[..8192]).unwrap(),
    }
    volume
}

fn rows(instance: &Instance) -> usize {
    let database = instance.database("Db").unwrap();
    let mut session = Session::new(&database).unwrap();
    let table = session.table("c").unwrap();
    let read = (0..1_050).filter(|id| {
        let row = session.get(&table, &[Value::BigInt(*id)]);
        row.unwrap().is_some()
    });
    read.count()
}

fn repair(instance: &Instance) -> Result<Repaired, EngineError> {
    let options = Options {
        workers: 1,
        ..Options::default()
    };
    instance.repair_database("Db", &options, &mut |repaired| repaired.left.is_empty())
}

/// Puts it in EMERGENCY with one user.
fn enter(instance: &Instance) -> Result<(), EngineError> {
    let database = instance.set_emergency("Db")?;
    assert!(database.set_user_access(UserAccess::Single, 0)?);
    Ok(())
}

fn state(instance: &Instance) -> DatabaseState {
    let views = instance.databases();
    views.iter().find(|view| view.name == "Db").unwrap().state
}

#[test]
fn a_database_without_its_log_is_read_in_emergency_and_repaired() {
    for hurt in [Hurt::Lost, Hurt::Zeroed, Hurt::Cut] {
        let volume = without_its_log(&mut seeded(3), hurt);
        let instance = start(&volume).unwrap();
        assert_ne!(state(&instance), DatabaseState::Online, "{hurt:?}");
        enter(&instance).unwrap();
        assert_eq!(state(&instance), DatabaseState::Emergency);
        assert!(rows(&instance) >= 150, "{hurt:?}");
        let database = instance.database("Db").unwrap();
        let mut session = Session::new(&database).unwrap();
        let table = session.table("c").unwrap();
        let row = [Value::BigInt(-1), crate::tables_common::s("no")];
        let refused = session.insert(&table, &row).unwrap_err();
        assert_eq!(refused.number(), 3908);
        assert_eq!(
            repair(&instance).unwrap_err().number(),
            3702,
            "it is in use"
        );
        drop((session, table, database));
        // Not agreed to: as before.
        let options = Options::default();
        instance
            .repair_database("Db", &options, &mut |_| false)
            .unwrap();
        assert_eq!(state(&instance), DatabaseState::Emergency, "{hurt:?}");
        let kept = Path::new("d/l.ldf.lost");
        assert!(!volume.exists(kept).unwrap(), "{hurt:?}");
        let log = volume.contents(Path::new(LOG)).ok();
        let repaired = repair(&instance).unwrap();
        assert!(repaired.left.is_empty());
        assert_eq!(state(&instance), DatabaseState::Online, "{hurt:?}");
        assert_eq!(
            volume.contents(kept).ok(),
            log,
            "{hurt:?}: the log that was replaced"
        );
        assert_eq!(findings(&instance), Vec::<String>::new(), "{hurt:?}");
        let database = instance.database("Db").unwrap();
        assert_eq!(database.options().user_access, UserAccess::Single);
        let reported = database.take_messages();
        let text = reported.iter().map(|m| m.text.clone()).collect::<String>();
        assert!(text.contains("has been rebuilt"), "{text}");
        let mut session = Session::new(&database).unwrap();
        let table = session.table("c").unwrap();
        session.insert(&table, &row).unwrap();
        drop((session, table, database));
        instance.abandon();
        drop(instance);
        // What is written now survives a crash: the new log is a log.
        let instance = start(&volume.crash(&Crash::DropAll)).unwrap();
        assert_eq!(findings(&instance), Vec::<String>::new(), "{hurt:?}");
        assert_eq!(state(&instance), DatabaseState::Online);
    }
}

#[test]
fn a_sound_database_leaves_emergency_with_nothing_lost() {
    let volume = new_volume();
    let instance = start(&volume).unwrap();
    let database = instance
        .create_database(&spec(FileSpec::new("L", LOG).size_mb(2)))
        .unwrap();
    fill(&database, &mut seeded(5));
    drop(database);
    enter(&instance).unwrap();
    assert_eq!(rows(&instance), 150);
    let repaired = repair(&instance).unwrap();
    assert!(repaired.found.is_empty() && repaired.pages.is_empty());
    assert_eq!(state(&instance), DatabaseState::Online);
    let database = instance.database("Db").unwrap();
    assert!(
        database.take_messages().is_empty(),
        "its log is the one that it had"
    );
    drop(database);
    enter(&instance).unwrap();
    let database = instance.reopen_database("Db").unwrap();
    assert_eq!(database.state(), DatabaseState::Online);
}

#[test]
fn an_emergency_repair_that_a_power_loss_cuts_short_is_finished_or_forgotten() {
    let seed = test_seed();
    println!("FURROW_SEED={seed}");
    let mut rng = seeded(seed);
    let hurt = [Hurt::Lost, Hurt::Zeroed, Hurt::Cut][rng.random_range(0..3)];
    let ready = without_its_log(&mut rng, hurt);
    let (mut n, mut finished, mut points) = (0, 0, 0);
    loop {
        n += 1;
        let volume = ready.fork();
        let instance = start(&volume).unwrap();
        enter(&instance).unwrap();
        volume.inject(Fault::new(Ops::Changes, Effect::PowerLoss).nth(n));
        let ended = repair(&instance);
        let done = ended.is_ok() && volume.is_powered();
        instance.abandon();
        drop(instance);
        let torn = Crash::Torn { seed: rng.random() };
        for outcome in [Crash::DropAll, Crash::KeepAll, torn] {
            let context = format!("seed {seed}, {hurt:?}, operation {n}, {outcome:?}");
            let online = prove(&volume.crash(&outcome), &context);
            assert!(online || !done, "{context}");
            finished += u32::from(online);
            points += 1;
            // Once more while it starts: what was decided stays.
            let after = volume.crash(&outcome);
            let m = rng.random_range(1..40);
            after.inject(Fault::new(Ops::Changes, Effect::PowerLoss).nth(m));
            if let Ok(instance) = start(&after) {
                instance.abandon();
            }
            let context = format!("{context}, then {m}");
            let after = after.crash(&Crash::Torn { seed: rng.random() });
            assert_eq!(prove(&after, &context), online, "{context}");
            points += 1;
        }
        if done {
            break;
        }
    }
    println!("{n} operations, {points} points, {finished} finished");
    assert!(finished > 5 && points - finished > 5, "{points} {finished}");
}

/// A machine that lost its power while pages were written in place, and its log with it: their images are in
/// the double-write file. Which they are.
fn torn_without_its_log(rng: &mut SeededRng, n: u64) -> (SimVolume, Vec<PageId>) {
    let volume = new_volume();
    let instance = start(&volume).unwrap();
    let log = FileSpec::new("L", LOG).size_mb(2);
    let second = FileSpec::new("D2", "d/d2.ndf").size_mb(2);
    let database = instance.create_database(&spec(log).file(second)).unwrap();
    fill(&database, rng);
    database.checkpoint().unwrap();
    // Pages that are on the disk already, and change: their images are needed.
    let mut session = Session::new(&database).unwrap();
    let table = session.table("c").unwrap();
    for id in 0..150 {
        let key = table.row_key(&[Value::BigInt(id)]).unwrap();
        let changed = [(1, crate::tables_common::s("changed"))];
        session.update(&table, &key, &changed).unwrap();
    }
    drop((session, table));
    volume.inject(Fault::new(Ops::Changes, Effect::PowerLoss).nth(n));
    let _interrupted = database.checkpoint();
    volume.power_off();
    instance.abandon();
    drop((database, instance));
    let volume = volume.crash(&Crash::Torn { seed: rng.random() });
    volume.remove(Path::new(LOG)).unwrap();
    let probe = volume.fork();
    let open = |path: &str| probe.open(Path::new(path), Open::Existing, Access::Data);
    let mut torn = Vec::new();
    for (path, id) in [("d/p.mdf", FileId(1)), ("d/d2.ndf", SECOND)] {
        let (file, images) = (open(path).unwrap(), open(&format!("{path}.dw")).unwrap());
        let stats = double_write::repair(&*file, &*images, id).unwrap();
        torn.extend(stats.restored);
    }
    (volume, torn)
}

#[test]
fn pages_that_were_being_written_when_the_log_was_lost_are_put_back_by_the_repair() {
    let seed = test_seed();
    println!("FURROW_SEED={seed}");
    let mut rng = seeded(seed);
    let (mut seen, mut of_second) = (0, 0);
    for n in (1..=20).cycle().take(120) {
        let (volume, torn) = torn_without_its_log(&mut rng, n);
        if torn.is_empty() {
            continue;
        }
        seen += 1;
        let is_second = torn.iter().any(|page| page.file == SECOND);
        let instance = start(&volume).unwrap();
        enter(&instance).unwrap();
        // A catalog of which a part was in the log alone may not be one that can be opened.
        let Ok(repaired) = repair(&instance) else {
            assert_ne!(state(&instance), DatabaseState::Online, "seed {seed}, {n}");
            continue;
        };
        let unread: Vec<PageId> = (repaired.found.iter())
            .filter(|finding| finding.message.number == 8928)
            .filter_map(|finding| finding.page)
            .filter(|page| torn.contains(page))
            .collect();
        assert_eq!(unread, Vec::<PageId>::new(), "seed {seed}, {n}: {torn:?}");
        of_second += u32::from(is_second);
        // Pages that had not been written at all were in the log alone.
        let lost: Vec<PageId> = (repaired.losses.iter())
            .flat_map(|loss| loss.pages.iter().copied())
            .filter(|page| torn.contains(page))
            .collect();
        assert_eq!(lost, Vec::<PageId>::new(), "seed {seed}, {n}: {torn:?}");
        // Where only the log had what would make the files whole, nothing was agreed to.
        if repaired.left.is_empty() {
            assert_eq!(
                findings(&instance),
                Vec::<String>::new(),
                "seed {seed}, {n}"
            );
        }
        instance.abandon();
    }
    println!("{seen} machines with torn pages, {of_second} of the second file");
    assert!(seen > 0, "no machine has torn pages");
}

#[test]
fn a_repair_in_emergency_is_refused_where_a_new_log_would_hide_the_fault() {
    let volume = new_volume();
    let instance = start(&volume).unwrap();
    let log = FileSpec::new("L", LOG).size_mb(2);
    let second = FileSpec::new("D2", "d/d2.ndf").size_mb(2);
    let database = instance.create_database(&spec(log).file(second)).unwrap();
    fill(&database, &mut seeded(7));
    database.checkpoint().unwrap();
    let old = volume.contents(Path::new("d/d2.ndf")).unwrap();
    let mut session = Session::new(&database).unwrap();
    let table = session.table("c").unwrap();
    for id in 1_000..1_200 {
        let row = [
            Value::BigInt(id),
            crate::tables_common::s(&"later".repeat(100)),
        ];
        session.insert(&table, &row).unwrap();
    }
    database.checkpoint().unwrap();
    volume.power_off();
    instance.abandon();
    drop((session, table, database, instance));
    let volume = volume.crash(&Crash::KeepAll);
    let log = volume.contents(Path::new(LOG)).unwrap();
    volume.remove(Path::new("d/d2.ndf")).unwrap();
    furrow_io::write_file(&volume, Path::new("d/d2.ndf"), &old).unwrap();
    let instance = start(&volume).unwrap();
    assert_ne!(state(&instance), DatabaseState::Online);
    enter(&instance).unwrap();
    let refused = repair(&instance).unwrap_err();
    assert!(refused.has(5173), "{refused}");
    assert_eq!(state(&instance), DatabaseState::Emergency);
    let database = instance.database("Db").unwrap();
    assert_eq!(database.options().user_access, UserAccess::Single);
    assert_eq!(volume.contents(Path::new(LOG)).unwrap(), log);
}

#[test]
fn an_emergency_repair_that_fails_keeps_a_copy_of_the_log_only_where_a_journal_is_left() {
    let ready = without_its_log(&mut seeded(11), Hurt::Zeroed);
    let mut removed = 0;
    for n in 1..=40 {
        let volume = ready.fork();
        let instance = start(&volume).unwrap();
        enter(&instance).unwrap();
        volume.inject(Fault::new(Ops::Changes, Effect::NoSpace).nth(n));
        if repair(&instance).is_ok() {
            instance.abandon();
            continue;
        }
        let exists = |path: &str| volume.exists(Path::new(path)).unwrap();
        let journal = exists("d/p.mdf_MSSQL_REPAIR");
        assert!(journal || !exists("d/l.ldf.lost"), "operation {n}");
        removed += u32::from(!journal);
        instance.abandon();
    }
    assert!(removed > 0, "no repair failed before its journal was there");
}

/// Starts the machine: the database is ONLINE and sound, or as it was before the repair, which works then.
fn prove(machine: &SimVolume, context: &str) -> bool {
    let instance: Arc<Instance> = start(machine).unwrap();
    let online = state(&instance) == DatabaseState::Online;
    if !online {
        enter(&instance).unwrap();
        repair(&instance).unwrap();
        assert_eq!(state(&instance), DatabaseState::Online, "{context}");
    }
    assert!(!is_file_left(machine), "{context}");
    assert_eq!(findings(&instance), Vec::<String>::new(), "{context}");
    assert!(rows(&instance) >= 150, "{context}");
    instance.abandon();
    online
}
