//! Recovery forks: the log of a copy, and log that a restore left behind.

use crate::chain::{chained, full_model, log_request, take_tail, wanted};
use crate::stop::{between, stopping};
use crate::world::{Silent, World, ids, insert, numbers, request, world};
use furrow_backup::chain::{ScriptOptions, chains, script};
use furrow_backup::media::SetInfo;
use furrow_backup::{
    BackupError, BackupRequest, Parts, RestoreReport, backup_database, backup_log, recover_only,
    restore_files,
};
use furrow_engine::{Database, Session, StopPoint};
use std::sync::Arc;

fn log_of(db: &Arc<Database>, name: &str) -> SetInfo {
    backup_log(db, &log_request(name), &mut Silent)
        .unwrap()
        .info
}

fn log_to(world: &World, (log, name): (&str, &str)) -> Result<RestoreReport, BackupError> {
    crate::chain::log_restore(world, (log, name), false)
}

fn rows(db: &Arc<Database>, ids: std::ops::Range<i64>, text: &str) {
    let mut session = Session::new(db).unwrap();
    let table = session.table("t").unwrap();
    ids.for_each(|id| insert(&mut session, &table, id, text));
}

/// A restore that ends with recovery.
fn recovered(world: &World, name: &str) -> Arc<Database> {
    recover_only(&world.instance, name).unwrap()
}

/// A full backup; ids 0 to 50 and a moment; ids 50 to 100 in the log backup `l0`, 100 to 150 in `l1`. The
/// copy stopped at the moment; its ids 1000 to 2000 are in the log backup `c0`.
fn forked() -> (World, BackupRequest, StopPoint, SetInfo) {
    let (world, _, full) = chained(1);
    rows(&world.db, 0..50, "both");
    let point = StopPoint::Time(between());
    rows(&world.db, 50..100, "left behind");
    let before = log_of(&world.db, "l0");
    rows(&world.db, 100..150, "left behind");
    log_of(&world.db, "l1");
    world.restore_only(&full, "copy").unwrap();
    let done = stopping(&world, ("l0", "copy"), (point.clone(), true)).unwrap();
    let copy = done.database.unwrap();
    rows(&copy, 1000..2000, "another way, which is longer");
    let behind = log_of(&copy, "c0");
    assert_ne!(behind.fork, before.fork, "a recovery begins a fork");
    assert_eq!(behind.forks.len(), 2);
    assert_eq!(behind.first_fork(), (behind.fork, None));
    assert_eq!(behind.forks[1].fork, before.fork);
    (world, full, point, behind)
}

#[test]
fn the_log_of_a_fork_goes_only_where_the_fork_began() {
    let (world, full, point, _) = forked();
    // Its LSNs would fit.
    world.restore_only(&full, "too_far").unwrap();
    log_to(&world, ("l0", "too_far")).unwrap();
    let strays = log_to(&world, ("c0", "too_far")).unwrap_err();
    assert_eq!(numbers(&strays), [4330]);
    log_to(&world, ("l1", "too_far")).unwrap();
    assert_eq!(ids(&recovered(&world, "too_far"), "t").len(), 150);
    // Where it began it goes on, and the log that was left behind does not.
    world.restore_only(&full, "other").unwrap();
    stopping(&world, ("l0", "other"), (point, false)).unwrap();
    log_to(&world, ("c0", "other")).unwrap();
    let strays = log_to(&world, ("l0", "other")).unwrap_err();
    assert_eq!(numbers(&strays), [4326]);
    let strays = log_to(&world, ("l1", "other")).unwrap_err();
    assert!(
        [4305, 4326, 4330].contains(&numbers(&strays)[0]),
        "{strays}"
    );
    let other = recovered(&world, "other");
    let expected: Vec<i64> = (0..50).chain(1000..2000).collect();
    assert_eq!(ids(&other, "t"), expected);
    drop(other);
    world.check("other");
}

#[test]
fn a_fork_is_in_the_files_and_in_the_list_after_a_restart() {
    let (world, full, _, behind) = forked();
    let world = world.restart_after(|_| {});
    let copy = world.instance.database("copy").unwrap();
    assert_eq!(log_of(&copy, "c1").forks, behind.forks);
    drop(copy);
    world.restore_only(&full, "again").unwrap();
    log_to(&world, ("l0", "again")).unwrap();
    // RESTORING over the restart, too.
    let world = world.restart_after(|_| {});
    let strays = log_to(&world, ("c0", "again")).unwrap_err();
    assert_eq!(numbers(&strays), [4330]);
    log_to(&world, ("l1", "again")).unwrap();
    assert_eq!(ids(&recovered(&world, "again"), "t").len(), 150);
}

