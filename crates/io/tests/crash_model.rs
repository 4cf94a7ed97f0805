//! The crash model loses what may be lost, in every way, and never what may not.

#![expect(clippy::unwrap_used, reason = "a failed step is a failed test")]

use furrow_io::random::{Rng, seeded};
use furrow_io::sim::{Crash, Effect, Fault, OpKind, Ops, SimOptions, SimVolume};
use furrow_io::{Access, File, Fill, IoErrorKind, Open, Volume};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

const PAGE: usize = 8192;

fn machine() -> SimVolume {
    SimVolume::new(SimOptions::default())
}

fn create(volume: &SimVolume, path: &str) -> Arc<dyn File> {
    volume
        .open(Path::new(path), Open::Create, Access::Data)
        .unwrap()
}

fn bytes(volume: &SimVolume, path: &str) -> Vec<u8> {
    volume.contents(Path::new(path)).unwrap()
}

/// A file of `pages` pages of ones, durable; and its handle.
fn ones(volume: &SimVolume, path: &str, pages: usize) -> Arc<dyn File> {
    let file = create(volume, path);
    file.write_at(0, &vec![1; pages * PAGE]).unwrap();
    file.sync().unwrap();
    file
}

#[test]
fn unsynced_writes_are_all_lost_or_all_kept() {
    let volume = machine();
    let file = ones(&volume, "a", 2);
    file.write_at(100, &[2; 50]).unwrap();
    assert_eq!(
        bytes(&volume.crash(&Crash::DropAll), "a"),
        vec![1; 2 * PAGE]
    );
    let kept = volume.crash(&Crash::KeepAll);
    assert_eq!(bytes(&kept, "a"), bytes(&volume, "a"));
    assert_eq!(bytes(&kept, "a")[100..150], [2; 50]);
    assert_eq!(
        volume.durable_contents(Path::new("a")).unwrap(),
        vec![1; 2 * PAGE]
    );
}

#[test]
fn a_later_write_survives_an_earlier_one() {
    let volume = machine();
    let file = ones(&volume, "a", 2);
    file.write_at(0, &[2; PAGE]).unwrap();
    file.write_at(PAGE as u64, &[3; PAGE]).unwrap();
    let reordered = (0..200).any(|seed| {
        let left = bytes(&volume.crash(&Crash::Torn { seed }), "a");
        left[..PAGE] == [1; PAGE] && left[PAGE..] == [3; PAGE]
    });
    assert!(reordered);
}

#[test]
fn a_page_tears_at_sectors_and_nowhere_else() {
    let volume = machine();
    let file = ones(&volume, "a", 1);
    file.write_at(0, &[2; PAGE]).unwrap();
    let mut torn = [false; 2];
    for seed in 0..300 {
        let left = bytes(&volume.crash(&Crash::Torn { seed }), "a");
        assert!(
            left.chunks(512)
                .all(|sector| sector == [1; 512] || sector == [2; 512]),
            "seed {seed}"
        );
        torn[0] |= left[..4096] != left[4096..]
            && left
                .chunks(4096)
                .all(|half| half.iter().all(|b| *b == half[0]));
        torn[1] |= left
            .chunks(4096)
            .any(|half| half.contains(&1) && half.contains(&2));
    }
    assert_eq!(torn, [true, true], "units of 4096 and of 512 bytes");
}

#[test]
fn garbage_appears_and_stays_inside_the_write() {
    let volume = machine();
    let file = ones(&volume, "a", 3);
    file.write_at(PAGE as u64 + 100, &[2; 5000]).unwrap();
    let mut garbled = 0;
    for seed in 0..500 {
        let left = bytes(&volume.crash(&Crash::Random { seed }), "a");
        assert!(
            left[..PAGE + 100].iter().all(|byte| *byte == 1),
            "seed {seed}"
        );
        assert!(
            left[PAGE + 5100..].iter().all(|byte| *byte == 1),
            "seed {seed}"
        );
        garbled += usize::from(left.iter().any(|byte| !matches!(byte, 1 | 2)));
    }
    assert!((5..250).contains(&garbled), "{garbled} of 500");
}

