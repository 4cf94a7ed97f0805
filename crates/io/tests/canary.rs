//! Does the crash model find bugs? A small store that is right passes every outcome at every operation;
//! the same store with one classic mistake is caught, each time.

#![expect(clippy::unwrap_used, reason = "a failed step is a failed test")]

use furrow_io::sim::{Crash, Effect, Fault, Ops, SimOptions, SimVolume};
use furrow_io::{Access, File, Fill, IoError, IoErrorKind, Open, Volume};
use std::path::Path;
use std::sync::Arc;

/// What a careless author gets wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mistake {
    None,
    /// A commit is acknowledged after a plain write.
    NoDurableWrite,
    /// Log space is used again before the checkpoint's pages are synced.
    NoSyncBeforeReuse,
    /// The checkpoint overwrites the only copy.
    OneSlot,
    /// Log records are accepted without a checksum.
    NoChecksum,
    /// `write_durable` is taken for a sync of all earlier writes.
    DurableWriteAsSync,
}

const CELLS: usize = 500;
const SLOT_BYTES: usize = 8192;
const RECORD_BYTES: usize = 1024;
/// Records in the log before it is used again from its start.
const LOG_RECORDS: u64 = 4;

type Cells = [u64; CELLS];

/// Cells in two slots written in turn, and a log of the changes since.
struct Store {
    mistake: Mistake,
    data: Arc<dyn File>,
    log: Arc<dyn File>,
    cells: Cells,
    sequence: u64,
}

fn sum(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xCBF2_9CE4_8422_2325, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3)
    })
}

fn word(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at * 8..at * 8 + 8].try_into().unwrap())
}

/// Words into a block of `len` bytes that ends with a checksum.
fn block(len: usize, words: impl Iterator<Item = u64>) -> Vec<u8> {
    let mut bytes: Vec<u8> = words.flat_map(u64::to_le_bytes).collect();
    bytes.resize(len - 8, 0);
    let check = sum(&bytes);
    bytes.extend(check.to_le_bytes());
    bytes
}

fn is_whole(bytes: &[u8]) -> bool {
    sum(&bytes[..bytes.len() - 8]) == word(bytes, bytes.len() / 8 - 1)
}

impl Store {
    fn create(volume: &SimVolume, mistake: Mistake) -> Result<Store, IoError> {
        let data = volume.open(Path::new("data"), Open::Create, Access::Data)?;
        data.resize(2 * SLOT_BYTES as u64, Fill::Zero)?;
        let log = volume.open(Path::new("log"), Open::Create, Access::Log)?;
        log.resize(LOG_RECORDS * RECORD_BYTES as u64, Fill::Zero)?;
        let mut store = Store {
            mistake,
            data,
            log,
            cells: [0; CELLS],
            sequence: 0,
        };
        store.checkpoint()?;
        if mistake == Mistake::NoSyncBeforeReuse || mistake == Mistake::DurableWriteAsSync {
            store.data.sync()?;
        }
        Ok(store)
    }

    fn checkpoint(&mut self) -> Result<(), IoError> {
        let words = std::iter::once(self.sequence + 1).chain(self.cells);
        let bytes = block(SLOT_BYTES, words);
        let turn = self.sequence / LOG_RECORDS % 2;
        let slot = if self.mistake == Mistake::OneSlot {
            0
        } else {
            turn
        };
        let at = slot * SLOT_BYTES as u64;
        if self.mistake == Mistake::DurableWriteAsSync {
            // The cells by a plain write, only the checksum durably.
            self.data.write_at(at, &bytes[..4096])?;
            return self.data.write_durable_at(at + 4096, &bytes[4096..]);
        }
        self.data.write_at(at, &bytes)?;
        if self.mistake == Mistake::NoSyncBeforeReuse {
            Ok(())
        } else {
            self.data.sync()
        }
    }

    /// The `n`-th commit fills the cells from `n` on with `n`.
    fn commit(&mut self) -> Result<(), IoError> {
        let next = self.sequence + 1;
        if self.sequence > 0 && self.sequence.is_multiple_of(LOG_RECORDS) {
            self.checkpoint()?;
        }
        let record = block(RECORD_BYTES, [next, next].into_iter().chain([next; 100]));
        let at = self.sequence % LOG_RECORDS * RECORD_BYTES as u64;
        if self.mistake == Mistake::NoDurableWrite {
            self.log.write_at(at, &record)?;
        } else {
            self.log.write_durable_at(at, &record)?;
        }
        self.sequence = next;
        self.cells = state_after(next);
        Ok(())
    }

