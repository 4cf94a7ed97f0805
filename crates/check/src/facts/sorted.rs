//! Facts of one kind in order: in memory, or as a sorted run in the scratch file.
//!
//! A run is a sequence of blocks of 16 KB. A block holds as many facts as fit whole. Of each block the first
//! key is kept in memory, so that a fact is found with one read.

use super::codec::Fact;
use super::scratch::{BLOCK_BYTES, BlockCache, ScratchFile};
use furrow_io::AlignedBuf;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

/// Blocks that a run is written and read by when it is passed front to back.
const RUN_BLOCKS: usize = 8;

/// A sorted sequence of facts in the scratch file.
#[derive(Debug, Clone, Copy)]
pub(super) struct Run {
    at: u64,
    count: u64,
}

/// Facts of a kind in a block.
const fn in_block<T: Fact>() -> u64 {
    (BLOCK_BYTES / T::BYTES) as u64
}

/// Writes a run of a known number of facts.
struct Writer<'f, T: Fact> {
    file: &'f ScratchFile,
    run: Run,
    at: u64,
    buffer: AlignedBuf,
    filled: usize,
    in_block: u64,
    bytes: Vec<u8>,
    fences: Vec<T::Key>,
}

impl<'f, T: Fact> Writer<'f, T> {
    fn new(file: &'f ScratchFile, count: u64) -> Writer<'f, T> {
        let at = file.reserve(count.div_ceil(in_block::<T>()) * BLOCK_BYTES as u64);
        Writer {
            file,
            run: Run { at, count },
            at,
            buffer: AlignedBuf::new(RUN_BLOCKS * BLOCK_BYTES),
            filled: 0,
            in_block: 0,
            bytes: Vec::with_capacity(T::BYTES),
            fences: Vec::new(),
        }
    }

    fn push(&mut self, fact: &T) {
        if self.in_block == in_block::<T>() {
            self.in_block = 0;
            self.filled += 1;
            if self.filled == RUN_BLOCKS {
                self.flush();
            }
        }
        if self.in_block == 0 {
            self.fences.push(fact.key());
        }
        self.bytes.clear();
        fact.write(&mut self.bytes);
        debug_assert_eq!(self.bytes.len(), T::BYTES);
        let start = self.filled * BLOCK_BYTES + self.in_block as usize * T::BYTES;
        if let Some(place) = self.buffer.get_mut(start..start + T::BYTES) {
            place.copy_from_slice(&self.bytes);
        }
        self.in_block += 1;
    }

    fn flush(&mut self) {
        self.buffer.resize(self.filled * BLOCK_BYTES);
        self.file.write(self.at, &self.buffer);
        self.at += self.buffer.len() as u64;
        self.buffer.resize(RUN_BLOCKS * BLOCK_BYTES);
        self.filled = 0;
    }

    fn finish(mut self) -> (Run, Vec<T::Key>) {
        if self.in_block > 0 {
            self.filled += 1;
        }
        if self.filled > 0 {
            self.flush();
        }
        (self.run, self.fences)
    }
}

/// Writes facts as a run of their own.
pub(super) fn write_run<T: Fact>(file: &ScratchFile, facts: &mut Vec<T>) -> Option<Run> {
    if facts.is_empty() {
        return None;
    }
    facts.sort_unstable_by_key(Fact::key);
    let mut writer = Writer::<T>::new(file, facts.len() as u64);
    facts.iter().for_each(|fact| writer.push(fact));
    *facts = Vec::new();
    Some(writer.finish().0)
}

/// Reads a run front to back.
struct Reader<'f> {
    file: &'f ScratchFile,
    at: u64,
    left: u64,
    buffer: AlignedBuf,
    /// Of the buffer: the next fact's block and place in it.
    block: usize,
    place: u64,
}