#[test]
fn a_sync_of_one_file_says_nothing_of_another() {
    let volume = machine();
    let (a, b) = (ones(&volume, "a", 1), ones(&volume, "b", 1));
    a.write_at(0, &[2; PAGE]).unwrap();
    b.write_at(0, &[2; PAGE]).unwrap();
    b.sync().unwrap();
    let mut lost = 0;
    for seed in 0..200 {
        let after = volume.crash(&Crash::Random { seed });
        assert_eq!(bytes(&after, "b"), [2; PAGE]);
        lost += usize::from(bytes(&after, "a") == [1; PAGE]);
    }
    assert!((20..180).contains(&lost), "{lost} of 200");
    b.write_at(0, &[3; PAGE]).unwrap();
    let skewed = volume.crash(&Crash::OnlyFile("b".into()));
    assert_eq!(
        (bytes(&skewed, "a"), bytes(&skewed, "b")),
        (vec![1; PAGE], vec![3; PAGE])
    );
    let skewed = volume.crash(&Crash::AllButFile("b".into()));
    assert_eq!(
        (bytes(&skewed, "a"), bytes(&skewed, "b")),
        (vec![2; PAGE], vec![2; PAGE])
    );
}

#[test]
fn a_durable_write_leaves_earlier_writes_in_doubt() {
    let volume = machine();
    let file = ones(&volume, "log", 2);
    file.write_at(0, &[2; 6000]).unwrap();
    file.write_durable_at(4096, &[3; 4096]).unwrap();
    let dropped = bytes(&volume.crash(&Crash::DropAll), "log");
    assert_eq!(
        (dropped[..4096].to_vec(), dropped[4096..8192].to_vec()),
        (vec![1; 4096], vec![3; 4096])
    );
    for seed in 0..200 {
        // The earlier write overlaps: its newer neighbour must not be overwritten by it.
        let left = bytes(&volume.crash(&Crash::Random { seed }), "log");
        assert_eq!(left[4096..8192], [3; 4096], "seed {seed}");
    }
}

#[test]
fn a_length_that_a_write_made_may_be_lost_with_the_write_kept() {
    let volume = machine();
    let file = ones(&volume, "a", 1);
    file.write_at(PAGE as u64, &[2; PAGE]).unwrap();
    file.write_at(0, &[3; PAGE]).unwrap();
    let lengths: Vec<(usize, bool)> = (0..300)
        .map(|seed| {
            let left = bytes(&volume.crash(&Crash::Torn { seed }), "a");
            (left.len(), left[..PAGE] == [3; PAGE])
        })
        .collect();
    assert!(
        lengths.contains(&(PAGE, true)),
        "the header is kept, the extension lost"
    );
    assert!(lengths.contains(&(2 * PAGE, false)) && lengths.contains(&(2 * PAGE, true)));
    let headers = bytes(&volume.crash(&Crash::HeadersOnly), "a");
    assert_eq!(headers, vec![3; PAGE]);
    let rest = bytes(&volume.crash(&Crash::AllButHeaders), "a");
    assert_eq!(
        (&rest[..PAGE], &rest[PAGE..]),
        (&[1; PAGE][..], &[2; PAGE][..])
    );
}

#[test]
fn a_resize_is_durable_when_it_returns_and_open_while_it_runs() {
    let volume = machine();
    let file = ones(&volume, "a", 1);
    file.resize(4 * PAGE as u64, Fill::Zero).unwrap();
    file.write_at(2 * PAGE as u64, &[2; PAGE]).unwrap();
    assert_eq!(bytes(&volume.crash(&Crash::DropAll), "a").len(), 4 * PAGE);
    volume.inject(Fault::new(Ops::Only(OpKind::Resize), Effect::PowerLoss));
    let died = file.resize(16 * PAGE as u64, Fill::Zero).unwrap_err();
    assert_eq!(died.kind, IoErrorKind::Crashed);
    assert_eq!(file.len_bytes().unwrap_err().kind, IoErrorKind::Crashed);
    let mut lengths: Vec<usize> = (0..300)
        .map(|seed| bytes(&volume.crash(&Crash::Random { seed }), "a").len())
        .collect();
    lengths.sort_unstable();
    lengths.dedup();
    assert_eq!(lengths.first(), Some(&(4 * PAGE)));
    assert_eq!(lengths.last(), Some(&(16 * PAGE)));
    assert!(
        lengths.len() > 4,
        "a growth is found half done: {lengths:?}"
    );
}

#[test]
fn what_was_cut_off_never_comes_back() {
    let volume = machine();
    let file = ones(&volume, "a", 1);
    file.write_at(4096, &[2; 4096]).unwrap();
    file.resize(4096, Fill::Allocate).unwrap();
    file.resize(PAGE as u64, Fill::Allocate).unwrap();
    for seed in 0..100 {
        let left = bytes(&volume.crash(&Crash::Random { seed }), "a");
        assert_eq!(left, [vec![1; 4096], vec![0; 4096]].concat(), "seed {seed}");
    }
}

