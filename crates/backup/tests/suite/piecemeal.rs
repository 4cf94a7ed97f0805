//! Piecemeal restores: the primary filegroup first, the others beside the open database.

use crate::chain::{full_model, log_backup, log_restore, take_tail, wanted};
use crate::files::{fill, group, other_table, restored, to_file};
use crate::world::{Silent, World, ids, insert, numbers, request, world};
use furrow_backup::{
    BackupError, BackupRequest, Parts, RestoreReport, RestoreRequest, recover_only,
    restore_database,
};
use furrow_engine::{Database, FileSpec, FileViewState, Session};
use std::path::PathBuf;
use std::sync::Arc;

/// RESTORE DATABASE copy FROM ... WITH PARTIAL.
pub fn partial(
    world: &World,
    from: &BackupRequest,
    recovery: bool,
) -> Result<RestoreReport, BackupError> {
    let request = RestoreRequest {
        moves: [("data", "mdf"), ("log", "ldf"), ("more", "ndf")]
            .map(|(file, ext)| {
                (
                    file.to_owned(),
                    PathBuf::from(format!("d/copy_{file}.{ext}")),
                )
            })
            .into(),
        partial: Some(Parts::default()),
        ..wanted("copy", recovery)
    };
    restore_database(&world.instance, &world.media(from)?, &request, &mut Silent)
}

fn states(db: &Arc<Database>) -> Vec<FileViewState> {
    db.all_files().unwrap().iter().map(|f| f.state).collect()
}

/// The number of the error that inserting into a table gets.
fn inserted(db: &Arc<Database>, name: &str, id: i64) -> Option<u32> {
    let mut session = Session::new(db).unwrap();
    let table = session.table(name).unwrap();
    let values = [
        furrow_types::Value::BigInt(id),
        furrow_types::Value::VarChar("v".into()),
    ];
    session.insert(&table, &values).err().map(|e| e.number())
}

/// 500 rows in both tables: 200 in the full backup, 200 in the log backup `l0`, the rest in `l1`.
fn backed_up(world: &World, full: &BackupRequest) {
    let (t, o) = (world.table("t"), other_table(world));
    full_model(world);
    let mut session = world.session();
    fill(&mut session, [&t, &o], 0..200);
    world.backup(full).unwrap();
    fill(&mut session, [&t, &o], 200..400);
    log_backup(world, "l0").unwrap();
    fill(&mut session, [&t, &o], 400..500);
    log_backup(world, "l1").unwrap();
}

#[test]
fn the_primary_filegroup_comes_online_first_and_the_other_one_later() {
    let world = world();
    let full = request(3);
    backed_up(&world, &full);
    partial(&world, &full, false).unwrap();
    let copy = log_restore(&world, ("l0", "copy"), true)
        .unwrap()
        .database
        .unwrap();
    assert_eq!(ids(&copy, "t"), (0..400).collect::<Vec<_>>());
    use FileViewState::{Online, RecoveryPending, Restoring};
    assert_eq!(states(&copy), [Online, Online, RecoveryPending]);
    assert_eq!(inserted(&copy, "o", 1000), Some(8653));
    assert_eq!(inserted(&copy, "t", 1000), None);
    copy.checkpoint().unwrap();
    let checked = copy.check_consistency(furrow_check::Options::default(), &|_| true);
    let findings = checked.unwrap().report.findings;
    let reported: Vec<String> = findings.iter().map(|f| format!("{f:?}")).collect();
    assert!(reported.is_empty(), "{}", reported.join("\n"));
    let refused = furrow_backup::backup_database(&copy, &full, &mut Silent).unwrap_err();
    assert_eq!(numbers(&refused), [3007]);
    drop(copy);
    let world = world.restart_after(|_| {});
    let copy = world.instance.database("copy").unwrap();
    assert_eq!(states(&copy), [Online, Online, RecoveryPending]);
    assert_eq!(inserted(&copy, "t", 1001), None);
    drop(copy);
    // The other filegroup, with a restart in between.
    restored(&world, (&full, &group("OTHER")), &wanted("copy", false)).unwrap();
    let copy = world.instance.database("copy").unwrap();
    assert_eq!(states(&copy), [Online, Online, Restoring]);
    let early = recover_only(&world.instance, "copy").unwrap_err();
    assert_eq!(numbers(&early), [4318]);
    drop(copy);
    let world = world.restart_after(|_| {});
    let copy = world.instance.database("copy").unwrap();
    assert_eq!(states(&copy), [Online, Online, Restoring]);
    assert_eq!(inserted(&copy, "t", 1002), None);
    log_restore(&world, ("l0", "copy"), false).unwrap();
    recover_only(&world.instance, "copy").unwrap();
    assert_eq!(states(&copy), [Online; 3]);
    assert_eq!(ids(&copy, "o"), (0..400).collect::<Vec<_>>());
    assert_eq!(inserted(&copy, "o", 1000), None);
    drop(copy);
    let world = world.restart_after(|_| {});
    let copy = world.instance.database("copy").unwrap();
    let mut all: Vec<i64> = (0..400).collect();
    all.push(1000);
    assert_eq!(ids(&copy, "o"), all);
    all.extend([1001, 1002]);
    assert_eq!(ids(&copy, "t"), all);
    assert_eq!(states(&copy), [Online; 3]);
    drop(copy);
    world.check("copy");
}

