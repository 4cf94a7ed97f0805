//! Faults hit the operation they were placed on, do what they specify, and poison where they must.

#![expect(clippy::unwrap_used, reason = "a failed step is a failed test")]

use furrow_io::sim::{Crash, Effect, Fault, OpKind, Ops, SimOptions, SimVolume, SyncLoss};
use furrow_io::time::{Duration, Moment};
use furrow_io::{
    Access, File, Fill, IoError, IoErrorKind, IoOp, Open, ReadRun, Volume, WriteRun, thread,
};
use std::io::{IoSlice, IoSliceMut};
use std::path::Path;
use std::sync::Arc;

fn open(volume: &SimVolume, path: &str, how: Open) -> Arc<dyn File> {
    volume.open(Path::new(path), how, Access::Data).unwrap()
}

/// A machine with a durable file `a` of 8192 ones.
fn machine() -> (SimVolume, Arc<dyn File>) {
    let volume = SimVolume::new(SimOptions::default());
    let file = open(&volume, "a", Open::Create);
    file.write_at(0, &[1; 8192]).unwrap();
    file.sync().unwrap();
    (volume, file)
}

fn contents(volume: &SimVolume) -> Vec<u8> {
    volume.contents(Path::new("a")).unwrap()
}

fn is_device_error(error: &IoError) -> bool {
    matches!(error.kind, IoErrorKind::Os(number, _) if number == 5)
}

#[test]
fn machines_that_did_the_same_have_the_same_fingerprint_and_others_have_not() {
    let [(one, file), (other, twin)] = [machine(), machine()];
    assert_eq!(one.fingerprint(), other.fingerprint());
    let mut seen = vec![one.fingerprint()];
    let steps: [fn(&dyn File); 4] = [
        |file| file.write_at(512, &[2; 512]).unwrap(),
        |file| file.write_at(512, &[2; 1024]).unwrap(),
        |file| file.resize(512, Fill::Allocate).unwrap(),
        |file| file.sync().unwrap(),
    ];
    for step in steps {
        step(&*file);
        step(&*twin);
        assert_eq!(one.fingerprint(), other.fingerprint());
        assert!(!seen.contains(&one.fingerprint()));
        seen.push(one.fingerprint());
    }
    let later = one.crash(&Crash::DropAll);
    assert_eq!(later.fingerprint(), one.fingerprint());
    file.write_at(0, &[2; 512]).unwrap();
    twin.write_at(512, &[2; 512]).unwrap();
    assert_ne!(one.fingerprint(), other.fingerprint());
}

#[test]
fn the_nth_operation_fails_once_or_for_good() {
    let (volume, file) = machine();
    volume.inject(Fault::new(Ops::Writes, Effect::Fail).nth(2));
    let outcomes = [0_u8; 4].map(|byte| file.write_at(0, &[byte; 512]).is_ok());
    assert_eq!(outcomes, [true, false, true, true]);
    volume.inject(
        Fault::new(Ops::Only(OpKind::Read), Effect::Fail)
            .nth(3)
            .sticky(),
    );
    let outcomes = [0; 5].map(|_| file.read_at(0, &mut [0; 512]).is_ok());
    assert_eq!(outcomes, [true, true, false, false, false]);
    let error = file.read_at(512, &mut [0; 512]).unwrap_err();
    assert_eq!((error.op, error.offset), (IoOp::Read, 512));
    assert!(is_device_error(&error));
    volume.heal();
    file.read_at(0, &mut [0; 512]).unwrap();
    let other = open(&volume, "b", Open::Create);
    volume.inject(Fault::new(Ops::Any, Effect::Fail).under("b").sticky());
    file.write_at(0, &[1; 512]).unwrap();
    assert!(is_device_error(&other.write_at(0, &[1; 512]).unwrap_err()));
    assert!(is_device_error(
        &other.resize(8192, Fill::Zero).unwrap_err()
    ));
}

