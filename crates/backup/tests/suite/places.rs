//! Places of the files of a restore: what it may remove there, and what it may not.

use crate::chain::{chained, log_restore, tail_backup, take_tail, wanted};
use crate::files::{fill, group, other_table, restored, to_file};
use crate::world::{Silent, World, ids, insert, numbers, request, world};
use furrow_backup::{
    BackupError, BackupRequest, Device, Parts, RestoreReport, RestoreRequest, backup_database,
    recover_only, restore_database,
};
use furrow_engine::{DatabaseSpec, DatabaseState, FileSpec};
use furrow_io::{Access, AlignedBuf, Open};
use std::path::{Path, PathBuf};

/// RESTORE DATABASE with these places.
pub fn restored_to(
    world: &World,
    (from, name): (&BackupRequest, &str),
    (moves, replace): (&[(&str, &str)], bool),
) -> Result<RestoreReport, BackupError> {
    let moves = moves.iter();
    let request = RestoreRequest {
        moves: moves
            .map(|(file, to)| ((*file).to_owned(), PathBuf::from(to)))
            .collect(),
        replace,
        ..wanted(name, false)
    };
    restore_database(&world.instance, &world.media(from)?, &request, &mut Silent)
}

/// A file that is no database's.
fn notes(world: &World) {
    let path = Path::new("d/notes.dat");
    let file = world.volume.open(path, Open::Create, Access::Data);
    let mut bytes = AlignedBuf::new(8192);
    bytes.fill(0x4E);
    file.unwrap().write_at(0, &bytes).unwrap();
}

/// It is as it was.
fn notes_are_there(world: &World) {
    let bytes = furrow_io::read_file(&*world.volume, Path::new("d/notes.dat")).unwrap();
    assert!(bytes.len() == 8192 && bytes.iter().all(|b| *b == 0x4E));
}

pub fn is_there(world: &World, path: &str) -> bool {
    world.volume.exists(Path::new(path)).unwrap()
}

/// A place whose name has so many letters.
fn long_name(letters: usize) -> String {
    format!("d/{}", "n".repeat(letters))
}

#[test]
fn a_restore_with_replace_takes_no_file_of_a_database_that_is_not_open() {
    let (mut world, t, full) = chained(1);
    let o = other_table(&world);
    fill(&mut world.session(), [&t, &o], 0..100);
    world.backup(&full).unwrap();
    drop((t, o));
    world.let_go();
    world.instance.close_database("test").unwrap();
    let copies = [
        ("data", "d/copy.mdf"),
        ("log", "d/copy.ldf"),
        ("more", "d/copy.ndf"),
    ];
    // None of the files is moved; all but one are: the list of databases names the primary file alone.
    let all_but = |stays: &str| copies.into_iter().filter(|m| m.0 != stays).collect();
    let ways: [Vec<(&str, &str)>; 4] = [vec![], all_but("data"), all_but("log"), all_but("more")];
    for moves in &ways {
        let used = restored_to(&world, (&full, "copy"), (moves, true)).unwrap_err();
        assert_eq!(numbers(&used), [1834], "{moves:?}");
        assert!(world.instance.restore_target("copy").is_none(), "{moves:?}");
    }
    // What lies beside a file is a database's, too.
    let beside = [copies[0], copies[1], ("more", "d/more.ndf.dw")];
    let used = restored_to(&world, (&full, "copy"), (&beside, true)).unwrap_err();
    assert_eq!(numbers(&used), [1834]);
    world.db = world.instance.reopen_database("test").unwrap();
    assert_eq!(ids(&world.db, "o"), (0..100).collect::<Vec<_>>());
    // One that is RESTORING.
    tail_backup(&world).unwrap();
    world.db = world.instance.database("spare").unwrap();
    for moves in &ways {
        let used = restored_to(&world, (&full, "copy"), (moves, true)).unwrap_err();
        assert_eq!(numbers(&used), [1834], "{moves:?}");
    }
    let db = recover_only(&world.instance, "test").unwrap();
    assert_eq!(ids(&db, "o"), (0..100).collect::<Vec<_>>());
    // The undo file of one in standby.
    let standby = RestoreRequest {
        moves: copies
            .map(|(file, to)| (file.to_owned(), PathBuf::from(to)))
            .into(),
        standby: Some("d/copy.undo".into()),
        ..wanted("copy", true)
    };
    let media = world.media(&full).unwrap();
    restore_database(&world.instance, &media, &standby, &mut Silent).unwrap();
    let undo = [
        ("data", "d/copy.undo"),
        ("log", "d/second.ldf"),
        ("more", "d/second.ndf"),
    ];
    let used = restored_to(&world, (&full, "second"), (&undo, true)).unwrap_err();
    assert_eq!(numbers(&used), [1834]);
    let copy = recover_only(&world.instance, "copy").unwrap();
    assert_eq!(ids(&copy, "t"), (0..100).collect::<Vec<_>>());
}