    fn recover(volume: &SimVolume, mistake: Mistake) -> Result<Option<Cells>, IoError> {
        let data = volume.open(Path::new("data"), Open::Existing, Access::Data)?;
        let log = volume.open(Path::new("log"), Open::Existing, Access::Log)?;
        let mut best: Option<(u64, Cells)> = None;
        let mut slot = vec![0; SLOT_BYTES];
        for turn in 0..2 {
            data.read_at(turn * SLOT_BYTES as u64, &mut slot)?;
            let sequence = word(&slot, 0);
            let newer = best.as_ref().is_none_or(|(found, _)| sequence > *found);
            if is_whole(&slot) && sequence > 0 && newer {
                best = Some((sequence, std::array::from_fn(|cell| word(&slot, cell + 1))));
            }
        }
        let Some((sequence, mut cells)) = best else {
            return Ok(None);
        };
        let mut sequence = sequence - 1;
        let mut record = vec![0; RECORD_BYTES];
        loop {
            log.read_at(sequence % LOG_RECORDS * RECORD_BYTES as u64, &mut record)?;
            let believed = mistake == Mistake::NoChecksum || is_whole(&record);
            if !believed || word(&record, 0) != sequence + 1 {
                return Ok(Some(cells));
            }
            sequence += 1;
            for (step, cell) in cells
                .iter_mut()
                .skip(word(&record, 1) as usize)
                .take(100)
                .enumerate()
            {
                *cell = word(&record, 2 + step);
            }
        }
    }
}

fn state_after(commits: u64) -> Cells {
    let mut cells = [0; CELLS];
    for commit in 1..=commits {
        cells[commit as usize..][..100].fill(commit);
    }
    cells
}

/// Whether every outcome of a power loss at every operation leaves what was acknowledged, or one more.
fn survives(mistake: Mistake, outcomes: &dyn Fn(&SimVolume) -> Vec<Crash>) -> Result<u64, String> {
    const COMMITS: u64 = 11;
    let mut tried = 0;
    for nth in 1.. {
        let volume = SimVolume::new(SimOptions::default());
        volume.inject(Fault::new(Ops::Changes, Effect::PowerLoss).nth(nth));
        let mut acknowledged = None;
        let mut work = || -> Result<(), IoError> {
            let mut store = Store::create(&volume, mistake)?;
            acknowledged = Some(0);
            for commit in 1..=COMMITS {
                store.commit()?;
                acknowledged = Some(commit);
            }
            Ok(())
        };
        let ended = work();
        assert!(ended.is_ok() || ended.is_err_and(|error| error.kind == IoErrorKind::Crashed));
        for outcome in outcomes(&volume) {
            tried += 1;
            let found = Store::recover(&volume.crash(&outcome), mistake);
            let Some(least) = acknowledged else {
                // Creation was not acknowledged: it may have come to anything but a panic.
                continue;
            };
            let expected = [least, least + 1].map(state_after);
            match found {
                Ok(Some(cells)) if expected.contains(&cells) => {}
                _ => {
                    return Err(format!(
                        "operation {nth}, {outcome:?}, {least} acknowledged"
                    ));
                }
            }
        }
        if volume.is_powered() {
            break;
        }
    }
    Ok(tried)
}

fn named(volume: &SimVolume) -> Vec<Crash> {
    volume.outcomes()
}

fn random(volume: &SimVolume) -> Vec<Crash> {
    let base = volume.counts().total() * 1_000;
    (base..base + 400)
        .map(|seed| Crash::Random { seed })
        .collect()
}

#[test]
fn the_right_store_survives_everything() {
    let tried =
        survives(Mistake::None, &named).unwrap() + survives(Mistake::None, &random).unwrap();
    println!("{tried} crashes");
    assert!(tried > 5_000);
}

#[test]
fn each_mistake_is_caught_by_named_outcomes_or_by_random_ones() {
    for mistake in [
        Mistake::NoDurableWrite,
        Mistake::NoSyncBeforeReuse,
        Mistake::OneSlot,
        Mistake::NoChecksum,
        Mistake::DurableWriteAsSync,
    ] {
        let (by_name, by_chance) = (survives(mistake, &named), survives(mistake, &random));
        println!("{mistake:?}: {by_name:?}; {by_chance:?}");
        assert!(
            by_chance.is_err(),
            "{mistake:?} escaped the random outcomes"
        );
        assert!(by_name.is_err(), "{mistake:?} escaped the named outcomes");
    }
}
