//! Databases are created, opened, closed, attached, detached and dropped.

#![expect(clippy::unwrap_used, reason = "a failed step is a failed test")]

use furrow_engine::{
    AttachOptions, DatabaseOptions, DatabaseSpec, DatabaseState, FileSpec, FilegroupSpec, Instance,
    InstanceConfig,
};
use furrow_format::{DelayedDurability, FileId, PageVerify, RecoveryModel};
use furrow_io::{MemoryVolume, Volume};
use std::path::Path;
use std::sync::Arc;

fn config(dir: Option<&str>) -> InstanceConfig {
    InstanceConfig {
        directory: dir.map(Into::into),
        pool_pages: 512,
        double_write_pages: 64,
        ..InstanceConfig::default()
    }
}

fn volume() -> Arc<dyn Volume> {
    let volume = MemoryVolume::new();
    volume.create_dir(Path::new("d")).unwrap();
    Arc::new(volume)
}

fn company() -> DatabaseSpec {
    let log = FileSpec::new("Company_log", "d/company_log.ldf").size_mb(1);
    DatabaseSpec::new(
        "Company",
        FileSpec::new("Company_data", "d/company.mdf").size_mb(5),
    )
    .log(log)
}

#[test]
fn a_new_database_has_the_published_free_extents() {
    let volume = volume();
    let instance = Instance::start(volume, config(None)).unwrap();
    let spec = company().file(FileSpec::new("SecondFile", "d/second.ndf").size_mb(5));
    let database = instance.create_database(&spec).unwrap();
    assert_eq!(database.free_extents(), [(FileId(1), 44), (FileId(3), 79)]);
    assert_eq!(database.state(), DatabaseState::Online);
}

#[test]
fn a_database_survives_shutdown_and_abrupt_end() {
    let volume = volume();
    let spec = company()
        .file(FileSpec::new("SecondFile", "d/second.ndf").size_mb(5))
        .filegroup(FilegroupSpec::new(
            "FG",
            vec![FileSpec::new("Third", "d/third.ndf")],
        ));
    let mut expected = None;
    for round in 0..4 {
        let instance = Instance::start(Arc::clone(&volume), config(Some("inst"))).unwrap();
        let database = if round == 0 {
            instance.create_database(&spec).unwrap()
        } else {
            instance.database("COMPANY").unwrap()
        };
        let files = database.file_list().unwrap();
        let names: Vec<&str> = files.iter().map(|f| f.name.as_str()).collect();
        assert_eq!(
            names,
            ["Company_data", "Company_log", "SecondFile", "Third"]
        );
        let groups: Vec<String> = database.filegroups().into_iter().map(|g| g.name).collect();
        assert_eq!(groups, ["PRIMARY", "FG"]);
        let free = database.free_extents();
        assert_eq!(
            *expected.get_or_insert_with(|| free.clone()),
            free,
            "round {round}"
        );
        drop(database);
        if round % 2 == 0 {
            instance.shut_down().unwrap();
        } else {
            instance.abandon();
        }
    }
}

#[test]
fn detach_and_attach_keep_the_database_and_drop_leaves_nothing() {
    let volume = volume();
    let instance = Instance::start(Arc::clone(&volume), config(Some("inst"))).unwrap();
    instance.create_database(&company()).unwrap();
    instance.detach_database("company").unwrap();
    assert_eq!(instance.database("company").unwrap_err().number(), 911);
    let options = AttachOptions {
        name: Some("Other".into()),
        ..AttachOptions::default()
    };
    instance
        .attach_database(Path::new("d/company.mdf"), &options)
        .unwrap();
    assert_eq!(instance.database("other").unwrap().name(), "Other");
    // The name is the file's from now on.
    instance.detach_database("Other").unwrap();
    instance
        .attach_database(Path::new("d/company.mdf"), &AttachOptions::default())
        .unwrap();
    assert_eq!(instance.database("other").unwrap().name(), "Other");
    instance.drop_database("Other").unwrap();
    assert_eq!(
        volume.list(Path::new("d")).unwrap(),
        Vec::<std::path::PathBuf>::new()
    );
    assert_eq!(instance.drop_database("Other").unwrap_err().number(), 3701);
}

#[test]
fn a_database_of_seventy_files_is_found_whole_after_an_abrupt_end() {
    let volume = volume();
    let instance = Instance::start(Arc::clone(&volume), config(Some("inst"))).unwrap();
    let file = |at: u32| {
        let long = "a-path-of-some-length".repeat(5);
        FileSpec::new(format!("file number {at}"), format!("d/{long}-{at}.ndf")).size_kb(512)
    };
    let spec = (0..30).fold(company(), |spec, at| spec.file(file(at)));
    let database = instance.create_database(&spec).unwrap();
    for at in 30..68 {
        database.add_file(&file(at), None).unwrap();
    }
    let before = database.file_list().unwrap();
    assert_eq!(before.len(), 70);
    drop(database);
    instance.abandon();
    drop(instance);
    let instance = Instance::start(Arc::clone(&volume), config(Some("inst"))).unwrap();
    assert_eq!(
        instance.database("Company").unwrap().file_list().unwrap(),
        before
    );
    instance.drop_database("Company").unwrap();
    assert_eq!(
        volume.list(Path::new("d")).unwrap(),
        Vec::<std::path::PathBuf>::new()
    );
}

#[test]
fn options_survive_and_a_database_in_use_is_not_dropped() {
    let volume = volume();
    let instance = Instance::start(Arc::clone(&volume), config(Some("inst"))).unwrap();
    let database = instance.create_database(&company()).unwrap();
    let options = DatabaseOptions {
        recovery_model: RecoveryModel::Full,
        target_recovery_s: 7,
        page_verify: PageVerify::TornPageDetection,
        delayed_durability: DelayedDurability::Allowed,
        ..DatabaseOptions::default()
    };
    database.set_options(options).unwrap();
    let stay = database.enter().unwrap();
    assert_eq!(
        instance.drop_database("company").unwrap_err().number(),
        3702
    );
    assert_eq!(
        instance.detach_database("company").unwrap_err().number(),
        3702
    );
    drop(stay);
    drop(database);
    instance.close_database("company").unwrap();
    assert_eq!(instance.database("company").unwrap_err().number(), 942);
    // It stays so when the instance starts again.
    instance.shut_down().unwrap();
    drop(instance);
    let instance = Instance::start(Arc::clone(&volume), config(Some("inst"))).unwrap();
    assert_eq!(instance.database("company").unwrap_err().number(), 942);
    assert_eq!(instance.databases()[0].state, DatabaseState::Offline);
    let database = instance.reopen_database("company").unwrap();
    assert_eq!(database.options(), options);
    let other = DatabaseOptions {
        target_recovery_s: 0,
        ..options
    };
    database.set_options(other).unwrap();
    drop(database);
    instance.abandon();
    drop(instance);
    let instance = Instance::start(Arc::clone(&volume), config(Some("inst"))).unwrap();
    assert_eq!(instance.database("company").unwrap().options(), other);
    assert_eq!(
        instance.create_database(&company()).unwrap_err().number(),
        1801
    );
}
