//! Databases in standby: read between two restores of their log.

use crate::chain::{full_model, log_backup, log_restore, wanted};
use crate::files::{fill, other_table};
use crate::world::{Silent, World, ids, numbers, request, world};
use furrow_backup::{
    BackupError, BackupRequest, RestoreReport, RestoreRequest, backup_database, recover_only,
    restore_database, restore_log,
};
use furrow_engine::{Database, Session};
use std::path::PathBuf;
use std::sync::Arc;

const UNDO: &str = "d/undo.tuf";

fn standing(recovery: &RestoreRequest) -> RestoreRequest {
    RestoreRequest {
        standby: Some(PathBuf::from(UNDO)),
        ..recovery.clone()
    }
}

fn log_to_standby(world: &World, log: &str) -> Result<RestoreReport, BackupError> {
    let media = world.media(&crate::chain::log_request(log))?;
    let request = standing(&wanted("copy", true));
    restore_log(&world.instance, &media, &request, &mut Silent)
}

fn full_to_standby(world: &World, full: &BackupRequest) -> Result<RestoreReport, BackupError> {
    let moves = [("data", "mdf"), ("log", "ldf"), ("more", "ndf")].map(|(file, ext)| {
        (
            file.to_owned(),
            PathBuf::from(format!("d/copy_{file}.{ext}")),
        )
    });
    let request = RestoreRequest {
        moves: moves.into(),
        ..standing(&wanted("copy", true))
    };
    restore_database(&world.instance, &world.media(full)?, &request, &mut Silent)
}

fn copy(world: &World) -> Arc<Database> {
    world.instance.database("copy").unwrap()
}

#[test]
fn a_database_in_standby_is_read_between_the_restores_of_its_log() {
    let world = world();
    let (t, o) = (world.table("t"), other_table(&world));
    full_model(&world);
    let full = request(2);
    let mut session = world.session();
    fill(&mut session, [&t, &o], 0..200);
    world.backup(&full).unwrap();
    // A transaction that goes on over two log backups: it is undone, and its undo is put back.
    let mut open = world.session();
    open.begin().unwrap();
    fill(&mut open, [&t, &o], 1000..1100);
    fill(&mut session, [&t, &o], 200..300);
    log_backup(&world, "l0").unwrap();
    fill(&mut open, [&t, &o], 1100..1200);
    fill(&mut session, [&t, &o], 300..400);
    log_backup(&world, "l1").unwrap();
    open.commit().unwrap();
    log_backup(&world, "l2").unwrap();
    full_to_standby(&world, &full).unwrap();
    assert_eq!(ids(&copy(&world), "t"), (0..200).collect::<Vec<_>>());
    assert!(copy(&world).is_in_standby() && copy(&world).is_read_only());
    let mut reader = Session::new(&copy(&world)).unwrap();
    let table = reader.table("t").unwrap();
    let row = [
        furrow_types::Value::BigInt(1),
        furrow_types::Value::VarChar("v".into()),
    ];
    assert_eq!(reader.insert(&table, &row).unwrap_err().number(), 3906);
    assert_eq!(reader.set_read_only(false).unwrap_err().number(), 5063);
    // Its user is in the way.
    let used = log_to_standby(&world, "l0").unwrap_err();
    assert_eq!(numbers(&used), [3101]);
    drop((reader, table));
    let refused = backup_database(&copy(&world), &full, &mut Silent).unwrap_err();
    assert_eq!(numbers(&refused), [3036]);
    log_to_standby(&world, "l0").unwrap();
    assert_eq!(ids(&copy(&world), "o"), (0..300).collect::<Vec<_>>());
    drop((session, open, t, o));
    // Two starts in standby, then it goes on.
    let world = world.restart_after(|_| {}).restart_after(|_| {});
    assert!(copy(&world).is_in_standby());
    assert_eq!(ids(&copy(&world), "t"), (0..300).collect::<Vec<_>>());
    log_restore(&world, ("l1", "copy"), false).unwrap();
    assert!(!world.volume.exists(std::path::Path::new(UNDO)).unwrap());
    log_to_standby(&world, "l2").unwrap();
    let mut all: Vec<i64> = (0..400).collect();
    all.extend(1000..1200);
    assert_eq!(ids(&copy(&world), "t"), all);
    recover_only(&world.instance, "copy").unwrap();
    assert!(!copy(&world).is_in_standby() && !copy(&world).is_read_only());
    assert_eq!(ids(&copy(&world), "o"), all);
    world.check("copy");
}

#[test]
fn a_database_in_standby_can_be_dropped_and_replaced() {
    let world = world();
    let (t, o) = (world.table("t"), other_table(&world));
    full_model(&world);
    let full = request(1);
    let mut session = world.session();
    fill(&mut session, [&t, &o], 0..50);
    world.backup(&full).unwrap();
    full_to_standby(&world, &full).unwrap();
    assert_eq!(
        world.instance.detach_database("copy").unwrap_err().number(),
        40514
    );
    world.instance.drop_database("copy").unwrap();
    for left in [UNDO, "d/copy_data.mdf", "d/copy_log.ldf"] {
        assert!(
            !world.volume.exists(std::path::Path::new(left)).unwrap(),
            "{left}"
        );
    }
    full_to_standby(&world, &full).unwrap();
    log_backup(&world, "l0").unwrap();
    log_restore(&world, ("l0", "copy"), true).unwrap();
    assert_eq!(ids(&copy(&world), "t"), (0..50).collect::<Vec<_>>());
    world.check("copy");
}