#[test]
fn a_log_backup_that_goes_past_the_recovery_is_cut_for_the_files_that_come_later() {
    let world = world();
    let full = request(1);
    backed_up(&world, &full);
    partial(&world, &full, true).unwrap();
    restored(&world, (&full, &group("OTHER")), &wanted("copy", true)).unwrap();
    let copy = world.instance.database("copy").unwrap();
    for table in ["t", "o"] {
        assert_eq!(ids(&copy, table), (0..200).collect::<Vec<_>>(), "{table}");
    }
    // All of it is there: nothing is restored while it is open.
    let again = restored(&world, (&full, &group("OTHER")), &wanted("copy", true)).unwrap_err();
    assert_eq!(numbers(&again), [3159]);
    drop(copy);
    world.check("copy");
}

#[test]
fn a_backup_newer_than_the_recovery_is_refused_for_its_files() {
    let world = world();
    let full = request(1);
    backed_up(&world, &full);
    let late = to_file("late", group("OTHER"));
    world.backup(&late).unwrap();
    log_backup(&world, "l2").unwrap();
    partial(&world, &full, true).unwrap();
    let newer = restored(&world, (&late, &group("OTHER")), &wanted("copy", false)).unwrap_err();
    assert_eq!(numbers(&newer), [3116]);
}

#[test]
fn a_transaction_in_a_file_that_is_left_out_is_not_forgotten() {
    let world = world();
    let (t, o) = (world.table("t"), other_table(&world));
    full_model(&world);
    let full = request(1);
    let mut session = world.session();
    fill(&mut session, [&t, &o], 0..100);
    let mut open = world.session();
    open.begin().unwrap();
    insert(&mut open, &o, 500, "x");
    world.backup(&full).unwrap();
    let refused = partial(&world, &full, true).unwrap_err();
    assert_eq!(numbers(&refused), [40514]);
    open.commit().unwrap();
    log_backup(&world, "l0").unwrap();
    let copy = log_restore(&world, ("l0", "copy"), true)
        .unwrap()
        .database
        .unwrap();
    restored(&world, (&full, &group("OTHER")), &wanted("copy", false)).unwrap();
    log_restore(&world, ("l0", "copy"), true).unwrap();
    assert_eq!(ids(&copy, "o").len(), 101);
    drop(copy);
    world.check("copy");
}

#[test]
fn a_file_that_was_added_to_a_filegroup_that_is_left_out_comes_back_with_it() {
    let world = world();
    let (t, o) = (world.table("t"), other_table(&world));
    full_model(&world);
    let full = request(2);
    let mut session = world.session();
    fill(&mut session, [&t, &o], 0..100);
    world.backup(&full).unwrap();
    let added = FileSpec::new("added", "d/added.ndf").size_mb(1);
    world.db.add_file(&added, Some("OTHER")).unwrap();
    fill(&mut session, [&t, &o], 100..900);
    log_backup(&world, "l0").unwrap();
    partial(&world, &full, false).unwrap();
    // The file that was added is left out, too: its place may be taken.
    let copy = log_restore(&world, ("l0", "copy"), true)
        .unwrap()
        .database
        .unwrap();
    assert_eq!(copy.absent_files().len(), 2);
    restored(&world, (&full, &group("OTHER")), &wanted("copy", false)).unwrap();
    let early = recover_only(&world.instance, "copy").unwrap_err();
    assert_eq!(numbers(&early), [4318]);
    let moved = RestoreRequest {
        moves: vec![("added".into(), PathBuf::from("d/copy_added.ndf"))],
        ..wanted("copy", true)
    };
    let log = world.media(&crate::chain::log_request("l0")).unwrap();
    furrow_backup::restore_log(&world.instance, &log, &moved, &mut Silent).unwrap();
    assert_eq!(ids(&copy, "o"), (0..900).collect::<Vec<_>>());
    drop(copy);
    world.check_also("copy", &["d/copy_added.ndf"]);
}

