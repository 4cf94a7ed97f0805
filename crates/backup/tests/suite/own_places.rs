//! Places that a restore may take because they are the database's own, and files of other databases there.

use crate::chain::{log_restore, tail_backup, take_tail, wanted};
use crate::files::{fill, group, other_table, restored, to_file};
use crate::places::{is_there, restored_to};
use crate::world::{
    Silent, World, after_power_loss, config, ids, insert, numbers, request, simulated, world,
    world_on,
};
use furrow_backup::{
    BackupRequest, Device, MediaSet, Parts, RestoreRequest, backup_database, recover_only,
    restore_database, space_warnings,
};
use furrow_engine::{
    AttachOptions, Database, DatabaseSpec, DatabaseState, FileSpec, Instance, InstanceConfig,
};
use furrow_io::sim::{Effect, Fault, OpKind, Ops};
use furrow_io::{Access, Fill, MemoryVolume, Open, SystemVolume, Volume, read_file};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A database whose primary file is at this place.
fn second_at(world: &World, place: &str) -> Arc<Database> {
    let spec = DatabaseSpec::new("second", FileSpec::new("second", place).size_mb(4));
    let log = FileSpec::new("second_log", "d/second.ldf").size_mb(1);
    world.instance.create_database(&spec.log(log)).unwrap()
}

/// A file is lost, with its double-write file.
fn lose(world: &World, place: &str) {
    for path in [place.to_owned(), format!("{place}.dw")] {
        if is_there(world, &path) {
            world.volume.remove(Path::new(&path)).unwrap();
        }
    }
}

/// Takes all of the space that is left, until the result is given to [`give_back`].
fn take_space(world: &World) -> PathBuf {
    let path = PathBuf::from("d/filler.dat");
    let free = world.volume.space(Path::new("d")).unwrap().free_bytes;
    let file = world.volume.open(&path, Open::Create, Access::Data);
    file.unwrap().resize(free, Fill::Allocate).unwrap();
    path
}

fn give_back(world: &World, filler: &Path) {
    world.volume.remove(filler).unwrap();
}

/// On a volume of so many megabytes.
fn small_world(megabytes: u64) -> World {
    let volume = MemoryVolume::with_capacity(megabytes << 20);
    world_on(
        Arc::new(volume),
        FileSpec::new("log", "d/log.ldf").size_mb(2),
    )
}

#[test]
fn a_restore_removes_no_file_of_another_database_at_an_old_place_of_its_own() {
    let mut world = world();
    let table = world.table("t");
    insert(&mut world.session(), &table, 1, "stays");
    let full = request(1);
    world.backup(&full).unwrap();
    drop(table);
    world.let_go();
    world.instance.close_database("test").unwrap();
    lose(&world, "d/data.mdf");
    let second = second_at(&world, "d/data.mdf");
    let over = || restored_to(&world, (&full, "test"), (&[], true)).unwrap_err();
    assert_eq!(numbers(&over()), [1834]);
    assert_eq!(second.file_list().unwrap().len(), 2);
    drop(second);
    world.instance.close_database("second").unwrap();
    assert_eq!(numbers(&over()), [1834]);
    world.instance.reopen_database("second").unwrap();
    // Elsewhere it can be restored.
    let moved = [("data", "d/new.mdf")];
    restored_to(&world, (&full, "test"), (&moved, true)).unwrap();
    let db = recover_only(&world.instance, "test").unwrap();
    assert_eq!(ids(&db, "t"), [1]);
    world.instance.close_database("second").unwrap();
    world.instance.reopen_database("second").unwrap();
}

#[test]
fn a_file_restore_removes_no_file_of_another_database_at_the_old_place() {
    let mut world = world();
    let (t, o) = (world.table("t"), other_table(&world));
    crate::chain::full_model(&world);
    let full = request(1);
    world.backup(&full).unwrap();
    fill(&mut world.session(), [&t, &o], 0..50);
    drop((t, o));
    take_tail(&mut world);
    lose(&world, "d/more.ndf");
    drop(second_at(&world, "d/more.ndf"));
    let to = |moves: &[(&str, &str)]| {
        let moves = moves.iter();
        let request = RestoreRequest {
            moves: moves.map(|m| (m.0.to_owned(), m.1.into())).collect(),
            replace: true,
            ..wanted("test", false)
        };
        restored(&world, (&full, &group("OTHER")), &request)
    };
    assert_eq!(numbers(&to(&[]).unwrap_err()), [1834]);
    to(&[("more", "d/g.ndf")]).unwrap();
    world.instance.close_database("second").unwrap();
    world.instance.reopen_database("second").unwrap();
    let db = log_restore(&world, ("tail", "test"), true).unwrap();
    assert_eq!(ids(&db.database.unwrap(), "o"), (0..50).collect::<Vec<_>>());
}

