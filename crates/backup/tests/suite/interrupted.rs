//! Restores that end in the middle, and statements that come while they run.

use crate::chain::{full_model, log_backup, log_restore, wanted};
use crate::files::{fill, group, other_table, restored};
use crate::places::{is_there, restored_to};
use crate::world::{
    Silent, World, after_crash, after_power_loss, ids, insert, numbers, request, simulated, world,
};
use furrow_backup::{
    BackupRequest, FilePages, Listener, RestoreRequest, recover_only, restore_database,
};
use furrow_engine::{DatabaseSpec, FileSpec, Instance};
use furrow_io::random::{Rng, seeded, test_seed};
use furrow_io::sim::{Crash, Effect, Fault, OpKind, Ops};
use furrow_io::{Access, AlignedBuf, Open, Volume as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Where a copy goes.
pub const COPIES: &[(&str, &str)] = &[
    ("data", "d/copy_data.mdf"),
    ("log", "d/copy_log.ldf"),
    ("more", "d/copy_more.ndf"),
];

fn to_copies() -> Vec<(String, PathBuf)> {
    let moves = COPIES.iter();
    moves
        .map(|(file, to)| ((*file).to_owned(), PathBuf::from(to)))
        .collect()
}

#[test]
fn a_restore_that_lost_its_power_begins_again_at_its_places() {
    let seed = test_seed();
    println!("seed {seed}");
    let mut rng = seeded(seed);
    let mut moments = 0;
    // Another share of the moments each time.
    for nth in (1 + seed % 3..).step_by(3).flat_map(|n| [n; 3]) {
        let (volume, world) = simulated();
        let table = world.table("t");
        insert(&mut world.session(), &table, 1, "stays");
        drop(table);
        world.backup(&request(1)).unwrap();
        let again = |world: &World| restored_to(world, (&request(1), "copy"), (COPIES, true));
        volume.inject(Fault::new(Ops::Changes, Effect::PowerLoss).nth(nth));
        let done = again(&world);
        if volume.is_powered() {
            done.unwrap();
            break;
        }
        moments += 1;
        let torn = Crash::Torn { seed: rng.random() };
        let world = after_crash(&volume, world, (&torn, "test"));
        again(&world).unwrap_or_else(|e| panic!("change {nth}: {:?}", e.messages()));
        let copy = recover_only(&world.instance, "copy").unwrap();
        assert_eq!(ids(&copy, "t"), [1], "change {nth}");
    }
    assert!(moments > 5, "{moments}");
}

/// What other sessions do while pages are restored.
struct Meddling {
    instance: Arc<Instance>,
    numbers: Vec<u32>,
}

impl Listener for Meddling {
    fn progress(&mut self, _: u64, _: u64) {
        let number = |done: Result<(), furrow_engine::EngineError>| match done {
            Ok(()) => 0,
            Err(error) => error.number(),
        };
        let dropped = self.instance.drop_database("copy");
        let resumed = self.instance.resume_restore("copy").map(drop);
        self.numbers.extend([number(dropped), number(resumed)]);
    }

    fn files_done(&mut self, _: u16, _: &[FilePages]) {}
}

#[test]
fn a_database_that_is_being_restored_is_not_dropped_or_restored_by_another_session() {
    let world = world();
    insert(&mut world.session(), &world.table("t"), 1, "stays");
    let full = request(1);
    world.backup(&full).unwrap();
    let request = RestoreRequest {
        moves: to_copies(),
        ..wanted("copy", true)
    };
    let mut other = Meddling {
        instance: Arc::clone(&world.instance),
        numbers: Vec::new(),
    };
    let media = world.media(&full).unwrap();
    restore_database(&world.instance, &media, &request, &mut other).unwrap();
    assert!(!other.numbers.is_empty());
    let answers = other.numbers.chunks(2);
    answers.for_each(|pair| assert_eq!(pair, [952, 3101]));
    // It is free when the restore is over.
    let copy = world.instance.database("copy").unwrap();
    assert_eq!(ids(&copy, "t"), [1]);
    drop(copy);
    world.instance.drop_database("copy").unwrap();
}

#[test]
fn files_of_a_restore_that_failed_are_not_recovered_with_others() {
    let (volume, world) = simulated();
    let (t, o) = (world.table("t"), other_table(&world));
    full_model(&world);
    fill(&mut world.session(), [&t, &o], 0..200);
    let full = request(1);
    world.backup(&full).unwrap();
    let fault = Fault::new(Ops::Only(OpKind::Write), Effect::Fail);
    volume.inject(fault.under("d/copy_data.mdf").nth(2));
    restored_to(&world, (&full, "copy"), (COPIES, false)).unwrap_err();
    volume.heal();
    let other = restored(&world, (&full, &group("OTHER")), &wanted("copy", true));
    assert_eq!(numbers(&other.unwrap_err()), [4320]);
    restored_to(&world, (&full, "copy"), (COPIES, false)).unwrap();
    let copy = recover_only(&world.instance, "copy").unwrap();
    assert_eq!(ids(&copy, "o"), (0..200).collect::<Vec<_>>());
}

/// A copy in standby whose standby has undone a transaction, and the log that goes on.
pub fn standing_copy(world: &World) -> BackupRequest {
    let (t, o) = (world.table("t"), other_table(world));
    full_model(world);
    let mut session = world.session();
    fill(&mut session, [&t, &o], 0..50);
    let mut open = world.session();
    open.begin().unwrap();
    fill(&mut open, [&t, &o], 1000..1050);
    let full = request(1);
    world.backup(&full).unwrap();
    fill(&mut session, [&t, &o], 50..100);
    log_backup(world, "l0").unwrap();
    open.commit().unwrap();
    fill(&mut session, [&t, &o], 100..150);
    log_backup(world, "l1").unwrap();
    to_standby(world, &full);
    full
}

fn to_standby(world: &World, full: &BackupRequest) {
    let request = RestoreRequest {
        moves: to_copies(),
        standby: Some(PathBuf::from("d/undo.tuf")),
        replace: true,
        ..wanted("copy", true)
    };
    let media = world.media(full).unwrap();
    restore_database(&world.instance, &media, &request, &mut Silent).unwrap();
}

#[test]
fn log_goes_on_only_from_what_a_replaced_standby_was_restored_from() {
    let seed = test_seed();
    println!("seed {seed}");
    let (mut moments, mut refused) = (0, 0);
    for nth in (1 + seed % 4..).step_by(4) {
        let (volume, world) = simulated();
        let full = standing_copy(&world);
        volume.inject(Fault::new(Ops::Changes, Effect::PowerLoss).nth(nth));
        let over = restored_to(&world, (&full, "copy"), (COPIES, true));
        if volume.is_powered() {
            over.unwrap();
            break;
        }
        moments += 1;
        let world = after_power_loss(&volume, world, "test");
        let logs = ["l0", "l1"].map(|log| log_restore(&world, (log, "copy"), false));
        if logs.iter().any(Result::is_err) {
            // Then it is restored from the beginning.
            refused += 1;
            to_standby(&world, &full);
            log_restore(&world, ("l0", "copy"), false).unwrap();
            log_restore(&world, ("l1", "copy"), false).unwrap();
        }
        let copy = recover_only(&world.instance, "copy").unwrap();
        let mut all: Vec<i64> = (0..150).collect();
        all.extend(1000..1050);
        assert_eq!(ids(&copy, "o"), all, "change {nth}");
        drop(copy);
        world.check("copy");
    }
    assert!(moments > 5 && refused > 0, "{moments}, {refused}");
}

#[test]
fn an_undo_file_that_a_power_loss_has_torn_stops_no_restore() {
    let seed = test_seed();
    println!("seed {seed}");
    let mut rng = seeded(seed);
    let mut moments = 0;
    for nth in (1 + seed % 5..40).step_by(5) {
        let (volume, world) = simulated();
        let full = standing_copy(&world);
        let request = RestoreRequest {
            standby: Some(PathBuf::from("d/undo.tuf")),
            ..wanted("copy", true)
        };
        let media = world.media(&crate::chain::log_request("l0")).unwrap();
        volume.inject(Fault::new(Ops::Changes, Effect::PowerLoss).nth(nth));
        let _ = furrow_backup::restore_log(&world.instance, &media, &request, &mut Silent);
        if volume.is_powered() {
            break;
        }
        let crash = match rng.random_ratio(1, 2) {
            true => Crash::Unreadable { seed: rng.random() },
            false => Crash::Random { seed: rng.random() },
        };
        let world = after_crash(&volume, world, (&crash, "test"));
        match log_restore(&world, ("l0", "copy"), false) {
            Ok(_) => {}
            // It is in place already.
            Err(error) => assert_eq!(numbers(&error), [4326], "change {nth}"),
        }
        to_standby(&world, &full);
        log_restore(&world, ("l0", "copy"), false).unwrap();
        moments += 1;
    }
    assert!(moments > 3, "{moments}");
}

#[test]
fn an_old_file_that_cannot_be_removed_does_not_keep_a_database_from_its_new_places() {
    for kind in [OpKind::Remove, OpKind::Query] {
        let (volume, mut world) = simulated();
        let table = world.table("t");
        insert(&mut world.session(), &table, 1, "stays");
        drop(table);
        let full = request(1);
        world.backup(&full).unwrap();
        world.let_go();
        let fault = Fault::new(Ops::Only(kind), Effect::Fail);
        volume.inject(fault.under("d/data.mdf").sticky());
        let request = RestoreRequest {
            moves: to_copies(),
            replace: true,
            ..wanted("test", true)
        };
        let media = world.media(&full).unwrap();
        restore_database(&world.instance, &media, &request, &mut Silent).unwrap();
        let db = world.instance.database("test").unwrap();
        assert_eq!(ids(&db, "t"), [1]);
        volume.heal();
        assert!(is_there(&world, "d/data.mdf"));
    }
}

#[test]
fn a_database_whose_files_cannot_be_removed_keeps_no_other_from_its_start() {
    let (volume, world) = simulated();
    let spec = DatabaseSpec::new("gone", FileSpec::new("gone", "d/gone.mdf").size_mb(4));
    let log = FileSpec::new("gone_log", "d/gone.ldf").size_mb(1);
    drop(world.instance.create_database(&spec.log(log)).unwrap());
    let fault = Fault::new(Ops::Only(OpKind::Remove), Effect::Fail);
    volume.inject(fault.under("d/gone.mdf").sticky());
    world.instance.drop_database("gone").unwrap_err();
    let world = world.restart_after(|_| {});
    assert!(world.instance.database("gone").is_err());
    volume.heal();
    world.instance.drop_database("gone").unwrap();
    assert!(!is_there(&world, "d/gone.mdf"));
}

fn is_empty(world: &World, path: &str) -> bool {
    let file = world
        .volume
        .open(path.as_ref(), Open::ReadOnly, Access::Data);
    file.unwrap().len_bytes().unwrap() == 0
}

#[test]
fn a_power_loss_in_a_log_restore_leaves_no_added_file_that_nothing_removes() {
    let seed = test_seed();
    println!("seed {seed}");
    let mut rng = seeded(seed);
    let mut moments = 0;
    for nth in (1 + seed % 4..).step_by(4) {
        let (volume, world) = simulated();
        full_model(&world);
        let full = request(1);
        world.backup(&full).unwrap();
        let added = FileSpec::new("added", "d/added.ndf").size_mb(1);
        world.db.add_file(&added, None).unwrap();
        log_backup(&world, "l0").unwrap();
        restored_to(&world, (&full, "copy"), (COPIES, false)).unwrap();
        let again = |world: &World, place: &str| {
            let request = RestoreRequest {
                moves: vec![("added".into(), place.into())],
                ..wanted("copy", false)
            };
            let media = world.media(&crate::chain::log_request("l0")).unwrap();
            furrow_backup::restore_log(&world.instance, &media, &request, &mut Silent)
        };
        let places = ["d/copy_added.ndf", "d/copy_elsewhere.ndf"];
        volume.inject(Fault::new(Ops::Changes, Effect::PowerLoss).nth(nth));
        let done = again(&world, places[0]);
        if volume.is_powered() {
            done.unwrap();
            break;
        }
        moments += 1;
        let world = after_power_loss(&volume, world, "test");
        let place = places[usize::from(rng.random_ratio(1, 2))];
        if rng.random_ratio(2, 3) {
            // The same statement again, or after a start from the beginning.
            if again(&world, place).is_err() {
                restored_to(&world, (&full, "copy"), (COPIES, false)).unwrap();
                again(&world, place).unwrap();
            }
        }
        world.instance.drop_database("copy").unwrap();
        // A check of the places may have left an empty file, which the next restore removes.
        for path in places {
            let left = is_there(&world, path) && !is_empty(&world, path);
            assert!(!left, "change {nth}: {path}");
        }
        restored_to(&world, (&full, "copy"), (COPIES, false)).unwrap();
        again(&world, place).unwrap();
    }
    assert!(moments > 3, "{moments}");
}

#[test]
fn two_files_of_a_restore_that_meet_are_refused_before_anything_goes() {
    let mut world = world();
    let full = request(1);
    world.backup(&full).unwrap();
    world.let_go();
    for place in ["d/new.mdf.dw", "d/new.mdf_MSSQL_REPAIR"] {
        let moves = [("data", "d/new.mdf"), ("more", place)];
        let refused = restored_to(&world, (&full, "test"), (&moves, true));
        assert_eq!(numbers(&refused.unwrap_err()), [5170], "{place}");
    }
    world.instance.database("test").unwrap();
}

#[test]
fn a_restore_under_a_new_name_removes_nothing_before_all_places_can_be_taken() {
    let (volume, world) = simulated();
    let full = request(1);
    world.backup(&full).unwrap();
    let notes = Path::new("d/copy_data.mdf");
    let file = volume.open(notes, Open::Create, Access::Data);
    drop(file.unwrap());
    let fault = Fault::new(Ops::Only(OpKind::Create), Effect::Fail);
    volume.inject(fault.under("d/copy_log.ldf").sticky());
    restored_to(&world, (&full, "copy"), (COPIES, true)).unwrap_err();
    assert!(is_there(&world, "d/copy_data.mdf"));
    assert!(world.instance.restore_target("copy").is_none());
}

#[test]
fn a_restore_of_a_database_over_itself_is_repeated_without_replace() {
    let seed = test_seed();
    println!("seed {seed}");
    let mut moments = 0;
    for nth in (1 + seed % 4..).step_by(4) {
        let (volume, mut world) = simulated();
        let table = world.table("t");
        let mut session = world.session();
        insert(&mut session, &table, 1, "stays");
        let full = request(1);
        world.backup(&full).unwrap();
        (2..200).for_each(|id| insert(&mut session, &table, id, "goes"));
        drop((session, table));
        world.db.checkpoint().unwrap();
        world.let_go();
        volume.inject(Fault::new(Ops::Changes, Effect::PowerLoss).nth(nth));
        let over = restored_to(&world, (&full, "test"), (&[], false));
        if volume.is_powered() {
            over.unwrap();
            break;
        }
        moments += 1;
        let world = after_power_loss(&volume, world, "spare");
        restored_to(&world, (&full, "test"), (&[], false)).unwrap();
        let db = recover_only(&world.instance, "test").unwrap();
        assert_eq!(ids(&db, "t"), [1], "change {nth}");
    }
    assert!(moments > 5, "{moments}");
}

#[test]
fn a_database_whose_first_page_is_damaged_is_restored_while_it_is_open() {
    let (volume, mut world) = simulated();
    let table = world.table("t");
    insert(&mut world.session(), &table, 1, "stays");
    drop(table);
    let full = request(1);
    world.backup(&full).unwrap();
    // A write of page 1 goes to page 0.
    let first = || {
        let file = volume.open(Path::new("d/more.ndf"), Open::ReadOnly, Access::Data);
        let mut page = AlignedBuf::new(8192);
        file.unwrap().read_at(0, &mut page).unwrap();
        page.to_vec()
    };
    let before = first();
    let fault = Fault::new(Ops::Only(OpKind::Write), Effect::Misdirect(-8192));
    volume.inject(fault.under("d/more.ndf").sticky());
    let o = other_table(&world);
    let row = [
        furrow_types::Value::BigInt(1),
        furrow_types::Value::VarChar("v".into()),
    ];
    world.session().insert(&o, &row).unwrap();
    drop(o);
    world.db.checkpoint().unwrap();
    volume.heal();
    assert_ne!(first(), before);
    world.let_go();
    restored_to(&world, (&full, "test"), (&[], true)).unwrap();
    let db = recover_only(&world.instance, "test").unwrap();
    assert_eq!(ids(&db, "t"), [1]);
}

#[test]
fn a_database_whose_log_restore_failed_is_recovered_with_the_log_before() {
    let (volume, world) = simulated();
    let full = standing_copy(&world);
    restored_to(&world, (&full, "copy"), (COPIES, true)).unwrap();
    log_restore(&world, ("l0", "copy"), false).unwrap();
    let fault = Fault::new(Ops::Only(OpKind::Write), Effect::Fail);
    volume.inject(fault.under("d/copy_log.ldf").nth(2));
    log_restore(&world, ("l1", "copy"), false).unwrap_err();
    volume.heal();
    let copy = recover_only(&world.instance, "copy").unwrap();
    assert_eq!(ids(&copy, "o"), (0..100).collect::<Vec<_>>());
}

#[test]
fn files_of_a_closed_database_that_another_process_uses_are_not_replaced() {
    let (volume, mut world) = simulated();
    let full = request(1);
    world.backup(&full).unwrap();
    world.let_go();
    world.instance.close_database("test").unwrap();
    let other = volume.open(Path::new("d/data.mdf"), Open::Existing, Access::Data);
    let refused = restored_to(&world, (&full, "test"), (&[], true)).unwrap_err();
    assert_eq!(numbers(&refused), [5170]);
    drop(other);
    assert!(is_there(&world, "d/data.mdf"));
    restored_to(&world, (&full, "test"), (&[], true)).unwrap();
}
