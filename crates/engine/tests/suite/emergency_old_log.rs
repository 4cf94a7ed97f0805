//! A repair in EMERGENCY does not take an older copy of the log for a good one, whatever pages are lost that
//! would say which log the files need.

#![expect(clippy::unwrap_used, reason = "a failed step is a failed test")]

use crate::emergency_log::{
    BOOT, HEADER, LOG, PRIMARY, SECOND, damage, enter, files, prove_untouched, put, repair, state,
    without_images,
};
use crate::repair_crash::{fill, start};
use crate::simulated::{new_volume, spec};
use crate::tables_common::s;
use furrow_engine::{Database, DatabaseState, FileSpec, Instance, Session};
use furrow_io::SimVolume;
use furrow_io::random::seeded;
use furrow_io::sim::Crash;
use furrow_types::Value;
use std::path::Path;
use std::sync::Arc;

/// How the database was used after the log was copied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Use {
    /// Transactions that are committed, and a checkpoint.
    Transactions,
    /// The same. The copy has the beginning of one of the transactions, which recovery with it would undo.
    EndOfTransaction,
    /// The same, and the instance was started once more: the boot page is newer than the copy, too.
    Restart,
}

fn insert(session: &mut Session, ids: std::ops::Range<i64>) {
    let table = session.table("c").unwrap();
    for id in ids {
        let row = [Value::BigInt(id), s("late")];
        session.insert(&table, &row).unwrap();
    }
}

/// Makes the content of the database; the copy of its log.
fn used(volume: &SimVolume, database: &Arc<Database>, how: Use) -> Vec<u8> {
    fill(database, &mut seeded(17));
    database.checkpoint().unwrap();
    let mut session = Session::new(database).unwrap();
    let is_open = how != Use::Transactions;
    if is_open {
        session.begin().unwrap();
    }
    insert(&mut session, 150..200);
    let mut other = Session::new(database).unwrap();
    let heap = other.table("h").unwrap();
    let row = [Value::BigInt(1_000), s("late")];
    other.insert(&heap, &row).unwrap();
    database.checkpoint().unwrap();
    let copy = volume.durable_contents(Path::new(LOG)).unwrap();
    if is_open {
        session.commit().unwrap();
    }
    insert(&mut session, 200..350);
    database.checkpoint().unwrap();
    copy
}

fn lose_power(volume: &SimVolume, instance: Arc<Instance>) -> SimVolume {
    volume.power_off();
    instance.abandon();
    drop(instance);
    volume.crash(&Crash::KeepAll)
}

/// A machine whose power went, and that has got an older copy of its log since.
fn with_old_log(how: Use) -> SimVolume {
    let mut volume = new_volume();
    let instance = start(&volume).unwrap();
    let log = FileSpec::new("L", LOG).size_mb(2);
    let database = instance.create_database(&spec(log)).unwrap();
    let copy = used(&volume, &database, how);
    drop(database);
    volume = lose_power(&volume, instance);
    if how == Use::Restart {
        let instance = start(&volume).unwrap();
        volume = lose_power(&volume, instance);
    }
    without_images(&volume);
    put(&volume, LOG, &copy);
    volume
}

#[test]
fn an_old_log_is_not_taken_for_good_where_all_headers_are_lost() {
    let headers = [(PRIMARY, HEADER), (SECOND, HEADER)];
    for how in [Use::Transactions, Use::EndOfTransaction, Use::Restart] {
        for boot in [None, Some((PRIMARY, BOOT))] {
            let context = format!("{how:?}, {boot:?}");
            let volume = with_old_log(how);
            headers.iter().for_each(|place| damage(&volume, *place));
            boot.iter().for_each(|place| damage(&volume, *place));
            let instance = start(&volume).unwrap();
            assert_ne!(state(&instance), DatabaseState::Online, "{context}");
            enter(&instance).unwrap();
            let before = files(&volume);
            let refused = repair(&instance).map(drop).unwrap_err();
            // Where the boot page shows that the log is old, it is given up. That takes sound headers.
            let is_old = refused.has(5108) && refused.has(5173);
            assert!(is_old || refused.has(40514), "{context}: {refused}");
            assert!(!refused.has(40517), "{context}: {refused}");
            prove_untouched((&instance, &volume), &before, &context);
            instance.abandon();
        }
    }
}
