//! The pages of a heap in parts, for scans by several threads.

use super::Heap;
use super::scan::HeapScan;
use crate::AccessError;
use furrow_format::PageId;
use furrow_space::PageWalk;
use std::collections::VecDeque;

/// The pages that no scan has been given yet: of each file in turn, in the order of its allocation maps.
#[derive(Debug)]
pub struct HeapDivision {
    files: VecDeque<(PageWalk, VecDeque<PageId>)>,
}

impl Heap {
    /// All pages, to be divided.
    pub fn division(&self) -> Result<HeapDivision, AccessError> {
        let walks = self.space().walks_by_file(self.unit())?;
        let files = walks.into_iter().map(|(_, walk)| (walk, VecDeque::new()));
        Ok(HeapDivision {
            files: files.collect(),
        })
    }

    /// How many pages it has.
    pub fn page_count(&self) -> Result<u64, AccessError> {
        Ok(self.space().page_counts(self.unit())?.data)
    }

    /// A scan of these pages, for [`HeapScan::step`].
    pub fn scan_pages(&self, pages: Vec<PageId>) -> HeapScan {
        HeapScan::of_pages(pages)
    }
}

impl HeapDivision {
    /// The next pages, of one file and so many at most; `None` when all have been given out.
    pub fn next(&mut self, heap: &Heap, most: usize) -> Result<Option<Vec<PageId>>, AccessError> {
        debug_assert!(most > 0, "a part has pages");
        while let Some((mut walk, mut queue)) = self.files.pop_front() {
            if queue.is_empty() {
                match walk.next_batch(heap.space())? {
                    Some(pages) => queue.extend(pages),
                    None => continue,
                }
            }
            let pages: Vec<PageId> = queue.drain(..most.min(queue.len())).collect();
            self.files.push_back((walk, queue));
            if !pages.is_empty() {
                return Ok(Some(pages));
            }
        }
        Ok(None)
    }
}