#[test]
fn a_file_of_an_open_database_is_recognised_under_another_path() {
    let root = tempfile::tempdir().unwrap();
    let at = |path: &str| root.path().join(path);
    let volume: Arc<dyn Volume> = Arc::new(SystemVolume::new());
    volume.create_dir(&at("d")).unwrap();
    let config = InstanceConfig {
        directory: Some(at("inst")),
        ..config()
    };
    let instance = Instance::start(Arc::clone(&volume), config).unwrap();
    let create = |name: &str| {
        let (data, log) = (format!("d/{name}.mdf"), format!("d/{name}.ldf"));
        let spec = DatabaseSpec::new(name, FileSpec::new("data", at(&data)).size_mb(4));
        let log = FileSpec::new("log", at(&log)).size_mb(1);
        instance.create_database(&spec.log(log)).unwrap()
    };
    let (used, other) = (create("used"), create("other"));
    let backup = BackupRequest {
        devices: vec![Device::Disk(at("d/other.bak"))],
        ..request(1)
    };
    backup_database(&other, &backup, &mut Silent).unwrap();
    drop((used, other));
    let to = |name: &str, (data, log): (&str, &str)| {
        let request = RestoreRequest {
            moves: vec![("data".into(), at(data)), ("log".into(), at(log))],
            replace: true,
            ..wanted(name, true)
        };
        let media = MediaSet::open(&*volume, &[at("d/other.bak")]).unwrap();
        restore_database(&instance, &media, &request, &mut Silent)
    };
    for name in ["copy", "other"] {
        for places in [
            ("d/../d/used.mdf", "d/copy.ldf"),
            ("d/copy.mdf", "d/../d/used.ldf"),
        ] {
            assert_eq!(numbers(&to(name, places).unwrap_err()), [1834], "{name}");
        }
    }
    for name in ["used", "other"] {
        instance.close_database(name).unwrap();
        instance.reopen_database(name).unwrap();
    }
    // Its own files may go.
    to("other", ("d/../d/other.mdf", "d/other.ldf")).unwrap();
    instance.shut_down().unwrap();
}

/// Copies files of `d` to `e`.
fn copy(world: &World, names: &[&str]) {
    world.volume.create_dir(Path::new("e")).unwrap();
    for name in names {
        let bytes = read_file(&*world.volume, &Path::new("d").join(name)).unwrap();
        let to = Path::new("e").join(name);
        let file = world.volume.open(&to, Open::Create, Access::Data).unwrap();
        let mut aligned = furrow_io::AlignedBuf::new(bytes.len());
        aligned.copy_from_slice(&bytes);
        file.write_at(0, &aligned).unwrap();
        file.sync().unwrap();
    }
}

#[test]
fn a_restore_elsewhere_leaves_the_file_that_an_attached_copy_has_at_an_old_place() {
    let mut world = world();
    let (t, o) = (world.table("t"), other_table(&world));
    crate::chain::full_model(&world);
    let full = request(1);
    world.backup(&full).unwrap();
    fill(&mut world.session(), [&t, &o], 0..50);
    drop((t, o));
    // The list names all files of one that is RESTORING.
    take_tail(&mut world);
    copy(&world, &["data.mdf", "log.ldf"]);
    let options = AttachOptions {
        name: Some("twin".into()),
        files: vec!["e/log.ldf".into(), "d/more.ndf".into()],
        ..AttachOptions::default()
    };
    let twin = Path::new("e/data.mdf");
    drop(world.instance.attach_database(twin, &options).unwrap());
    let elsewhere = [
        ("data", "d/new.mdf"),
        ("log", "d/new.ldf"),
        ("more", "d/new.ndf"),
    ];
    for _ in 0..2 {
        restored_to(&world, (&full, "test"), (&elsewhere, true)).unwrap();
        world.instance.close_database("twin").unwrap();
        let twin = world.instance.reopen_database("twin").unwrap();
        assert_eq!(ids(&twin, "o"), (0..50).collect::<Vec<_>>());
    }
}

#[test]
fn a_restore_into_a_directory_that_cannot_be_written_leaves_the_database() {
    let (volume, mut world) = simulated();
    let table = world.table("t");
    insert(&mut world.session(), &table, 1, "stays");
    let full = request(1);
    world.backup(&full).unwrap();
    drop(table);
    world.let_go();
    volume.create_dir(Path::new("r")).unwrap();
    // A file that REPLACE would overwrite.
    let there = volume.open(Path::new("r/there.ndf"), Open::Create, Access::Data);
    drop(there.unwrap());
    let fault = Fault::new(Ops::Only(OpKind::Create), Effect::Fail);
    volume.inject(fault.under("r").sticky());
    for place in ["r/new.ndf", "r/there.ndf"] {
        let refused = restored_to(&world, (&full, "test"), (&[("more", place)], true));
        assert_eq!(numbers(&refused.unwrap_err()), [5123], "{place}");
    }
    let db = world.instance.database("test").unwrap();
    assert_eq!(ids(&db, "t"), [1]);
}

