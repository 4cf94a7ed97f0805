//! Databases in EMERGENCY on devices that cannot read, or write, all of the files.

#![expect(clippy::unwrap_used, reason = "a failed step is a failed test")]

use crate::emergency_log::{
    BOOT, JOURNAL, LOG, PRIMARY, changed, committed, damage, enter, files, in_use,
    is_all_committed, machines, put, read, repair, state, with_a_whole_journal, without_images,
};
use crate::repair_crash::{findings, start};
use crate::simulated::{new_volume, spec};
use crate::tables_common::s;
use furrow_engine::{ColumnSpec, DatabaseState, FileSpec, Instance, Session, TableSpec};
use furrow_format::{PAGE_SIZE, PageBuf};
use furrow_io::sim::{Crash, Effect, Fault, OpKind, Ops};
use furrow_io::{SimVolume, Volume};
use furrow_types::{DataType, TypeId, Value};
use std::path::Path;
use std::sync::Arc;

/// Rows of a table of many leaves.
const ROWS: i64 = 900;

/// A machine whose power went after rows on each leaf of a table were changed: only its log has the changes.
fn changed_everywhere() -> SimVolume {
    let volume = new_volume();
    let instance = start(&volume).unwrap();
    let database = instance.create_database(&spec(FileSpec::new("L", LOG).size_mb(4)));
    let database = database.unwrap();
    let mut session = Session::new(&database).unwrap();
    let columns = TableSpec::new("w")
        .column(ColumnSpec::new("id", DataType::simple(TypeId::BigInt)).not_null())
        .column(ColumnSpec::new("note", DataType::sized(TypeId::VarChar, 1_500)).not_null());
    let table = session.create_table(&columns.primary_key(["id"])).unwrap();
    for id in 0..ROWS {
        let row = [Value::BigInt(id), s(&"early".repeat(140))];
        session.insert(&table, &row).unwrap();
    }
    database.checkpoint().unwrap();
    for id in (0..ROWS).step_by(5) {
        let key = table.row_key(&[Value::BigInt(id)]).unwrap();
        session.update(&table, &key, &[(1, s("late"))]).unwrap();
    }
    volume.power_off();
    instance.abandon();
    drop((session, table, database, instance));
    volume.crash(&Crash::KeepAll)
}

/// Whether all changes are there.
fn is_changed_everywhere(instance: &Instance) -> bool {
    let database = instance.database("Db").unwrap();
    let mut session = Session::new(&database).unwrap();
    let table = session.table("w").unwrap();
    (0..ROWS).all(|id| {
        let row = session.get(&table, &[Value::BigInt(id)]).unwrap();
        row.is_some_and(|row| id % 5 != 0 || row.values().unwrap()[1] == s("late"))
    })
}

/// Repairs that ended with all rows, with losses, and with an error.
#[derive(Debug, Default)]
struct Ends {
    whole: u32,
    lost: u32,
    refused: u32,
}

/// A machine with this log in EMERGENCY, whose log is lost when it starts and found again by a repair.
fn found_again(ready: &SimVolume, log: &[u8]) -> (SimVolume, Arc<Instance>) {
    let volume = ready.fork();
    volume.remove(Path::new(LOG)).unwrap();
    let instance = start(&volume).unwrap();
    enter(&instance).unwrap();
    put(&volume, LOG, log);
    (volume, instance)
}

#[test]
fn a_page_that_redo_could_not_read_once_loses_no_row() {
    let ready = changed_everywhere();
    without_images(&ready);
    let log = read(&ready, LOG);
    let (mut n, mut ends) = (0, Ends::default());
    loop {
        n += 15;
        let (volume, instance) = found_again(&ready, &log);
        let reads = volume.counts().of(OpKind::Read);
        let fault = Fault::new(Ops::Only(OpKind::Read), Effect::Fail);
        volume.inject(fault.nth(n));
        let repaired = repair(&instance);
        let is_met = volume.counts().of(OpKind::Read) - reads >= n;
        volume.heal();
        match repaired {
            Ok(repaired) if !repaired.left.is_empty() => ends.refused += 1,
            Ok(repaired) if is_changed_everywhere(&instance) => {
                assert!(!repaired.new_log, "read {n}");
                ends.whole += 1;
            }
            Ok(repaired) => {
                assert!(!repaired.losses.is_empty(), "read {n}");
                ends.lost += 1;
            }
            Err(_) => ends.refused += 1,
        }
        instance.abandon();
        if !is_met {
            break;
        }
    }
    println!("{n} reads: {ends:?}");
    assert!(ends.whole > 1 && ends.lost == 0, "{ends:?}");
}

#[test]
fn a_repair_that_lacks_memory_to_read_pages_gives_none_of_them_up() {
    let ready = changed_everywhere();
    without_images(&ready);
    let log = read(&ready, LOG);
    for n in [20, 60, 100, 140] {
        let (volume, instance) = found_again(&ready, &log);
        let before = files(&volume);
        let fault = Fault::new(Ops::Only(OpKind::Read), Effect::NoMemory);
        volume.inject(fault.under(PRIMARY).nth(n).sticky());
        let failed = repair(&instance).map(drop).unwrap_err();
        volume.heal();
        instance.set_emergency("Db").unwrap();
        let context = format!("read {n}: {failed}");
        assert!(changed(&volume, &before).is_empty(), "{context}");
        let repaired = repair(&instance).unwrap();
        assert!(repaired.loses_nothing(), "{context}");
        assert!(is_changed_everywhere(&instance), "{context}");
        instance.abandon();
    }
}

