//! Which file gets which extent.

#![expect(clippy::unwrap_used, reason = "helpers of tests are tests")]

mod common;

use common::{Base, Make, Spec, add_to_pool, audit, base, data_file, fixed, growing, make};
use furrow_format::FileId;
use furrow_observe::spinlocks::SpinClass;
use furrow_observe::task::{self, Task};
use furrow_observe::traceflags::TraceFlag;
use furrow_space::SpaceOptions;

fn add(db: &Base, spec: Spec) {
    let file = data_file(&db.volume, spec);
    add_to_pool(&db.pool, &file);
    db.space.add_file(&file).unwrap();
}

#[test]
fn trace_flag_1165_prints_the_published_lines() {
    let db = base(&[fixed(1, 640)]);
    assert!(db.lines.0.lock().is_empty(), "off by default");
    let task = Task::new(&db.instruments, 56, "test");
    let _entered = task::enter(&task);
    db.instruments
        .trace_flags
        .set_at_start(TraceFlag::PRINT_PROPORTIONAL_FILL);
    // The catalog of the published database had taken 35 extents besides the first.
    let catalog = db.unit(3);
    db.space.preallocate(&catalog, 33).unwrap();
    add(&db, fixed(3, 640));
    add(&db, fixed(4, 32_000));
    let lines = db.lines.0.lock().clone();
    let start = "Proportional Fill Recalculation Starting for DB Company with m_cAllocs 8192.";
    assert_eq!(
        lines,
        [
            start,
            "Proportional Fill Recalculation Completed for DB Company new m_cAllocs 8192, \
             most free file is file 3.",
            "\tFile [f1] (1) has 44 free extents and skip target of 1. ",
            "\tFile [f3] (3) has 79 free extents and skip target of 1. ",
            start,
            "Proportional Fill Recalculation Completed for DB Company new m_cAllocs 8192, \
             most free file is file 4.",
            "\tFile [f1] (1) has 44 free extents and skip target of 90. ",
            "\tFile [f4] (4) has 3996 free extents and skip target of 1. ",
            "\tFile [f3] (3) has 79 free extents and skip target of 50. ",
        ]
    );
    audit(&db, &[catalog]);
}

#[test]
fn the_published_load_ends_with_one_file_that_has_free_extents() {
    let db = base(&[
        growing(1, 640, 640),
        growing(3, 640, 640),
        growing(4, 32_000, 640),
    ]);
    let catalog = db.unit(3);
    db.space.preallocate(&catalog, 33).unwrap();
    let task = Task::new(&db.instruments, 56, "test");
    let _entered = task::enter(&task);
    db.instruments
        .trace_flags
        .set_at_start(TraceFlag::PRINT_PROPORTIONAL_FILL);
    let table = db.unit(100);
    db.space.preallocate(&table, 8_749).unwrap();
    let lines = db.lines.0.lock().clone();
    assert_eq!(lines.len(), 5, "one recalculation: {lines:?}");
    let full = lines
        .iter()
        .filter(|line| line.contains(" has 0 free extents"))
        .count();
    assert_eq!(full, 2, "{lines:?}");
    assert!(
        lines
            .iter()
            .any(|line| line.ends_with("skip target of 1. ")),
        "{lines:?}"
    );
    let seen = audit(&db, &[catalog, table.clone()]);
    assert_eq!(seen.owned[&table.id().0].len(), 8_750);
}

#[test]
fn equal_files_share_within_one_extent_and_take_no_spinlock() {
    let db = base(&[fixed(3, 1280), fixed(4, 1280), fixed(5, 1280)]);
    let units: Vec<_> = (0..4).map(|n| db.unit(100 + n)).collect();
    furrow_io::thread::scope(|scope| {
        for unit in &units {
            let db = &db;
            scope.spawn(move || {
                let _entered = task::enter(&Task::new(&db.instruments, 51, "load"));
                db.space.preallocate(unit, 90).unwrap();
            });
        }
    });
    let seen = audit(&db, &units);
    let mut share = [0_i64; 3];
    for extent in seen.owned.values().flatten() {
        share[usize::from(extent.file.0) - 3] += 1;
    }
    assert_eq!(share.iter().sum::<i64>(), 4 * 91);
    assert!(
        share.iter().max().unwrap() - share.iter().min().unwrap() <= 1,
        "{share:?}"
    );
    let row = furrow_observe::Instruments::process()
        .spinlocks
        .row(SpinClass::FgcbPrpFill);
    assert_eq!(row.collisions, 0);
}

#[test]
fn under_e_64_extents_in_a_row_come_from_one_file() {
    let options = SpaceOptions {
        extents_a_turn: SpaceOptions::E_RUN,
        ..SpaceOptions::default()
    };
    let db = make(
        Make {
            options,
            ..Make::default()
        },
        &[fixed(3, 4096), fixed(4, 4096)],
    );
    let unit = db.unit(100);
    let mut files: Vec<u16> = Vec::new();
    let mut near = None;
    for _ in 0..200 * 8 {
        let page = db.allocate_one(&unit, near);
        near = Some(page);
        files.push(page.file.0);
    }
    let runs: Vec<_> = files
        .chunk_by(|a, b| a == b)
        .map(|run| (run[0], run.len() / 8))
        .collect();
    assert_eq!(runs, [(3, 64), (4, 64), (3, 64), (4, 8)]);
}

#[test]
fn a_new_file_takes_all_when_the_old_one_is_full() {
    let db = base(&[fixed(1, 640)]);
    let unit = db.unit(100);
    db.space.preallocate(&unit, 77).unwrap();
    add(&db, fixed(3, 640));
    db.space.preallocate(&unit, 78).unwrap();
    let seen = audit(&db, std::slice::from_ref(&unit));
    let in_new = seen.owned[&unit.id().0]
        .iter()
        .filter(|e| e.file == FileId(3))
        .count();
    assert_eq!(in_new, 78);
    assert_eq!((seen.files[&1].1, seen.files[&3].1), (0, 0));
}

#[test]
fn threads_fill_unequal_files_in_proportion() {
    let db = base(&[fixed(3, 8 * 101), fixed(4, 8 * 1001)]);
    let units: Vec<_> = (0..4).map(|n| db.unit(100 + n)).collect();
    let before: Vec<u64> = db
        .space
        .free_extents()
        .into_iter()
        .map(|(_, free)| free)
        .collect();
    assert!(before[1] / before[0] >= 9);
    furrow_io::thread::scope(|scope| {
        for unit in &units {
            let db = &db;
            scope.spawn(move || db.space.preallocate(unit, 100).unwrap());
        }
    });
    let seen = audit(&db, &units);
    let small = seen
        .owned
        .values()
        .flatten()
        .filter(|e| e.file == FileId(3))
        .count();
    // Every tenth or eleventh of 400, give or take the turns under way and the mixed extents.
    assert!((34..=44).contains(&small), "{small} of 404");
}
