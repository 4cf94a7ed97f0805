//! What damage, a power loss or a failed restore leaves, and the statements that meet it.

use crate::chain::{full_model, log_backup, log_request, log_restore, wanted};
use crate::files::{fill, group, other_table, restored, to_file};
use crate::interrupted::{COPIES, standing_copy};
use crate::places::{is_there, restored_to};
use crate::stop::between;
use crate::world::{
    Silent, World, after_crash, drawn_crash, ids, numbers, request, simulated, world,
};
use furrow_backup::{
    BackupError, BackupRequest, Parts, RestoreReport, RestoreRequest, recover_only, restore_log,
};
use furrow_engine::{FileSpec, StopPoint};
use furrow_io::random::{Rng, seeded, test_seed};
use furrow_io::sim::{Crash, Effect, Fault, OpKind, Ops};
use furrow_io::{read_file, write_file};
use std::path::{Path, PathBuf};

pub const LOG: &str = "d/copy_log.ldf";

pub fn bytes_of(world: &World, path: &str) -> Vec<u8> {
    read_file(&*world.volume, Path::new(path)).unwrap()
}

#[test]
fn a_log_restore_that_lost_its_power_is_repeated_or_given_up() {
    let seed = test_seed();
    println!("seed {seed}");
    let mut rng = seeded(seed);
    let mut moments = 0;
    for nth in (1 + seed % 3..).step_by(3) {
        let (volume, world) = simulated();
        let full = standing_copy(&world);
        restored_to(&world, (&full, "copy"), (COPIES, true)).unwrap();
        log_restore(&world, ("l0", "copy"), false).unwrap();
        volume.inject(Fault::new(Ops::Changes, Effect::PowerLoss).nth(nth));
        let done = log_restore(&world, ("l1", "copy"), false);
        if volume.is_powered() {
            done.unwrap();
            break;
        }
        moments += 1;
        let world = after_crash(&volume, world, (&drawn_crash(&mut rng), "test"));
        let is_repeated = rng.random_ratio(1, 2);
        if is_repeated && let Err(error) = log_restore(&world, ("l1", "copy"), false) {
            // It is in place already.
            assert_eq!(numbers(&error), [4326], "change {nth}: {error}");
        }
        let copy = recover_only(&world.instance, "copy").unwrap();
        let mut all: Vec<i64> = (0..150).collect();
        all.extend(1000..1050);
        // Given up, it is as it was before; unless all of it was in place.
        let found = ids(&copy, "o");
        let is_before = !is_repeated && found == all[..100];
        assert!(found == all || is_before, "change {nth}: {found:?}");
        drop(copy);
        world.check("copy");
    }
    assert!(moments > 3, "{moments}");
}

/// A copy that lacks a log backup `l0` in which a file was added.
pub fn lacks_an_added_file(world: &World) -> BackupRequest {
    let (t, o) = (world.table("t"), other_table(world));
    full_model(world);
    let mut session = world.session();
    fill(&mut session, [&t, &o], 0..20);
    let full = request(1);
    world.backup(&full).unwrap();
    let added = FileSpec::new("added", "d/added.ndf").size_mb(1);
    world.db.add_file(&added, Some("OTHER")).unwrap();
    fill(&mut session, [&t, &o], 20..40);
    log_backup(world, "l0").unwrap();
    restored_to(world, (&full, "copy"), (COPIES, true)).unwrap();
    full
}

pub fn log_with_the_file(world: &World, place: &str) -> Result<RestoreReport, BackupError> {
    let request = RestoreRequest {
        moves: vec![("added".into(), place.into())],
        ..wanted("copy", false)
    };
    restore_log(
        &world.instance,
        &world.media(&log_request("l0"))?,
        &request,
        &mut Silent,
    )
}

#[test]
fn a_log_restore_that_failed_and_adds_a_file_is_given_up_or_repeated() {
    for is_repeated in [false, true] {
        let (volume, world) = simulated();
        lacks_an_added_file(&world);
        let fault = Fault::new(Ops::Only(OpKind::Write), Effect::Fail);
        volume.inject(fault.under(LOG).nth(2));
        log_with_the_file(&world, "d/copy_added.ndf").unwrap_err();
        volume.heal();
        assert!(is_there(&world, "d/copy_added.ndf"));
        if is_repeated {
            log_with_the_file(&world, "d/copy_other.ndf").unwrap();
        }
        let copy = recover_only(&world.instance, "copy").unwrap();
        let rows = if is_repeated { 40 } else { 20 };
        assert_eq!(ids(&copy, "o"), (0..rows).collect::<Vec<_>>());
        assert!(!is_there(&world, "d/copy_added.ndf"));
        assert_eq!(is_there(&world, "d/copy_other.ndf"), is_repeated);
        drop(copy);
        let more: &[&str] = if is_repeated {
            &["d/copy_other.ndf"]
        } else {
            &[]
        };
        world.check_also("copy", more);
    }
}

