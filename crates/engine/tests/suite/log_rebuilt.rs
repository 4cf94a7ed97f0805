//! Databases attached without their log: it is made anew where nothing in it was needed, and only there.

#![expect(clippy::unwrap_used, reason = "a failed step is a failed test")]

use crate::simulated;

use furrow_engine::{
    AttachOptions, ColumnSpec, Database, EngineError, FileSpec, Instance, ScanSpec, Session,
    TableSpec,
};
use furrow_format::PAGE_SIZE;
use furrow_io::sim::{Crash, Effect, Fault, Ops};
use furrow_io::{SimVolume, Volume};
use furrow_types::{DataType, TypeId, Value};
use simulated::{new_volume, start};
use std::path::Path;
use std::sync::Arc;

const LOG: &str = "d/l.ldf";

fn put(database: &Arc<Database>, ids: std::ops::Range<i32>) {
    let mut session = Session::new(database).unwrap();
    let table = session.table("t").unwrap();
    for id in ids {
        session.insert(&table, &[Value::Int(id)]).unwrap();
    }
}

fn ids(database: &Arc<Database>) -> Vec<i32> {
    let mut session = Session::new(database).unwrap();
    let table = session.table("t").unwrap();
    let scan = session.scan(&table, &ScanSpec::default()).unwrap();
    let mut out = Vec::new();
    scan.for_each(|row| {
        out.extend(row.values()?);
        Ok(())
    })
    .unwrap();
    let id = |value: Value| match value {
        Value::Int(id) => id,
        other => panic!("{other:?}"),
    };
    out.into_iter().map(id).collect()
}

/// A database of three rows.
fn made(volume: &SimVolume) -> (Arc<Instance>, Arc<Database>) {
    let instance = start(volume).unwrap();
    let log = FileSpec::new("L", LOG).size_kb(1024);
    let database = instance.create_database(&simulated::spec(log)).unwrap();
    let mut session = Session::new(&database).unwrap();
    let int = DataType::simple(TypeId::Int);
    let table = TableSpec::new("t").column(ColumnSpec::new("id", int).not_null());
    session.create_table(&table).unwrap();
    drop(session);
    put(&database, 0..3);
    (instance, database)
}

fn attach(instance: &Instance) -> Result<Arc<Database>, EngineError> {
    instance.attach_database(Path::new("d/p.mdf"), &AttachOptions::default())
}

fn numbers(error: &EngineError) -> Vec<u32> {
    error.messages().iter().map(|m| m.number).collect()
}

/// A machine with the database of three rows, detached, and without its log.
fn without_log() -> SimVolume {
    let volume = new_volume();
    let (instance, database) = made(&volume);
    drop(database);
    instance.detach_database("Db").unwrap();
    volume.remove(Path::new(LOG)).unwrap();
    instance.shut_down().unwrap();
    volume.fork()
}

#[test]
fn after_a_clean_shutdown_a_lost_log_is_made_anew() {
    let volume = without_log();
    let instance = start(&volume).unwrap();
    let database = attach(&instance).unwrap();
    let reported: Vec<u32> = database.take_messages().iter().map(|m| m.number).collect();
    assert_eq!(reported, [5111, 5182]);
    assert_eq!(volume.contents(Path::new(LOG)).unwrap().len(), 1 << 20);
    assert_eq!(ids(&database), [0, 1, 2]);
    put(&database, 3..40);
    drop(database);
    // The new log does what the old one did.
    instance.abandon();
    drop(instance);
    let instance = start(&volume).unwrap();
    let database = instance.database("Db").unwrap();
    assert_eq!(ids(&database).len(), 40);
    assert_eq!(database.take_messages(), []);
}

#[test]
fn a_log_that_was_needed_is_not_made_anew() {
    let volume = new_volume();
    let (instance, database) = made(&volume);
    drop(database);
    instance.abandon();
    drop(instance);
    volume.remove(Path::new(LOG)).unwrap();
    let machine = new_volume();
    for path in ["d/p.mdf", "d/p.mdf.dw", "d/s.ndf", "d/s.ndf.dw"] {
        let bytes = volume.contents(Path::new(path)).unwrap();
        furrow_io::write_file(&machine, Path::new(path), &bytes).unwrap();
    }
    let instance = start(&machine).unwrap();
    let refused = attach(&instance).unwrap_err();
    assert_eq!(numbers(&refused), [5111, 5113, 1813], "{refused}");
    assert!(!machine.exists(Path::new(LOG)).unwrap());
}

#[test]
fn a_log_that_comes_back_after_it_was_made_anew_is_refused() {
    let volume = new_volume();
    let (instance, database) = made(&volume);
    drop(database);
    instance.detach_database("Db").unwrap();
    let old = volume.contents(Path::new(LOG)).unwrap();
    volume.remove(Path::new(LOG)).unwrap();
    let database = attach(&instance).unwrap();
    put(&database, 3..6);
    drop(database);
    instance.detach_database("Db").unwrap();
    let new = volume.contents(Path::new(LOG)).unwrap();
    volume.remove(Path::new(LOG)).unwrap();
    furrow_io::write_file(&volume, Path::new(LOG), &old).unwrap();
    let refused = attach(&instance).unwrap_err();
    assert_eq!(numbers(&refused), [5108, 5173], "{refused}");
    volume.remove(Path::new(LOG)).unwrap();
    furrow_io::write_file(&volume, Path::new(LOG), &new).unwrap();
    assert_eq!(ids(&attach(&instance).unwrap()).len(), 6);
}

