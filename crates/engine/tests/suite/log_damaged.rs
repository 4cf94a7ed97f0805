//! A database whose log is damaged where it is needed is not opened with less than was acknowledged.

#![expect(clippy::unwrap_used, reason = "a failed step is a failed test")]

use crate::simulated;

use furrow_engine::{
    AttachOptions, ColumnSpec, DatabaseState, FileSpec, Instance, Session, TableSpec,
};
use furrow_io::SimVolume;
use furrow_types::{DataType, TypeId, Value};
use simulated::{new_volume, start};
use std::path::Path;

const LOG: &str = "d/l.ldf";

/// A machine that stopped after a few commits, each a log block of its own.
fn stopped() -> SimVolume {
    let volume = new_volume();
    let instance = start(&volume).unwrap();
    let log = FileSpec::new("L", LOG).size_kb(1024);
    let database = instance.create_database(&simulated::spec(log)).unwrap();
    let mut session = Session::new(&database).unwrap();
    let int = DataType::simple(TypeId::Int);
    let table = TableSpec::new("t").column(ColumnSpec::new("id", int).not_null());
    session.create_table(&table).unwrap();
    let table = session.table("t").unwrap();
    for id in 0..40 {
        session.insert(&table, &[Value::Int(id)]).unwrap();
    }
    drop((session, database));
    instance.abandon();
    volume.fork()
}

/// Where the blocks of the log begin, oldest first.
fn blocks(volume: &SimVolume) -> Vec<u64> {
    let bytes = volume.contents(Path::new(LOG)).unwrap();
    let mut found: Vec<(u64, u64)> = (0..bytes.len())
        .step_by(512)
        .filter(|&at| bytes[at..].starts_with(b"FLB1"))
        .map(|at| {
            let lsn = bytes[at + 16..].first_chunk().unwrap();
            (u64::from_le_bytes(*lsn), at as u64)
        })
        .collect();
    found.sort();
    found.into_iter().map(|(_, at)| at).collect()
}

fn state(instance: &Instance) -> DatabaseState {
    let all = instance.databases();
    all.into_iter().find(|d| d.name == "Db").unwrap().state
}

#[test]
fn a_rotten_log_block_with_commits_behind_it_makes_the_database_suspect_and_nothing_is_overwritten()
{
    let volume = stopped();
    let blocks = blocks(&volume);
    let rotten = blocks[blocks.len() - 20];
    volume.rot(Path::new(LOG), rotten + 60, 1).unwrap();
    let files = ["d/p.mdf", "d/s.ndf", LOG].map(Path::new);
    let contents = || files.map(|path| volume.contents(path).unwrap());
    let before = contents();
    let instance = start(&volume).unwrap();
    assert_eq!(state(&instance), DatabaseState::Suspect);
    assert!(instance.database("Db").is_err());
    assert!(contents() == before);
    let said: Vec<String> = instance
        .error_log()
        .tail(100)
        .into_iter()
        .map(|e| e.text)
        .collect();
    let said = said.join("\n");
    for number in [9004, 3414] {
        assert!(said.contains(&format!("Error: {number}")), "{said}");
    }
    assert!(said.contains("the log is damaged behind"), "{said}");
    // A disk that reads again gives everything back.
    drop(instance);
    volume.rot(Path::new(LOG), rotten + 60, 1).unwrap();
    let instance = start(&volume).unwrap();
    assert_eq!(state(&instance), DatabaseState::Online);
}

#[test]
fn a_damaged_log_is_refused_at_an_attach_by_the_products_message() {
    let volume = stopped();
    let blocks = blocks(&volume);
    volume
        .rot(Path::new(LOG), blocks[blocks.len() - 20] + 60, 1)
        .unwrap();
    let machine = new_volume();
    for path in ["d/p.mdf", "d/p.mdf.dw", "d/s.ndf", "d/s.ndf.dw", LOG] {
        let bytes = volume.contents(Path::new(path)).unwrap();
        furrow_io::write_file(&machine, Path::new(path), &bytes).unwrap();
    }
    let instance = start(&machine).unwrap();
    let refused = instance.attach_database(Path::new("d/p.mdf"), &AttachOptions::default());
    let refused = refused.unwrap_err().messages();
    let first = refused.first().unwrap();
    assert_eq!((first.number, first.level), (9004, 21), "{first}");
    assert!(first.to_string().contains("'Db'"), "{first}");
}