#[test]
fn a_log_restore_takes_no_place_of_a_file_that_begins_with_zeros() {
    let world = world();
    lacks_an_added_file(&world);
    let mut image = vec![0; 8192];
    image.extend_from_slice(b"an image of something else");
    write_file(&*world.volume, Path::new("d/copy_added.ndf"), &image).unwrap();
    let refused = log_with_the_file(&world, "d/copy_added.ndf").unwrap_err();
    assert_eq!(numbers(&refused), [5170]);
    assert!(bytes_of(&world, "d/copy_added.ndf").starts_with(&image));
    log_with_the_file(&world, "d/copy_other.ndf").unwrap();
}

#[test]
fn a_file_is_restored_elsewhere_off_a_disk_that_can_no_longer_be_written() {
    for kind in [OpKind::Remove, OpKind::Query] {
        let (volume, world) = simulated();
        let (t, o) = (world.table("t"), other_table(&world));
        full_model(&world);
        let full = request(1);
        fill(&mut world.session(), [&t, &o], 0..20);
        world.backup(&full).unwrap();
        restored_to(&world, (&full, "copy"), (COPIES, true)).unwrap();
        let fault = Fault::new(Ops::Only(kind), Effect::Fail);
        volume.inject(fault.under("d/copy_more.ndf").sticky());
        // The old place is left behind the first time; the second time the new one goes.
        for place in ["d/copy_new.ndf", "d/copy_newer.ndf"] {
            let request = RestoreRequest {
                moves: vec![("more".into(), place.into())],
                ..wanted("copy", false)
            };
            restored(&world, (&full, &group("OTHER")), &request).unwrap();
        }
        let copy = recover_only(&world.instance, "copy").unwrap();
        assert_eq!(ids(&copy, "o"), (0..20).collect::<Vec<_>>());
        volume.heal();
        assert!(is_there(&world, "d/copy_more.ndf") && !is_there(&world, "d/copy_new.ndf"));
    }
}

#[test]
fn an_undo_file_that_cannot_be_removed_stops_no_restore() {
    let (volume, world) = simulated();
    standing_copy(&world);
    let undo = PathBuf::from("d/undo.tuf");
    let fault = Fault::new(Ops::Only(OpKind::Remove), Effect::Fail);
    volume.inject(fault.under("d/undo.tuf").sticky());
    log_restore(&world, ("l0", "copy"), false).unwrap();
    assert!(world.volume.exists(&undo).unwrap());
    log_restore(&world, ("l1", "copy"), false).unwrap();
    volume.heal();
    // The next standby of the database takes its place.
    log_backup(&world, "l2").unwrap();
    let request = RestoreRequest {
        standby: Some(undo.clone()),
        ..wanted("copy", true)
    };
    let media = world.media(&log_request("l2")).unwrap();
    restore_log(&world.instance, &media, &request, &mut Silent).unwrap();
    recover_only(&world.instance, "copy").unwrap();
    assert!(!world.volume.exists(&undo).unwrap());
}

#[test]
fn a_standby_survives_an_undo_file_whose_last_entry_a_power_loss_has_made_unreadable() {
    let seed = test_seed();
    println!("seed {seed}");
    let mut moments = 0;
    for nth in (1 + seed % 2..).step_by(2) {
        let (volume, world) = simulated();
        standing_copy(&world);
        let request = RestoreRequest {
            standby: Some(PathBuf::from("d/undo.tuf")),
            ..wanted("copy", true)
        };
        let media = world.media(&log_request("l0")).unwrap();
        let fault = Fault::new(Ops::Changes, Effect::PowerLoss).under("d/undo.tuf");
        volume.inject(fault.nth(nth));
        let done = restore_log(&world.instance, &media, &request, &mut Silent);
        if volume.is_powered() {
            done.unwrap();
            break;
        }
        moments += 1;
        let crash = Crash::Unreadable { seed: seed + nth };
        let world = after_crash(&volume, world, (&crash, "test"));
        if let Err(error) = log_restore(&world, ("l0", "copy"), false) {
            // It is in place already.
            assert_eq!(numbers(&error), [4326], "change {nth}: {error}");
        }
        log_restore(&world, ("l1", "copy"), false).unwrap();
        let copy = recover_only(&world.instance, "copy").unwrap();
        let mut all: Vec<i64> = (0..150).collect();
        all.extend(1000..1050);
        assert_eq!(ids(&copy, "o"), all, "change {nth}");
    }
    assert!(moments > 3, "{moments}");
}