#[test]
fn a_page_that_redo_can_never_read_is_reported_as_lost() {
    let ready = changed_everywhere();
    without_images(&ready);
    let pages = read(&ready, PRIMARY);
    let is_leaf = |page: &PageBuf| page.windows(10).any(|bytes| bytes == b"earlyearly");
    let mut pages = pages.as_chunks::<PAGE_SIZE>().0.iter();
    let leaf = pages.position(is_leaf).unwrap();
    damage(&ready, (PRIMARY, leaf));
    let (_volume, instance) = found_again(&ready, &read(&ready, LOG));
    let repaired = repair(&instance).unwrap();
    assert!(!repaired.losses.is_empty() && repaired.left.is_empty());
    assert!(!is_changed_everywhere(&instance));
    assert_eq!(findings(&instance), Vec::<String>::new());
    instance.abandon();
}

/// What a power loss leaves of a machine with an open transaction whose log block was being written.
fn cut_off(seed: u64) -> SimVolume {
    let volume = new_volume();
    let instance = start(&volume).unwrap();
    let database = instance.create_database(&spec(FileSpec::new("L", LOG).size_mb(2)));
    let database = database.unwrap();
    let mut session = Session::new(&database).unwrap();
    let columns = TableSpec::new("w")
        .column(ColumnSpec::new("note", DataType::sized(TypeId::VarChar, 1_500)).not_null());
    let table = session.create_table(&columns).unwrap();
    database.checkpoint().unwrap();
    session.begin().unwrap();
    for _ in 0..8 {
        let row = [s(&"late".repeat(300))];
        session.insert(&table, &row).unwrap();
    }
    volume.inject(Fault::new(Ops::Changes, Effect::PowerLoss).under(LOG));
    assert!(session.commit().is_err());
    instance.abandon();
    drop((session, table, database, instance));
    volume.crash(&Crash::Unreadable { seed })
}

#[test]
fn a_log_whose_end_cannot_be_read_is_named_at_the_start_and_by_a_repair() {
    let (mut named, mut unnamed) = (0, 0);
    for seed in 0..40 {
        let ready = cut_off(seed);
        let volume = ready.fork();
        let instance = start(&volume).unwrap();
        assert_eq!(state(&instance), DatabaseState::Online, "seed {seed}");
        let lines = instance.error_log().tail(40).into_iter();
        let is_named = lines
            .map(|line| line.text)
            .any(|text| text.contains("the device cannot read byte") && text.contains(LOG));
        instance.abandon();
        if !is_named {
            unnamed += 1;
            continue;
        }
        named += 1;
        without_images(&ready);
        damage(&ready, (PRIMARY, BOOT));
        let instance = start(&ready).unwrap();
        enter(&instance).unwrap();
        let repaired = repair(&instance).unwrap();
        assert!(
            !repaired.new_log && !repaired.loses_nothing(),
            "seed {seed}"
        );
        let notes = repaired.notes.join(" ");
        assert!(notes.contains("the device cannot read byte"), "{notes}");
        instance.abandon();
    }
    assert!(named > 2 && unnamed > 2, "{named} {unnamed}");
}

#[test]
fn emergency_opens_where_images_cannot_be_looked_for() {
    let volume = in_use();
    without_images(&volume);
    damage(&volume, (PRIMARY, BOOT));
    furrow_io::write_file(&volume, Path::new("d/p.mdf.dw"), &[0; 8192]).unwrap();
    let instance = start(&volume).unwrap();
    let unreadable = Fault::new(Ops::Only(OpKind::Open), Effect::Fail);
    volume.inject(unreadable.under("d/p.mdf.dw").sticky());
    enter(&instance).unwrap();
    assert_eq!(state(&instance), DatabaseState::Emergency);
    assert!(!committed(&instance).is_empty());
    instance.abandon();
}

#[test]
fn a_journal_without_its_log_says_how_to_go_on() {
    let (_, ready) = machines().swap_remove(0);
    let volume = with_a_whole_journal(&ready, |_| true);
    let log = read(&volume, LOG);
    volume.remove(Path::new(LOG)).unwrap();
    let instance = start(&volume).unwrap();
    let refused = instance.reopen_database("Db").map(drop).unwrap_err();
    let text: String = refused.messages().iter().map(|m| m.text.clone()).collect();
    assert!(refused.has(5120) && refused.has(40517), "{text}");
    assert!(text.contains(JOURNAL) && text.contains(LOG), "{text}");
    furrow_io::write_file(&volume, Path::new(LOG), &log).unwrap();
    drop(instance.reopen_database("Db").unwrap());
    assert!(is_all_committed(&committed(&instance)));
    instance.abandon();
}