#[test]
fn a_restore_takes_no_file_of_an_attached_copy_of_the_database() {
    let mut world = world();
    let table = world.table("t");
    insert(&mut world.session(), &table, 1, "stays");
    drop(table);
    world.let_go();
    world.instance.close_database("test").unwrap();
    copy(&world, &["data.mdf", "log.ldf", "more.ndf"]);
    let options = AttachOptions {
        name: Some("twin".into()),
        files: vec!["e/log.ldf".into(), "e/more.ndf".into()],
        ..AttachOptions::default()
    };
    let twin = world
        .instance
        .attach_database(Path::new("e/data.mdf"), &options);
    let full = to_file("twin", Parts::default());
    backup_database(&twin.unwrap(), &full, &mut Silent).unwrap();
    world.instance.close_database("twin").unwrap();
    let moves = [("data", "d/data.mdf"), ("log", "d/log.ldf")];
    let used = restored_to(&world, (&full, "test"), (&moves, true)).unwrap_err();
    assert_eq!(numbers(&used), [1834]);
    assert!(used.to_string().contains("twin"), "{used}");
    for name in ["twin", "test"] {
        let db = world.instance.reopen_database(name).unwrap();
        assert_eq!(ids(&db, "t"), [1], "{name}");
    }
    // Its own files have the binding of both.
    let full = to_file("test", Parts::default());
    let test = world.instance.database("test").unwrap();
    backup_database(&test, &full, &mut Silent).unwrap();
    drop(test);
    restored_to(&world, (&full, "test"), (&[], true)).unwrap();
}

#[test]
fn a_replaced_database_that_was_attached_read_only_keeps_its_files() {
    let (volume, mut world) = simulated();
    let full = request(1);
    world.backup(&full).unwrap();
    world.let_go();
    world.instance.detach_database("test").unwrap();
    let files = ["d/data.mdf", "d/log.ldf", "d/more.ndf"];
    let attached = [PathBuf::from(files[0])];
    let db = world.instance.attach_read_only(Some("test"), &attached);
    drop(db.unwrap());
    // Power is lost when the restore removes what lies at a place of its own.
    let notes = world
        .volume
        .open(Path::new("d/copy.mdf"), Open::Create, Access::Data);
    drop(notes.unwrap());
    let loss = Fault::new(Ops::Only(OpKind::Remove), Effect::PowerLoss);
    volume.inject(loss.under("d/copy.mdf"));
    let moves = [
        ("data", "d/copy.mdf"),
        ("log", "d/copy.ldf"),
        ("more", "d/copy.ndf"),
    ];
    restored_to(&world, (&full, "test"), (&moves, true)).unwrap_err();
    let world = after_power_loss(&volume, world, "spare");
    let target = world.instance.restore_target("test").unwrap();
    assert_eq!(target.state, DatabaseState::Restoring);
    world.instance.drop_database("test").unwrap();
    for file in files {
        assert!(is_there(&world, file), "{file}");
    }
    world
        .instance
        .attach_read_only(Some("test"), &attached)
        .unwrap();
}

#[test]
fn a_file_goes_back_to_its_place_after_a_restore_to_another_one_that_failed() {
    let mut world = small_world(64);
    let (t, o) = (world.table("t"), other_table(&world));
    crate::chain::full_model(&world);
    fill(&mut world.session(), [&t, &o], 0..50);
    let full = request(1);
    world.backup(&full).unwrap();
    drop((t, o));
    tail_backup(&world).unwrap();
    world.let_go();
    let more = world
        .volume
        .open(Path::new("d/more.ndf"), Open::Existing, Access::Data);
    more.unwrap().resize(0, Fill::Allocate).unwrap();
    let filler = take_space(&world);
    let to = |place: &str| {
        let request = RestoreRequest {
            moves: vec![("more".into(), place.into())],
            ..wanted("test", false)
        };
        restored(&world, (&full, &group("OTHER")), &request)
    };
    assert_eq!(numbers(&to("d/g.ndf").unwrap_err())[0], 5149);
    give_back(&world, &filler);
    to("d/more.ndf").unwrap();
    assert!(!is_there(&world, "d/g.ndf"));
    let db = log_restore(&world, ("tail", "test"), true).unwrap();
    assert_eq!(ids(&db.database.unwrap(), "o"), (0..50).collect::<Vec<_>>());
}

