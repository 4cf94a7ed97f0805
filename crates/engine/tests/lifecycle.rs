//! Databases are created, opened, closed, attached, detached and dropped.

use furrow_engine::{
    AttachOptions, DatabaseSpec, DatabaseState, FileSpec, FilegroupSpec, Instance, InstanceConfig,
};
use furrow_format::FileId;
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
    DatabaseSpec::new("Company", FileSpec::new("Company_data", "d/company.mdf").size_mb(5)).log(log)
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
        .filegroup(FilegroupSpec::new("FG", vec![FileSpec::new("Third", "d/third.ndf")]));
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
        assert_eq!(names, ["Company_data", "Company_log", "SecondFile", "Third"]);
        let groups: Vec<String> = database.filegroups().into_iter().map(|g| g.name).collect();
        assert_eq!(groups, ["PRIMARY", "FG"]);
        let free = database.free_extents();
        assert_eq!(*expected.get_or_insert_with(|| free.clone()), free, "round {round}");
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
    let options = AttachOptions { name: Some("Other".into()), ..AttachOptions::default() };
    instance.attach_database(Path::new("d/company.mdf"), &options).unwrap();
    assert_eq!(instance.database("other").unwrap().name(), "Other");
    instance.drop_database("Other").unwrap();
    assert_eq!(volume.list(Path::new("d")).unwrap(), Vec::<std::path::PathBuf>::new());
    assert_eq!(instance.drop_database("Other").unwrap_err().number(), 3701);
}