impl<'f> Reader<'f> {
    fn new(file: &'f ScratchFile, run: Run) -> Reader<'f> {
        Reader {
            file,
            at: run.at,
            left: run.count,
            buffer: AlignedBuf::new(0),
            block: 0,
            place: 0,
        }
    }

    fn next<T: Fact>(&mut self) -> Option<T> {
        if self.left == 0 {
            return None;
        }
        if self.place == in_block::<T>() {
            self.place = 0;
            self.block += 1;
        }
        if self.block * BLOCK_BYTES >= self.buffer.len() {
            let blocks = (self.left.div_ceil(in_block::<T>()) as usize).min(RUN_BLOCKS);
            self.buffer.resize(blocks * BLOCK_BYTES);
            if !self.file.read(self.at, &mut self.buffer) {
                self.left = 0;
                return None;
            }
            self.at += self.buffer.len() as u64;
            self.block = 0;
        }
        let start = self.block * BLOCK_BYTES + self.place as usize * T::BYTES;
        self.place += 1;
        self.left -= 1;
        T::read(self.buffer.get(start..start + T::BYTES)?)
    }
}

/// Merges runs into one.
fn merge<T: Fact>(file: &ScratchFile, runs: &[Run]) -> (Run, Vec<T::Key>) {
    let mut writer = Writer::<T>::new(file, runs.iter().map(|run| run.count).sum());
    let mut readers: Vec<Reader<'_>> = runs.iter().map(|run| Reader::new(file, *run)).collect();
    let mut heads: Vec<Option<T>> = readers.iter_mut().map(Reader::next).collect();
    let key = |at: usize, head: &Option<T>| head.as_ref().map(|head| Reverse((head.key(), at)));
    let mut order: BinaryHeap<Reverse<(T::Key, usize)>> = (0..)
        .zip(&heads)
        .filter_map(|(at, head)| key(at, head))
        .collect();
    while let Some(Reverse((_, at))) = order.pop() {
        let (Some(head), Some(reader)) = (heads.get_mut(at), readers.get_mut(at)) else {
            continue;
        };
        if let Some(fact) = head.take() {
            writer.push(&fact);
        }
        *head = reader.next();
        order.extend(key(at, head));
    }
    writer.finish()
}

/// All facts of a kind, in the order of their keys.
#[derive(Debug)]
pub(crate) enum Sorted<T: Fact> {
    /// In memory.
    Memory(Vec<T>),
    /// In the scratch file.
    Disk(Stored<T::Key>),
}

/// A run that is read at random.
#[derive(Debug)]
pub(crate) struct Stored<K> {
    file: Arc<ScratchFile>,
    run: Run,
    fences: Vec<K>,
    cache: BlockCache,
}

impl<T: Fact> Default for Sorted<T> {
    fn default() -> Sorted<T> {
        Sorted::Memory(Vec::new())
    }
}

impl<T: Fact> Sorted<T> {
    /// Puts facts in order that are all in memory.
    pub(super) fn in_memory(mut facts: Vec<T>) -> Sorted<T> {
        facts.sort_unstable_by_key(Fact::key);
        Sorted::Memory(facts)
    }

    /// Merges runs, so many at a time, until one is left. `go_on` returns whether to go on.
    pub(super) fn of_runs(
        file: &Arc<ScratchFile>,
        mut runs: Vec<Run>,
        (at_once, cache_bytes): (usize, usize),
        go_on: &dyn Fn() -> bool,
    ) -> Sorted<T> {
        let at_once = at_once.max(2);
        let mut last = None;
        while last.is_none() || runs.len() > 1 {
            if runs.is_empty() || !go_on() {
                return Sorted::Memory(Vec::new());
            }
            let first: Vec<Run> = runs.drain(..runs.len().min(at_once)).collect();
            let (merged, fences) = merge::<T>(file, &first);
            runs.push(merged);
            last = Some((merged, fences));
        }
        match last {
            None => Sorted::Memory(Vec::new()),
            Some((run, fences)) => Sorted::Disk(Stored {
                file: Arc::clone(file),
                run,
                fences,
                cache: BlockCache::new(cache_bytes),
            }),
        }
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        match self {
            Sorted::Memory(facts) => facts.len(),
            Sorted::Disk(stored) => stored.run.count as usize,
        }
    }

    /// The fact at a place in the order.
    pub(crate) fn at(&self, place: usize) -> Option<T> {
        match self {
            Sorted::Memory(facts) => facts.get(place).copied(),
            Sorted::Disk(stored) if place as u64 >= stored.run.count => None,
            Sorted::Disk(stored) => {
                let block = place as u64 / in_block::<T>();
                let within = (place as u64 % in_block::<T>()) as usize;
                stored.block(block, |bytes| fact_at(bytes, within))?
            }
        }
    }

    /// How many have a lesser key.
    pub(crate) fn partition(&self, key: T::Key) -> usize {
        match self {
            Sorted::Memory(facts) => facts.partition_point(|fact| fact.key() < key),
            Sorted::Disk(stored) => {
                let block = stored.fences.partition_point(|fence| *fence < key);
                let Some(block) = block.checked_sub(1) else {
                    return 0;
                };
                let before = block as u64 * in_block::<T>();
                let count = (stored.run.count - before).min(in_block::<T>()) as usize;
                let within = stored.block(block as u64, |bytes| {
                    let (mut low, mut high) = (0, count);
                    while low < high {
                        let middle = usize::midpoint(low, high);
                        let less = fact_at::<T>(bytes, middle).is_some_and(|f| f.key() < key);
                        if less {
                            low = middle + 1;
                        } else {
                            high = middle;
                        }
                    }
                    low
                });
                before as usize + within.unwrap_or(0)
            }
        }
    }

    /// The place of the fact with a key.
    pub(crate) fn place(&self, key: T::Key) -> Option<usize> {
        let place = self.partition(key);
        let found = self.at(place)?;
        (found.key() == key).then_some(place)
    }

    /// The first fact with a key.
    pub(crate) fn get(&self, key: T::Key) -> Option<T> {
        self.at(self.place(key)?)
    }

    /// All from a place on.
    pub(crate) fn from(&self, place: usize) -> impl Iterator<Item = T> + '_ {
        (place..self.len()).map_while(|place| self.at(place))
    }

    /// All.
    pub(crate) fn iter(&self) -> impl Iterator<Item = T> + '_ {
        self.from(0)
    }
}

fn fact_at<T: Fact>(block: &[u8], place: usize) -> Option<T> {
    T::read(block.get(place * T::BYTES..(place + 1) * T::BYTES)?)
}

impl<K> Stored<K> {
    fn block<R>(&self, number: u64, look: impl FnOnce(&[u8]) -> R) -> Option<R> {
        let at = self.run.at + number * BLOCK_BYTES as u64;
        self.cache.with(&self.file, at, look)
    }
}
