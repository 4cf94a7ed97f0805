//! Backups and restores of files and filegroups.

use crate::chain::{full_model, log_backup, log_request, log_restore, take_tail, wanted};
use crate::world::{Silent, World, ids, insert, numbers, request, world};
use furrow_backup::media::BackupKind;
use furrow_backup::{
    BackupError, BackupRequest, MediaSet, Parts, RestoreReport, RestoreRequest, backup_database,
    recover_only, restore_files,
};
use furrow_engine::{ColumnSpec, Session, Table, TableSpec};
use furrow_io::{Access, Fill, Open};
use furrow_types::{DataType, TypeId};
use std::path::{Path, PathBuf};
use std::sync::Arc;

fn file(name: &str) -> Parts {
    Parts {
        files: vec![name.to_owned()],
        ..Parts::default()
    }
}

pub fn group(name: &str) -> Parts {
    Parts {
        filegroups: vec![name.to_owned()],
        ..Parts::default()
    }
}

/// A table in the other filegroup.
pub fn other_table(world: &World) -> Arc<Table> {
    let spec = TableSpec::new("o")
        .column(ColumnSpec::new("id", DataType::simple(TypeId::BigInt)).not_null())
        .column(ColumnSpec::new("v", DataType::sized(TypeId::VarChar, 8000)))
        .primary_key(["id"])
        .on("OTHER");
    world.session().create_table(&spec).unwrap()
}

pub fn to_file(name: &str, parts: Parts) -> BackupRequest {
    BackupRequest {
        devices: log_request(name).devices,
        parts,
        ..request(1)
    }
}

pub fn restored(
    world: &World,
    (from, parts): (&BackupRequest, &Parts),
    request: &RestoreRequest,
) -> Result<RestoreReport, BackupError> {
    let media = world.media(from)?;
    restore_files(&world.instance, &media, (request, parts), &mut Silent)
}

/// Rows in both tables.
pub fn fill(session: &mut Session, tables: [&Arc<Table>; 2], ids: std::ops::Range<i64>) {
    for id in ids {
        for table in tables {
            insert(session, table, id, &"x".repeat(600));
        }
    }
}

#[test]
fn a_lost_file_comes_back_from_a_file_backup_and_the_log() {
    let mut world = world();
    let (t, o) = (world.table("t"), other_table(&world));
    full_model(&world);
    let full = request(2);
    let mut session = world.session();
    fill(&mut session, [&t, &o], 0..300);
    world.backup(&full).unwrap();
    fill(&mut session, [&t, &o], 300..600);
    log_backup(&world, "l0").unwrap();
    let one = to_file("other", group("other"));
    let report = world.backup(&one).unwrap();
    assert_eq!(report.info.kind, BackupKind::Files);
    let names: Vec<&str> = report.files.iter().map(|f| f.name.as_str()).collect();
    assert_eq!(names, ["more"]);
    fill(&mut session, [&t, &o], 600..900);
    log_backup(&world, "l1").unwrap();
    fill(&mut session, [&t, &o], 900..1000);
    drop((session, t, o));
    let early = restored(&world, (&one, &file("more")), &wanted("test", false)).unwrap_err();
    assert_eq!(numbers(&early), [3159]);
    take_tail(&mut world);
    // Nothing is left of the file.
    let lost = world
        .volume
        .open(Path::new("d/more.ndf"), Open::Existing, Access::Data);
    lost.unwrap().resize(0, Fill::Allocate).unwrap();
    let short = restored(&world, (&one, &file("more")), &wanted("test", true)).unwrap_err();
    assert_eq!(numbers(&short), [4318]);
    log_restore(&world, ("l1", "test"), false).unwrap();
    let short = recover_only(&world.instance, "test").unwrap_err();
    assert_eq!(numbers(&short), [4318]);
    let db = log_restore(&world, ("tail", "test"), true)
        .unwrap()
        .database
        .unwrap();
    for table in ["t", "o"] {
        assert_eq!(ids(&db, table), (0..1000).collect::<Vec<_>>(), "{table}");
    }
}

#[test]
fn a_file_of_a_database_that_was_itself_restored_comes_back() {
    for restarted in [false, true] {
        let mut world = world();
        let (t, o) = (world.table("t"), other_table(&world));
        full_model(&world);
        fill(&mut world.session(), [&t, &o], 0..100);
        drop((t, o));
        let first = request(2);
        world.backup(&first).unwrap();
        world.db = world
            .restore_finally(&first, "copy", &[])
            .unwrap()
            .database
            .unwrap();
        let full = to_file("full", Parts::default());
        world.backup(&full).unwrap();
        let mut session = world.session();
        let (t, o) = (session.table("t").unwrap(), session.table("o").unwrap());
        fill(&mut session, [&t, &o], 100..200);
        drop((session, t, o));
        log_backup(&world, "l0").unwrap();
        take_tail(&mut world);
        if restarted {
            world = world.restart_after(|_| {});
        }
        restored(&world, (&full, &file("more")), &wanted("copy", false)).unwrap();
        log_restore(&world, ("l0", "copy"), false).unwrap();
        let tail = log_restore(&world, ("tail", "copy"), true).unwrap();
        let db = tail.database.unwrap();
        assert_eq!(ids(&db, "o"), (0..200).collect::<Vec<_>>());
    }
}

