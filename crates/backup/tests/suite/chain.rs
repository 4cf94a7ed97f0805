//! Log backups, and restores of a full backup and the log backups behind it.

use crate::world::{Silent, World, ids, insert, numbers, request, world, world_with};
use furrow_backup::{
    BackupError, BackupReport, BackupRequest, Device, MediaSet, RestoreReport, RestoreRequest,
    backup_log, backup_tail, recover_only, restore_log,
};
use furrow_engine::{DatabaseState, FileGrowth, FileSpec, Session, Table};
use furrow_format::RecoveryModel;
use std::path::PathBuf;
use std::sync::Arc;

pub fn full_model(world: &World) {
    let mut options = world.db.options();
    options.recovery_model = RecoveryModel::Full;
    world.db.set_options(options).unwrap();
}

pub fn log_request(name: &str) -> BackupRequest {
    let device = Device::Disk(PathBuf::from(format!("d/{name}.trn")));
    BackupRequest {
        devices: vec![device],
        ..request(1)
    }
}

pub fn log_backup(world: &World, name: &str) -> Result<(), BackupError> {
    backup_log(&world.db, &log_request(name), &mut Silent).map(drop)
}

/// A world in the model FULL, its table `t`, and a full backup of it to so many stripes: a log chain begins.
pub fn chained(stripes: usize) -> (World, Arc<Table>, BackupRequest) {
    let world = world();
    let table = world.table("t");
    full_model(&world);
    let full = request(stripes);
    world.backup(&full).unwrap();
    (world, table, full)
}

/// BACKUP LOG ... WITH NORECOVERY to `tail`.
pub fn tail_backup(world: &World) -> Result<BackupReport, BackupError> {
    let request = log_request("tail");
    backup_tail(&world.instance, &world.db, &request, &mut Silent)
}

/// The tail of the log is taken: the database is RESTORING, and the world has another one.
pub fn take_tail(world: &mut World) {
    tail_backup(world).unwrap();
    world.let_go();
}

pub fn wanted(name: &str, recovery: bool) -> RestoreRequest {
    RestoreRequest {
        name: name.into(),
        recovery,
        ..RestoreRequest::default()
    }
}

pub fn log_restore(
    world: &World,
    (log, name): (&str, &str),
    recovery: bool,
) -> Result<RestoreReport, BackupError> {
    let media = MediaSet::open(&*world.volume, &[PathBuf::from(format!("d/{log}.trn"))])?;
    restore_log(
        &world.instance,
        &media,
        &wanted(name, recovery),
        &mut Silent,
    )
}

#[test]
fn a_chain_of_log_backups_restores_to_the_end_of_each() {
    let world = world();
    let table = world.table("t");
    let refused = log_backup(&world, "l").unwrap_err();
    assert_eq!(numbers(&refused), [4208]);
    full_model(&world);
    assert_eq!(numbers(&log_backup(&world, "l").unwrap_err()), [4214]);
    let mut session = world.session();
    let full = request(2);
    world.backup(&full).unwrap();
    // Some virtual log files and growths of the data file for each log backup.
    let per_backup = 2000;
    for n in 0..4 {
        for id in n * per_backup..(n + 1) * per_backup {
            insert(&mut session, &table, id, &"x".repeat(700));
        }
        log_backup(&world, &format!("l{n}")).unwrap();
    }
    for last in [0, 3] {
        let name = format!("copy{last}");
        world.restore_only(&full, &name).unwrap();
        let target = world.instance.restore_target(&name).unwrap();
        assert_eq!(target.state, DatabaseState::Restoring);
        if last > 0 {
            let early = log_restore(&world, ("l1", &name), false).unwrap_err();
            assert_eq!(numbers(&early), [4305]);
        }
        for n in 0..=last {
            log_restore(&world, (&format!("l{n}"), &name), false).unwrap();
        }
        if last > 0 {
            let late = log_restore(&world, ("l0", &name), false).unwrap_err();
            assert_eq!(numbers(&late), [4326]);
        }
        let copy = recover_only(&world.instance, &name).unwrap();
        let expected: Vec<i64> = (0..(last + 1) * per_backup).collect();
        assert_eq!(ids(&copy, "t"), expected);
        drop(copy);
        world.check(&name);
    }
}

