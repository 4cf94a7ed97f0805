//! Runs of pages: taken from the files in order, and read into a buffer.

use super::worker::{RUN_PAGES, Shared};
use crate::maps::page_at;
use furrow_format::{EXTENT_PAGES, FileId, PAGE_SIZE, PageBuf};
use furrow_io::AlignedBuf;
use smallvec::SmallVec;

/// Neighbouring extents of a run, read with one call.
#[derive(Debug, Clone, Copy)]
pub(super) struct Part {
    /// Its first page, counted from the first of the run.
    pub(super) at: u32,
    pub(super) count: u32,
    /// Whether the call succeeded.
    pub(super) is_read: bool,
}

/// Pages that are taken together.
pub(super) struct Run {
    pub(super) file: FileId,
    pub(super) first: u32,
    pub(super) count: u32,
    pub(super) parts: SmallVec<[Part; 4]>,
    buffer: AlignedBuf,
}

/// Where a worker is: runs of its own file first, then of the others.
pub(super) struct Turns {
    number: usize,
    turn: usize,
}

impl Turns {
    pub(super) fn new(number: usize) -> Turns {
        Turns { number, turn: 0 }
    }

    fn next(&mut self, shared: &Shared<'_>) -> Option<(FileId, u32, u32)> {
        let files = shared.files.len();
        while self.turn < files {
            if let Some(run) = shared.take((self.number + self.turn) % files) {
                return Some(run);
            }
            self.turn += 1;
        }
        None
    }
}

impl Run {
    pub(super) fn new() -> Run {
        Run {
            file: FileId(0),
            first: 0,
            count: 0,
            parts: SmallVec::new(),
            buffer: AlignedBuf::new(RUN_PAGES as usize * PAGE_SIZE),
        }
    }

    /// The pages; those outside of the parts hold anything.
    pub(super) fn pages(&mut self) -> &mut [PageBuf] {
        self.buffer.as_chunks_mut::<PAGE_SIZE>().0
    }

    /// Takes the next run, and reads the extents of it that are wanted. `false`: there are no more, or the
    /// check ends.
    pub(super) fn fill(&mut self, turns: &mut Turns, shared: &Shared<'_>) -> bool {
        if shared.is_stopped() {
            return false;
        }
        let Some((file, first, count)) = turns.next(shared) else {
            return false;
        };
        (self.file, self.first, self.count) = (file, first, count);
        self.parts.clear();
        for (at, next) in parts(first, count, &|page| shared.is_wanted(page_at(file, page))) {
            let (start, end) = (at as usize, next as usize);
            let pages = self.pages().get_mut(start..end).unwrap_or_default();
            let read = shared
                .source
                .read(file, page_at(file, first + at).page, pages);
            self.parts.push(Part {
                at,
                count: next - at,
                is_read: read.is_ok(),
            });
        }
        shared.keep_pace(self.parts.iter().map(|part| part.count).sum())
    }
}

/// The parts of a run that are read, each from its first page to the one behind its last, counted from the
/// first of the run. A run of which half is wanted is read with one call: passing over an extent costs less
/// than another call.
fn parts(first: u32, count: u32, is_wanted: &dyn Fn(u32) -> bool) -> SmallVec<[(u32, u32); 4]> {
    let mut parts: SmallVec<[(u32, u32); 4]> = SmallVec::new();
    let (mut at, mut wanted) = (0, 0);
    while at < count {
        let next = to_extent(first, at).min(count);
        if is_wanted(first + at) {
            wanted += next - at;
            match parts.last_mut() {
                Some((_, end)) if *end == at => *end = next,
                _ => parts.push((at, next)),
            }
        }
        at = next;
    }
    if let (Some(&(start, _)), Some(&(_, end))) = (parts.first(), parts.last())
        && wanted * 2 >= count
    {
        parts = SmallVec::from_slice(&[(start, end)]);
    }
    parts
}

/// The first page of the next extent, both counted from the first page of the run.
fn to_extent(first: u32, at: u32) -> u32 {
    (((first + at) / EXTENT_PAGES + 1).saturating_mul(EXTENT_PAGES)).saturating_sub(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn free_extents_are_not_read_unless_a_run_is_half_in_use() {
        let of = |extents: &[u32]| {
            let wanted = |page: u32| extents.contains(&(page / EXTENT_PAGES));
            parts(64, RUN_PAGES, &wanted).to_vec()
        };
        assert_eq!(of(&[]), []);
        assert_eq!(of(&[8, 9, 10, 11, 12, 13, 14, 15]), [(0, 64)]);
        assert_eq!(of(&[9, 10]), [(8, 24)]);
        assert_eq!(of(&[8, 10, 15]), [(0, 8), (16, 24), (56, 64)]);
        assert_eq!(of(&[8, 10, 12, 14]), [(0, 56)]);
        // The end of a file lies in an extent.
        assert_eq!(parts(64, 11, &|page| page >= 72).to_vec(), [(8, 11)]);
    }
}
