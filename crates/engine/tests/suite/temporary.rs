//! A temporary database: nothing of it is durable, and each start creates it anew by its layout.

#![expect(clippy::unwrap_used, reason = "a failed step is a failed test")]

use crate::simulated::new_volume;
use crate::tables_common::rows_of;

use furrow_engine::{
    ColumnSpec, Database, DatabaseSpec, EngineError, FileChange, FileGrowth, FileSpec, Instance,
    InstanceConfig, Session, TableSpec,
};
use furrow_io::sim::{Crash, Ops};
use furrow_io::{SimVolume, Volume};
use furrow_types::{DataType, TypeId, Value};
use std::path::Path;
use std::sync::Arc;

fn start(volume: &SimVolume) -> Result<Arc<Instance>, EngineError> {
    start_in(volume, Some("inst"))
}

fn start_in(volume: &SimVolume, directory: Option<&str>) -> Result<Arc<Instance>, EngineError> {
    let config = InstanceConfig {
        directory: directory.map(Into::into),
        pool_pages: 512,
        double_write_pages: 64,
        readers: 0,
        background: false,
        ..InstanceConfig::default()
    };
    Instance::start(Arc::new(volume.clone()), config)
}

fn spec(log: FileSpec) -> DatabaseSpec {
    DatabaseSpec {
        id: Some(2),
        temporary: true,
        ..DatabaseSpec::new("tempdb", FileSpec::new("tempdev", "d/t.mdf").size_mb(4)).log(log)
    }
}

fn log() -> FileSpec {
    FileSpec::new("templog", "d/t.ldf").size_mb(2)
}

fn table(name: &str) -> TableSpec {
    let text = DataType::sized(TypeId::VarChar, 3000);
    TableSpec::new(name).column(ColumnSpec::new("text", text))
}

fn put(session: &mut Session, name: &str, rows: usize) -> Result<(), EngineError> {
    let table = session.table(name)?;
    let row = [Value::VarChar("x".repeat(3000))];
    (0..rows).try_for_each(|_| session.insert(&table, &row).map(drop))
}

/// Number, logical name, path and size of each file.
fn files(database: &Database) -> Vec<(u16, String, String, u64)> {
    let files = database.file_list().unwrap();
    let shown = |f: furrow_engine::FileView| {
        let path = f.path.display().to_string();
        (f.id.0, f.name, path, f.size_pages)
    };
    files.into_iter().map(shown).collect()
}

#[test]
fn temporary_tables_make_almost_no_log_writes_and_no_syncs() {
    let volume = new_volume();
    // Without an error log on the disk, which is synced now and then.
    let instance = start_in(&volume, None).unwrap();
    let database = instance.create_database(&spec(log())).unwrap();
    let mut session = Session::new(&database).unwrap();
    let before = volume.counts();
    for number in 0..100 {
        let name = format!("t{number}");
        session.create_table(&table(&name)).unwrap();
        put(&mut session, &name, 3).unwrap();
        session.drop_table(&name).unwrap();
    }
    database.checkpoint().unwrap();
    let after = volume.counts();
    assert_eq!(after.matching(Ops::Syncs), before.matching(Ops::Syncs));
    let stats = instance.instruments().files.get(2, 2).unwrap().snapshot();
    assert!(stats.writes.count < 20, "{} log writes", stats.writes.count);
    assert!(!volume.exists(Path::new("d/t.mdf.dw")).unwrap());
}

#[test]
fn a_clean_shutdown_of_a_temporary_database_writes_nothing() {
    let volume = new_volume();
    let instance = start(&volume).unwrap();
    let database = instance.create_database(&spec(log())).unwrap();
    let mut session = Session::new(&database).unwrap();
    session.create_table(&table("t")).unwrap();
    put(&mut session, "t", 20).unwrap();
    drop((session, database));
    let before = volume.counts().matching(Ops::Writes);
    instance.shut_down().unwrap();
    assert_eq!(volume.counts().matching(Ops::Writes), before);
}

#[test]
fn a_rollback_reads_log_blocks_that_were_written_and_blocks_that_were_not() {
    let volume = new_volume();
    let instance = start(&volume).unwrap();
    let log = FileSpec::new("templog", "d/t.ldf").size_mb(16);
    let database = instance.create_database(&spec(log)).unwrap();
    let mut session = Session::new(&database).unwrap();
    session.create_table(&table("t")).unwrap();
    put(&mut session, "t", 5).unwrap();
    session.begin().unwrap();
    put(&mut session, "t", 2).unwrap();
    let here = session.savepoint().unwrap();
    // 5 MB of log: more than the buffers hold.
    put(&mut session, "t", 1600).unwrap();
    session.rollback_to(here).unwrap();
    assert_eq!(rows_of(&mut session, "t"), 7);
    put(&mut session, "t", 1).unwrap();
    session.rollback().unwrap();
    assert_eq!(rows_of(&mut session, "t"), 5);
}

