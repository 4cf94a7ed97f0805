//! Pages that a transaction has filled past the log: minimal logging.
//!
//! A bulk load puts most of its rows on pages that it has just allocated. The log then records that a page
//! was allocated and its place ([`Change::FormatForced`](furrow_format::Change)), not its contents. The page
//! itself is made durable before anything may depend on it. So a load writes its rows once instead of twice.
//!
//! # Invariants
//! 1. The pages of [`Mini::fill`](crate::Mini::fill) are new: they belong to no object before the record that
//!    formats them. No other session changes rows on them, because the transaction holds X on the table.
//! 2. *Forced before anything depends on it.* The transaction notes the pages ([`Fills`]) before the record
//!    is appended. It forces them before each of its records that is not a fill itself
//!    ([`Transaction::prepare`](crate::Transaction::prepare)), its commit included. So when a later record
//!    changes rows of such a page, or commits it, the page is on the disk with an LSN not below that of its
//!    format.
//! 3. *Undone by rebuilding.* Undoing a fill logs a plain `Format` for each of its pages, in each attempt,
//!    before a page is removed from the tree.
//!
//! # A crash
//! - *Before the commit record is durable.* The transaction is rolled back. Redo keeps a page that is on the
//!   disk. It makes a page empty that is not on the disk, or torn (its first write needs no image, because
//!   its place held nothing). Undo empties both and frees them.
//! - *After.* All pages were durable before. Later writes of them are protected by images like those of any
//!   page.
//! - *After a rollback* that is in the log to its end: redo passes over a page that is not on the disk until
//!   the `Format` of the rollback (or of the page's next use) rebuilds it.
//! - A page that a *committed* fill needs and that is not on the disk was lost by the disk. Redo reports it
//!   (824) and does not make it empty. The log cannot repair this; a fully logged load it could.
//!
//! Checkpoints and the lazy writer treat the pages as any others: write-ahead holds for the format record,
//! and the redo point passes that record only when the page is durable.
//!
//! # What can fail
//! Forcing. Then the pages stay in the list, and the transaction cannot commit.

use furrow_format::PageId;
use furrow_pool::PageRun;

/// Pages that are handed to the lazy writer at a time.
const ASK_PAGES: usize = 128;

/// The pages that a transaction has to force.
#[derive(Debug, Default)]
pub(crate) struct Fills {
    runs: Vec<PageRun>,
    /// The last of them, which were not handed to the lazy writer yet.
    fresh: Vec<PageId>,
}

impl Fills {
    pub(crate) fn add(&mut self, page: PageId) {
        self.fresh.push(page);
        match self.runs.last_mut() {
            Some((first, count))
                if first.file == page.file && first.page.0 + *count == page.page.0 =>
            {
                *count += 1;
            }
            _ => self.runs.push((page, 1)),
        }
        debug_assert!(
            self.runs.last().is_some_and(|(first, count)| {
                first.file == page.file && first.page.0 + count - 1 == page.page.0
            }),
            "the last run ends with the page"
        );
    }

    /// The pages to hand to the lazy writer, when there are enough of them.
    pub(crate) fn take_fresh(&mut self) -> Option<Vec<PageId>> {
        (self.fresh.len() >= ASK_PAGES).then(|| std::mem::take(&mut self.fresh))
    }

    /// Whether nothing is to be forced.
    pub(crate) fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    pub(crate) fn take(&mut self) -> Vec<PageRun> {
        self.fresh.clear();
        std::mem::take(&mut self.runs)
    }

    /// Returns runs to the list that could not be forced.
    pub(crate) fn restore(&mut self, runs: Vec<PageRun>) {
        debug_assert!(runs.iter().all(|run| run.1 > 0), "a run has pages");
        self.runs.extend(runs);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_are_one_run_and_nothing_is_forgotten() {
        let mut fills = Fills::default();
        for page in [8, 9, 10, 16, 17] {
            fills.add(PageId::new(1, page));
        }
        fills.add(PageId::new(2, 18));
        let runs = [(1, 8, 3), (1, 16, 2), (2, 18, 1)];
        let runs = runs.map(|(file, page, count)| (PageId::new(file, page), count));
        assert_eq!(fills.take_fresh(), None);
        let taken = fills.take();
        assert_eq!(taken, runs);
        assert!(fills.take().is_empty());
        fills.add(PageId::new(3, 1));
        fills.restore(taken);
        assert_eq!(fills.take().len(), 4);
    }
}