#[test]
fn a_weak_machine_loses_lengths_and_names_that_were_not_synced() {
    let weak = SimOptions {
        weak_lengths: true,
        weak_names: true,
        ..SimOptions::default()
    };
    let volume = SimVolume::new(weak);
    let file = create(&volume, "a");
    assert!(
        !volume
            .crash(&Crash::DropAll)
            .exists(Path::new("a"))
            .unwrap()
    );
    file.write_at(0, &[1; PAGE]).unwrap();
    file.sync().unwrap();
    file.resize(3 * PAGE as u64, Fill::Allocate).unwrap();
    file.write_at(2 * PAGE as u64, &[2; PAGE]).unwrap();
    let lengths: Vec<usize> = (0..200)
        .map(|seed| bytes(&volume.crash(&Crash::Torn { seed }), "a").len())
        .collect();
    assert!(lengths.contains(&PAGE) && lengths.contains(&(3 * PAGE)));
    file.sync().unwrap();
    assert_eq!(
        bytes(&volume.crash(&Crash::DropAll), "a"),
        bytes(&volume, "a")
    );
    volume.remove(Path::new("a")).unwrap();
    assert!(
        volume
            .crash(&Crash::DropAll)
            .exists(Path::new("a"))
            .unwrap()
    );
    assert!(
        !volume
            .crash(&Crash::KeepAll)
            .exists(Path::new("a"))
            .unwrap()
    );
}

#[test]
fn names_are_open_while_their_operation_runs_and_durable_after() {
    for (kind, there_before) in [
        (OpKind::Create, false),
        (OpKind::Remove, true),
        (OpKind::CreateDir, false),
    ] {
        let volume = machine();
        let path = Path::new("x");
        if kind == OpKind::Remove {
            drop(ones(&volume, "x", 1));
        }
        volume.inject(Fault::new(Ops::Only(kind), Effect::PowerLoss));
        let died = match kind {
            OpKind::Create => volume.open(path, Open::Create, Access::Data).err(),
            OpKind::Remove => volume.remove(path).err(),
            _ => volume.create_dir(path).err(),
        };
        assert_eq!(died.unwrap().kind, IoErrorKind::Crashed);
        let there = |outcome: &Crash| volume.crash(outcome).exists(path).unwrap();
        assert_eq!(there(&Crash::DropAll), there_before, "{kind:?}");
        assert_eq!(there(&Crash::KeepAll), !there_before, "{kind:?}");
        let by_chance: Vec<bool> = (0..64).map(|seed| there(&Crash::Random { seed })).collect();
        assert!(
            by_chance.contains(&true) && by_chance.contains(&false),
            "{kind:?}"
        );
    }
    let volume = machine();
    volume.create_dir(Path::new("/d/e")).unwrap();
    drop(create(&volume, "/d/e/f"));
    let after = volume.crash(&Crash::DropAll);
    assert_eq!(
        after.list(Path::new("/d/e")).unwrap(),
        [PathBuf::from("/d/e/f")]
    );
}

#[test]
fn every_named_outcome_differs_as_its_name_says() {
    let volume = machine();
    let file = ones(&volume, "a", 3);
    for page in 0..3_u8 {
        file.write_at(u64::from(page) * PAGE as u64, &[page + 10; PAGE])
            .unwrap();
    }
    let pages = |outcome: &Crash| -> Vec<u8> {
        let left = bytes(&volume.crash(outcome), "a");
        assert!(
            left.chunks(PAGE / 2)
                .all(|half| half.iter().all(|byte| *byte == half[0]))
        );
        left.chunks(PAGE / 2).map(|half| half[0]).collect()
    };
    let found: Vec<(Crash, Vec<u8>)> = volume
        .outcomes()
        .into_iter()
        .map(|one| (one.clone(), pages(&one)))
        .collect();
    let expected: [&[u8]; 15] = [
        &[1, 1, 1, 1, 1, 1],
        &[10, 10, 11, 11, 12, 12],
        &[10, 1, 11, 1, 12, 1],
        &[1, 10, 1, 11, 1, 12],
        &[10, 10, 1, 1, 1, 1],
        &[1, 1, 11, 11, 12, 12],
        &[10, 10, 1, 1, 1, 1],
        &[1, 1, 11, 11, 12, 12],
        &[10, 10, 1, 1, 1, 1],
        &[1, 1, 11, 11, 1, 1],
        &[10, 10, 1, 1, 12, 12],
        &[10, 10, 11, 11, 1, 1],
        &[1, 1, 1, 1, 12, 12],
        &[10, 10, 11, 11, 1, 1],
        &[10, 10, 11, 11, 12, 12],
    ];
    assert_eq!(found.len(), expected.len());
    for ((outcome, pages), expected) in found.iter().zip(expected) {
        assert_eq!(pages, expected, "{outcome:?}");
    }
}