#[test]
fn statements_that_need_all_files_are_refused_by_name_and_the_database_can_be_dropped() {
    let mut world = world();
    let full = request(1);
    backed_up(&world, &full);
    partial(&world, &full, true).unwrap();
    let instance = Arc::clone(&world.instance);
    assert_eq!(
        instance.detach_database("copy").unwrap_err().number(),
        40514
    );
    let copy = instance.database("copy").unwrap();
    let add = FileSpec::new("added", "d/x.ndf").size_mb(1);
    assert_eq!(
        copy.add_file(&add, Some("OTHER")).unwrap_err().number(),
        5056
    );
    assert_eq!(copy.remove_file("more").unwrap_err().number(), 5056);
    let mut session = Session::new(&copy).unwrap();
    assert_eq!(session.drop_table("o").unwrap_err().number(), 8653);
    assert_eq!(session.truncate_table("o").unwrap_err().number(), 8653);
    let t = session.table("t").unwrap();
    insert(&mut session, &t, 7000, "x");
    drop((session, copy, t));
    // Files on their way back go with the database.
    restored(&world, (&full, &group("OTHER")), &wanted("copy", false)).unwrap();
    instance.drop_database("copy").unwrap();
    for left in [
        "copy_data.mdf",
        "copy_more.ndf",
        "copy_more.ndf_MSSQL_RESTORE",
    ] {
        let path = PathBuf::from(format!("d/{left}"));
        assert!(!world.volume.exists(&path).unwrap(), "{left}");
    }
    drop(instance);
    // A tail of a database that is whole is taken as before.
    take_tail(&mut world);
}

/// A restore of the other filegroup into `copy`, with its file here.
fn comes_back(
    world: &World,
    full: &BackupRequest,
    (to, replace): (Option<&str>, bool),
) -> Result<RestoreReport, BackupError> {
    let place = to.map(|to| ("more".to_owned(), PathBuf::from(to)));
    let request = RestoreRequest {
        moves: place.into_iter().collect(),
        replace,
        ..wanted("copy", true)
    };
    restored(world, (full, &group("OTHER")), &request)
}

#[test]
fn files_that_come_back_take_no_place_of_a_database_that_is_open() {
    let world = world();
    let full = request(1);
    backed_up(&world, &full);
    // The file that is left out is to be where the original database has it.
    let request = RestoreRequest {
        moves: [("data", "mdf"), ("log", "ldf")]
            .map(|(file, ext)| {
                let path = PathBuf::from(format!("d/copy_{file}.{ext}"));
                (file.to_owned(), path)
            })
            .into(),
        partial: Some(Parts::default()),
        ..wanted("copy", true)
    };
    let media = world.media(&full).unwrap();
    restore_database(&world.instance, &media, &request, &mut Silent).unwrap();
    let own = comes_back(&world, &full, (Some("d/copy_data.mdf"), false)).unwrap_err();
    assert_eq!(numbers(&own), [1834]);
    for place in [None, Some("d/data.mdf"), Some("d/copy_log.ldf")] {
        let used = comes_back(&world, &full, (place, true)).unwrap_err();
        assert_eq!(numbers(&used), [1834], "{place:?}");
    }
    // All of their files are there, and the place that is free is taken.
    let world = world.restart_after(|_| {});
    assert_eq!(ids(&world.db, "o"), (0..500).collect::<Vec<_>>());
    comes_back(&world, &full, (Some("d/copy_more.ndf"), false)).unwrap();
    let copy = world.instance.database("copy").unwrap();
    assert_eq!(ids(&copy, "o"), (0..200).collect::<Vec<_>>());
    drop(copy);
    world.check("copy");
}

#[test]
fn files_that_came_back_are_in_differential_backups_also_after_a_restart() {
    let world = world();
    let full = request(1);
    backed_up(&world, &full);
    partial(&world, &full, false).unwrap();
    log_restore(&world, ("l0", "copy"), true).unwrap();
    let again = partial_refused(&world);
    assert_eq!(numbers(&again), [40514]);
    restored(&world, (&full, &group("OTHER")), &wanted("copy", false)).unwrap();
    log_restore(&world, ("l0", "copy"), true).unwrap();
    let world = world.restart_after(|_| {});
    let copy = world.instance.database("copy").unwrap();
    let differential = BackupRequest {
        devices: crate::chain::log_request("diff").devices,
        differential: true,
        ..request(1)
    };
    furrow_backup::backup_database(&copy, &differential, &mut Silent).unwrap();
    world.restore_only(&full, "second").unwrap();
    let second = world.restore(&differential, "second").unwrap();
    let second = second.database.unwrap();
    for table in ["t", "o"] {
        assert_eq!(ids(&second, table), (0..400).collect::<Vec<_>>(), "{table}");
    }
    drop(second);
    world.check("second");
}

