//! Log that was restored, and cannot be read any more.

use crate::chain::{full_model, log_backup, log_restore, wanted};
use crate::files::{fill, group, other_table, restored, to_file};
use crate::interrupted::{COPIES, standing_copy};
use crate::left_behind::{LOG, bytes_of, lacks_an_added_file, log_with_the_file};
use crate::places::{is_there, restored_to};
use crate::stop::{between, stopping};
use crate::world::{World, after_crash, drawn_crash, ids, numbers, request, simulated, world};
use furrow_backup::{BackupError, BackupRequest, Parts, RestoreRequest, recover_only};
use furrow_engine::StopPoint;
use furrow_io::random::{seeded, test_seed};
use furrow_io::sim::{Effect, Fault, OpKind, Ops};
use furrow_io::{Access, AlignedBuf, Open};
use std::path::{Path, PathBuf};

/// The rows of a copy to which all of the log was restored.
fn all_rows() -> Vec<i64> {
    (0..150).chain(1000..1050).collect()
}

/// Where the blocks lie that a log backup has put in.
fn put_in(before: &[u8], after: &[u8]) -> Vec<u64> {
    let units = before.chunks(512).zip(after.chunks(512)).enumerate();
    let is_block = |(_, (b, a)): &(usize, (&[u8], &[u8]))| b != a && a.starts_with(b"FLB1");
    units
        .filter(is_block)
        .map(|(unit, _)| unit as u64 * 512)
        .collect()
}

/// Damages a block of the log of the copy. What is there then.
fn damage(world: &World, at: u64) -> Vec<u8> {
    let file = world
        .volume
        .open(Path::new(LOG), Open::Existing, Access::Log);
    let file = file.unwrap();
    let mut unit = AlignedBuf::new(512);
    file.read_at(at, &mut unit).unwrap();
    unit[100] ^= 1;
    file.write_at(at, &unit).unwrap();
    drop(file);
    bytes_of(world, LOG)
}

/// Where the block lies at which recovery begins.
fn checkpoint_block(log: &[u8]) -> u64 {
    let int = |bytes: &[u8], at: usize| u64::from_le_bytes(*bytes[at..].first_chunk().unwrap());
    let copies = [&log[..4096], &log[4096..8192]];
    let newest = copies.into_iter().max_by_key(|copy| int(copy, 8)).unwrap();
    let checkpoint = int(newest, 48);
    let is_it = |unit: &[u8]| {
        let first = int(unit, 16);
        let records = u64::from(u16::from_le_bytes([unit[12], unit[13]]));
        unit.starts_with(b"FLB1") && first < checkpoint && checkpoint <= first + records
    };
    log.chunks(512).position(is_it).unwrap() as u64 * 512
}

fn refused<T>(done: Result<T, BackupError>) -> Vec<u32> {
    numbers(&done.err().unwrap())
}

/// RESTORE DATABASE copy FILEGROUP = OTHER.
fn file_restore(world: &World, from: &BackupRequest, recovery: bool) -> Result<(), BackupError> {
    let request = wanted("copy", recovery);
    restored(world, (from, &group("OTHER")), &request).map(drop)
}

#[test]
fn damage_in_log_that_was_restored_is_reported_and_nothing_behind_it_is_lost() {
    let world = world();
    let full = standing_copy(&world);
    restored_to(&world, (&full, "copy"), (COPIES, true)).unwrap();
    let before = bytes_of(&world, LOG);
    log_restore(&world, ("l0", "copy"), false).unwrap();
    let after = bytes_of(&world, LOG);
    log_restore(&world, ("l1", "copy"), false).unwrap();
    let new = put_in(&before, &after);
    assert!(new.len() > 2, "{new:?}");
    let damaged = damage(&world, new[new.len() / 2]);
    assert_eq!(refused(recover_only(&world.instance, "copy")), [9004]);
    assert!(
        bytes_of(&world, LOG) == damaged,
        "a damaged log was changed"
    );
    // The backups have what the damaged blocks had.
    log_restore(&world, ("l0", "copy"), false).unwrap();
    log_restore(&world, ("l1", "copy"), false).unwrap();
    let copy = recover_only(&world.instance, "copy").unwrap();
    assert_eq!(ids(&copy, "o"), all_rows());
}

