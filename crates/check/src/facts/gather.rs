//! Facts as workers gather them, and how they come together.

use super::Facts;
use super::codec::Fact;
use super::keys::{Arena, Keys};
use super::scratch::{BLOCK_BYTES, BlockCache, Scratch, ScratchFile};
use super::sorted::{Run, Sorted, write_run};
use super::types::{BadPage, ChildFact, ForwardFact, IamFact, PageFact, TextNode, TextRef};
use furrow_format::PageId;
use furrow_io::{AlignedBuf, IoError};
use parking_lot::Mutex;
use std::sync::Arc;

/// The buffer of a run that is merged.
const MERGE_BYTES: u64 = 128 << 10;
/// Most runs that are merged at once.
const MOST_AT_ONCE: u64 = 64;

/// What one worker has gathered and not yet given away.
#[derive(Debug, Default)]
pub(crate) struct Gathered {
    pub(crate) keys: Arena,
    pub(crate) pages: Vec<PageFact>,
    pub(crate) children: Vec<ChildFact>,
    pub(crate) stubs: Vec<ForwardFact>,
    pub(crate) moved: Vec<ForwardFact>,
    pub(crate) text_refs: Vec<TextRef>,
    pub(crate) text_nodes: Vec<TextNode>,
    pub(crate) iams: Vec<IamFact>,
    pub(crate) bad: Vec<BadPage>,
    pub(crate) claimed_twice: Vec<(PageId, u32, u32)>,
    pub(crate) pages_checked: u64,
}

fn bytes_of<T>(facts: &Vec<T>) -> usize {
    facts.capacity() * size_of::<T>()
}

impl Gathered {
    /// Bytes of the facts that can be written to a file.
    fn bytes(&self) -> u64 {
        let bytes = self.keys.capacity()
            + bytes_of(&self.pages)
            + bytes_of(&self.children)
            + bytes_of(&self.bad)
            + bytes_of(&self.stubs)
            + bytes_of(&self.moved)
            + bytes_of(&self.text_refs)
            + bytes_of(&self.text_nodes);
        bytes as u64
    }

    /// Moves references to keys that now begin at `base`.
    fn rebase(&mut self, base: u64) {
        self.pages.iter_mut().for_each(|page| page.rebase(base));
        self.bad.iter_mut().for_each(|bad| bad.rebase(base));
        self.children
            .iter_mut()
            .for_each(|child| child.rebase(base));
    }

    /// Takes in what another has gathered.
    fn append(&mut self, mut other: Gathered) {
        let base = self.keys.append(&mut other.keys);
        other.rebase(base);
        self.pages.append(&mut other.pages);
        self.children.append(&mut other.children);
        self.stubs.append(&mut other.stubs);
        self.moved.append(&mut other.moved);
        self.text_refs.append(&mut other.text_refs);
        self.text_nodes.append(&mut other.text_nodes);
        self.iams.append(&mut other.iams);
        self.bad.append(&mut other.bad);
        self.claimed_twice.append(&mut other.claimed_twice);
        self.pages_checked += other.pages_checked;
    }
}

/// Runs of each kind.
#[derive(Debug, Default)]
struct Runs {
    pages: Vec<Run>,
    children: Vec<Run>,
    bad: Vec<Run>,
    stubs: Vec<Run>,
    moved: Vec<Run>,
    text_refs: Vec<Run>,
    text_nodes: Vec<Run>,
}

#[derive(Debug, Default)]
struct State {
    rest: Gathered,
    runs: Runs,
    file: Option<Arc<ScratchFile>>,
    failure: Option<IoError>,
}

/// Takes facts from workers.
#[derive(Debug)]
pub(crate) struct Gatherer {
    scratch: Option<Scratch>,
    memory_bytes: u64,
    /// A worker's share of the memory.
    share_bytes: u64,
    state: Mutex<State>,
}

impl Gatherer {
    /// For so many workers; without a place for a file all facts stay in memory.
    pub(crate) fn new(scratch: Option<&Scratch>, memory_bytes: u64, workers: usize) -> Gatherer {
        Gatherer {
            scratch: scratch.cloned(),
            memory_bytes,
            // What a worker has is doubled while a vector grows.
            share_bytes: memory_bytes / 2 / workers.max(1) as u64,
            state: Mutex::default(),
        }
    }

    /// Writes a worker's facts to the scratch file if they exceed its share; `false` where that fails.
    pub(crate) fn relieve(&self, from: &mut Gathered) -> bool {
        if from.bytes() <= self.share_bytes {
            return true;
        }
        let Some(scratch) = &self.scratch else {
            return true;
        };
        let file = {
            let mut state = self.state.lock();
            match &state.file {
                Some(file) => Arc::clone(file),
                None => match ScratchFile::create(scratch) {
                    Ok(file) => Arc::clone(state.file.insert(Arc::new(file))),
                    Err(error) => {
                        state.failure.get_or_insert(error);
                        return false;
                    }
                },
            }
        };
        self.write(&file, from);
        file.failure().is_none()
    }