#[test]
fn the_loop_over_the_nth_operation_ends_where_the_counts_say() {
    let workload = |volume: &SimVolume| -> Result<(), IoError> {
        volume.create_dir(Path::new("/d"))?;
        let file = volume.open(Path::new("/d/f"), Open::Create, Access::Data)?;
        file.resize(8192, Fill::Zero)?;
        file.write_at(0, &[1; 4096])?;
        file.sync()?;
        file.write_durable_at(4096, &[2; 4096])?;
        file.read_at(0, &mut [0; 8192])?;
        drop(file);
        volume.remove(Path::new("/d/f"))
    };
    let quiet = SimVolume::new(SimOptions::default());
    workload(&quiet).unwrap();
    let changes = quiet.counts().matching(Ops::Changes);
    assert_eq!(
        (
            changes,
            quiet.counts().total(),
            quiet.counts().of(OpKind::Sync)
        ),
        (7, 8, 1)
    );
    for (effect, kind) in [
        (Effect::Fail, None),
        (Effect::PowerLoss, Some(IoErrorKind::Crashed)),
    ] {
        let mut nth = 1;
        loop {
            let volume = SimVolume::new(SimOptions::default());
            volume.inject(Fault::new(Ops::Changes, effect).nth(nth));
            match workload(&volume) {
                Ok(()) => break,
                Err(error) => assert!(kind.as_ref().is_none_or(|kind| *kind == error.kind)),
            }
            assert_eq!(volume.is_powered(), kind.is_none());
            nth += 1;
        }
        assert_eq!(nth, changes + 1);
    }
}

#[test]
fn a_failed_sync_poisons_the_handle_and_a_new_one_is_clean() {
    let (volume, file) = machine();
    file.write_at(0, &[2; 4096]).unwrap();
    volume.inject(Fault::new(
        Ops::Syncs,
        Effect::FailSync(SyncLoss::Everything),
    ));
    assert!(is_device_error(&file.sync().unwrap_err()));
    assert_eq!(
        contents(&volume)[..4096],
        [2; 4096],
        "the system still shows what it lost"
    );
    let refused = [
        file.sync(),
        file.write_at(0, &[3; 512]),
        file.write_durable_at(0, &[3; 512]),
        file.resize(0, Fill::Allocate),
    ];
    for outcome in refused {
        assert_eq!(outcome.unwrap_err().kind, IoErrorKind::Poisoned);
    }
    file.read_at(0, &mut [0; 512]).unwrap();
    drop(file);
    let again = open(&volume, "a", Open::Existing);
    assert_eq!(contents(&volume), [1; 8192], "the new opener sees the disk");
    again.write_at(0, &[4; 512]).unwrap();
    again.sync().unwrap();
    assert_eq!(
        volume
            .crash(&Crash::DropAll)
            .contents(Path::new("a"))
            .unwrap()[..512],
        [4; 512]
    );
}

#[test]
fn a_sync_after_a_failed_one_does_not_bring_back_what_was_lost() {
    for (loss, left) in [(SyncLoss::Everything, 1), (SyncLoss::Nothing, 2)] {
        let (volume, file) = machine();
        file.write_at(0, &[2; 8192]).unwrap();
        volume.inject(Fault::new(Ops::Only(OpKind::Sync), Effect::FailSync(loss)));
        assert!(file.sync().is_err());
        volume.kill_process();
        let again = open(&volume, "a", Open::Existing);
        again.sync().unwrap();
        assert_eq!(
            volume
                .crash(&Crash::KeepAll)
                .contents(Path::new("a"))
                .unwrap(),
            [left; 8192]
        );
    }
}

#[test]
fn what_was_to_be_durable_poisons_when_it_fails_and_a_plain_write_does_not() {
    let (volume, file) = machine();
    volume.inject(Fault::new(Ops::Only(OpKind::Write), Effect::Fail));
    assert!(file.write_at(0, &[2; 512]).is_err());
    file.write_at(0, &[2; 512]).unwrap();
    volume.inject(Fault::new(Ops::Only(OpKind::WriteDurable), Effect::Fail));
    assert!(is_device_error(
        &file.write_durable_at(0, &[3; 512]).unwrap_err()
    ));
    assert_eq!(
        file.write_at(0, &[2; 512]).unwrap_err().kind,
        IoErrorKind::Poisoned
    );
}