#[test]
fn a_restore_that_is_refused_leaves_the_database_that_it_would_replace() {
    let mut world = world();
    let table = world.table("t");
    insert(&mut world.session(), &table, 1, "stays");
    let full = request(1);
    world.backup(&full).unwrap();
    drop(table);
    let spec = DatabaseSpec::new("other", FileSpec::new("other", "d/other.mdf").size_mb(4));
    let log = FileSpec::new("other_log", "d/other.ldf").size_mb(1);
    let other = world.instance.create_database(&spec.log(log)).unwrap();
    let of_other = to_file("other", Parts::default());
    backup_database(&other, &of_other, &mut Silent).unwrap();
    drop(other);
    world.let_go();
    // Places of a database that is open, and of none in a directory that is not there.
    let over = restored_to(&world, (&of_other, "test"), (&[], true)).unwrap_err();
    assert_eq!(numbers(&over), [1834]);
    for replace in [true, false] {
        let nowhere = [("log", "none/log.ldf")];
        let nowhere = restored_to(&world, (&full, "test"), (&nowhere, replace)).unwrap_err();
        assert_eq!(numbers(&nowhere), [5133], "{replace}");
    }
    // A directory, an empty one, names that the file system does not take.
    world.volume.create_dir(Path::new("e")).unwrap();
    let (long, guard) = (long_name(256), long_name(253));
    for (place, replace, number) in [
        ("d", true, 5170),
        ("e", true, 5170),
        ("d/", true, 5105),
        (&long, true, 5105),
        (&long, false, 5105),
        // Its double-write file.
        (&guard, true, 5105),
    ] {
        let refused = restored_to(&world, (&full, "test"), (&[("more", place)], replace));
        let refused = numbers(&refused.unwrap_err());
        assert_eq!(refused, [number], "{place} {replace}");
    }
    assert!(is_there(&world, "e"));
    let db = world.instance.database("test").unwrap();
    assert_eq!(ids(&db, "t"), [1]);
    drop(db);
    // Of one that is RESTORING, a place that is taken.
    notes(&world);
    restored_to(&world, (&full, "test"), (&[], true)).unwrap();
    let taken = [("more", "d/notes.dat")];
    let taken = restored_to(&world, (&full, "test"), (&taken, false)).unwrap_err();
    assert_eq!(numbers(&taken), [5170]);
    notes_are_there(&world);
    let db = recover_only(&world.instance, "test").unwrap();
    assert_eq!(ids(&db, "t"), [1]);
}

