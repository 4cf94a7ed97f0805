//! The current thread's requests to the buffer pool: the reads and writes of a session.
//!
//! A session works on one thread at a time. So the cost of a statement, batch or session is the difference of
//! the thread's counts before and after. Counting is an addition in memory of the thread's own. Work that
//! other threads do ahead of a session or behind it (read-ahead, write-back) is counted for them.

use std::cell::Cell;

/// Pages that a thread has requested, read and written since it began.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PageWork {
    /// Requests for a page of the buffer pool.
    pub logical_reads: u64,
    /// Pages read from files.
    pub reads: u64,
    /// Pages written to files.
    pub writes: u64,
}

impl PageWork {
    /// What came after `earlier`.
    #[must_use]
    pub fn since(self, earlier: PageWork) -> PageWork {
        PageWork {
            logical_reads: self.logical_reads.saturating_sub(earlier.logical_reads),
            reads: self.reads.saturating_sub(earlier.reads),
            writes: self.writes.saturating_sub(earlier.writes),
        }
    }

    /// Both together.
    #[must_use]
    pub fn and(self, more: PageWork) -> PageWork {
        PageWork {
            logical_reads: self.logical_reads + more.logical_reads,
            reads: self.reads + more.reads,
            writes: self.writes + more.writes,
        }
    }
}

thread_local! {
    static LOGICAL_READS: Cell<u64> = const { Cell::new(0) };
    static READS: Cell<u64> = const { Cell::new(0) };
    static WRITES: Cell<u64> = const { Cell::new(0) };
}

/// Counts requests for pages.
#[inline]
pub fn count_logical_reads(pages: u64) {
    LOGICAL_READS.with(|count| count.set(count.get() + pages));
}

/// Counts pages read from a file.
#[inline]
pub fn count_reads(pages: u64) {
    READS.with(|count| count.set(count.get() + pages));
}

/// Counts pages written to a file.
#[inline]
pub fn count_writes(pages: u64) {
    WRITES.with(|count| count.set(count.get() + pages));
}

/// What the current thread has counted so far.
pub fn page_work() -> PageWork {
    PageWork {
        logical_reads: LOGICAL_READS.with(Cell::get),
        reads: READS.with(Cell::get),
        writes: WRITES.with(Cell::get),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_counts_its_own_pages_only() {
        let before = page_work();
        count_logical_reads(1);
        count_reads(8);
        count_writes(3);
        let other = furrow_io::thread::scope(|scope| {
            let counted = scope.spawn(|| {
                count_logical_reads(1);
                page_work()
            });
            counted.join().unwrap()
        });
        let own = page_work().since(before);
        let expected = PageWork {
            logical_reads: 1,
            reads: 8,
            writes: 3,
        };
        assert_eq!(own, expected);
        assert_eq!(other.logical_reads, 1);
        assert_eq!(own.and(own).reads, 16);
    }
}
