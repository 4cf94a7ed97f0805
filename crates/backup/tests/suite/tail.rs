//! The tail of the log, and the state after it.

use crate::chain::{chained, log_backup, log_request, log_restore, tail_backup, take_tail, wanted};
use crate::files::{fill, other_table};
use crate::world::{Silent, World, ids, insert, numbers};
use furrow_backup::media::SetInfo;
use furrow_backup::{
    BackupError, BackupRequest, RestoreRequest, backup_closed_log, recover_only, restore_log,
};
use furrow_engine::{DatabaseState, FileSpec, Session, SnapshotSpec};
use furrow_io::{Access, Open, Volume};
use std::path::Path;

#[test]
fn the_tail_of_the_log_leaves_the_database_restoring_and_completes_a_copy() {
    let (mut world, table, full) = chained(1);
    let mut session = world.session();
    (0..1200).for_each(|id| insert(&mut session, &table, id, &"x".repeat(900)));
    log_backup(&world, "l0").unwrap();
    (1200..1300).for_each(|id| insert(&mut session, &table, id, "in the tail"));
    let used = tail_backup(&world);
    assert_eq!(numbers(&used.unwrap_err()), [3101]);
    insert(&mut session, &table, 1300, "the database goes on");
    drop(session);
    drop(table);
    take_tail(&mut world);
    let target = world.instance.restore_target("test").unwrap();
    assert_eq!(target.state, DatabaseState::Restoring);
    world.restore_only(&full, "copy").unwrap();
    log_restore(&world, ("l0", "copy"), false).unwrap();
    let copy = log_restore(&world, ("tail", "copy"), true)
        .unwrap()
        .database
        .unwrap();
    assert_eq!(ids(&copy, "t").len(), 1301);
    drop(copy);
    world.check("copy");
    // The same log again: it is there already, and the database comes back with all of it.
    log_restore(&world, ("tail", "test"), false).unwrap();
    let db = recover_only(&world.instance, "test").unwrap();
    assert_eq!(ids(&db, "t").len(), 1301);
    let mut session = Session::new(&db).unwrap();
    let table = session.table("t").unwrap();
    insert(&mut session, &table, 1301, "and goes on");
}

#[test]
fn a_database_whose_tail_was_backed_up_takes_the_log_of_its_copy() {
    let (mut world, table, full) = chained(1);
    let mut session = world.session();
    // So many virtual log files that they are used again.
    for round in 0..6 {
        (0..400).for_each(|n| insert(&mut session, &table, round * 400 + n, &"x".repeat(900)));
        log_backup(&world, &format!("l{round}")).unwrap();
        world.db.checkpoint().unwrap();
    }
    drop(session);
    drop(table);
    take_tail(&mut world);
    world.restore_only(&full, "copy").unwrap();
    for log in ["l0", "l1", "l2", "l3", "l4", "l5"] {
        log_restore(&world, (log, "copy"), false).unwrap();
    }
    let copy = log_restore(&world, ("tail", "copy"), true)
        .unwrap()
        .database
        .unwrap();
    let mut session = Session::new(&copy).unwrap();
    let table = session.table("t").unwrap();
    (2400..4400).for_each(|id| insert(&mut session, &table, id, &"y".repeat(900)));
    drop((session, table));
    furrow_backup::backup_log(&copy, &log_request("back"), &mut Silent).unwrap();
    let db = log_restore(&world, ("back", "test"), true)
        .unwrap()
        .database
        .unwrap();
    assert_eq!(ids(&db, "t"), (0..4400).collect::<Vec<_>>());
}

#[test]
fn a_database_with_snapshots_does_not_become_restoring() {
    let (world, table, _) = chained(1);
    let spec = SnapshotSpec {
        name: "snap".into(),
        source: "test".into(),
        files: ["data", "more"]
            .map(|file| (file.to_owned(), format!("d/{file}.ss").into()))
            .to_vec(),
    };
    drop(world.instance.create_snapshot(&spec).unwrap());
    let refused = tail_backup(&world).unwrap_err();
    assert_eq!(numbers(&refused), [5094]);
    // The database goes on.
    insert(&mut world.session(), &table, 1, "kept");
    assert_eq!(ids(&world.db, "t"), [1]);
}

/// Tables `t` and `o`, which is in the other filegroup: 200 rows in the log backup `l0`, and 200 that no
/// backup has.
fn with_a_tail() -> (World, BackupRequest) {
    let (world, table, full) = chained(1);
    let other = other_table(&world);
    let mut session = world.session();
    fill(&mut session, [&table, &other], 0..200);
    log_backup(&world, "l0").unwrap();
    // From here on the log changes pages that it does not rebuild.
    world.db.checkpoint().unwrap();
    fill(&mut session, [&table, &other], 200..400);
    (world, full)
}