    fn write(&self, file: &ScratchFile, from: &mut Gathered) {
        let keys = from.keys.take();
        let base = file.reserve(keys.len() as u64);
        let mut buffer = AlignedBuf::new(BLOCK_BYTES);
        for (at, part) in (0..).zip(keys.chunks(BLOCK_BYTES)) {
            if let Some(place) = buffer.get_mut(..part.len()) {
                place.copy_from_slice(part);
            }
            file.write(base + at * BLOCK_BYTES as u64, &buffer);
        }
        drop(keys);
        from.rebase(base);
        let pages = write_run(file, &mut from.pages);
        let children = write_run(file, &mut from.children);
        let bad = write_run(file, &mut from.bad);
        let stubs = write_run(file, &mut from.stubs);
        let moved = write_run(file, &mut from.moved);
        let text_refs = write_run(file, &mut from.text_refs);
        let text_nodes = write_run(file, &mut from.text_nodes);
        let runs = &mut self.state.lock().runs;
        runs.pages.extend(pages);
        runs.children.extend(children);
        runs.bad.extend(bad);
        runs.stubs.extend(stubs);
        runs.moved.extend(moved);
        runs.text_refs.extend(text_refs);
        runs.text_nodes.extend(text_nodes);
    }

    /// Takes the last facts of a worker.
    pub(crate) fn give(&self, mut from: Gathered) {
        let file = self.state.lock().file.clone();
        if let Some(file) = file {
            self.write(&file, &mut from);
        }
        self.state.lock().rest.append(from);
    }

    /// All facts in order, when all workers are done.
    pub(crate) fn finish(self, go_on: &dyn Fn() -> bool) -> Result<(Facts, Watch), IoError> {
        let state = std::mem::take(&mut *self.state.lock());
        if let Some(failure) = state.failure {
            return Err(failure);
        }
        let mut rest = state.rest;
        rest.iams.sort_unstable_by_key(|iam| iam.id);
        rest.claimed_twice.sort_unstable();
        let mut facts = Facts {
            iams: std::mem::take(&mut rest.iams),
            claimed_twice: std::mem::take(&mut rest.claimed_twice),
            pages_checked: rest.pages_checked,
            ..Facts::default()
        };
        let Some(file) = state.file else {
            facts.keys = Keys::Memory(rest.keys);
            facts.pages = Sorted::in_memory(rest.pages);
            facts.children = Sorted::in_memory(rest.children);
            facts.bad = Sorted::in_memory(rest.bad);
            facts.stubs = Sorted::in_memory(rest.stubs);
            facts.moved = Sorted::in_memory(rest.moved);
            facts.text_refs = Sorted::in_memory(rest.text_refs);
            facts.text_nodes = Sorted::in_memory(rest.text_nodes);
            return Ok((facts, Watch(None)));
        };
        // A worker that ended before the file was created has left its facts in memory.
        self.state.lock().runs = state.runs;
        self.write(&file, &mut rest);
        let runs = std::mem::take(&mut self.state.lock().runs);
        self.merge(&file, runs, &mut facts, go_on);
        facts.spilled_bytes = file.bytes();
        match file.failure() {
            Some(failure) => Err(failure),
            None => Ok((facts, Watch(Some(file)))),
        }
    }

    fn merge(
        &self,
        file: &Arc<ScratchFile>,
        runs: Runs,
        facts: &mut Facts,
        go_on: &dyn Fn() -> bool,
    ) {
        let at_once = (self.memory_bytes / 2 / MERGE_BYTES).clamp(2, MOST_AT_ONCE) as usize;
        let (large, small) = (
            self.memory_bytes as usize / 5,
            self.memory_bytes as usize / 40,
        );
        let (large, small) = ((at_once, large), (at_once, small));
        facts.pages = Sorted::of_runs(file, runs.pages, large, go_on);
        facts.children = Sorted::of_runs(file, runs.children, large, go_on);
        facts.bad = Sorted::of_runs(file, runs.bad, small, go_on);
        facts.stubs = Sorted::of_runs(file, runs.stubs, small, go_on);
        facts.moved = Sorted::of_runs(file, runs.moved, small, go_on);
        facts.text_refs = Sorted::of_runs(file, runs.text_refs, small, go_on);
        facts.text_nodes = Sorted::of_runs(file, runs.text_nodes, small, go_on);
        facts.keys = Keys::Disk(Arc::clone(file), BlockCache::new(large.1));
    }
}

/// Shows whether the scratch file failed while facts were matched.
#[derive(Debug)]
pub(crate) struct Watch(Option<Arc<ScratchFile>>);

impl Watch {
    /// The first error, if there was one.
    pub(crate) fn failure(&self) -> Option<IoError> {
        self.0.as_ref()?.failure()
    }
}
