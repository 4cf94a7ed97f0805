//! What a repair in EMERGENCY does with a log that it gives up: it is kept as a copy, and it is given up only
//! if it cannot be read twice.

use crate::emergency_log::{
    JOURNAL, LOG, committed, enter, files, in_use, is_all_committed, machines, prove_untouched,
    put, read, repair, state, with_a_whole_journal,
};
use crate::repair_crash::{findings, start};
use furrow_engine::{DatabaseState, EngineError, Instance};
use furrow_io::sim::{Crash, Effect, Fault, OpKind, Ops};
use furrow_io::{SimVolume, Volume};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

const COPY: &str = "d/l.ldf.lost";

/// Whether a repair succeeded, which must have kept the log and all that was committed; one that ended with
/// an error must have changed nothing.
fn keeps_the_log(
    repaired: Result<bool, EngineError>,
    (instance, volume): (&Instance, &SimVolume),
    before: &BTreeMap<PathBuf, Vec<u8>>,
    context: &str,
) -> bool {
    match repaired {
        Ok(new_log) => {
            assert!(!new_log, "{context}");
            assert!(is_all_committed(&committed(instance)), "{context}");
            true
        }
        Err(why) => {
            let context = format!("{context}: {why}");
            prove_untouched((instance, volume), before, &context);
            false
        }
    }
}

/// A machine whose log is no log: its first page is lost.
fn with_damaged_log() -> SimVolume {
    let volume = in_use();
    let mut log = read(&volume, LOG);
    log[..8192].fill(0);
    put(&volume, LOG, &log);
    volume
}

#[test]
fn a_log_is_not_replaced_if_its_copy_cannot_be_written() {
    let volume = with_damaged_log();
    let instance = start(&volume).unwrap();
    enter(&instance).unwrap();
    let before = files(&volume);
    let fault = Fault::new(Ops::Only(OpKind::Write), Effect::Fail);
    volume.inject(fault.under(COPY));
    let failed = repair(&instance).map(drop).unwrap_err();
    volume.heal();
    prove_untouched((&instance, &volume), &before, &failed.to_string());
    let repaired = repair(&instance).map(|done| done.new_log);
    assert!(repaired.unwrap());
    assert_eq!(&read(&volume, COPY), &before[Path::new(LOG)]);
    instance.abandon();
}

#[test]
fn a_log_that_cannot_be_read_for_good_is_kept_with_zeros_there() {
    let volume = in_use();
    let log = read(&volume, LOG);
    // So that it is in EMERGENCY; a repair finds it again.
    volume.remove(Path::new(LOG)).unwrap();
    for unreadable in [Effect::Fail, Effect::BadSector] {
        let volume = volume.fork();
        let instance = start(&volume).unwrap();
        enter(&instance).unwrap();
        put(&volume, LOG, &log);
        let fault = Fault::new(Ops::Only(OpKind::Read), unreadable);
        volume.inject(fault.under(LOG).sticky());
        let repaired = repair(&instance).map(|done| done.new_log);
        assert!(repaired.unwrap(), "{unreadable:?}");
        assert!(read(&volume, COPY) == vec![0; log.len()], "{unreadable:?}");
        volume.heal();
        assert_eq!(findings(&instance), Vec::<String>::new(), "{unreadable:?}");
        instance.abandon();
    }
}

