//! Databases in standby: read between two restores of their log.

use crate::chain::{full_model, log_backup, log_restore, wanted};
use crate::files::{fill, other_table};
use crate::world::{Silent, World, after_power_loss, ids, numbers, request, simulated, world};
use furrow_backup::{
    BackupError, BackupRequest, RestoreReport, RestoreRequest, backup_database, recover_only,
    restore_database, restore_log,
};
use furrow_engine::{Database, Session};
use furrow_io::random::test_seed;
use furrow_io::sim::{Effect, Fault, Ops};
use furrow_io::{Access, AlignedBuf, Open, Volume};
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
fn a_database_in_standby_that_was_offline_is_open_again_after_a_restore() {
    let world = world();
    let (t, o) = (world.table("t"), other_table(&world));
    full_model(&world);
    let full = request(1);
    let mut session = world.session();
    fill(&mut session, [&t, &o], 0..20);
    world.backup(&full).unwrap();
    fill(&mut session, [&t, &o], 20..40);
    log_backup(&world, "l0").unwrap();
    full_to_standby(&world, &full).unwrap();
    drop((session, t, o));
    world.instance.close_database("copy").unwrap();
    let world = world.restart_after(|_| {});
    assert_eq!(world.instance.database("copy").unwrap_err().number(), 942);
    log_restore(&world, ("l0", "copy"), true).unwrap();
    let world = world.restart_after(|_| {});
    assert_eq!(ids(&copy(&world), "t"), (0..40).collect::<Vec<_>>());
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

/// STANDBY with this undo file, of a log backup.
fn log_with_undo(world: &World, log: &str, undo: &str) -> Result<RestoreReport, BackupError> {
    let media = world.media(&crate::chain::log_request(log))?;
    let request = RestoreRequest {
        standby: Some(PathBuf::from(undo)),
        ..wanted("copy", true)
    };
    restore_log(&world.instance, &media, &request, &mut Silent)
}

/// A full backup of 100 rows, and log backups `l0` and `l1` with 100 more each.
fn backed_up(world: &World) -> BackupRequest {
    let (t, o) = (world.table("t"), other_table(world));
    full_model(world);
    let full = request(1);
    let mut session = world.session();
    fill(&mut session, [&t, &o], 0..100);
    world.backup(&full).unwrap();
    fill(&mut session, [&t, &o], 100..200);
    log_backup(world, "l0").unwrap();
    fill(&mut session, [&t, &o], 200..300);
    log_backup(world, "l1").unwrap();
    full
}

#[test]
fn an_undo_file_takes_the_place_of_no_other_file() {
    let world = world();
    let full = backed_up(&world);
    let moves = [("data", "mdf"), ("log", "ldf"), ("more", "ndf")].map(|(file, ext)| {
        let path = PathBuf::from(format!("d/copy_{file}.{ext}"));
        (file.to_owned(), path)
    });
    // One of its own, one of another database, a backup, one in a directory that is not there.
    for undo in ["d/copy_data.mdf", "d/data.mdf", "d/b0.bak", "none/undo.tuf"] {
        let request = RestoreRequest {
            moves: moves.to_vec(),
            standby: Some(PathBuf::from(undo)),
            ..wanted("copy", true)
        };
        let media = world.media(&full).unwrap();
        let refused = restore_database(&world.instance, &media, &request, &mut Silent);
        let number = match undo {
            "d/b0.bak" => 5170,
            "none/undo.tuf" => 5133,
            _ => 1834,
        };
        assert_eq!(numbers(&refused.unwrap_err()), [number], "{undo}");
        assert!(world.instance.restore_target("copy").is_none(), "{undo}");
    }
    world.restore_only(&full, "copy").unwrap();
    for undo in ["d/copy_more.ndf", "d/copy_log.ldf", "d/more.ndf"] {
        let refused = log_with_undo(&world, "l0", undo).unwrap_err();
        assert_eq!(numbers(&refused), [1834], "{undo}");
    }
    log_with_undo(&world, "l0", UNDO).unwrap();
    assert_eq!(ids(&copy(&world), "o"), (0..200).collect::<Vec<_>>());
    log_with_undo(&world, "l1", UNDO).unwrap();
    assert_eq!(ids(&copy(&world), "o"), (0..300).collect::<Vec<_>>());
    recover_only(&world.instance, "copy").unwrap();
    world.check("copy");
}

#[test]
fn a_set_that_is_refused_leaves_the_database_in_standby() {
    let world = world();
    let full = backed_up(&world);
    full_to_standby(&world, &full).unwrap();
    let gap = log_restore(&world, ("l1", "copy"), false).unwrap_err();
    assert_eq!(numbers(&gap), [4305]);
    assert!(copy(&world).is_in_standby());
    assert_eq!(ids(&copy(&world), "t"), (0..100).collect::<Vec<_>>());
    log_restore(&world, ("l0", "copy"), true).unwrap();
    assert_eq!(ids(&copy(&world), "t"), (0..200).collect::<Vec<_>>());
    world.check("copy");
}

/// Turns the bits of a byte in the first entry of the undo file.
fn damage(volume: &dyn Volume) {
    let path = std::path::Path::new(UNDO);
    let file = volume.open(path, Open::Existing, Access::Data).unwrap();
    let mut unit = AlignedBuf::new(4096);
    file.read_at(4096, &mut unit).unwrap();
    unit[0] ^= 0xff;
    file.write_at(4096, &unit).unwrap();
    file.sync().unwrap();
}

#[test]
fn an_undo_file_that_is_missing_or_damaged_is_not_taken_for_an_empty_one() {
    let world = world();
    let full = backed_up(&world);
    full_to_standby(&world, &full).unwrap();
    let world = world.restart_after(damage);
    assert!(world.instance.database("copy").is_err());
    for _ in 0..2 {
        let refused = log_restore(&world, ("l0", "copy"), false).unwrap_err();
        assert_eq!(numbers(&refused), [3441]);
    }
    let refused = recover_only(&world.instance, "copy").unwrap_err();
    assert_eq!(numbers(&refused), [3441]);
    // The same file, sound again.
    damage(&*world.volume);
    log_to_standby(&world, "l0").unwrap();
    assert_eq!(ids(&copy(&world), "o"), (0..200).collect::<Vec<_>>());
    let lost = |volume: &dyn Volume| volume.remove(std::path::Path::new(UNDO)).unwrap();
    let world = world.restart_after(lost);
    assert!(world.instance.database("copy").is_err());
    let refused = log_restore(&world, ("l1", "copy"), false).unwrap_err();
    assert_eq!(numbers(&refused), [3441]);
    // A full backup replaces it.
    full_to_standby(&world, &full).unwrap_err();
    world.instance.drop_database("copy").unwrap();
    full_to_standby(&world, &full).unwrap();
    log_restore(&world, ("l0", "copy"), false).unwrap();
    log_restore(&world, ("l1", "copy"), true).unwrap();
    assert_eq!(ids(&copy(&world), "o"), (0..300).collect::<Vec<_>>());
    world.check("copy");
}

/// A full backup, and a file that was added since: in the log backup `l0`, and in a differential backup.
fn with_an_added_file(world: &World) -> [BackupRequest; 2] {
    let (t, o) = (world.table("t"), other_table(world));
    full_model(world);
    let full = request(1);
    let mut session = world.session();
    fill(&mut session, [&t, &o], 0..100);
    world.backup(&full).unwrap();
    let added = furrow_engine::FileSpec::new("added", "d/added.ndf").size_mb(1);
    world.db.add_file(&added, Some("OTHER")).unwrap();
    fill(&mut session, [&t, &o], 100..200);
    let differential = BackupRequest {
        differential: true,
        devices: crate::chain::log_request("diff").devices,
        ..request(1)
    };
    world.backup(&differential).unwrap();
    log_backup(world, "l0").unwrap();
    [full, differential]
}

#[test]
fn a_set_whose_new_files_have_no_place_leaves_the_database_in_standby() {
    let world = world();
    let [full, differential] = with_an_added_file(&world);
    let log = crate::chain::log_request("l0");
    full_to_standby(&world, &full).unwrap();
    let to = |place: &str, is_log| {
        let request = RestoreRequest {
            moves: vec![("added".into(), place.into())],
            ..standing(&wanted("copy", true))
        };
        match is_log {
            true => {
                let media = world.media(&log)?;
                restore_log(&world.instance, &media, &request, &mut Silent)
            }
            false => {
                let media = world.media(&differential)?;
                restore_database(&world.instance, &media, &request, &mut Silent)
            }
        }
    };
    for is_log in [true, false] {
        for (place, number) in [
            ("none/added.ndf", 5133),
            ("d/added.ndf", 1834),
            ("d/b0.bak", 5170),
        ] {
            let refused = to(place, is_log).unwrap_err();
            assert_eq!(numbers(&refused), [number], "{place}, {is_log}");
            assert!(copy(&world).is_in_standby(), "{place}, {is_log}");
            assert_eq!(ids(&copy(&world), "o"), (0..100).collect::<Vec<_>>());
        }
    }
    to("d/copy_added.ndf", true).unwrap();
    assert_eq!(ids(&copy(&world), "o"), (0..200).collect::<Vec<_>>());
    recover_only(&world.instance, "copy").unwrap();
    world.check_also("copy", &["d/copy_added.ndf"]);
}

#[test]
fn an_undo_file_that_a_power_loss_has_left_is_in_no_ones_way() {
    let seed = test_seed();
    println!("seed {seed}");
    let mut moments = 0;
    // Another share of the moments each time.
    for nth in (1 + seed % 6..).step_by(6) {
        let (volume, world) = simulated();
        let full = backed_up(&world);
        full_to_standby(&world, &full).unwrap();
        // The standby ends and begins again.
        volume.inject(Fault::new(Ops::Changes, Effect::PowerLoss).nth(nth));
        let done = log_to_standby(&world, "l0");
        if volume.is_powered() {
            done.unwrap();
            break;
        }
        moments += 1;
        // Where it is in standby still, DROP removes the undo file; else a restore finds what is left.
        let world = after_power_loss(&volume, world, "test");
        world.instance.drop_database("copy").unwrap();
        let left = world.volume.exists(std::path::Path::new(UNDO)).unwrap();
        assert!(!left, "change {nth}");
        full_to_standby(&world, &full).unwrap();
        assert_eq!(ids(&copy(&world), "o"), (0..100).collect::<Vec<_>>());
    }
    assert!(moments > 10, "{moments}");
}