#[test]
fn a_log_made_anew_stays_if_the_attach_fails_over_a_damaged_file_that_is_mended_later() {
    let volume = without_log();
    let instance = start(&volume).unwrap();
    let second = Path::new("d/s.ndf");
    let sound = volume.contents(second).unwrap();
    volume
        .rot(second, 2 * PAGE_SIZE as u64 + 200, 0xFF)
        .unwrap();
    let refused = attach(&instance).unwrap_err();
    assert!(refused.has(824), "{refused}");
    volume.overwrite(second, 0, &sound).unwrap();
    assert_eq!(ids(&attach(&instance).unwrap()), [0, 1, 2]);
}

#[test]
fn an_attach_that_fails_before_the_new_log_is_needed_leaves_none() {
    let volume = without_log();
    let instance = start(&volume).unwrap();
    let second = Path::new("d/s.ndf");
    let sound = volume.contents(second).unwrap();
    volume.remove(second).unwrap();
    attach(&instance).unwrap_err();
    assert!(!volume.exists(Path::new(LOG)).unwrap());
    furrow_io::write_file(&volume, second, &sound).unwrap();
    assert_eq!(ids(&attach(&instance).unwrap()), [0, 1, 2]);
}

#[test]
fn whatever_operation_fails_while_a_log_is_made_anew_the_next_attach_succeeds() {
    let ready = without_log();
    for effect in [Effect::Fail, Effect::NoSpace] {
        let (mut n, mut failed) = (0, 0);
        loop {
            n += 1;
            let volume = ready.fork();
            let instance = start(&volume).unwrap();
            let before = volume.counts().matching(Ops::Any);
            volume.inject(Fault::new(Ops::Any, effect).under("d").nth(n));
            let first = attach(&instance);
            let met = volume.counts().matching(Ops::Any) - before >= n;
            volume.heal();
            let database = first.or_else(|_| {
                failed += 1;
                attach(&instance)
            });
            let database = database.unwrap_or_else(|e| panic!("{effect:?}, operation {n}: {e}"));
            assert_eq!(ids(&database), [0, 1, 2], "{effect:?}, operation {n}");
            drop(database);
            instance.shut_down().unwrap();
            if !met {
                break;
            }
        }
        assert!(failed > 5, "{failed}");
    }
}

#[test]
fn a_file_that_is_no_log_is_not_taken_for_one_that_was_not_finished() {
    for bytes in [&b"my notes"[..], &[7; 9000]] {
        let volume = without_log();
        furrow_io::write_file(&volume, Path::new(LOG), bytes).unwrap();
        let instance = start(&volume).unwrap();
        assert_eq!(numbers(&attach(&instance).unwrap_err()), [5172]);
        assert_eq!(volume.contents(Path::new(LOG)).unwrap(), bytes);
        volume.remove(Path::new(LOG)).unwrap();
        assert_eq!(ids(&attach(&instance).unwrap()), [0, 1, 2]);
    }
}

#[test]
fn power_lost_anywhere_while_a_log_is_made_anew_loses_no_row() {
    let ready = without_log();
    let mut n = 0;
    loop {
        n += 1;
        let volume = ready.fork();
        let instance = start(&volume).unwrap();
        volume.inject(
            Fault::new(Ops::Changes, Effect::PowerLoss)
                .under("d")
                .nth(n),
        );
        let done = attach(&instance).is_ok() && volume.is_powered();
        let named = [Crash::DropAll, Crash::KeepAll, Crash::Torn { seed: n }];
        let seeds = (0..16).map(|seed| n * 16 + seed);
        let drawn = seeds.flat_map(|seed| [Crash::Random { seed }, Crash::Unreadable { seed }]);
        for crash in named.into_iter().chain(drawn) {
            let after = volume.crash(&crash);
            let instance = start(&after).unwrap();
            let database = instance.database("Db").or_else(|_| attach(&instance));
            let database = database.unwrap_or_else(|e| panic!("operation {n}, {crash:?}: {e}"));
            assert_eq!(ids(&database), [0, 1, 2], "operation {n}, {crash:?}");
        }
        drop(instance);
        if done {
            break;
        }
    }
    assert!(n > 5, "{n}");
}

#[test]
fn power_lost_anywhere_in_a_shutdown_never_lets_a_log_that_is_needed_be_made_anew() {
    let ready = new_volume();
    let (instance, database) = made(&ready);
    drop(database);
    instance.shut_down().unwrap();
    let ready = ready.fork();
    let (mut n, mut anew, mut refused) = (0, 0, 0);
    loop {
        n += 1;
        let volume = ready.fork();
        let instance = start(&volume).unwrap();
        let database = instance.database("Db").unwrap();
        put(&database, 3..300);
        drop(database);
        volume.inject(
            Fault::new(Ops::Changes, Effect::PowerLoss)
                .under("d")
                .nth(n),
        );
        let done = instance.shut_down().is_ok() && volume.is_powered();
        for crash in [Crash::DropAll, Crash::KeepAll, Crash::Torn { seed: n }] {
            let after = volume.crash(&crash);
            let machine = new_volume();
            for path in after.list(Path::new("d")).unwrap() {
                if path != Path::new(LOG) {
                    let bytes = after.contents(&path).unwrap();
                    furrow_io::write_file(&machine, &path, &bytes).unwrap();
                }
            }
            let instance = start(&machine).unwrap();
            match attach(&instance) {
                Ok(database) => {
                    assert_eq!(ids(&database).len(), 300, "operation {n}, {crash:?}");
                    anew += 1;
                }
                Err(error) => {
                    assert_eq!(
                        numbers(&error),
                        [5111, 5113, 1813],
                        "operation {n}, {crash:?}"
                    );
                    refused += 1;
                }
            }
        }
        drop(instance);
        if done {
            break;
        }
    }
    assert!(anew >= 3 && refused > 3, "{anew}, {refused}");
}
