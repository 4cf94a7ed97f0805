//! Files that come back to an open database, and files that log backups have added to them.

use crate::chain::{full_model, log_backup, log_request, log_restore, wanted};
use crate::files::{fill, group, other_table, restored};
use crate::piecemeal::{damage, partial};
use crate::places::is_there;
use crate::world::{Silent, World, after_crash, ids, insert, numbers, request, simulated, world};
use furrow_backup::{BackupError, RestoreReport, RestoreRequest, recover_only, restore_log};
use furrow_engine::{ColumnSpec, Database, FileSpec, Session, TableSpec};
use furrow_io::random::test_seed;
use furrow_io::sim::{Crash, Effect, Fault, Ops};
use furrow_types::{DataType, TypeId};
use std::sync::Arc;

/// RESTORE LOG of a log backup that has added a file.
fn log_with_the_file(world: &World, log: &str) -> Result<RestoreReport, BackupError> {
    let request = RestoreRequest {
        moves: vec![("added".into(), "d/copy_added.ndf".into())],
        ..wanted("copy", false)
    };
    let media = world.media(&log_request(log))?;
    restore_log(&world.instance, &media, &request, &mut Silent)
}

fn add_file(world: &World) {
    let added = FileSpec::new("added", "d/added.ndf").size_mb(1);
    world.db.add_file(&added, Some("OTHER")).unwrap();
}

/// 50 rows in a table of a file that the database has added itself.
fn with_a_file_of_its_own(copy: &Arc<Database>) {
    copy.add_filegroup("OWN").unwrap();
    let own = FileSpec::new("own", "d/copy_own.ndf").size_mb(1);
    copy.add_file(&own, Some("OWN")).unwrap();
    let spec = TableSpec::new("own")
        .column(ColumnSpec::new("id", DataType::simple(TypeId::BigInt)).not_null())
        .column(ColumnSpec::new("v", DataType::sized(TypeId::VarChar, 8000)))
        .primary_key(["id"])
        .on("OWN");
    let mut session = Session::new(copy).unwrap();
    let table = session.create_table(&spec).unwrap();
    (0..50).for_each(|id| insert(&mut session, &table, id, "own"));
}

/// An open copy. Its other filegroup is restored to the point at which the copy was recovered, but for
/// RECOVERY. A file of the copy's own has the number of a file that the log backup `l0` adds to the filegroup
/// behind the point.
fn with_a_piece(world: &World) -> Arc<Database> {
    let (t, o) = (world.table("t"), other_table(world));
    full_model(world);
    let full = request(1);
    let mut session = world.session();
    fill(&mut session, [&t, &o], 0..20);
    world.backup(&full).unwrap();
    add_file(world);
    fill(&mut session, [&t, &o], 20..100);
    log_backup(world, "l0").unwrap();
    partial(world, &full, true).unwrap();
    let copy = world.instance.database("copy").unwrap();
    with_a_file_of_its_own(&copy);
    let number = |db: &Arc<Database>, name: &str| {
        let files = db.file_list().unwrap();
        files.iter().find(|f| f.name == name).map(|f| f.id)
    };
    assert_eq!(number(&copy, "own"), number(&world.db, "added"));
    restored(world, (&full, &group("OTHER")), &wanted("copy", false)).unwrap();
    copy
}

fn is_whole(copy: &Arc<Database>) {
    assert_eq!(ids(copy, "o"), (0..20).collect::<Vec<_>>());
    assert_eq!(ids(copy, "own"), (0..50).collect::<Vec<_>>());
}

#[test]
fn a_file_that_the_database_does_not_have_does_not_join_it() {
    let world = world();
    let copy = with_a_piece(&world);
    damage(&world, "d/l0.trn");
    log_with_the_file(&world, "l0").unwrap_err();
    assert!(is_there(&world, "d/copy_added.ndf"));
    recover_only(&world.instance, "copy").unwrap();
    assert!(!is_there(&world, "d/copy_added.ndf"));
    is_whole(&copy);
    drop(copy);
    let world = world.restart_after(|_| {});
    is_whole(&world.instance.database("copy").unwrap());
    world.check_also("copy", &["d/copy_own.ndf"]);
}

#[test]
fn a_power_loss_while_log_is_restored_to_files_that_come_back_harms_no_file_of_the_database() {
    let seed = test_seed();
    println!("seed {seed}");
    let mut moments = 0;
    for nth in (1 + seed % 3..).step_by(3) {
        let (volume, world) = simulated();
        drop(with_a_piece(&world));
        volume.inject(Fault::new(Ops::Changes, Effect::PowerLoss).nth(nth));
        let done = log_with_the_file(&world, "l0");
        if volume.is_powered() {
            done.unwrap();
            break;
        }
        moments += 1;
        let crash = Crash::Random { seed: seed + nth };
        let world = after_crash(&volume, world, (&crash, "test"));
        let copy = recover_only(&world.instance, "copy")
            .unwrap_or_else(|e| panic!("change {nth}: {:?}", e.messages()));
        is_whole(&copy);
        drop(copy);
        world.check_also("copy", &["d/copy_own.ndf"]);
    }
    assert!(moments > 3, "{moments}");
}

#[test]
fn a_file_that_was_removed_before_the_point_does_not_come_back() {
    let world = world();
    let (t, o) = (world.table("t"), other_table(&world));
    full_model(&world);
    let full = request(1);
    let mut session = world.session();
    fill(&mut session, [&t, &o], 0..100);
    world.backup(&full).unwrap();
    add_file(&world);
    log_backup(&world, "l0").unwrap();
    world.db.remove_file("added").unwrap();
    fill(&mut session, [&t, &o], 100..200);
    log_backup(&world, "l1").unwrap();
    drop((session, t, o));
    partial(&world, &full, false).unwrap();
    log_restore(&world, ("l0", "copy"), false).unwrap();
    log_restore(&world, ("l1", "copy"), true).unwrap();
    restored(&world, (&full, &group("OTHER")), &wanted("copy", false)).unwrap();
    log_with_the_file(&world, "l0").unwrap();
    let early = recover_only(&world.instance, "copy").unwrap_err();
    assert_eq!(numbers(&early), [4318]);
    log_restore(&world, ("l1", "copy"), true).unwrap();
    let copy = world.instance.database("copy").unwrap();
    assert_eq!(ids(&copy, "o"), (0..200).collect::<Vec<_>>());
    assert!(!is_there(&world, "d/copy_added.ndf"));
    drop(copy);
    world.check("copy");
}