#[test]
fn a_file_that_is_restored_takes_no_place_of_another_file() {
    let (mut world, t, full) = chained(1);
    let o = other_table(&world);
    fill(&mut world.session(), [&t, &o], 0..100);
    drop((t, o));
    take_tail(&mut world);
    notes(&world);
    let to = |place: &str, replace| {
        let request = RestoreRequest {
            moves: vec![("more".into(), place.into())],
            replace,
            ..wanted("test", false)
        };
        restored(&world, (&full, &group("OTHER")), &request)
    };
    assert_eq!(numbers(&to("d/notes.dat", false).unwrap_err()), [5170]);
    for replace in [false, true] {
        let nowhere = to("none/more.ndf", replace).unwrap_err();
        assert_eq!(numbers(&nowhere), [5133], "{replace}");
        assert!(is_there(&world, "d/more.ndf"));
    }
    let long = long_name(256);
    for (place, replace, number) in [("d", true, 5170), (&long, true, 5105), (&long, false, 5105)] {
        let refused = numbers(&to(place, replace).unwrap_err());
        assert_eq!(refused, [number], "{place} {replace}");
        assert!(is_there(&world, "d/more.ndf"));
    }
    to("d/g.ndf", true).unwrap();
    notes_are_there(&world);
    assert!(!is_there(&world, "d/more.ndf"));
    // REPLACE takes a place, and the file goes back to it.
    to("d/notes.dat", true).unwrap();
    assert!(!is_there(&world, "d/g.ndf"));
    let db = log_restore(&world, ("tail", "test"), true).unwrap();
    let db = db.database.unwrap();
    for table in ["t", "o"] {
        assert_eq!(ids(&db, table), (0..100).collect::<Vec<_>>(), "{table}");
    }
}

#[test]
fn a_new_file_of_a_differential_backup_takes_no_place_of_another_file() {
    let world = world();
    let table = world.table("t");
    let full = request(1);
    world.backup(&full).unwrap();
    let spec = FileSpec::new("new", "d/new.ndf").size_mb(1);
    world.db.add_file(&spec, None).unwrap();
    insert(&mut world.session(), &table, 1, "in it");
    let differential = BackupRequest {
        differential: true,
        ..to_file("diff", Parts::default())
    };
    world.backup(&differential).unwrap();
    world.restore_only(&full, "copy").unwrap();
    notes(&world);
    let to = |place| restored_to(&world, (&differential, "copy"), (&[("new", place)], false));
    for (place, number) in [
        ("none/new.ndf", 5133),
        ("d/notes.dat", 5170),
        ("d/new.ndf", 1834),
    ] {
        assert_eq!(numbers(&to(place).unwrap_err()), [number], "{place}");
    }
    notes_are_there(&world);
    let target = world.instance.restore_target("copy").unwrap();
    assert_eq!(target.state, DatabaseState::Restoring);
    to("d/copy_new.ndf").unwrap();
    let copy = recover_only(&world.instance, "copy").unwrap();
    assert_eq!(ids(&copy, "t"), [1]);
    drop(copy);
    world.check_also("copy", &["d/copy_new.ndf"]);
}

#[test]
fn a_backup_with_format_takes_no_file_of_a_database_that_no_instance_knows() {
    let mut world = world();
    let files = ["d/data.mdf", "d/more.ndf", "d/log.ldf"];
    world.let_go();
    world.instance.detach_database("test").unwrap();
    let other = DatabaseSpec::new("other", FileSpec::new("d/other.mdf", "other"));
    let other = world.instance.create_database(&other).unwrap();
    let to_path = |path: &str| BackupRequest {
        devices: vec![Device::Disk(PathBuf::from(path))],
        ..request(1)
    };
    let bytes_of = |path| furrow_io::read_file(&*world.volume, Path::new(path)).unwrap();
    for path in files {
        let before = bytes_of(path);
        let refused = backup_database(&other, &to_path(path), &mut Silent);
        let refused = refused.expect_err(path);
        assert!(
            refused.to_string().contains("belongs to a database"),
            "{path}: {refused}"
        );
        assert!(before == bytes_of(path), "{path}");
    }
    notes(&world);
    backup_database(&other, &to_path("d/notes.dat"), &mut Silent).unwrap();
}
