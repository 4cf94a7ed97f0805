//! What a repair in EMERGENCY says, and leaves, where something fails after it was decided.

use crate::emergency_log::{
    HEADER, JOURNAL, LOG, PRIMARY, SECOND, changed, committed, damage, enter, files,
    is_all_committed, machines, prove_untouched, repair, state,
};
use crate::repair_crash::{fill, findings, start};
use crate::simulated::{new_volume, spec};
use furrow_engine::{DatabaseState, FileSpec, is_repair_written};
use furrow_io::Volume;
use furrow_io::random::seeded;
use furrow_io::sim::{Effect, Fault, OpKind, Ops};
use std::path::Path;

#[test]
fn a_repair_that_is_written_says_so_where_the_database_cannot_be_opened() {
    for (name, ready) in machines() {
        let (mut n, mut written, mut failed) = (0, 0, 0);
        loop {
            n += 1;
            let volume = ready.fork();
            let instance = start(&volume).unwrap();
            enter(&instance).unwrap();
            let before = files(&volume);
            let opens = volume.counts().of(OpKind::Open);
            let fault = Fault::new(Ops::Only(OpKind::Open), Effect::Fail);
            volume.inject(fault.under("d").nth(n));
            let repaired = repair(&instance);
            let is_met = volume.counts().of(OpKind::Open) - opens >= n;
            volume.heal();
            if let Err(why) = repaired {
                let changed = changed(&volume, &before);
                let context = format!("{name}, open {n}: {why}, {changed:?}");
                assert_eq!(is_repair_written(&why), !changed.is_empty(), "{context}");
                written += u32::from(is_repair_written(&why));
                failed += 1;
                if state(&instance) == DatabaseState::Emergency {
                    assert_eq!(repair(&instance).unwrap().left.len(), 0, "{context}");
                    assert_eq!(findings(&instance), Vec::<String>::new(), "{context}");
                }
            }
            instance.abandon();
            if !is_met {
                break;
            }
        }
        println!("{name}: {n} opens, {failed} failed, {written} of them written");
        assert!(
            written > 0 && written < failed,
            "{name}: {written} {failed}"
        );
    }
}

#[test]
fn a_repair_whose_pages_cannot_all_be_written_is_finished_by_the_next_one() {
    let (_, ready) = machines().swap_remove(0);
    for n in 1..=3 {
        let volume = ready.fork();
        let instance = start(&volume).unwrap();
        enter(&instance).unwrap();
        let fault = Fault::new(Ops::Only(OpKind::Write), Effect::Fail);
        volume.inject(fault.under(PRIMARY).nth(n));
        let failed = repair(&instance).map(drop).unwrap_err();
        volume.heal();
        let context = format!("write {n}: {failed}");
        assert_eq!(state(&instance), DatabaseState::Emergency, "{context}");
        assert!(volume.exists(Path::new(JOURNAL)).unwrap(), "{context}");
        match n {
            // SET ONLINE
            1 => drop(instance.reopen_database("Db").unwrap()),
            _ => drop(repair(&instance).unwrap()),
        }
        assert_eq!(state(&instance), DatabaseState::Online, "{context}");
        assert!(is_all_committed(&committed(&instance)), "{context}");
        assert_eq!(findings(&instance), Vec::<String>::new(), "{context}");
        assert!(!volume.exists(Path::new(JOURNAL)).unwrap(), "{context}");
        instance.abandon();
    }
}

#[test]
fn a_read_only_database_is_not_repaired_with_its_log() {
    let volume = new_volume();
    let instance = start(&volume).unwrap();
    let log = FileSpec::new("L", LOG).size_mb(2);
    let database = instance.create_database(&spec(log)).unwrap();
    fill(&database, &mut seeded(17));
    database.set_read_only(true).unwrap();
    drop(database);
    instance.shut_down().unwrap();
    drop(instance);
    for path in [PRIMARY, SECOND] {
        let images = format!("{path}.dw");
        if volume.exists(Path::new(&images)).unwrap() {
            volume.remove(Path::new(&images)).unwrap();
        }
    }
    damage(&volume, (SECOND, HEADER));
    let instance = start(&volume).unwrap();
    assert_ne!(state(&instance), DatabaseState::Online);
    enter(&instance).unwrap();
    let before = files(&volume);
    let refused = repair(&instance).map(drop).unwrap_err();
    assert!(refused.has(3906) && refused.has(40517), "{refused}");
    prove_untouched((&instance, &volume), &before, &refused.to_string());
    instance.abandon();
}