/// PARTIAL is for full backups.
fn partial_refused(world: &World) -> BackupError {
    let differential = BackupRequest {
        devices: crate::chain::log_request("partial").devices,
        differential: true,
        ..request(1)
    };
    world.backup(&differential).unwrap();
    partial(world, &differential, false).unwrap_err()
}

#[test]
fn a_differential_backup_behind_a_recovery_that_was_refused_moves_its_point() {
    let world = world();
    let (t, o) = (world.table("t"), other_table(&world));
    full_model(&world);
    let full = request(1);
    let mut session = world.session();
    fill(&mut session, [&t, &o], 0..100);
    let mut open = world.session();
    open.begin().unwrap();
    insert(&mut open, &o, 500, "x");
    world.backup(&full).unwrap();
    let refused = partial(&world, &full, true).unwrap_err();
    assert_eq!(numbers(&refused), [40514]);
    open.commit().unwrap();
    fill(&mut session, [&t, &o], 100..200);
    let differential = BackupRequest {
        devices: crate::chain::log_request("diff").devices,
        differential: true,
        ..request(1)
    };
    world.backup(&differential).unwrap();
    log_backup(&world, "l0").unwrap();
    let copy = world.restore(&differential, "copy").unwrap();
    let copy = copy.database.unwrap();
    assert_eq!(ids(&copy, "t"), (0..200).collect::<Vec<_>>());
    // The other filegroup has to come as far as the differential backup.
    let early = restored(&world, (&full, &group("OTHER")), &wanted("copy", true)).unwrap_err();
    assert_eq!(numbers(&early), [4318]);
    log_restore(&world, ("l0", "copy"), true).unwrap();
    let mut all: Vec<i64> = (0..200).collect();
    all.push(500);
    assert_eq!(ids(&copy, "o"), all);
    drop(copy);
    world.check("copy");
}

/// Turns the bits of a byte in the middle of a backup.
pub fn damage(world: &World, path: &str) {
    let path = PathBuf::from(path);
    let file = world
        .volume
        .open(&path, furrow_io::Open::Existing, furrow_io::Access::Data)
        .unwrap();
    let middle = file.len_bytes().unwrap() / 2 / 4096 * 4096;
    let mut unit = furrow_io::AlignedBuf::new(4096);
    file.read_at(middle, &mut unit).unwrap();
    unit[100] ^= 1;
    file.write_at(middle, &unit).unwrap();
}

#[test]
fn a_restore_of_files_that_was_interrupted_gives_way_to_another_filegroup() {
    let world = world();
    world.db.add_filegroup("THIRD").unwrap();
    let third = FileSpec::new("third", "d/third.ndf").size_mb(1);
    world.db.add_file(&third, Some("THIRD")).unwrap();
    let (t, o) = (world.table("t"), other_table(&world));
    full_model(&world);
    let (full, other) = (request(1), to_file("other", group("OTHER")));
    let mut session = world.session();
    fill(&mut session, [&t, &o], 0..100);
    world.backup(&full).unwrap();
    world.backup(&other).unwrap();
    fill(&mut session, [&t, &o], 100..200);
    log_backup(&world, "l0").unwrap();
    partial(&world, &full, false).unwrap();
    let copy = log_restore(&world, ("l0", "copy"), true).unwrap();
    let copy = copy.database.unwrap();
    damage(&world, "d/other.trn");
    restored(&world, (&other, &group("OTHER")), &wanted("copy", false)).unwrap_err();
    let moved = RestoreRequest {
        moves: vec![("third".into(), PathBuf::from("d/copy_third.ndf"))],
        ..wanted("copy", false)
    };
    restored(&world, (&full, &group("THIRD")), &moved).unwrap();
    // One that is sound does not give way.
    let second = restored(&world, (&full, &group("OTHER")), &wanted("copy", false)).unwrap_err();
    assert_eq!(numbers(&second), [40514]);
    log_restore(&world, ("l0", "copy"), true).unwrap();
    restored(&world, (&full, &group("OTHER")), &wanted("copy", false)).unwrap();
    log_restore(&world, ("l0", "copy"), true).unwrap();
    assert_eq!(states(&copy), [FileViewState::Online; 4]);
    assert_eq!(ids(&copy, "o"), (0..200).collect::<Vec<_>>());
    drop(copy);
    world.check_also("copy", &["d/copy_third.ndf"]);
}