#[test]
fn a_full_log_of_a_temporary_database_is_truncated_and_refuses_what_can_never_fit() {
    let volume = new_volume();
    let instance = start(&volume).unwrap();
    let log = FileSpec::new("templog", "d/t.ldf").size_mb(2).no_growth();
    let database = instance.create_database(&spec(log)).unwrap();
    let mut session = Session::new(&database).unwrap();
    // 10 MB of log, each table a transaction of a few records.
    for round in 0..10 {
        let name = format!("t{round}");
        session.create_table(&table(&name)).unwrap();
        put(&mut session, &name, 330).unwrap();
        session.drop_table(&name).unwrap();
    }
    session.create_table(&table("t")).unwrap();
    session.begin().unwrap();
    let refused = put(&mut session, "t", 1000).unwrap_err();
    assert_eq!(refused.number(), 9002);
    session.rollback().unwrap();
    assert_eq!(rows_of(&mut session, "t"), 0);
    put(&mut session, "t", 300).unwrap();
    assert_eq!(rows_of(&mut session, "t"), 300);
}

#[test]
fn files_and_sizes_of_a_temporary_database_survive_restarts_and_its_tables_do_not() {
    let volume = new_volume();
    let instance = start(&volume).unwrap();
    let database = instance.create_database(&spec(log())).unwrap();
    for name in ["t2", "t3"] {
        let file = FileSpec::new(name, format!("d/{name}.ndf")).size_kb(640);
        database.add_file(&file, None).unwrap();
    }
    let change = FileChange {
        size_kb: Some(6 * 1024),
        growth: Some(FileGrowth::Percent(10)),
        new_name: Some("temp1".to_owned()),
        ..FileChange::default()
    };
    database.modify_file("tempdev", &change).unwrap();
    let larger = FileChange {
        size_kb: Some(3 * 1024),
        ..FileChange::default()
    };
    database.modify_file("templog", &larger).unwrap();
    database.remove_file("t2").unwrap();
    let expected = [
        (1, "temp1", "d/t.mdf", 768),
        (2, "templog", "d/t.ldf", 384),
        (4, "t3", "d/t3.ndf", 80),
    ];
    let expected = expected.map(|(id, name, path, size)| (id, name.into(), path.into(), size));
    assert_eq!(files(&database), expected);
    // Growth by itself is not kept.
    let mut session = Session::new(&database).unwrap();
    session.create_table(&table("t")).unwrap();
    put(&mut session, "t", 2400).unwrap();
    assert_ne!(files(&database), expected);
    drop(session);
    drop(database);
    instance.abandon();
    drop(instance);
    // Nothing that was not synced survives; nothing of it is needed.
    let volume = volume.crash(&Crash::DropAll);
    for _ in 0..2 {
        let instance = start(&volume).unwrap();
        let database = instance.database("tempdb").unwrap();
        assert!(database.is_temporary());
        assert_eq!(files(&database), expected);
        let growth = database.file_list().unwrap()[0].growth;
        assert_eq!(growth, FileGrowth::Percent(10));
        let mut session = Session::new(&database).unwrap();
        assert_eq!(session.table("t").unwrap_err().number(), 208);
        session.create_table(&table("t")).unwrap();
        put(&mut session, "t", 10).unwrap();
        drop((session, database));
        instance.shut_down().unwrap();
    }
}

#[test]
fn a_relocated_file_of_a_temporary_database_is_created_at_its_new_path() {
    let volume = new_volume();
    let instance = start(&volume).unwrap();
    instance.create_database(&spec(log())).unwrap();
    let new = Path::new("d/moved.mdf");
    instance.relocate_file("tempdb", "tempdev", new).unwrap();
    instance.shut_down().unwrap();
    drop(instance);
    let instance = start(&volume).unwrap();
    let database = instance.database("tempdb").unwrap();
    assert_eq!(files(&database)[0].2, "d/moved.mdf");
    assert!(!volume.exists(Path::new("d/t.mdf")).unwrap());
}

#[test]
fn a_file_that_is_not_ours_where_a_temporary_one_belongs_stays_and_refuses_the_start() {
    let volume = new_volume();
    let instance = start(&volume).unwrap();
    instance.create_database(&spec(log())).unwrap();
    let new = Path::new("d/moved.mdf");
    instance.relocate_file("tempdb", "tempdev", new).unwrap();
    instance.shut_down().unwrap();
    drop(instance);
    let open = furrow_io::Open::Create;
    drop(volume.open(new, open, furrow_io::Access::Data).unwrap());
    assert_eq!(start(&volume).unwrap_err().number(), 5170);
    volume.remove(new).unwrap();
    let instance = start(&volume).unwrap();
    assert!(instance.database("tempdb").is_ok());
}

#[test]
fn filegroups_are_refused_in_a_temporary_database() {
    let volume = new_volume();
    let instance = start(&volume).unwrap();
    let database = instance.create_database(&spec(log())).unwrap();
    let refused = database.add_filegroup("FG").unwrap_err();
    assert_eq!(refused.number(), 1826);
}
