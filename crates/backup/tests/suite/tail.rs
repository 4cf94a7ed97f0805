//! The tail of the log, and the state after it.

use crate::chain::{chained, log_backup, log_request, log_restore, tail_backup, take_tail};
use crate::world::{Silent, ids, insert, numbers};
use furrow_backup::recover_only;
use furrow_engine::{DatabaseState, Session, SnapshotSpec};

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