#[test]
fn the_log_is_held_until_it_is_backed_up_also_over_a_restart() {
    let (world, table, full) = chained(1);
    let mut session = world.session();
    (0..3000).for_each(|id| insert(&mut session, &table, id, &"x".repeat(900)));
    world.db.checkpoint().unwrap();
    world.db.checkpoint().unwrap();
    let view = world.db.log_view();
    assert_eq!(view.reuse_wait.name(), "LOG_BACKUP");
    drop((session, table));
    let world = world.restart_after(|_| {});
    let mut session = Session::new(&world.db).unwrap();
    let table = session.table("t").unwrap();
    insert(&mut session, &table, 3000, "behind the restart");
    log_backup(&world, "l0").unwrap();
    let used = world.db.log_view().usage.used_bytes;
    assert!(
        used < view.usage.used_bytes,
        "{used} of {}",
        view.usage.used_bytes
    );
    world.restore_only(&full, "copy").unwrap();
    let copy = log_restore(&world, ("l0", "copy"), true)
        .unwrap()
        .database
        .unwrap();
    assert_eq!(ids(&copy, "t").len(), 3001);
    drop(copy);
    world.check("copy");
}

#[test]
fn a_database_whose_log_is_full_when_it_is_shut_down_opens_again() {
    // Small steps, so that many restarts find next to no room.
    let growth = FileGrowth::Pages(16);
    let log = FileSpec::new("log", "d/log.ldf").size_mb(1);
    let mut world = world_with(log.growth(growth));
    world.table("t");
    full_model(&world);
    world.backup(&request(1)).unwrap();
    for restart in 0..100 {
        let mut session = world.session();
        let table = session.table("t").unwrap();
        let length = 40 * (restart % 37) + 10;
        insert(&mut session, &table, restart, &"x".repeat(length as usize));
        drop((session, table));
        world = world.restart_after(|_| {});
    }
    assert_eq!(ids(&world.db, "t").len(), 100);
}

#[test]
fn log_backups_go_on_where_the_last_one_ended_even_with_nothing_between() {
    let (world, table, full) = chained(1);
    log_backup(&world, "l0").unwrap();
    log_backup(&world, "l1").unwrap();
    let mut session = world.session();
    insert(&mut session, &table, 1, "one");
    log_backup(&world, "l2").unwrap();
    world.restore_only(&full, "copy").unwrap();
    for n in ["l0", "l1"] {
        log_restore(&world, (n, "copy"), false).unwrap();
    }
    let copy = log_restore(&world, ("l2", "copy"), true)
        .unwrap()
        .database
        .unwrap();
    assert_eq!(ids(&copy, "t"), [1]);
}

#[test]
fn a_file_that_was_added_since_the_full_backup_is_made_by_the_log_restore() {
    let world = world();
    full_model(&world);
    let full = request(1);
    world.backup(&full).unwrap();
    let spec = FileSpec::new("added", "d/added.ndf").size_mb(1);
    world.db.add_file(&spec, None).unwrap();
    log_backup(&world, "l0").unwrap();
    let table = world.table("t");
    let mut session = world.session();
    (0..1500).for_each(|id| insert(&mut session, &table, id, &"x".repeat(3000)));
    let grown = world.db.file_list().unwrap();
    let added = grown.iter().find(|f| f.name == "added").unwrap();
    assert!(
        added.free_extents * 8 < added.size_pages - 8,
        "rows are in the added file"
    );
    log_backup(&world, "l1").unwrap();
    world.restore_only(&full, "copy").unwrap();
    let media = MediaSet::open(&*world.volume, &[PathBuf::from("d/l0.trn")]).unwrap();
    let place = PathBuf::from("d/copy_added.ndf");
    let moved = RestoreRequest {
        moves: vec![("added".into(), place.clone())],
        ..wanted("copy", false)
    };
    restore_log(&world.instance, &media, &moved, &mut Silent).unwrap();
    let last = log_restore(&world, ("l1", "copy"), true).unwrap();
    let copy = last.database.unwrap();
    assert_eq!(ids(&copy, "t").len(), 1500);
    let files = copy.file_list().unwrap();
    assert!(files.iter().any(|f| f.name == "added" && f.path == place));
    drop(copy);
    world.check_also("copy", &["d/copy_added.ndf"]);
}

