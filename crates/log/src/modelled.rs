//! Reservation, group commit and its hand-over under the model checker: every order of a few threads' steps,
//! within a bound of preemptions.
//!
//! `RUSTFLAGS="--cfg loom" cargo test -p furrow-log --lib --release modelled`
//!
//! The log is the real one, on a file in memory, with four buffers. The checker reports a session that no
//! thread wakes as a deadlock, and a buffer that is sealed or used again while another thread copies into it.

#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

use crate::block::{Block, Reserved};
use crate::layout::{BLOCK_HEADER_BYTES, BLOCK_MAX_BYTES};
use crate::sync::{Weak, pause, weakened};
use crate::{Log, LogConfig, MIN_LOG_BYTES, Record, RecordKind};
use furrow_format::Lsn;
use furrow_io::{Access, MemoryVolume, Open, Volume};
use loom::thread;
use std::path::Path;
use std::sync::Arc;

fn check(preemptions: usize, body: impl Fn() + Send + Sync + 'static) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(preemptions);
    model.max_branches = 100_000;
    model.check(body);
}

/// Two appenders and a thread that closes the block, waits for their copies and seals it.
fn two_appenders_and_a_sealer() {
    let block = Arc::new(Block::new());
    let base = Lsn::new(32, 1, 0).unwrap();
    block.reopen(1, base, BLOCK_MAX_BYTES);
    let append = |len: usize| {
        let block = Arc::clone(&block);
        thread::spawn(move || match block.reserve(1, len) {
            Reserved::At(at, lsn) => {
                block.fill(at, [&vec![len as u8; len], &[], &[]]);
                Some((at, lsn))
            }
            Reserved::No => None,
        })
    };
    let (one, other) = (append(100), append(200));
    let state = block.close();
    let mut spins = 0;
    while !block.is_filled(state) {
        pause(&mut spins);
    }
    #[expect(unsafe_code, reason = "the part of the one writer")]
    // SAFETY: the block is closed and filled, and no other thread seals it.
    let bytes = unsafe { block.bytes_mut() };
    let sealed = bytes[..state.used()].to_vec();
    let placed = [(100, one.join().unwrap()), (200, other.join().unwrap())];
    let records = placed.iter().filter(|(_, place)| place.is_some()).count();
    assert_eq!(records, usize::from(state.records()));
    let mut used = BLOCK_HEADER_BYTES;
    let mut lsns = Vec::new();
    for (len, place) in placed {
        let Some((at, lsn)) = place else { continue };
        assert_eq!(sealed[at..at + len], vec![len as u8; len]);
        used += len;
        lsns.push((at, lsn));
    }
    assert_eq!(state.used(), used);
    lsns.sort_unstable();
    assert!(
        lsns.iter()
            .zip(1..)
            .all(|((_, lsn), n)| lsn.0 == base.0 + n)
    );
}

/// A thread that asks for a block that has been closed and used again gets no place in the new one under the
/// old base. A thread that reads the end of the log gets no mixture of the two.
fn a_block_used_again() {
    let block = Arc::new(Block::new());
    let (old, new) = (Lsn::new(32, 1, 0).unwrap(), Lsn::new(32, 500, 0).unwrap());
    block.reopen(1, old, BLOCK_MAX_BYTES);
    let appender = {
        let block = Arc::clone(&block);
        thread::spawn(move || {
            let reserved = block.reserve(1, 50);
            if let Reserved::At(at, lsn) = reserved {
                assert_eq!(lsn.0, old.0 + 1);
                block.fill(at, [&[7; 50], &[], &[]]);
            }
            if let Some(lsn) = block.next_lsn(5) {
                assert!(lsn > new && lsn.0 <= new.0 + 2);
            }
        })
    };
    let state = block.close();
    let mut spins = 0;
    while !block.is_filled(state) {
        pause(&mut spins);
    }
    block.reopen(5, new, BLOCK_MAX_BYTES);
    assert_eq!(
        block.reserve(5, 10),
        Reserved::At(BLOCK_HEADER_BYTES, Lsn(new.0 + 1))
    );
    block.fill(BLOCK_HEADER_BYTES, [&[9; 10], &[], &[]]);
    appender.join().unwrap();
}

fn log(writes_in_flight: u32) -> Arc<Log> {
    let volume = MemoryVolume::new();
    let file = volume
        .open(Path::new("/log"), Open::Create, Access::Log)
        .unwrap();
    let config = LogConfig {
        writes_in_flight,
        background: false,
        ..LogConfig::default()
    };
    Log::create(file, MIN_LOG_BYTES, [7; 16], config).unwrap()
}

/// Each of `sessions` appends so many records of `bytes`, and each has its own last one made durable.
fn commits(sessions: usize, writes_in_flight: u32, records: usize, bytes: usize) {
    let log = log(writes_in_flight);
    let session = move |log: Arc<Log>| {
        let redo = vec![1; bytes];
        let mut last = Lsn::ZERO;
        for _ in 0..records {
            let lsn = log
                .append(&Record::system(RecordKind::Change, &redo))
                .unwrap();
            assert!(lsn > last);
            last = lsn;
        }
        log.flush_to(last).unwrap();
        assert!(log.durable() > last, "acknowledged and not durable");
        last
    };
    let others: Vec<_> = (1..sessions)
        .map(|_| {
            let log = Arc::clone(&log);
            thread::spawn(move || session(log))
        })
        .collect();
    let mut lsns = vec![session(Arc::clone(&log))];
    lsns.extend(others.into_iter().map(|other| other.join().unwrap()));
    lsns.sort_unstable();
    lsns.dedup();
    assert_eq!(lsns.len(), sessions, "two records with one LSN");
}

#[test]
fn a_block_is_sealed_with_all_that_was_reserved_in_it() {
    check(3, two_appenders_and_a_sealer);
}

#[test]
fn a_block_used_again_mixes_no_generations() {
    check(4, a_block_used_again);
}

#[test]
fn two_sessions_commit_through_one_write_slot() {
    check(3, || commits(2, 1, 1, 100));
}

#[test]
fn two_sessions_commit_through_two_write_slots() {
    check(3, || commits(2, 2, 1, 100));
}

#[test]
fn a_leader_hands_over_to_one_of_two_who_wait() {
    check(2, || commits(3, 1, 1, 100));
}

#[test]
fn sessions_roll_over_blocks_while_others_write_them() {
    check(2, || commits(2, 1, 2, 40_000));
}

#[test]
fn sessions_wait_for_buffers_when_all_are_full() {
    check(2, || commits(2, 1, 3, 40_000));
}

#[test]
#[should_panic(expected = "Causality violation")]
fn copies_that_release_nothing_are_noticed() {
    weakened(Weak::Release, || check(3, two_appenders_and_a_sealer));
}

#[test]
#[should_panic(expected = "Causality violation")]
fn a_seal_that_acquires_nothing_is_noticed() {
    weakened(Weak::Acquire, || check(3, two_appenders_and_a_sealer));
}

#[test]
#[should_panic(expected = "deadlock")]
fn a_hand_over_without_sequential_consistency_is_noticed() {
    weakened(Weak::Fences, || check(2, || commits(2, 1, 1, 100)));
}