#[test]
fn damage_in_the_last_block_of_log_that_was_restored_is_reported() {
    let world = world();
    let full = standing_copy(&world);
    restored_to(&world, (&full, "copy"), (COPIES, true)).unwrap();
    let before = bytes_of(&world, LOG);
    log_restore(&world, ("l0", "copy"), false).unwrap();
    let new = put_in(&before, &bytes_of(&world, LOG));
    let damaged = damage(&world, *new.last().unwrap());
    assert_eq!(refused(recover_only(&world.instance, "copy")), [9004]);
    assert_eq!(refused(log_restore(&world, ("l1", "copy"), true)), [4305]);
    assert!(
        bytes_of(&world, LOG) == damaged,
        "a damaged log was changed"
    );
    // Restored again it ends there.
    log_restore(&world, ("l0", "copy"), false).unwrap();
    let copy = recover_only(&world.instance, "copy").unwrap();
    assert_eq!(ids(&copy, "o"), all_rows()[..100]);
}

#[test]
fn log_that_is_damaged_where_recovery_begins_is_not_replaced_unseen() {
    let world = world();
    let full = standing_copy(&world);
    restored_to(&world, (&full, "copy"), (COPIES, true)).unwrap();
    log_restore(&world, ("l0", "copy"), false).unwrap();
    let damaged = damage(&world, checkpoint_block(&bytes_of(&world, LOG)));
    for recovery in [true, false] {
        assert_eq!(refused(file_restore(&world, &full, recovery)), [9004]);
        let log = log_restore(&world, ("l1", "copy"), recovery);
        assert_eq!(refused(log), [9004]);
    }
    assert_eq!(refused(recover_only(&world.instance, "copy")), [9004]);
    assert!(
        bytes_of(&world, LOG) == damaged,
        "a damaged log was changed"
    );
    restored_to(&world, (&full, "copy"), (COPIES, true)).unwrap();
    log_restore(&world, ("l0", "copy"), false).unwrap();
    log_restore(&world, ("l1", "copy"), false).unwrap();
    let copy = recover_only(&world.instance, "copy").unwrap();
    assert_eq!(ids(&copy, "o"), all_rows());
}

#[test]
fn a_file_that_a_log_backup_has_added_lets_no_damaged_log_go() {
    let world = world();
    let full = lacks_an_added_file(&world);
    log_with_the_file(&world, "d/copy_added.ndf").unwrap();
    let damaged = damage(&world, checkpoint_block(&bytes_of(&world, LOG)));
    // Without the log the file would be given up.
    assert_eq!(refused(file_restore(&world, &full, true)), [9004]);
    assert!(
        bytes_of(&world, LOG) == damaged,
        "a damaged log was changed"
    );
    assert!(is_there(&world, "d/copy_added.ndf"));
}

#[test]
fn a_log_whose_device_reads_nothing_for_a_while_stays() {
    let (volume, world) = simulated();
    let full = standing_copy(&world);
    restored_to(&world, (&full, "copy"), (COPIES, true)).unwrap();
    log_restore(&world, ("l0", "copy"), false).unwrap();
    let before = bytes_of(&world, LOG);
    let fault = Fault::new(Ops::Only(OpKind::Read), Effect::Fail);
    volume.inject(fault.under(LOG).sticky());
    for recovery in [true, false] {
        file_restore(&world, &full, recovery).unwrap_err();
    }
    let unread = refused(recover_only(&world.instance, "copy"));
    assert!(unread != [4333] && unread != [9004], "{unread:?}");
    volume.heal();
    assert!(bytes_of(&world, LOG) == before, "the log was changed");
    log_restore(&world, ("l1", "copy"), false).unwrap();
    let copy = recover_only(&world.instance, "copy").unwrap();
    assert_eq!(ids(&copy, "o"), all_rows());
}