#[test]
fn a_full_disk_says_so_and_takes_again_when_space_is_freed() {
    let (volume, file) = machine();
    volume.set_capacity(Path::new(""), 16_384);
    let other = open(&volume, "b", Open::Create);
    other.write_at(0, &[1; 8192]).unwrap();
    assert_eq!(
        other.write_at(8192, &[1; 1]).unwrap_err().kind,
        IoErrorKind::NoSpace
    );
    assert_eq!(
        file.resize(8193, Fill::Allocate).unwrap_err().kind,
        IoErrorKind::NoSpace
    );
    file.write_at(0, &[2; 8192]).unwrap();
    assert_eq!(volume.space(Path::new("")).unwrap().free_bytes, 0);
    drop(other);
    volume.remove(Path::new("b")).unwrap();
    file.resize(16_384, Fill::Zero).unwrap();
    volume.inject(Fault::new(Ops::Only(OpKind::Create), Effect::NoSpace));
    let refused = volume
        .open(Path::new("c"), Open::Create, Access::Log)
        .unwrap_err();
    assert_eq!(refused.kind, IoErrorKind::NoSpace);
    assert!(!volume.exists(Path::new("c")).unwrap());
}

#[test]
fn one_disk_of_several_is_full() {
    let (volume, file) = machine();
    let (small, large) = (Path::new("/small"), Path::new("/large"));
    volume.create_dir(small).unwrap();
    volume.create_dir(large).unwrap();
    volume.set_capacity(small, 8192);
    volume.set_capacity(large, 65_536);
    let (a, b) = (
        open(&volume, "/small/a", Open::Create),
        open(&volume, "/large/b", Open::Create),
    );
    a.resize(8192, Fill::Zero).unwrap();
    b.resize(16_384, Fill::Zero).unwrap();
    assert_eq!(
        a.write_at(8000, &[1; 200]).unwrap_err().kind,
        IoErrorKind::NoSpace
    );
    assert_eq!(
        b.resize(65_537, Fill::Zero).unwrap_err().kind,
        IoErrorKind::NoSpace
    );
    file.resize(1 << 20, Fill::Zero).unwrap();
    let free = [small, large].map(|dir| volume.space(dir).unwrap().free_bytes);
    assert_eq!(free, [0, 49_152]);
}

#[test]
fn short_transfers_move_the_first_half_and_fail() {
    let (volume, file) = machine();
    volume.inject(Fault::new(Ops::Writes, Effect::Partial));
    let (one, two) = ([IoSlice::new(&[2; 512])], [IoSlice::new(&[3; 512])]);
    let runs = [
        WriteRun {
            offset: 0,
            bufs: &one,
        },
        WriteRun {
            offset: 4096,
            bufs: &two,
        },
    ];
    assert!(is_device_error(&file.write(&runs).unwrap_err()));
    assert_eq!(
        (contents(&volume)[..512].to_vec(), contents(&volume)[4096]),
        (vec![2; 512], 1)
    );
    volume.inject(Fault::new(Ops::Only(OpKind::Read), Effect::Partial));
    let mut buf = [9; 1024];
    let mut bufs = [IoSliceMut::new(&mut buf)];
    assert!(
        file.read(&mut [ReadRun {
            offset: 0,
            bufs: &mut bufs
        }])
        .is_err()
    );
    assert_eq!((&buf[..512], &buf[512..]), (&[2; 512][..], &[9; 512][..]));
}

#[test]
fn writes_get_lost_go_astray_and_are_damaged_while_success_is_reported() {
    let (volume, file) = machine();
    volume.inject(Fault::new(Ops::Writes, Effect::Lose));
    file.write_at(0, &[2; 512]).unwrap();
    assert_eq!(contents(&volume), [1; 8192]);
    volume.inject(Fault::new(Ops::Writes, Effect::Misdirect(4096)));
    file.write_at(0, &[3; 512]).unwrap();
    assert_eq!((contents(&volume)[0], contents(&volume)[4096]), (1, 3));
    volume.inject(Fault::new(Ops::Writes, Effect::Flip { at: 10, mask: 0x80 }));
    file.write_durable_at(512, &[4; 512]).unwrap();
    let after = volume
        .crash(&Crash::DropAll)
        .contents(Path::new("a"))
        .unwrap();
    assert_eq!((after[521], after[522], after[523]), (4, 0x84, 4));
    volume.inject(Fault::new(Ops::Only(OpKind::Sync), Effect::Lose));
    file.sync().unwrap();
    let after = volume
        .crash(&Crash::DropAll)
        .contents(Path::new("a"))
        .unwrap();
    assert_eq!(after[4096], 1, "the sync lied");
}