#[test]
fn the_primary_file_comes_back_from_a_full_backup_and_a_file_moves() {
    let mut world = world();
    let (t, o) = (world.table("t"), other_table(&world));
    full_model(&world);
    let full = request(2);
    let mut session = world.session();
    fill(&mut session, [&t, &o], 0..300);
    world.backup(&full).unwrap();
    fill(&mut session, [&t, &o], 300..800);
    log_backup(&world, "l0").unwrap();
    fill(&mut session, [&t, &o], 800..900);
    drop((session, t, o));
    take_tail(&mut world);
    restored(&world, (&full, &group("primary")), &wanted("test", false)).unwrap();
    let moved = RestoreRequest {
        moves: vec![("more".into(), PathBuf::from("d/moved.ndf"))],
        ..wanted("test", false)
    };
    // The log goes back to the same backup: it stays.
    restored(&world, (&full, &file("more")), &moved).unwrap();
    assert!(!world.volume.exists(Path::new("d/more.ndf")).unwrap());
    log_restore(&world, ("l0", "test"), false).unwrap();
    let db = log_restore(&world, ("tail", "test"), true)
        .unwrap()
        .database
        .unwrap();
    for table in ["t", "o"] {
        assert_eq!(ids(&db, table), (0..900).collect::<Vec<_>>(), "{table}");
    }
    let files = db.file_list().unwrap();
    assert!(files.iter().any(|f| f.path == Path::new("d/moved.ndf")));
}

#[test]
fn a_file_backup_newer_than_a_restored_full_backup_waits_for_the_log_between() {
    let world = world();
    let (t, o) = (world.table("t"), other_table(&world));
    full_model(&world);
    let full = request(1);
    world.backup(&full).unwrap();
    let mut session = world.session();
    fill(&mut session, [&t, &o], 0..400);
    let one = to_file("other", file("more"));
    world.backup(&one).unwrap();
    fill(&mut session, [&t, &o], 400..500);
    log_backup(&world, "l0").unwrap();
    world.restore_only(&full, "copy").unwrap();
    restored(&world, (&one, &file("more")), &wanted("copy", false)).unwrap();
    let short = recover_only(&world.instance, "copy").unwrap_err();
    assert_eq!(numbers(&short), [4318]);
    let copy = log_restore(&world, ("l0", "copy"), true)
        .unwrap()
        .database
        .unwrap();
    for table in ["t", "o"] {
        assert_eq!(ids(&copy, table), (0..500).collect::<Vec<_>>(), "{table}");
    }
    drop(copy);
    world.check("copy");
}

#[test]
fn files_that_are_not_there_are_refused_by_name() {
    let world = world();
    let full = request(1);
    let simple = world.backup(&to_file("f", file("more"))).unwrap_err();
    assert_eq!(numbers(&simple), [3004]);
    full_model(&world);
    world.backup(&full).unwrap();
    let refused = |parts| numbers(&world.backup(&to_file("f", parts)).unwrap_err());
    assert_eq!(refused(file("none")), [3234]);
    assert_eq!(refused(file("log")), [3234]);
    assert_eq!(refused(group("none")), [3027]);
    world.backup(&to_file("f", file("more"))).unwrap();
    world.restore_only(&full, "copy").unwrap();
    let set = to_file("f", Parts::default());
    let other = restored(&world, (&set, &file("data")), &wanted("copy", false)).unwrap_err();
    assert_eq!(numbers(&other), [3234]);
    let missing = restored(&world, (&set, &file("more")), &wanted("none", false)).unwrap_err();
    assert_eq!(numbers(&missing), [3118]);
    log_backup(&world, "l0").unwrap();
    let media = MediaSet::open(&*world.volume, &[PathBuf::from("d/l0.trn")]).unwrap();
    let wanted = wanted("copy", false);
    let log = restore_files(
        &world.instance,
        &media,
        (&wanted, &file("more")),
        &mut Silent,
    );
    assert_eq!(numbers(&log.unwrap_err()), [3135]);
}