#[test]
fn a_log_that_could_not_be_read_once_is_not_given_up() {
    let ready = in_use();
    let log = read(&ready, LOG);
    // So that it is in EMERGENCY; a repair finds it again.
    ready.remove(Path::new(LOG)).unwrap();
    for times in [1, 3, 10] {
        let (mut n, mut whole, mut failed) = (0, 0, 0);
        loop {
            n += 1;
            let volume = ready.fork();
            let instance = start(&volume).unwrap();
            enter(&instance).unwrap();
            put(&volume, LOG, &log);
            let before = files(&volume);
            let reads = volume.counts().of(OpKind::Read);
            let fault = Fault::new(Ops::Only(OpKind::Read), Effect::Fail);
            volume.inject(fault.under(LOG).nth(n).times(times));
            let repaired = repair(&instance);
            let is_met = volume.counts().of(OpKind::Read) - reads >= n;
            volume.heal();
            let context = format!("{times} times from read {n}");
            let repaired = repaired.map(|repaired| repaired.new_log);
            match keeps_the_log(repaired, (&instance, &volume), &before, &context) {
                true => whole += 1,
                false => failed += 1,
            }
            instance.abandon();
            if !is_met || n > 60 {
                break;
            }
        }
        println!("{times} times: {n} reads, {whole} whole, {failed} failed");
        assert!(whole > 0, "{times} times: {failed} failed");
    }
}

#[test]
fn a_log_is_not_given_up_because_the_last_look_at_it_lacks_memory() {
    let ready = in_use();
    let log = read(&ready, LOG);
    // So that it is in EMERGENCY; a repair finds it again.
    ready.remove(Path::new(LOG)).unwrap();
    let (mut whole, mut failed) = (0, 0);
    for (times, behind) in (1..60).flat_map(|times| (1..5).map(move |behind| (times, behind))) {
        let volume = ready.fork();
        let instance = start(&volume).unwrap();
        enter(&instance).unwrap();
        put(&volume, LOG, &log);
        let before = files(&volume);
        let fault = |effect| Fault::new(Ops::Only(OpKind::Read), effect).under(LOG);
        volume.inject(fault(Effect::Fail).times(times));
        volume.inject(fault(Effect::NoMemory).nth(times + behind));
        let repaired = repair(&instance).map(|repaired| repaired.new_log);
        volume.heal();
        let context = format!("{times} reads failed, and the one {behind} behind them");
        match keeps_the_log(repaired, (&instance, &volume), &before, &context) {
            true => whole += 1,
            false => failed += 1,
        }
        instance.abandon();
    }
    println!("{whole} whole, {failed} failed");
    assert!(failed > 0);
}

#[test]
fn a_log_that_comes_back_before_its_successor_is_made_is_kept() {
    let ready = in_use();
    let log = read(&ready, LOG);
    ready.remove(Path::new(LOG)).unwrap();
    let volume = with_a_whole_journal(&ready, |after| !after.exists(Path::new(LOG)).unwrap());
    put(&volume, LOG, &log);
    let instance = start(&volume).unwrap();
    assert_eq!(state(&instance), DatabaseState::Online);
    assert_eq!(findings(&instance), Vec::<String>::new());
    assert_ne!(read(&volume, LOG), log);
    assert!(read(&volume, COPY) == log);
    instance.abandon();
}

#[test]
fn a_power_loss_while_the_new_log_is_made_keeps_the_old_one_once() {
    let (_, ready) = machines().swap_remove(2);
    let log = read(&ready, LOG);
    let (mut n, mut finished) = (0, 0);
    loop {
        n += 1;
        let volume = ready.fork();
        let instance = start(&volume).unwrap();
        enter(&instance).unwrap();
        volume.inject(Fault::new(Ops::Changes, Effect::PowerLoss).nth(n));
        let done = repair(&instance).is_ok() && volume.is_powered();
        instance.abandon();
        drop(instance);
        let after = volume.crash(&Crash::KeepAll);
        let is_begun = after.exists(Path::new(JOURNAL)).unwrap();
        let instance = start(&after).unwrap();
        if state(&instance) == DatabaseState::Online {
            assert!(read(&after, COPY) == log, "operation {n}");
            let again = after.exists(Path::new("d/l.ldf.lost2")).unwrap();
            assert!(!again, "operation {n}");
            finished += u32::from(is_begun);
        }
        instance.abandon();
        if done {
            break;
        }
    }
    assert!(finished > 3, "{finished} of {n}");
}
