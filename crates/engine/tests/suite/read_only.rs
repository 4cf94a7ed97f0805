//! READ_ONLY and READ_WRITE: what a read-only database refuses, what it still does, and that nothing of it
//! is written.

#![expect(clippy::unwrap_used, reason = "a failed step is a failed test")]

use crate::simulated;

use furrow_engine::{
    BulkOptions, ColumnSpec, Database, DatabaseOptions, DatabaseSpec, EngineError, FileChange,
    FileSpec, IndexSpec, Isolation, LockHints, ScanSpec, Session, TableSpec,
};
use furrow_io::sim::{Crash, Effect, Fault, Ops};
use furrow_io::{Access, Open, SimVolume, Volume};
use furrow_types::{DataType, TypeId, Value};
use simulated::{new_volume, start};
use std::path::{Path, PathBuf};
use std::sync::Arc;

const ROWS: i64 = 50;

fn spec() -> DatabaseSpec {
    simulated::spec(FileSpec::new("L", "d/l.ldf").size_kb(1024))
}

fn table() -> TableSpec {
    TableSpec::new("t")
        .column(ColumnSpec::new("id", DataType::simple(TypeId::BigInt)).not_null())
        .column(ColumnSpec::new("n", DataType::simple(TypeId::Int)))
        .primary_key(["id"])
        .index(IndexSpec::new("by_n", ["n"]))
}

/// A machine with a database of some rows, one of them deleted and still a ghost.
fn ready() -> SimVolume {
    let volume = new_volume();
    let instance = start(&volume).unwrap();
    let database = instance.create_database(&spec()).unwrap();
    let mut session = Session::new(&database).unwrap();
    let table = session.create_table(&table()).unwrap();
    session.begin().unwrap();
    for id in 0..=ROWS {
        let row = [Value::BigInt(id), Value::Int(id as i32 % 7)];
        session.insert(&table, &row).unwrap();
    }
    session.commit().unwrap();
    let last = table.row_key(&[Value::BigInt(ROWS)]).unwrap();
    assert!(session.delete(&table, &last).unwrap());
    drop(session);
    drop(database);
    instance.shut_down().unwrap();
    volume.fork()
}

fn count(database: &Arc<Database>, isolation: Isolation, hints: LockHints) -> i64 {
    let mut session = Session::new(database).unwrap();
    session.set_isolation(isolation);
    let table = session.table("t").unwrap();
    let mut counts = Vec::new();
    for index in 0..table.indexes().len() {
        let spec = ScanSpec {
            index,
            hints,
            ..ScanSpec::default()
        };
        let mut rows = 0;
        let scan = session.scan(&table, &spec).unwrap();
        scan.for_each(|row| {
            assert_eq!(row.i32(1), row.i64(0).map(|id| id as i32 % 7));
            rows += 1;
            Ok(())
        })
        .unwrap();
        counts.push(rows);
    }
    assert_eq!(counts, [counts[0]; 2]);
    counts[0]
}

fn bytes_of(volume: &dyn Volume) -> Vec<(PathBuf, Vec<u8>)> {
    let read = |path: PathBuf| {
        let file = volume.open(&path, Open::ReadOnly, Access::Data).unwrap();
        let mut bytes = vec![0; file.len_bytes().unwrap() as usize];
        file.read_at(0, &mut bytes).unwrap();
        (path, bytes)
    };
    let files = volume.list(Path::new("d")).unwrap().into_iter();
    // What guards writes is no part of the database.
    let files = files.filter(|path| path.extension().is_none_or(|e| e != "dw"));
    files.map(read).collect()
}

/// Files that are not what they were.
fn changed(before: &[(PathBuf, Vec<u8>)], volume: &dyn Volume) -> Vec<PathBuf> {
    let now = bytes_of(volume);
    let gone = before.iter().filter(|f| !now.contains(f));
    let come = now.iter().filter(|f| !before.contains(f));
    gone.chain(come).map(|f| f.0.clone()).collect()
}

fn none() -> Vec<PathBuf> {
    Vec::new()
}

fn read_every_way(database: &Arc<Database>) {
    for isolation in [
        Isolation::ReadUncommitted,
        Isolation::ReadCommitted,
        Isolation::RepeatableRead,
        Isolation::Serializable,
    ] {
        for hints in [LockHints::default(), LockHints::update(), LockHints::hold()] {
            assert_eq!(count(database, isolation, hints), ROWS);
        }
    }
}