fn closed_tail(world: &World) -> Result<SetInfo, BackupError> {
    let (instance, request) = (&world.instance, log_request("tail"));
    Ok(backup_closed_log(instance, "test", &request, &mut Silent)?.info)
}

/// Restores everything that there is as a copy: both tables have all rows.
fn nothing_is_lost(world: &World, full: &BackupRequest) {
    world.restore_only(full, "copy").unwrap();
    log_restore(world, ("l0", "copy"), false).unwrap();
    let copy = log_restore(world, ("tail", "copy"), true).unwrap().database;
    let copy = copy.unwrap();
    for table in ["t", "o"] {
        assert_eq!(ids(&copy, table), (0..400).collect::<Vec<_>>(), "{table}");
    }
}

#[test]
fn the_log_of_a_database_that_lost_a_file_is_backed_up_and_loses_no_commit() {
    let (world, full) = with_a_tail();
    let world = world.die_and_lose(|v| v.remove(Path::new("d/more.ndf")).unwrap());
    let state = world.instance.restore_target("test").unwrap().state;
    assert_eq!(state, DatabaseState::RecoveryPending);
    let first = closed_tail(&world).unwrap();
    assert!(first.copy_only && first.files.iter().any(|f| f.name == "more"));
    // Nothing was noted: the same again.
    let again = closed_tail(&world).unwrap();
    assert_eq!(
        (again.first_lsn, again.last_lsn, again.forks),
        (first.first_lsn, first.last_lsn, first.forks)
    );
    nothing_is_lost(&world, &full);
    world.check("copy");
}

#[test]
fn the_log_of_a_suspect_database_is_backed_up_and_of_one_without_its_primary_file_is_not() {
    let (world, full) = with_a_tail();
    // The pages of sysrscols, object 3, without which the catalog cannot be read.
    let world = world.die_and_lose(|volume: &dyn Volume| {
        let path = Path::new("d/data.mdf");
        let file = volume.open(path, Open::Existing, Access::Data).unwrap();
        let mut page = [0; 8192];
        for at in 9..file.len_bytes().unwrap() / 8192 {
            file.read_at(at * 8192, &mut page).unwrap();
            let is_data = page[1] == 1;
            if is_data && page[24..28] == 3_u32.to_le_bytes() {
                file.write_at(at * 8192 + 4096, &[0xEE; 512]).unwrap();
            }
        }
    });
    let state = world.instance.restore_target("test").unwrap().state;
    assert_eq!(state, DatabaseState::Suspect);
    closed_tail(&world).unwrap();
    nothing_is_lost(&world, &full);
    world.volume.remove(Path::new("d/data.mdf")).unwrap();
    assert_eq!(numbers(&closed_tail(&world).unwrap_err()), [5120]);
}

#[test]
fn a_file_that_was_added_since_the_last_log_backup_is_in_the_tail() {
    let (world, full) = with_a_tail();
    let added = FileSpec::new("added", "d/added.ndf").size_mb(2);
    world.db.add_file(&added, Some("OTHER")).unwrap();
    let mut session = world.session();
    let tables = ["t", "o"].map(|t| session.table(t).unwrap());
    fill(&mut session, [&tables[0], &tables[1]], 400..900);
    drop((session, tables));
    let world = world.die_and_lose(|v| v.remove(Path::new("d/more.ndf")).unwrap());
    closed_tail(&world).unwrap();
    world.restore_only(&full, "copy").unwrap();
    log_restore(&world, ("l0", "copy"), false).unwrap();
    let media = world.media(&log_request("tail")).unwrap();
    let request = RestoreRequest {
        moves: vec![("added".into(), "d/copy_added.ndf".into())],
        ..wanted("copy", true)
    };
    let copy = restore_log(&world.instance, &media, &request, &mut Silent).unwrap();
    assert_eq!(
        ids(&copy.database.unwrap(), "o"),
        (0..900).collect::<Vec<_>>()
    );
    world.check_also("copy", &["d/copy_added.ndf"]);
}

#[test]
fn a_database_that_is_open_or_restoring_is_no_closed_one() {
    let (mut world, _) = with_a_tail();
    assert_eq!(numbers(&closed_tail(&world).unwrap_err()), [40_514]);
    take_tail(&mut world);
    assert_eq!(numbers(&closed_tail(&world).unwrap_err()), [40_514]);
}
