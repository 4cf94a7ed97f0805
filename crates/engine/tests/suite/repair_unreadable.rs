//! Repairs that a power loss cut short, on devices that cannot read all of the files at the next start.

use crate::repair_crash::{Case, is_file_left, repair, start};
use furrow_io::random::test_seed;
use furrow_io::sim::{Crash, Effect, Fault, OpKind, Ops};

/// Reads that fail: of a page, its first half, and so on, down to its first sector.
const TO_ITS_FIRST_SECTOR: u64 = 5;

#[test]
fn a_journal_stays_where_the_device_cannot_read_its_files() {
    let seed = test_seed();
    println!("FURROW_SEED={seed}");
    let case = Case::new(seed);
    let (mut n, mut left, mut waits) = (0, 0, 0);
    loop {
        n += 1;
        let volume = case.damaged.fork();
        let instance = start(&volume).unwrap();
        volume.inject(Fault::new(Ops::Changes, Effect::PowerLoss).nth(n));
        let done = repair(&instance).is_ok() && volume.is_powered();
        instance.abandon();
        drop(instance);
        if done {
            break;
        }
        let ready = volume.crash(&Crash::KeepAll);
        if !is_file_left(&ready) {
            continue;
        }
        let is_repaired = case.prove(&ready.fork(), &format!("seed {seed}, operation {n}"));
        left += u32::from(is_repaired);
        for times in [1, TO_ITS_FIRST_SECTOR, u64::MAX] {
            let context = format!("seed {seed}, operation {n}, {times} reads fail");
            let machine = ready.fork();
            let fault = Fault::new(Ops::Only(OpKind::Read), Effect::Fail);
            machine.inject(fault.under("d/p.mdf").times(times));
            if let Ok(instance) = start(&machine) {
                instance.abandon();
            }
            waits += u32::from(is_file_left(&machine));
            let healed = machine.crash(&Crash::KeepAll);
            assert_eq!(case.prove(&healed, &context), is_repaired, "{context}");
        }
    }
    println!("{n} operations, {left} journals were whole, {waits} waited");
    assert!(left > 3 && waits >= left, "{left} {waits}");
}