#[test]
fn a_differential_backup_does_not_go_over_a_file_older_than_its_base() {
    let world = world();
    let (t, o) = (world.table("t"), other_table(&world));
    full_model(&world);
    let old = to_file("old", Parts::default());
    world.backup(&old).unwrap();
    let mut session = world.session();
    fill(&mut session, [&t, &o], 0..200);
    let full = request(1);
    world.backup(&full).unwrap();
    fill(&mut session, [&t, &o], 200..300);
    let differential = BackupRequest {
        differential: true,
        ..to_file("diff", Parts::default())
    };
    world.backup(&differential).unwrap();
    log_backup(&world, "l0").unwrap();
    world.restore_only(&full, "copy").unwrap();
    restored(&world, (&old, &file("more")), &wanted("copy", false)).unwrap();
    let over = world.restore_only(&differential, "copy").unwrap_err();
    assert_eq!(numbers(&over), [3136]);
    // The log brings it there.
    let copy = log_restore(&world, ("l0", "copy"), true)
        .unwrap()
        .database
        .unwrap();
    for table in ["t", "o"] {
        assert_eq!(ids(&copy, table), (0..300).collect::<Vec<_>>(), "{table}");
    }
    drop(copy);
    world.check("copy");
}

#[test]
fn a_differential_backup_does_not_go_over_files_newer_than_it() {
    let mut world = world();
    let (t, o) = (world.table("t"), other_table(&world));
    full_model(&world);
    let full = request(1);
    world.backup(&full).unwrap();
    let mut session = world.session();
    fill(&mut session, [&t, &o], 0..200);
    let differential = BackupRequest {
        differential: true,
        ..to_file("diff", Parts::default())
    };
    world.backup(&differential).unwrap();
    fill(&mut session, [&t, &o], 200..500);
    drop((session, t, o));
    take_tail(&mut world);
    restored(&world, (&full, &file("more")), &wanted("test", false)).unwrap();
    let over = world.restore_only(&differential, "test").unwrap_err();
    assert_eq!(numbers(&over), [3136]);
    // The log brings the file to the others.
    let db = log_restore(&world, ("tail", "test"), true)
        .unwrap()
        .database
        .unwrap();
    for table in ["t", "o"] {
        assert_eq!(ids(&db, table), (0..500).collect::<Vec<_>>(), "{table}");
    }
}

#[test]
fn files_of_a_copy_are_refused_by_the_database_that_it_is_a_copy_of() {
    let mut world = world();
    let (t, o) = (world.table("t"), other_table(&world));
    full_model(&world);
    let full = request(1);
    let mut session = world.session();
    fill(&mut session, [&t, &o], 0..100);
    world.backup(&full).unwrap();
    let copy = world.restore(&full, "copy").unwrap().database.unwrap();
    let of_copy = to_file("of_copy", Parts::default());
    backup_database(&copy, &of_copy, &mut Silent).unwrap();
    drop((session, t, o, copy));
    take_tail(&mut world);
    for name in ["more", "data"] {
        let other = restored(&world, (&of_copy, &file(name)), &wanted("test", false));
        assert_eq!(numbers(&other.unwrap_err()), [3116], "{name}");
    }
    let db = recover_only(&world.instance, "test").unwrap();
    assert_eq!(ids(&db, "o"), (0..100).collect::<Vec<_>>());
}

#[test]
fn a_file_is_not_restored_without_the_log_of_a_recovery_that_was_interrupted() {
    let world = world();
    let (t, o) = (world.table("t"), other_table(&world));
    full_model(&world);
    let old = to_file("old", Parts::default());
    world.backup(&old).unwrap();
    let mut session = world.session();
    fill(&mut session, [&t, &o], 0..300);
    let full = request(1);
    world.backup(&full).unwrap();
    fill(&mut session, [&t, &o], 300..600);
    log_backup(&world, "l0").unwrap();
    world.restore_only(&full, "copy").unwrap();
    log_restore(&world, ("l0", "copy"), false).unwrap();
    // Recovery begins, and cannot read the boot page.
    let turn = || {
        let path = Path::new("d/copy_data.mdf");
        let data = world.volume.open(path, Open::Existing, Access::Data);
        let (data, mut boot) = (data.unwrap(), furrow_io::AlignedBuf::new(8192));
        data.read_at(9 * 8192, &mut boot).unwrap();
        boot[4096] ^= 0xff;
        data.write_at(9 * 8192, &boot).unwrap();
    };
    turn();
    recover_only(&world.instance, "copy").unwrap_err();
    turn();
    let before = furrow_io::read_file(&*world.volume, Path::new("d/copy_more.ndf")).unwrap();
    let early = restored(&world, (&old, &file("more")), &wanted("copy", false)).unwrap_err();
    assert_eq!(numbers(&early), [3116]);
    let after = furrow_io::read_file(&*world.volume, Path::new("d/copy_more.ndf")).unwrap();
    assert!(before == after, "nothing was removed");
    let copy = recover_only(&world.instance, "copy").unwrap();
    for table in ["t", "o"] {
        assert_eq!(ids(&copy, table), (0..600).collect::<Vec<_>>(), "{table}");
    }
    drop(copy);
    world.check("copy");
}
