//! Files and filegroups that come, change and go; files that are not what they should be.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a failed step is a failed test"
)]

use crate::simulated;

use furrow_engine::{
    AttachOptions, ColumnSpec, Database, DatabaseSpec, DatabaseState, FileChange, FileGrowth,
    FileSpec, FilegroupSpec, Instance, InstanceConfig, Session, TableSpec,
};
use furrow_format::{FileId, PAGE_SIZE};
use furrow_io::sim::Ops;
use furrow_io::{Access, File, Fill, MemoryVolume, Open, SimVolume, SystemVolume, Volume};
use furrow_observe::traceflags::{Target, TraceFlag};
use furrow_types::{DataType, TypeId, Value};
use std::path::{Path, PathBuf};
use std::sync::Arc;

fn config(dir: Option<PathBuf>) -> InstanceConfig {
    InstanceConfig {
        directory: dir,
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

fn spec_in(dir: &Path) -> DatabaseSpec {
    let log = FileSpec::new("L", dir.join("l.ldf")).size_mb(1);
    DatabaseSpec::new("Db", FileSpec::new("P", dir.join("p.mdf")).size_mb(5))
        .file(FileSpec::new("S", dir.join("s.ndf")).size_mb(5))
        .log(log)
}

fn new_database(volume: &Arc<dyn Volume>) -> (Arc<Instance>, Arc<Database>) {
    let instance = Instance::start(Arc::clone(volume), config(Some("inst".into()))).unwrap();
    let database = instance.create_database(&spec_in(Path::new("d"))).unwrap();
    (instance, database)
}

fn free(database: &Database, file: u16) -> u64 {
    let all = database.free_extents();
    all.iter().find(|f| f.0 == FileId(file)).unwrap().1
}

#[test]
fn files_and_filegroups_are_added_changed_and_removed_and_a_restart_knows() {
    let volume = memory();
    let (instance, database) = new_database(&volume);
    assert_eq!(database.add_filegroup("FG").unwrap(), 2);
    let third = FileSpec::new("T", "d/t.ndf")
        .size_mb(250)
        .growth_percent(10);
    assert_eq!(database.add_file(&third, Some("fg")).unwrap(), FileId(4));
    assert_eq!(free(&database, 4), 3996);
    database.set_default_filegroup("FG").unwrap();
    database.set_autogrow_all("FG", true).unwrap();
    let change = FileChange {
        size_kb: Some(6 * 1024),
        max_size_kb: Some(Some(64 * 1024)),
        growth: Some(FileGrowth::Pages(100)),
        new_name: Some("Second".into()),
    };
    database.modify_file("S", &change).unwrap();
    assert_eq!(free(&database, 3), 95);
    let before = (
        database.file_list().unwrap(),
        database.filegroups(),
        database.free_extents(),
    );
    drop(database);
    instance.abandon();
    drop(instance);
    let instance = Instance::start(Arc::clone(&volume), config(Some("inst".into()))).unwrap();
    let database = instance.database("db").unwrap();
    let after = (
        database.file_list().unwrap(),
        database.filegroups(),
        database.free_extents(),
    );
    assert_eq!(after, before);
    let second = after.0.iter().find(|f| f.name == "Second").unwrap();
    assert_eq!((second.size_pages, second.max_pages), (768, Some(8192)));
    assert_eq!(second.growth, FileGrowth::Pages(104));
    assert!(after.1[1].is_default && after.1[1].autogrow_all && !after.1[0].is_default);
    database.set_default_filegroup("PRIMARY").unwrap();
    database.remove_file("t").unwrap();
    database.remove_filegroup("FG").unwrap();
    assert!(!volume.exists(Path::new("d/t.ndf")).unwrap());
    // The lowest free number is taken again.
    let again = FileSpec::new("T", "d/t.ndf").size_mb(1);
    assert_eq!(database.add_file(&again, None).unwrap(), FileId(4));
}

#[expect(clippy::needless_pass_by_value, reason = "errors come by value")]
fn numbers(e: furrow_engine::EngineError) -> Vec<(u32, u8)> {
    e.messages().iter().map(|m| (m.number, m.state)).collect()
}

#[test]
fn adding_removing_and_modifying_files_is_refused_with_the_published_numbers() {
    let volume = memory();
    let (_instance, database) = new_database(&volume);
    let add = |spec: FileSpec, group| numbers(database.add_file(&spec, group).unwrap_err());
    let file = |name: &str, path: &str| FileSpec::new(name, path).size_mb(1);
    assert_eq!(add(file("N", "d/s.ndf.dw"), None), [(5009, 1), (5170, 1)]);
    assert_eq!(add(file("N", "d/s.ndf"), None), [(12106, 1), (5009, 8)]);
    assert_eq!(add(file("s", "d/n.ndf"), None), [(1828, 4), (5009, 8)]);
    assert_eq!(
        add(file("N", "d/n.ndf"), Some("no")),
        [(1921, 4), (5009, 8)]
    );
    assert_eq!(add(file("N", "none/n.ndf"), None), [(5133, 1), (5009, 8)]);
    assert_eq!(
        add(file("N", "d/n.ndf").size_kb(8), None),
        [(5174, 1), (5009, 8)]
    );
    assert_eq!(
        numbers(database.remove_file("zzz").unwrap_err()),
        [(5009, 9)]
    );
    assert_eq!(numbers(database.remove_file("P").unwrap_err()), [(5020, 1)]);
    assert_eq!(numbers(database.remove_file("L").unwrap_err()), [(5020, 1)]);
    let modify = |name: &str, change| numbers(database.modify_file(name, &change).unwrap_err());
    let size = |kb| FileChange {
        size_kb: Some(kb),
        ..FileChange::default()
    };
    assert_eq!(modify("S", FileChange::default()), [(5038, 1)]);
    assert_eq!(modify("zzz", size(9000)), [(5041, 1)]);
    assert_eq!(modify("S", size(5 * 1024)), [(5039, 1)]);
    let limit = FileChange {
        max_size_kb: Some(Some(1024)),
        ..FileChange::default()
    };
    assert_eq!(modify("S", limit), [(5040, 1)]);
    let rename = FileChange {
        new_name: Some("p".into()),
        ..FileChange::default()
    };
    assert_eq!(modify("S", rename), [(1828, 3)]);
    assert_eq!(database.state(), DatabaseState::Online);
}

#[test]
fn statements_on_filegroups_and_databases_are_refused_with_the_published_numbers() {
    let volume = memory();
    let (instance, database) = new_database(&volume);
    assert_eq!(
        numbers(database.add_filegroup("primary").unwrap_err()),
        [(5035, 1)]
    );
    assert_eq!(
        numbers(database.remove_filegroup("PRIMARY").unwrap_err()),
        [(5042, 7)]
    );
    database.add_filegroup("FG").unwrap();
    assert_eq!(
        numbers(database.set_default_filegroup("FG").unwrap_err()),
        [(5050, 1)]
    );
    assert_eq!(
        numbers(database.set_default_filegroup("no").unwrap_err()),
        [(5014, 2)]
    );
    assert_eq!(
        numbers(database.set_default_filegroup("PRIMARY").unwrap_err()),
        [(5045, 1)]
    );
    assert_eq!(
        instance
            .create_database(&spec_in(Path::new("d")))
            .unwrap_err()
            .number(),
        1801
    );
    let mut other = spec_in(Path::new("d"));
    other.name = "Other".into();
    assert_eq!(
        numbers(instance.create_database(&other).unwrap_err()),
        [(5170, 4), (1802, 4)]
    );
    let nowhere = DatabaseSpec::new("Other", FileSpec::new("P", "no/p.mdf"));
    assert_eq!(
        numbers(instance.create_database(&nowhere).unwrap_err()),
        [(5133, 1), (1802, 4)]
    );
    assert_eq!(database.state(), DatabaseState::Online);
    assert_eq!(volume.list(Path::new("d")).unwrap().len(), 5);
}

#[test]
fn a_recalculation_of_skip_targets_is_printed_where_the_flags_say() {
    let volume = memory();
    let (instance, database) = new_database(&volume);
    let flags = &instance.instruments().trace_flags;
    flags.turn_on(&[1165, 3605], Target::Global).unwrap();
    assert!(flags.is_on_globally(TraceFlag::PRINT_PROPORTIONAL_FILL));
    database
        .add_file(&FileSpec::new("ThirdFile", "d/t.ndf").size_mb(250), None)
        .unwrap();
    let lines: Vec<String> = instance
        .error_log()
        .tail(50)
        .into_iter()
        .map(|l| l.text)
        .collect();
    let text = lines.join("\n");
    assert!(
        text.contains("Proportional Fill Recalculation Starting for DB Db"),
        "{text}"
    );
    assert!(text.contains("most free file is file 4."), "{text}");
    assert!(
        text.contains("File [P] (1) has 44 free extents and skip target of 90."),
        "{text}"
    );
    assert!(
        text.contains("File [S] (3) has 79 free extents and skip target of 50."),
        "{text}"
    );
}

/// A database that was shut down, and what comes of opening it after `harm`.
fn opened_after(harm: impl Fn(&dyn Volume)) -> (u32, String) {
    let volume = memory();
    let (instance, database) = new_database(&volume);
    drop(database);
    instance.detach_database("Db").unwrap();
    harm(&*volume);
    let was_guarded = volume.exists(Path::new("d/p.mdf.dw")).unwrap();
    let error = instance
        .attach_database(Path::new("d/p.mdf"), &AttachOptions::default())
        .expect_err("harm was done");
    assert_eq!(instance.databases(), []);
    // Nothing is made beside a file that is not ours.
    let guarded = volume.exists(Path::new("d/p.mdf.dw")).unwrap();
    let ours = error.number() == 824 && error.to_string().contains("(1:2)");
    assert_eq!(guarded, was_guarded || ours, "{error}");
    (error.number(), error.to_string())
}

fn open(volume: &dyn Volume, path: &str) -> Arc<dyn File> {
    volume
        .open(Path::new(path), Open::Existing, Access::Data)
        .unwrap()
}

#[test]
fn files_that_are_missing_foreign_short_or_damaged_are_named_at_open() {
    let gone = |path: &'static str| move |v: &dyn Volume| v.remove(Path::new(path)).unwrap();
    // A log that is gone is made anew: see `log_rebuilt`.
    for path in ["d/p.mdf", "d/s.ndf"] {
        let (number, text) = opened_after(gone(path));
        assert_eq!(number, 5120, "{text}");
        assert!(text.contains(path), "{text}");
    }
    let foreign = |v: &dyn Volume| {
        v.remove(Path::new("d/p.mdf.dw")).unwrap();
        let file = open(v, "d/p.mdf");
        file.resize(0, Fill::Allocate).unwrap();
        file.write_at(0, b"a letter to a friend").unwrap();
    };
    let (number, text) = opened_after(foreign);
    assert_eq!(number, 5171, "{text}");
    let (number, text) = opened_after(|v| open(v, "d/p.mdf").write_at(0, &[7; PAGE_SIZE]).unwrap());
    assert_eq!(number, 5171, "{text}");
    let (number, text) = opened_after(|v| open(v, "d/s.ndf").write_at(0, &[7; PAGE_SIZE]).unwrap());
    assert_eq!(number, 5172, "{text}");
    let (number, text) = opened_after(|v| open(v, "d/l.ldf").write_at(0, &[7; 8192]).unwrap());
    assert_eq!(number, 5172, "{text}");
    for path in ["d/p.mdf", "d/s.ndf"] {
        let cut = |v: &dyn Volume| open(v, path).resize(4 << 20, Fill::Allocate).unwrap();
        let (number, text) = opened_after(cut);
        assert_eq!(number, 5125, "{text}");
        assert!(text.contains(path) && text.contains("5120 KB"), "{text}");
    }
    let (number, text) =
        opened_after(|v| open(v, "d/l.ldf").resize(64 << 10, Fill::Allocate).unwrap());
    assert_eq!(number, 5125, "{text}");
    for page in [9, 2] {
        let harm = move |v: &dyn Volume| {
            // Its image would heal the page.
            v.remove(Path::new("d/p.mdf.dw")).unwrap();
            open(v, "d/p.mdf")
                .write_at(page * PAGE_SIZE as u64 + 5000, b"rot")
                .unwrap();
        };
        let (number, text) = opened_after(harm);
        assert_eq!(number, 824, "page {page}: {text}");
        assert!(
            text.contains("d/p.mdf") && text.contains(&format!("(1:{page})")),
            "{text}"
        );
    }
}

#[test]
fn a_file_of_another_database_is_refused() {
    let volume = memory();
    let (instance, database) = new_database(&volume);
    drop(database);
    volume.create_dir(Path::new("e")).unwrap();
    let mut other = spec_in(Path::new("e"));
    other.name = "Other".into();
    instance.create_database(&other).unwrap();
    instance.detach_database("Other").unwrap();
    let options = AttachOptions {
        files: vec!["d/s.ndf".into()],
        ..AttachOptions::default()
    };
    let attach = |options: &AttachOptions| instance.attach_database(Path::new("e/p.mdf"), options);
    // In use by the other database.
    assert_eq!(attach(&options).unwrap_err().number(), 5120);
    instance.detach_database("Db").unwrap();
    assert_eq!(attach(&options).unwrap_err().number(), 5173);
    let log = AttachOptions {
        files: vec!["d/l.ldf".into()],
        ..AttachOptions::default()
    };
    assert_eq!(attach(&log).unwrap_err().number(), 5173);
    attach(&AttachOptions::default()).unwrap();
}

#[test]
fn on_a_real_file_system_a_database_moves_with_its_directory() {
    let root = tempfile::tempdir().unwrap();
    let (one, two) = (root.path().join("one"), root.path().join("two"));
    let volume: Arc<dyn Volume> = Arc::new(SystemVolume::new());
    volume.create_dir(&one).unwrap();
    let instance =
        Instance::start(Arc::clone(&volume), config(Some(root.path().join("i")))).unwrap();
    let mut spec = spec_in(&one);
    let group = vec![FileSpec::new("G", one.join("g.ndf")).size_mb(1)];
    spec = spec.filegroup(FilegroupSpec::new("FG", group));
    let database = instance.create_database(&spec).unwrap();
    let second = Instance::start(Arc::clone(&volume), config(Some(root.path().join("i"))));
    assert!(second.is_err(), "two instances in one directory");
    let free = database.free_extents();
    drop(database);
    let elsewhere = Instance::start(Arc::clone(&volume), config(None)).unwrap();
    let attach =
        |i: &Instance, dir: &Path| i.attach_database(&dir.join("p.mdf"), &AttachOptions::default());
    assert_eq!(attach(&elsewhere, &one).unwrap_err().number(), 5120);
    instance.detach_database("Db").unwrap();
    volume.create_dir(&two).unwrap();
    for path in volume.list(&one).unwrap() {
        copy(&*volume, &path, &two.join(path.file_name().unwrap()));
        volume.remove(&path).unwrap();
    }
    let database = attach(&elsewhere, &two).unwrap();
    assert_eq!(database.free_extents(), free);
    assert!(
        database
            .file_list()
            .unwrap()
            .iter()
            .all(|f| f.path.starts_with(&two))
    );
    drop(database);
    elsewhere.drop_database("Db").unwrap();
    assert_eq!(volume.list(&two).unwrap(), Vec::<PathBuf>::new());
}

fn copy(volume: &dyn Volume, from: &Path, to: &Path) {
    let from = volume.open(from, Open::ReadOnly, Access::Data).unwrap();
    let mut bytes = vec![0; from.len_bytes().unwrap() as usize];
    from.read_at(0, &mut bytes).unwrap();
    let to = volume.open(to, Open::Create, Access::Data).unwrap();
    to.resize(bytes.len() as u64, Fill::Allocate).unwrap();
    to.write_at(0, &bytes).unwrap();
    to.sync().unwrap();
}

/// Moves a file of a volume, as somebody does at the system's prompt.
fn move_file(volume: &Arc<dyn Volume>, from: &str, to: &str) {
    let bytes = furrow_io::read_file(&**volume, Path::new(from)).unwrap();
    furrow_io::write_file(&**volume, Path::new(to), &bytes).unwrap();
    volume.remove(Path::new(from)).unwrap();
}

#[test]
fn files_that_are_moved_while_the_database_is_closed_are_found_where_they_were_said_to_be() {
    let volume = memory();
    let (instance, database) = new_database(&volume);
    volume.create_dir(Path::new("e")).unwrap();
    let files = database.file_list().unwrap();
    let moves: Vec<(String, String, String)> = files
        .iter()
        .map(|f| {
            let name = f.path.file_name().unwrap().to_string_lossy().into_owned();
            let from = f.path.to_string_lossy().into_owned();
            (f.name.clone(), from, format!("e/moved_{name}"))
        })
        .collect();
    for (file, _, to) in &moves {
        instance.relocate_file("db", file, Path::new(to)).unwrap();
    }
    // The views show the new places; the files are where they were.
    for (file, to) in database.file_list().unwrap().iter().zip(&moves) {
        assert_eq!(file.path, Path::new(&to.2));
        assert!(volume.exists(Path::new(&to.1)).unwrap());
    }
    let there = instance.relocate_file("db", &moves[0].0, Path::new(&moves[1].2));
    assert!(there.unwrap_err().has(12106));
    let nowhere = instance.relocate_file("db", &moves[0].0, Path::new("nowhere/f.mdf"));
    assert!(nowhere.unwrap_err().has(5121));
    let missing = instance.relocate_file("db", "nothing", Path::new("e/f.mdf"));
    assert!(missing.unwrap_err().has(5041));
    drop(database);
    instance.shut_down().unwrap();
    drop(instance);
    // Not moved yet: the database does not open, and nothing is harmed.
    let instance = Instance::start(Arc::clone(&volume), config(Some("inst".into()))).unwrap();
    assert!(instance.database("db").is_err());
    for (_, from, to) in &moves {
        move_file(&volume, from, to);
    }
    let database = instance.reopen_database("db").unwrap();
    for (file, to) in database.file_list().unwrap().iter().zip(&moves) {
        assert_eq!(file.path, Path::new(&to.2));
    }
    drop(database);
    instance.shut_down().unwrap();
    drop(instance);
    let instance = Instance::start(volume, config(Some("inst".into()))).unwrap();
    assert!(instance.database("db").is_ok());
}

#[test]
fn a_read_only_filegroup_stays_so_after_a_restart() {
    let volume = memory();
    let (instance, database) = new_database(&volume);
    database.add_filegroup("FG").unwrap();
    let third = FileSpec::new("T", "d/t.ndf").size_mb(1);
    database.add_file(&third, Some("FG")).unwrap();
    let mut session = Session::new(&database).unwrap();
    let busy = database.set_filegroup_read_only("FG", true).unwrap_err();
    assert!(busy.has(5070));
    session.set_filegroup_read_only("fg", true).unwrap();
    drop((session, database));
    instance.abandon();
    drop(instance);
    let instance = Instance::start(Arc::clone(&volume), config(Some("inst".into()))).unwrap();
    let database = instance.database("db").unwrap();
    assert!(database.filegroups()[1].read_only);
    let mut session = Session::new(&database).unwrap();
    let spec = TableSpec::new("t")
        .column(ColumnSpec::new("id", DataType::simple(TypeId::Int)).not_null())
        .on("FG");
    assert!(session.create_table(&spec).unwrap_err().has(1924));
    session.set_filegroup_read_only("FG", false).unwrap();
    session.create_table(&spec).unwrap();
}

/// A machine whose operations can be counted, and a database on it.
fn counted_database() -> (SimVolume, Arc<Instance>, Arc<Database>) {
    let volume = simulated::new_volume();
    let config = InstanceConfig {
        background: false,
        ..config(Some("inst".into()))
    };
    let instance = Instance::start(Arc::new(volume.clone()), config).unwrap();
    let database = instance.create_database(&spec_in(Path::new("d"))).unwrap();
    (volume, instance, database)
}

#[test]
fn adding_a_file_makes_no_more_syncs_where_there_are_many_files() {
    let (volume, _instance, database) = counted_database();
    let mut syncs = Vec::new();
    for number in 0..60 {
        let before = volume.counts().matching(Ops::Syncs);
        let file = FileSpec::new(format!("F{number}"), format!("d/f{number}.ndf")).size_kb(512);
        database.add_file(&file, None).unwrap();
        syncs.push(volume.counts().matching(Ops::Syncs) - before);
    }
    assert!(syncs.iter().all(|&n| n <= 10), "{syncs:?}");
}

#[test]
fn a_double_write_file_begins_small_and_grows_with_need() {
    let (volume, instance, database) = counted_database();
    let guard = |file: &str| volume.contents(Path::new(file)).unwrap().len() / 1024;
    assert_eq!((guard("d/p.mdf.dw"), guard("d/s.ndf.dw")), (256, 256));
    let mut session = Session::new(&database).unwrap();
    let text = DataType::sized(TypeId::VarChar, 5000);
    let id = DataType::simple(TypeId::BigInt);
    let table = TableSpec::new("t")
        .column(ColumnSpec::new("id", id).not_null())
        .column(ColumnSpec::new("text", text))
        .primary_key(["id"]);
    let table = session.create_table(&table).unwrap();
    let text = |n: u8| Value::VarChar(char::from(b'a' + n).to_string().repeat(5000));
    for id in 0..300 {
        session
            .insert(&table, &[Value::BigInt(id), text(0)])
            .unwrap();
    }
    database.checkpoint().unwrap();
    // Every page has an older version on the disk now: each of them goes through the double-write file.
    for n in 1..4 {
        for id in 0..300 {
            let key = table.row_key(&[Value::BigInt(id)]).unwrap();
            session.update(&table, &key, &[(1, text(n))]).unwrap();
        }
        database.checkpoint().unwrap();
    }
    // As large as is allowed, and no larger.
    assert_eq!((guard("d/p.mdf.dw"), guard("d/s.ndf.dw")), (1024, 1024));
    drop((session, table, database));
    instance.shut_down().unwrap();
    drop(instance);
    let config = config(Some("inst".into()));
    let instance = Instance::start(Arc::new(volume.clone()), config).unwrap();
    assert!(instance.database("Db").is_ok());
    assert_eq!(guard("d/p.mdf.dw"), 256);
}