#[test]
fn a_file_that_was_added_behind_the_point_of_a_restore_is_no_part_of_it() {
    let world = world();
    let (t, o) = (world.table("t"), other_table(&world));
    full_model(&world);
    let mut session = world.session();
    fill(&mut session, [&t, &o], 0..20);
    let full = request(1);
    world.backup(&full).unwrap();
    fill(&mut session, [&t, &o], 20..40);
    let time = between();
    fill(&mut session, [&t, &o], 40..50);
    let added = FileSpec::new("added", "d/added.ndf").size_mb(1);
    world.db.add_file(&added, Some("OTHER")).unwrap();
    fill(&mut session, [&t, &o], 50..60);
    log_backup(&world, "l0").unwrap();
    for in_one in [true, false] {
        restored_to(&world, (&full, "copy"), (COPIES, true)).unwrap();
        let request = RestoreRequest {
            moves: vec![("added".into(), "d/copy_added.ndf".into())],
            stop: Some(StopPoint::Time(time)),
            ..wanted("copy", in_one)
        };
        let media = world.media(&log_request("l0")).unwrap();
        restore_log(&world.instance, &media, &request, &mut Silent).unwrap();
        if !in_one {
            recover_only(&world.instance, "copy").unwrap();
        }
        let copy = world.instance.database("copy").unwrap();
        assert_eq!(ids(&copy, "o"), (0..40).collect::<Vec<_>>());
        assert_eq!(copy.file_list().unwrap().len(), 3);
        assert!(!is_there(&world, "d/copy_added.ndf"), "{in_one}");
        drop(copy);
        world.check("copy");
    }
}

#[test]
fn a_file_whose_log_was_replaced_is_given_up() {
    let (volume, world) = simulated();
    let (t, o) = (world.table("t"), other_table(&world));
    full_model(&world);
    let mut session = world.session();
    fill(&mut session, [&t, &o], 0..10);
    world.backup(&to_file("first", Parts::default())).unwrap();
    let old = to_file("old", group("OTHER"));
    world.backup(&old).unwrap();
    fill(&mut session, [&t, &o], 10..20);
    let full = request(1);
    world.backup(&full).unwrap();
    log_backup(&world, "before").unwrap();
    let added = FileSpec::new("added", "d/added.ndf").size_mb(1);
    world.db.add_file(&added, Some("OTHER")).unwrap();
    fill(&mut session, [&t, &o], 20..40);
    log_backup(&world, "l0").unwrap();
    restored_to(&world, (&full, "copy"), (COPIES, true)).unwrap();
    log_restore(&world, ("before", "copy"), false).unwrap();
    let fault = Fault::new(Ops::Only(OpKind::Write), Effect::Fail);
    volume.inject(fault.under(LOG).nth(2));
    log_with_the_file(&world, "d/copy_added.ndf").unwrap_err();
    volume.heal();
    // It is older than the log in place, which it replaces.
    restored(&world, (&old, &group("OTHER")), &wanted("copy", false)).unwrap();
    let early = recover_only(&world.instance, "copy").unwrap_err();
    assert_eq!(numbers(&early), [4318]);
    assert!(is_there(&world, "d/copy_added.ndf"));
    log_restore(&world, ("before", "copy"), false).unwrap();
    let copy = recover_only(&world.instance, "copy").unwrap();
    assert_eq!(ids(&copy, "o"), (0..20).collect::<Vec<_>>());
    assert_eq!(copy.file_list().unwrap().len(), 3);
    assert!(!is_there(&world, "d/copy_added.ndf"));
    drop(copy);
    world.check("copy");
}

#[test]
fn a_power_loss_at_the_end_of_a_restore_that_stops_leaves_no_file_from_behind_its_point() {
    let seed = test_seed();
    println!("seed {seed}");
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
        let added = FileSpec::new("added", "d/added.ndf").size_mb(1);
        world.db.add_file(&added, Some("OTHER")).unwrap();
        log_backup(&world, "l0").unwrap();
        drop((session, t, o));
        restored_to(&world, (&full, "copy"), (COPIES, true)).unwrap();
        let request = RestoreRequest {
            moves: vec![("added".into(), "d/copy_added.ndf".into())],
            stop: Some(StopPoint::Time(time)),
            ..wanted("copy", false)
        };
        let media = world.media(&log_request("l0")).unwrap();
        volume.inject(Fault::new(Ops::Changes, Effect::PowerLoss).nth(nth));
        let done = restore_log(&world.instance, &media, &request, &mut Silent);
        if volume.is_powered() {
            done.unwrap();
            break;
        }
        moments += 1;
        drop(media);
        let crash = Crash::Random { seed: seed + nth };
        let world = after_crash(&volume, world, (&crash, "test"));
        let copy = recover_only(&world.instance, "copy")
            .unwrap_or_else(|e| panic!("change {nth}: {:?}", e.messages()));
        let found = ids(&copy, "o");
        let all: Vec<i64> = (0..20).collect();
        assert!(
            found == all || found == all[..10],
            "change {nth}: {found:?}"
        );
        assert_eq!(copy.file_list().unwrap().len(), 3, "change {nth}");
        // A check of the places may have left an empty file, which the next restore removes.
        let left = is_there(&world, "d/copy_added.ndf")
            && !bytes_of(&world, "d/copy_added.ndf").is_empty();
        assert!(!left, "change {nth}");
    }
    assert!(moments > 3, "{moments}");
}