#[test]
fn handles_from_before_the_crash_are_dead_and_locks_are_free() {
    let volume = machine();
    let file = ones(&volume, "a", 1);
    file.write_at(0, &[2; 512]).unwrap();
    volume.power_off();
    assert_eq!(
        file.read_at(0, &mut [0; 8]).unwrap_err().kind,
        IoErrorKind::Crashed
    );
    assert_eq!(
        volume.exists(Path::new("a")).unwrap_err().kind,
        IoErrorKind::Crashed
    );
    volume.restart(&Crash::KeepAll);
    assert_eq!(file.sync().unwrap_err().kind, IoErrorKind::Crashed);
    let again = volume
        .open(Path::new("a"), Open::Existing, Access::Data)
        .unwrap();
    drop(file);
    assert!(
        volume
            .open(Path::new("a"), Open::Existing, Access::Data)
            .is_err(),
        "an old handle freed the lock"
    );
    again.write_at(0, &[3; 512]).unwrap();
    volume.kill_process();
    assert_eq!(
        again.write_at(0, &[4; 512]).unwrap_err().kind,
        IoErrorKind::Crashed
    );
    let third = volume
        .open(Path::new("a"), Open::Existing, Access::Data)
        .unwrap();
    let mut seen = [0; 512];
    third.read_at(0, &mut seen).unwrap();
    assert_eq!(seen, [3; 512], "a process that dies loses nothing it wrote");
    assert_eq!(
        bytes(&volume.crash(&Crash::DropAll), "a")[..512],
        [3; 512],
        "the opener made it durable"
    );
}

#[test]
fn a_watcher_sees_the_machine_at_every_sync_of_one_run() {
    let volume = machine();
    let seen: Arc<Mutex<Vec<SimVolume>>> = Arc::default();
    let file = create(&volume, "a");
    let list = Arc::clone(&seen);
    volume.on_boundary(move |machine| list.lock().unwrap().push(machine));
    file.write_at(0, &[1; 512]).unwrap();
    file.sync().unwrap();
    file.write_durable_at(0, &[2; 512]).unwrap();
    let seen = seen.lock().unwrap();
    let states: Vec<[Vec<u8>; 2]> = seen
        .iter()
        .map(|machine| [Crash::DropAll, Crash::KeepAll].map(|one| bytes(&machine.crash(&one), "a")))
        .collect();
    assert_eq!(
        states,
        [[vec![], vec![1; 512]], [vec![1; 512], vec![2; 512]]]
    );
}

#[test]
fn the_same_seed_gives_the_same_bytes() {
    let run = |seed| {
        let volume = machine();
        let files = [ones(&volume, "a", 4), ones(&volume, "b", 4)];
        let mut rng = seeded(9);
        for turn in 0..40_u8 {
            let at = rng.random_range(0..3 * PAGE as u64);
            files[usize::from(turn) % 2]
                .write_at(at, &vec![turn; rng.random_range(1..PAGE)])
                .unwrap();
        }
        let after = volume.crash(&Crash::Random { seed });
        (bytes(&after, "a"), bytes(&after, "b"))
    };
    let outcomes: Vec<_> = (0..20).map(run).collect();
    assert_eq!(outcomes, (0..20).map(run).collect::<Vec<_>>());
    assert!(outcomes.windows(2).any(|pair| pair[0] != pair[1]));
}

#[test]
fn what_was_torn_may_be_unreadable_until_it_is_written_again_and_nothing_else() {
    let volume = machine();
    let file = ones(&volume, "a", 3);
    file.write_at(PAGE as u64, &[2; PAGE]).unwrap();
    drop(file);
    let read = |file: &dyn File, page: u64| file.read_at(page * PAGE as u64, &mut [0; PAGE]);
    let mut spoilt = 0;
    for seed in 0..200 {
        let after = volume.crash(&Crash::Unreadable { seed });
        let file = after.open(Path::new("a"), Open::Existing, Access::Data);
        let file = file.unwrap();
        assert!(
            read(&*file, 0).is_ok() && read(&*file, 2).is_ok(),
            "seed {seed}"
        );
        if read(&*file, 1).is_ok() {
            continue;
        }
        spoilt += 1;
        file.write_at(PAGE as u64, &[3; PAGE]).unwrap();
        assert!(read(&*file, 1).is_ok(), "seed {seed}");
        // Until that is durable the old state may come back.
        drop(file);
        let again = after.crash(&Crash::DropAll);
        let file = again.open(Path::new("a"), Open::Existing, Access::Data);
        assert!(read(&*file.unwrap(), 1).is_err(), "seed {seed}");
    }
    assert!(spoilt > 10, "{spoilt}");
}