#[test]
fn a_read_only_database_refuses_every_change_and_goes_on_being_read() {
    let volume = ready();
    let instance = start(&volume).unwrap();
    let database = instance.database("Db").unwrap();
    database.set_read_only(true).unwrap();
    database.set_read_only(true).unwrap();
    assert!(database.is_read_only() && !database.is_attached_read_only());
    assert!(instance.databases()[0].read_only);
    let before = bytes_of(&volume);
    let mut session = Session::new(&database).unwrap();
    let table = session.table("t").unwrap();
    let key = table.row_key(&[Value::BigInt(3)]).unwrap();
    let row = [Value::BigInt(99), Value::Int(0)];
    let spec = TableSpec::new("u").column(ColumnSpec::new("a", DataType::simple(TypeId::Int)));
    let refused = |what: &str, result: Result<(), EngineError>| {
        let error = result.expect_err(what);
        assert!(error.has(3906), "{what}: {error}");
        error.number()
    };
    for explicit in [false, true] {
        if explicit {
            session.begin().unwrap();
        }
        refused("insert", session.insert(&table, &row).map(drop));
        refused("delete", session.delete(&table, &key).map(drop));
        refused("create table", session.create_table(&spec).map(drop));
        refused("drop table", session.drop_table("t"));
        refused("truncate", session.truncate_table("t"));
        let index = IndexSpec::new("more", ["n"]);
        refused("index", session.create_index("t", &index).map(drop));
        refused("drop index", session.drop_index("t", "by_n").map(drop));
        let changed = session.one_statement(|s| s.insert(&table, &row));
        refused("insert in a statement", changed.map(drop));
        let mut bulk = session
            .bulk_inserter(&table, &[0, 1], BulkOptions::default())
            .unwrap();
        bulk.i64(99).unwrap().null().unwrap();
        refused("bulk", bulk.insert());
        drop(bulk);
        if explicit {
            assert!(session.get(&table, &[Value::BigInt(3)]).unwrap().is_some());
            session.commit().unwrap();
        }
    }
    refused("update usage", session.update_usage(&table).map(drop));
    drop(session);
    let more = FileSpec::new("M", "d/m.ndf");
    let file = refused("add file", database.add_file(&more, None).map(drop));
    assert_eq!(file, 5004);
    let change = FileChange {
        size_kb: Some(8 << 10),
        ..FileChange::default()
    };
    refused("modify", database.modify_file("P", &change));
    refused("filegroup", database.add_filegroup("G").map(drop));
    let options = DatabaseOptions::default();
    refused("options", database.set_options(options));
    refused("checkpoint", database.checkpoint().map(drop));
    assert_eq!(database.purge_ghosts().unwrap(), 0);
    read_every_way(&database);
    assert_eq!(changed(&before, &volume), none());
    database.set_read_only(false).unwrap();
    let mut session = Session::new(&database).unwrap();
    session.insert(&table, &row).unwrap();
    database.checkpoint().unwrap();
    assert!(!instance.databases()[0].read_only);
}

#[test]
fn nobody_else_may_be_in_a_database_that_becomes_read_only() {
    let volume = ready();
    let instance = start(&volume).unwrap();
    let database = instance.database("Db").unwrap();
    let mut session = Session::new(&database).unwrap();
    let error = database.set_read_only(true).unwrap_err();
    assert!(error.number() == 5070 && error.has(5069), "{error}");
    let other = Session::new(&database).unwrap();
    assert_eq!(session.set_read_only(true).unwrap_err().number(), 5070);
    drop(other);
    session.begin().unwrap();
    assert_eq!(session.set_read_only(true).unwrap_err().number(), 226);
    session.rollback().unwrap();
    session.set_read_only(true).unwrap();
    assert!(database.is_read_only());
    drop(session);
    database.set_read_only(false).unwrap();
    Session::new(&database).unwrap();
}

#[test]
fn a_read_only_database_is_not_written_by_restarts() {
    let volume = ready();
    let instance = start(&volume).unwrap();
    instance
        .database("Db")
        .unwrap()
        .set_read_only(true)
        .unwrap();
    let before = bytes_of(&volume);
    instance.abandon();
    drop(instance);
    for round in 0..4 {
        let instance = start(&volume).unwrap();
        let database = instance.database("Db").unwrap();
        assert!(database.is_read_only(), "round {round}");
        let rows = count(&database, Isolation::ReadCommitted, LockHints::default());
        assert_eq!(rows, ROWS, "round {round}");
        drop(database);
        match round % 2 {
            0 => instance.abandon(),
            _ => instance.shut_down().unwrap(),
        }
        assert_eq!(changed(&before, &volume), none(), "round {round}");
    }
    let instance = start(&volume).unwrap();
    let database = instance.database("Db").unwrap();
    database.set_read_only(false).unwrap();
    drop(database);
    instance.shut_down().unwrap();
    drop(instance);
    let instance = start(&volume).unwrap();
    assert!(!instance.database("Db").unwrap().is_read_only());
}

