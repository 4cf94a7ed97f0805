//! Old copies of data files put beside a newer log: nothing in the log says what they lack, so they are
//! refused.

#![expect(clippy::unwrap_used, reason = "a failed step is a failed test")]

use crate::simulated;

use furrow_engine::{
    AttachOptions, ColumnSpec, Database, EngineError, FileSpec, Instance, ScanSpec, Session,
    TableSpec,
};
use furrow_format::types::{DataType, TypeId, Value};
use furrow_io::{Access, Open, SimVolume, Volume, WriteRun};
use simulated::{new_volume, start};
use std::io::IoSlice;
use std::path::Path;
use std::sync::Arc;

const DATA: [&str; 2] = ["d/p.mdf", "d/s.ndf"];

fn put(database: &Arc<Database>, rows: usize) {
    let mut session = Session::new(database).unwrap();
    let table = session.table("t").unwrap();
    for _ in 0..rows {
        let row = [Value::VarChar("x".repeat(3000))];
        session.insert(&table, &row).unwrap();
    }
}

fn count(database: &Arc<Database>) -> usize {
    let mut session = Session::new(database).unwrap();
    let table = session.table("t").unwrap();
    let scan = session.scan(&table, &ScanSpec::default()).unwrap();
    let mut rows = 0;
    scan.for_each(|_| {
        rows += 1;
        Ok(())
    })
    .unwrap();
    rows
}

fn attach(instance: &Instance) -> Result<Arc<Database>, EngineError> {
    instance.attach_database(Path::new(DATA[0]), &AttachOptions::default())
}

/// Puts a file of one machine in the place of another's.
fn put_back(path: &Path, from: &SimVolume, to: &SimVolume) {
    let bytes = from.contents(path).unwrap();
    let file = to.open(path, Open::Existing, Access::Data).unwrap();
    file.resize(bytes.len() as u64, furrow_io::Fill::Zero)
        .unwrap();
    let bufs = &[IoSlice::new(&bytes)];
    file.write_durable(&[WriteRun { offset: 0, bufs }]).unwrap();
}

/// Two machines with a database that ended abruptly: behind an early checkpoint, and behind a later one.
fn machines() -> (SimVolume, SimVolume) {
    let volume = new_volume();
    let instance = start(&volume).unwrap();
    let log = FileSpec::new("L", "d/l.ldf").size_kb(1024);
    let database = instance.create_database(&simulated::spec(log)).unwrap();
    let mut session = Session::new(&database).unwrap();
    let text = DataType::sized(TypeId::VarChar, 3000);
    let table = TableSpec::new("t").column(ColumnSpec::new("text", text));
    session.create_table(&table).unwrap();
    drop(session);
    put(&database, 60);
    database.checkpoint().unwrap();
    put(&database, 3);
    let early = volume.fork();
    database.checkpoint().unwrap();
    put(&database, 5);
    drop(database);
    instance.abandon();
    (early, volume.fork())
}

#[test]
fn an_old_copy_of_a_data_file_beside_a_newer_log_is_refused_and_the_right_one_taken() {
    for path in DATA {
        let (early, late) = machines();
        let now = late.fork();
        put_back(Path::new(path), &early, &late);
        let instance = start(&late).unwrap();
        // The instance knew the database, and says why it is not there.
        let refused = match instance
            .detach_database("Db")
            .and_then(|()| attach(&instance))
        {
            Err(error) => error,
            Ok(database) => panic!("{path}: {} rows", count(&database)),
        };
        let expected = if path == DATA[0] { 9003 } else { 5173 };
        assert!(refused.has(expected), "{path}: {refused}");
        put_back(Path::new(path), &now, &late);
        let database = attach(&instance).unwrap();
        assert_eq!(count(&database), 68, "{path}");
    }
}

#[test]
fn files_of_one_moment_are_taken_whichever_it_is() {
    let (early, late) = machines();
    for (volume, rows) in [(early, 63), (late, 68)] {
        let instance = start(&volume).unwrap();
        assert_eq!(count(&instance.database("Db").unwrap()), rows);
    }
}