#[test]
fn a_log_backup_that_begins_long_before_the_full_backup_is_restored_behind_it() {
    let world = world();
    let table = world.table("t");
    full_model(&world);
    world.backup(&request(1)).unwrap();
    let mut session = world.session();
    (0..4000).for_each(|id| insert(&mut session, &table, id, &"x".repeat(900)));
    let full = request(2);
    world.backup(&full).unwrap();
    insert(&mut session, &table, 4000, "behind the second full backup");
    log_backup(&world, "l0").unwrap();
    world.restore_only(&full, "copy").unwrap();
    let last = log_restore(&world, ("l0", "copy"), true).unwrap();
    let copy = last.database.unwrap();
    assert_eq!(ids(&copy, "t").len(), 4001);
    drop(copy);
    world.check("copy");
}

#[test]
fn the_number_of_a_file_is_not_used_again_while_log_backups_go_on() {
    let world = world();
    full_model(&world);
    let gone = FileSpec::new("gone", "d/gone.ndf").size_mb(1);
    let old = world.db.add_file(&gone, None).unwrap();
    let full = request(1);
    world.backup(&full).unwrap();
    world.db.remove_file("gone").unwrap();
    // The number is remembered over a restart.
    let world = world.restart_after(|_| {});
    let new = FileSpec::new("new", "d/new.ndf").size_mb(1);
    let new = world.db.add_file(&new, Some("OTHER")).unwrap();
    assert!(new > old, "{new:?} and {old:?}");
    let (t, o) = (world.table("t"), crate::files::other_table(&world));
    crate::files::fill(&mut world.session(), [&t, &o], 0..900);
    log_backup(&world, "l0").unwrap();
    world.restore_with(&full, "copy", &["gone"]).unwrap();
    let media = world.media(&log_request("l0")).unwrap();
    let request = RestoreRequest {
        moves: vec![("new".into(), "d/copy_new.ndf".into())],
        ..wanted("copy", true)
    };
    let done = restore_log(&world.instance, &media, &request, &mut Silent).unwrap();
    let copy = done.database.unwrap();
    for table in ["t", "o"] {
        assert_eq!(ids(&copy, table), (0..900).collect::<Vec<_>>(), "{table}");
    }
    let names: Vec<String> = copy
        .file_list()
        .unwrap()
        .into_iter()
        .map(|f| f.name)
        .collect();
    assert_eq!(names, ["data", "log", "more", "new"]);
    drop(copy);
    world.check_also("copy", &["d/copy_new.ndf"]);
}

#[test]
fn a_log_backup_with_another_file_of_the_same_number_is_refused_by_name() {
    let (world, _, full) = chained(1);
    log_backup(&world, "l0").unwrap();
    world.restore_only(&full, "copy").unwrap();
    // The file in place is another one than that of the log backup.
    let set = world.media(&full).unwrap().info(1).unwrap();
    let more = set.files.iter().find(|f| f.name == "more");
    let guid = more.unwrap().guid.0;
    let turn = || {
        let path = std::path::Path::new("d/copy_more.ndf");
        let file = world
            .volume
            .open(path, furrow_io::Open::Existing, furrow_io::Access::Data)
            .unwrap();
        let mut page = furrow_io::AlignedBuf::new(8192);
        file.read_at(0, &mut page).unwrap();
        let at = page.windows(15).position(|bytes| *bytes == guid[1..]);
        page[at.unwrap() - 1] ^= 0xff;
        file.write_at(0, &page).unwrap();
    };
    turn();
    let refused = log_restore(&world, ("l0", "copy"), true).unwrap_err();
    assert_eq!(numbers(&refused), [40_514]);
    assert!(refused.to_string().contains("more"), "{refused}");
    turn();
    log_restore(&world, ("l0", "copy"), true).unwrap();
}