#[test]
fn power_lost_while_it_is_set_leaves_the_one_or_the_other_and_all_rows() {
    let ready = ready();
    let (mut n, mut seen) = (0, [0_u32; 2]);
    loop {
        n += 1;
        let volume = ready.fork();
        volume.inject(Fault::new(Ops::Changes, Effect::PowerLoss).nth(n));
        let work = || {
            let instance = start(&volume)?;
            let database = instance.database("Db")?;
            database.set_read_only(true)?;
            database.set_read_only(false)?;
            Session::new(&database)?.table("t").map(drop)?;
            database.set_read_only(true)?;
            drop(database);
            instance.abandon();
            Ok::<(), EngineError>(())
        };
        let done = work().is_ok() && volume.is_powered();
        for outcome in [Crash::DropAll, Crash::KeepAll, Crash::Torn { seed: n }] {
            let after = volume.crash(&outcome);
            let instance = start(&after).unwrap();
            let database = instance.database("Db").unwrap_or_else(|e| {
                let lines = instance.error_log().tail(8);
                let lines: Vec<String> = lines.iter().map(|l| l.text.clone()).collect();
                panic!("operation {n}, {outcome:?}: {e}\n{}", lines.join("\n"))
            });
            seen[usize::from(database.is_read_only())] += 1;
            let rows = count(&database, Isolation::ReadCommitted, LockHints::default());
            assert_eq!(rows, ROWS, "operation {n}, {outcome:?}");
            database.set_read_only(false).unwrap();
            database.checkpoint().unwrap();
        }
        if done {
            break;
        }
    }
    assert!(n > 10 && seen[0] > 0 && seen[1] > 0, "{n} {seen:?}");
}

/// What the data files alone say of the rows, without the log: an error where they say that it is needed.
fn rows_without_log(after: &SimVolume) -> Result<i64, EngineError> {
    let machine = new_volume();
    for path in ["d/p.mdf", "d/s.ndf"] {
        let bytes = after.contents(Path::new(path)).unwrap();
        furrow_io::write_file(&machine, Path::new(path), &bytes).unwrap();
    }
    let instance = start(&machine).unwrap();
    let database = instance.attach_read_only(Some("Copy"), &[PathBuf::from("d/p.mdf")])?;
    Ok(count(
        &database,
        Isolation::ReadCommitted,
        LockHints::default(),
    ))
}

#[test]
fn files_that_say_they_were_shut_down_cleanly_hold_every_row_that_was_committed() {
    let ready = ready();
    let insert = |database: &Arc<Database>, ids: std::ops::Range<i64>| {
        let mut session = Session::new(database)?;
        let table = session.table("t")?;
        session.begin()?;
        for id in ids {
            session.insert(&table, &[Value::BigInt(id), Value::Int(id as i32 % 7)])?;
        }
        session.commit()
    };
    let (mut n, mut clean, mut needed) = (0, 0, 0);
    loop {
        n += 1;
        let volume = ready.fork();
        let instance = start(&volume).unwrap();
        let database = instance.database("Db").unwrap();
        volume.inject(
            Fault::new(Ops::Changes, Effect::PowerLoss)
                .under("d")
                .nth(n),
        );
        // Rows that were committed, and those that may have been.
        let mut rows = (ROWS, ROWS);
        let work = |rows: &mut (i64, i64)| {
            for round in 1..=2 {
                let ids = 100 * round..100 * round + 40;
                rows.1 += 40;
                insert(&database, ids)?;
                rows.0 += 40;
                database.set_read_only(true)?;
                database.set_read_only(false)?;
            }
            rows.1 += 1;
            insert(&database, 500..501)?;
            rows.0 += 1;
            Ok::<(), EngineError>(())
        };
        let done = work(&mut rows).is_ok() && volume.is_powered();
        for outcome in [Crash::DropAll, Crash::KeepAll, Crash::Torn { seed: n }] {
            match rows_without_log(&volume.crash(&outcome)) {
                Ok(found) => {
                    assert!(
                        found == rows.0 || found == rows.1,
                        "{found} of {rows:?}: {n} {outcome:?}"
                    );
                    clean += 1;
                }
                Err(error) => {
                    // Not shut down; or nobody knows, for the boot page itself is torn.
                    let torn = error.number() == 824 && error.to_string().contains("(1:9)");
                    let says_so = error.number() == 40517 || torn;
                    assert!(says_so, "{n} {outcome:?}: {error}");
                    needed += 1;
                }
            }
        }
        instance.abandon();
        if done {
            break;
        }
    }
    assert!(clean > 0 && needed > 10, "{clean} {needed}");
}