#[test]
fn a_power_loss_in_a_differential_restore_leaves_no_file_that_nothing_removes() {
    let (volume, world) = simulated();
    let gone = FileSpec::new("gone", "d/gone.ndf").size_mb(1);
    world.db.add_file(&gone, None).unwrap();
    let full = request(1);
    world.backup(&full).unwrap();
    world.db.remove_file("gone").unwrap();
    let differential = BackupRequest {
        differential: true,
        ..to_file("diff", Parts::default())
    };
    world.backup(&differential).unwrap();
    world.restore_with(&full, "copy", &["gone"]).unwrap();
    assert!(is_there(&world, "d/copy_gone.ndf"));
    let loss = Fault::new(Ops::Only(OpKind::Remove), Effect::PowerLoss);
    volume.inject(loss.under("d/copy_gone.ndf"));
    world.restore_only(&differential, "copy").unwrap_err();
    let world = after_power_loss(&volume, world, "test");
    assert!(is_there(&world, "d/copy_gone.ndf"));
    world.restore_with(&full, "copy", &["gone"]).unwrap();
    world.restore_only(&differential, "copy").unwrap();
    assert!(!is_there(&world, "d/copy_gone.ndf"));
    world.instance.drop_database("copy").unwrap();
    let left = world.volume.list(Path::new("d")).unwrap();
    let of_copy = |path: &&PathBuf| path.to_string_lossy().contains("copy");
    assert_eq!(left.iter().find(of_copy), None);
}

#[test]
fn a_database_of_a_new_name_is_not_begun_where_its_volume_lacks_the_space() {
    let (volume, world) = simulated();
    let full = request(1);
    world.backup(&full).unwrap();
    volume.create_dir(Path::new("e")).unwrap();
    volume.set_capacity(Path::new("e"), 7 << 20);
    let moves = [("data", "e/n.mdf"), ("more", "e/m.ndf"), ("log", "e/n.ldf")];
    let request = RestoreRequest {
        moves: moves.map(|m| (m.0.to_owned(), m.1.into())).to_vec(),
        ..wanted("new", true)
    };
    let media = world.media(&full).unwrap();
    let refused = restore_database(&world.instance, &media, &request, &mut Silent);
    assert_eq!(numbers(&refused.unwrap_err()), [3257]);
    assert!(world.instance.restore_target("new").is_none());
    assert_eq!(volume.list(Path::new("e")).unwrap(), Vec::<PathBuf>::new());
    // VERIFYONLY reports the same, and verifies.
    let warnings = space_warnings(&world.instance, &media, &request).unwrap();
    let levels: Vec<(u32, u8)> = warnings.iter().map(|m| (m.number, m.level)).collect();
    assert_eq!(levels, [(3181, 10), (3257, 10)]);
    volume.set_capacity(Path::new("e"), 16 << 20);
    assert_eq!(
        space_warnings(&world.instance, &media, &request).unwrap(),
        []
    );
    restore_database(&world.instance, &media, &request, &mut Silent).unwrap();
    // Its own files would go.
    assert_eq!(
        space_warnings(&world.instance, &media, &request).unwrap(),
        []
    );
}

#[test]
fn a_database_is_not_replaced_by_one_that_its_volume_has_no_room_for() {
    let (volume, world) = simulated();
    let full = request(1);
    world.backup(&full).unwrap();
    volume.create_dir(Path::new("e")).unwrap();
    let spec = DatabaseSpec::new("small", FileSpec::new("data", "e/s.mdf").size_mb(2));
    let spec = spec.log(FileSpec::new("log", "e/s.ldf").size_mb(1));
    let before = world.instance.create_database(&spec).unwrap().file_list();
    let before = before.unwrap();
    // Files of 8 MB; 3.5 MB are given back.
    volume.set_capacity(Path::new("e"), 7 << 20);
    let moves = [("data", "e/s.mdf"), ("more", "e/m.ndf"), ("log", "e/s.ldf")];
    let request = RestoreRequest {
        moves: moves.map(|m| (m.0.to_owned(), m.1.into())).to_vec(),
        replace: true,
        ..wanted("small", true)
    };
    let media = world.media(&full).unwrap();
    let refused = restore_database(&world.instance, &media, &request, &mut Silent);
    assert_eq!(numbers(&refused.unwrap_err()), [3257]);
    let small = world.instance.database("small").unwrap();
    assert_eq!(small.state(), DatabaseState::Online);
    assert_eq!(small.file_list().unwrap().len(), before.len());
    drop(small);
    volume.set_capacity(Path::new("e"), 16 << 20);
    restore_database(&world.instance, &media, &request, &mut Silent).unwrap();
}