#[test]
fn bits_rot_at_rest_or_on_the_way_in() {
    let (volume, file) = machine();
    volume.inject(Fault::new(
        Ops::Only(OpKind::Read),
        Effect::Flip { at: 3, mask: 0x01 },
    ));
    let mut buf = [0; 8];
    file.read_at(0, &mut buf).unwrap();
    assert_eq!(buf, [1, 1, 1, 0, 1, 1, 1, 1]);
    file.read_at(0, &mut buf).unwrap();
    assert_eq!(buf, [1; 8]);
    volume.rot(Path::new("a"), 5, 0xFF).unwrap();
    file.read_at(0, &mut buf).unwrap();
    assert_eq!(buf, [1, 1, 1, 1, 1, 0xFE, 1, 1]);
    assert_eq!(
        volume
            .crash(&Crash::DropAll)
            .contents(Path::new("a"))
            .unwrap()[5],
        0xFE
    );
    assert_eq!(
        volume.rot(Path::new("none"), 0, 1).unwrap_err().kind,
        IoErrorKind::NotFound
    );
}

#[test]
fn one_file_of_several_comes_from_an_older_day() {
    let (volume, file) = machine();
    let yesterday = volume.fork();
    file.write_at(0, &[2; 8192]).unwrap();
    file.sync().unwrap();
    drop(file);
    volume.take_file_from(&yesterday, Path::new("a")).unwrap();
    assert_eq!(
        volume
            .crash(&Crash::KeepAll)
            .contents(Path::new("a"))
            .unwrap(),
        [1; 8192]
    );
}

#[test]
fn a_slow_device_is_slow_for_one_caller_only() {
    let (volume, file) = machine();
    volume.inject(Fault::new(
        Ops::Only(OpKind::Read),
        Effect::Delay(Duration::from_millis(300)),
    ));
    let begun = Moment::now();
    thread::scope(|scope| {
        let slow = scope.spawn(|| {
            file.read_at(0, &mut [0; 8]).unwrap();
            begun.elapsed_us()
        });
        while volume.counts().of(OpKind::Read) == 0 {
            thread::yield_now();
        }
        file.write_at(0, &[2; 8]).unwrap();
        let quick = begun.elapsed_us();
        assert!(
            slow.join().unwrap() >= 300_000 && quick < 290_000,
            "{quick}"
        );
    });
}

#[test]
fn ten_thousand_crashes_take_seconds() {
    let begun = Moment::now();
    let (volume, _) = machine();
    let files: Vec<_> = (0..4)
        .map(|n| open(&volume, &format!("f{n}"), Open::Create))
        .collect();
    for (n, file) in files.iter().enumerate() {
        file.resize(1 << 20, Fill::Allocate).unwrap();
        for page in 0..128_u64 {
            file.write_at(page * 8192, &[n as u8 + 1; 8192]).unwrap();
        }
        file.sync().unwrap();
        for page in 0..16_u64 {
            file.write_at(page * 8192 * 7, &[9; 8192]).unwrap();
        }
    }
    let mut different = std::collections::BTreeSet::new();
    for seed in 0..10_000 {
        let after = volume.crash(&Crash::Random { seed });
        let file = open(&after, "f2", Open::ReadOnly);
        let mut header = [0; 512];
        file.read_at(0, &mut header).unwrap();
        different.insert(header);
    }
    let seconds = begun.elapsed_us() as f64 / 1e6;
    println!("10000 crashes of 4 MiB with 64 unsynced pages: {seconds:.1} s");
    assert!(different.len() > 2);
    assert!(seconds < 60.0, "{seconds}");
}