#[test]
fn a_differential_backup_of_a_fork_does_not_go_over_what_went_on() {
    let (mut world, full, point, _) = forked();
    let copy = world.instance.database("copy").unwrap();
    let differential = BackupRequest {
        differential: true,
        devices: log_request("diff").devices,
        ..request(1)
    };
    backup_database(&copy, &differential, &mut Silent).unwrap();
    drop(copy);
    take_tail(&mut world);
    // Its base is in place, and its log reaches further.
    let strays = world.restore_only(&differential, "test").unwrap_err();
    assert_eq!(numbers(&strays), [3136]);
    assert_eq!(ids(&recovered(&world, "test"), "t").len(), 150);
    world.restore_only(&full, "fits").unwrap();
    stopping(&world, ("l0", "fits"), (point, false)).unwrap();
    let fits = world.restore(&differential, "fits").unwrap().database;
    assert_eq!(ids(&fits.unwrap(), "t").len(), 1050);
    world.check("fits");
}

#[test]
fn a_database_that_was_recovered_twice_takes_a_differential_backup_over_its_first_base() {
    let world = world();
    world.table("t");
    let full = request(1);
    world.backup(&full).unwrap();
    let diff_of = |name: &str, of: &str| {
        let db = world.instance.database(of).unwrap();
        let differential = BackupRequest {
            differential: true,
            devices: log_request(name).devices,
            ..request(1)
        };
        backup_database(&db, &differential, &mut Silent).unwrap();
        differential
    };
    let mut of = "test".to_owned();
    for n in 0..4_i64 {
        let db = world.instance.database(&of).unwrap();
        rows(&db, n * 10..n * 10 + 10, "more");
        let differential = diff_of(&format!("d{n}"), &of);
        of = format!("copy{n}");
        world.restore_only(&full, &of).unwrap();
        let copy = world.restore(&differential, &of).unwrap().database.unwrap();
        assert_eq!(ids(&copy, "t").len() as i64, n * 10 + 10);
    }
    world.check("copy3");
}

#[test]
fn a_read_only_database_begins_a_fork_too() {
    let world = world();
    world.table("t");
    full_model(&world);
    rows(&world.db, 0..10, "both");
    world.backup(&request(1)).unwrap();
    world.db.set_read_only(true).unwrap();
    let full = BackupRequest {
        devices: log_request("ro").devices,
        copy_only: true,
        ..request(1)
    };
    let info = world.backup(&full).unwrap().info;
    let copy = world.restore(&full, "copy").unwrap().database.unwrap();
    assert!(copy.is_read_only());
    drop(copy);
    let world = world.restart_after(|_| {});
    let copy = world.instance.database("copy").unwrap();
    assert!(copy.is_read_only());
    assert_eq!(ids(&copy, "t").len(), 10);
    copy.set_read_only(false).unwrap();
    rows(&copy, 10..20, "another way");
    assert_ne!(log_of(&copy, "c0").fork, info.fork);
    drop(copy);
    world.check("copy");
}

#[test]
fn files_of_a_fork_are_refused_and_what_was_left_behind_is_no_part_of_a_script() {
    let (mut world, full, point, _) = forked();
    let copy = world.instance.database("copy").unwrap();
    let files = BackupRequest {
        devices: log_request("files").devices,
        parts: Parts {
            files: vec!["more".to_owned()],
            ..Parts::default()
        },
        ..request(1)
    };
    backup_database(&copy, &files, &mut Silent).unwrap();
    drop(copy);
    take_tail(&mut world);
    let media = world.media(&files).unwrap();
    let wanted = wanted("test", false);
    let strays = restore_files(
        &world.instance,
        &media,
        (&wanted, &files.parts),
        &mut Silent,
    );
    assert_eq!(numbers(&strays.unwrap_err()), [3116]);
    // `test` is restored to the moment, and goes on from there: its earlier log backups are left behind.
    world.restore_only(&full, "test").unwrap();
    let done = stopping(&world, ("l0", "test"), (point, true)).unwrap();
    let test = done.database.unwrap();
    rows(&test, 500..600, "another way");
    log_of(&test, "t0");
    let all = ["l0", "l1", "t0"].map(|log| world.media(&log_request(log)).unwrap());
    let mut media = vec![world.media(&full).unwrap()];
    media.extend(all);
    let chains = chains(&media, Some("test")).unwrap();
    let chain = &chains[0];
    let steps: Vec<usize> = chain.steps.iter().map(|s| s.media).collect();
    assert_eq!((steps, chain.unused.len()), (vec![0, 1, 3], 1));
    let text = script(chain, &ScriptOptions::default());
    assert_eq!(text.matches("STOPATMARK = N'lsn:").count(), 1, "{text}");
    let stop = chain.steps[1].stop.unwrap();
    world.restore_only(&full, "by_script").unwrap();
    let point = StopPoint::Lsn {
        lsn: stop,
        inclusive: true,
    };
    stopping(&world, ("l0", "by_script"), (point, false)).unwrap();
    log_to(&world, ("t0", "by_script")).unwrap();
    let expected: Vec<i64> = (0..50).chain(500..600).collect();
    assert_eq!(ids(&recovered(&world, "by_script"), "t"), expected);
}