#[test]
fn a_restore_of_a_file_over_log_that_is_lost_recovers_nothing() {
    let world = world();
    let (t, o) = (world.table("t"), other_table(&world));
    full_model(&world);
    let mut session = world.session();
    fill(&mut session, [&t, &o], 0..20);
    let first = to_file("first", Parts::default());
    world.backup(&first).unwrap();
    fill(&mut session, [&t, &o], 20..40);
    let full = request(1);
    world.backup(&full).unwrap();
    fill(&mut session, [&t, &o], 40..60);
    log_backup(&world, "l0").unwrap();
    drop((session, t, o));
    restored_to(&world, (&full, "copy"), (COPIES, true)).unwrap();
    let before = bytes_of(&world, LOG);
    log_restore(&world, ("l0", "copy"), false).unwrap();
    let new = put_in(&before, &bytes_of(&world, LOG));
    damage(&world, new[new.len() / 2]);
    assert_eq!(refused(file_restore(&world, &full, true)), [9004]);
    let standby = RestoreRequest {
        standby: Some(PathBuf::from("d/undo.tuf")),
        ..wanted("copy", true)
    };
    let standby = restored(&world, (&full, &group("OTHER")), &standby);
    assert_eq!(refused(standby), [9004]);
    assert!(!is_there(&world, "d/undo.tuf"));
    // No recovery was noted, behind which the log could not be replaced.
    file_restore(&world, &first, false).unwrap();
    log_restore(&world, ("l0", "copy"), false).unwrap();
    let copy = recover_only(&world.instance, "copy").unwrap();
    assert_eq!(ids(&copy, "o"), (0..60).collect::<Vec<_>>());
}

#[test]
fn a_file_whose_log_is_lost_is_not_given_up() {
    let world = world();
    let full = lacks_an_added_file(&world);
    let before = bytes_of(&world, LOG);
    log_with_the_file(&world, "d/copy_added.ndf").unwrap();
    let new = put_in(&before, &bytes_of(&world, LOG));
    damage(&world, new[0]);
    assert_eq!(refused(file_restore(&world, &full, true)), [9004]);
    assert!(is_there(&world, "d/copy_added.ndf"));
    log_with_the_file(&world, "d/copy_added.ndf").unwrap();
    let copy = recover_only(&world.instance, "copy").unwrap();
    assert_eq!(ids(&copy, "o"), (0..40).collect::<Vec<_>>());
    assert_eq!(copy.file_list().unwrap().len(), 4);
}

#[test]
fn a_log_restore_that_lost_its_power_in_the_block_at_which_one_had_stopped_is_repeated() {
    let seed = test_seed();
    println!("seed {seed}");
    let mut rng = seeded(seed);
    let mut moments = 0;
    for nth in (1 + seed % 2..).step_by(2) {
        let (volume, world) = simulated();
        let (t, o) = (world.table("t"), other_table(&world));
        full_model(&world);
        let mut session = world.session();
        fill(&mut session, [&t, &o], 0..10);
        let full = request(1);
        world.backup(&full).unwrap();
        fill(&mut session, [&t, &o], 10..20);
        let time = between();
        fill(&mut session, [&t, &o], 20..25);
        log_backup(&world, "l0").unwrap();
        drop((session, t, o));
        restored_to(&world, (&full, "copy"), (COPIES, true)).unwrap();
        let point = StopPoint::Time(time);
        stopping(&world, ("l0", "copy"), (point, false)).unwrap();
        volume.inject(Fault::new(Ops::Changes, Effect::PowerLoss).nth(nth));
        let done = log_restore(&world, ("l0", "copy"), false);
        if volume.is_powered() {
            done.unwrap();
            break;
        }
        moments += 1;
        let world = after_crash(&volume, world, (&drawn_crash(&mut rng), "test"));
        let all: Vec<i64> = (0..25).collect();
        let copy = match recover_only(&world.instance, "copy") {
            Ok(copy) => copy,
            Err(error) => {
                assert_eq!(numbers(&error), [9004], "change {nth}");
                log_restore(&world, ("l0", "copy"), false).unwrap();
                let copy = recover_only(&world.instance, "copy").unwrap();
                assert_eq!(ids(&copy, "o"), all, "change {nth}");
                copy
            }
        };
        let found = ids(&copy, "o");
        assert!(
            found == all || found == all[..20],
            "change {nth}: {found:?}"
        );
    }
    assert!(moments > 3, "{moments}");
}
