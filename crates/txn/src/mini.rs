//! Mini-transactions: page changes that are atomic in the log.
//!
//! 1. The caller latches pages EX and hands them over with [`Mini::adopt`]; it plans the changes with
//!    [`Mini::push`]. Nothing is changed yet.
//! 2. [`Mini::commit`] marks the pages dirty and their extents changed, appends **one** log record with all
//!    changes, gives snapshots the pages as they are (`furrow_pool::snapshot`), applies the changes in order
//!    by the same `apply` as redo, stamps the pages with the record's LSN and releases the latches.
//!
//! A bulk load may [`fill`](Mini::fill) new pages with rows that are not in the log; see `fills`.
//!
//! An error before the record is in the log leaves the pages as they were. If a logged change then does not
//! apply, the database is poisoned: the log has a change that memory does not have.

use crate::active_txn::ActiveTxn;
use crate::{Store, TxnError};
use furrow_format::{
    Change, ChangeReader, ChangeWriter, Lsn, MapInit, MapKind, Page, PageBuf, PageId, PageInit,
    RowList, TxnId, apply,
};
use furrow_io::mutation::{Mutation, mutated};
use furrow_log::{Record, RecordKind};
use furrow_pool::PageWrite;
use smallvec::SmallVec;

/// The author of a mini-transaction.
#[derive(Debug)]
pub enum Author<'a> {
    /// No transaction: a structural change, never undone.
    System,
    /// A transaction's row operation; `undo` describes how to undo it.
    Txn(&'a ActiveTxn, &'a [u8]),
    /// The undoing of a transaction's record; the next one to undo is `next`.
    Undo(&'a ActiveTxn, Lsn),
}

/// A group of page changes under way.
#[derive(Debug)]
pub struct Mini<'p> {
    store: &'p Store,
    pages: SmallVec<[PageWrite<'p>; 4]>,
    redo: Vec<u8>,
    /// Rows that are not logged, and the number of their page.
    fills: SmallVec<[(usize, RowList<'p>); 4]>,
}

impl<'p> Mini<'p> {
    /// An empty group.
    pub fn new(store: &'p Store) -> Mini<'p> {
        Mini {
            store,
            pages: SmallVec::new(),
            redo: Vec::with_capacity(256),
            fills: SmallVec::new(),
        }
    }

    /// The database it works on.
    pub fn store(&self) -> &'p Store {
        self.store
    }

    /// Takes over a latched page; it stays latched until the group is committed or dropped. Returns
    /// its number here.
    pub fn adopt(&mut self, page: PageWrite<'p>) -> usize {
        debug_assert!(
            self.position(page.key().page).is_none(),
            "a page is adopted once"
        );
        debug_assert_eq!(page.key().db, self.store.db(), "a page of this database");
        self.pages.push(page);
        self.pages.len() - 1
    }

    /// The page with number `at`, as it is before any change of this group.
    pub fn page(&self, at: usize) -> &PageBuf {
        self.pages[at].page()
    }

    /// Id of the page with number `at`.
    pub fn page_id(&self, at: usize) -> PageId {
        self.pages[at].key().page
    }

    /// The number of a page that is in the group already.
    pub fn position(&self, page: PageId) -> Option<usize> {
        self.pages.iter().position(|p| p.key().page == page)
    }

    /// Plans a change of the page with number `at`.
    pub fn push(&mut self, at: usize, change: &Change<'_>) {
        debug_assert!(at < self.pages.len(), "a page of this group");
        let page = self.page_id(at);
        ChangeWriter::new(&mut self.redo).push(page, change);
    }

    /// Plans a new page with number `at`, which no other object uses yet, with rows that are not logged: only
    /// a transaction may commit that, which then forces the page. The caller holds X on the table.
    pub fn fill(&mut self, at: usize, init: PageInit, rows: RowList<'p>) {
        debug_assert!(
            self.fills.iter().all(|fill| fill.0 != at),
            "a page is filled once"
        );
        self.push(at, &Change::FormatForced(init));
        self.fills.push((at, rows));
    }

    /// Bytes of log that the planned changes take, about.
    pub fn redo_bytes(&self) -> usize {
        self.redo.len()
    }

    /// Whether nothing is planned.
    pub fn is_empty(&self) -> bool {
        self.redo.is_empty()
    }

    /// Logs and applies the changes and releases the pages; returns the record's LSN.
    pub fn commit(mut self, author: &Author<'_>) -> Result<Lsn, TxnError> {
        self.apply(author)
    }

    fn apply(&mut self, author: &Author<'_>) -> Result<Lsn, TxnError> {
        self.store.check()?;
        self.note_fills(author)?;
        let changed = &self.store.changed;
        let generation = changed.generation();
        for page in &mut self.pages {
            changed.mark(page.key().page);
            page.begin_change();
        }
        let lsn = self.append(author)?;
        if changed.generation() != generation {
            // A base has begun in between: the record may lie behind it.
            self.pages
                .iter()
                .for_each(|page| changed.mark(page.key().page));
        }
        debug_assert!(
            mutated(Mutation::HighPageLsn)
                || self
                    .pages
                    .iter()
                    .all(|page| Page::new(page.page()).lsn() < lsn),
            "the LSN of a page grows with each change"
        );
        self.store.pool().preserve(&self.pages, lsn);
        let mut formatted: SmallVec<[bool; 4]> = SmallVec::from_elem(false, self.pages.len());
        for entry in ChangeReader::new(&self.redo) {
            let applied = entry
                .map_err(|e| (PageId::NONE, e))
                .and_then(|(id, change)| {
                    let found = self.pages.iter().position(|p| p.key().page == id);
                    let at = found.ok_or((id, furrow_format::ChangeError::NoPage))?;
                    formatted[at] |= change.rebuilds();
                    if let Change::FormatMap(MapInit {
                        kind: MapKind::DiffMap,
                        ..
                    }) = change
                    {
                        self.store.changed.rewrite(id);
                    }
                    apply(&change, &mut self.pages[at]).map_err(|e| (id, e))
                });
            if let Err((page, source)) = applied {
                let error = TxnError::Apply { page, source };
                self.store.poison(error.to_string());
                return Err(error);
            }
        }
        for &(at, rows) in &self.fills {
            debug_assert!(formatted[at], "rows are loaded onto a page that is new");
            let page = self.pages[at].key().page;
            if let Err(source) = apply(&Change::LoadRows(rows), &mut self.pages[at]) {
                let error = TxnError::Apply { page, source };
                self.store.poison(error.to_string());
                return Err(error);
            }
        }
        for (page, &formatted) in self.pages.iter_mut().zip(&formatted) {
            // Far enough to pass the end of the block.
            let ahead = u64::from(mutated(Mutation::HighPageLsn)) << 18;
            debug_assert_eq!(
                Page::new(page.page()).page_id(),
                page.key().page,
                "a change leaves a page its number"
            );
            page.finish_change(Lsn(lsn.0 + ahead), formatted);
        }
        Ok(lsn)
    }

    /// The transaction has to force pages with rows that are not logged, even if appending the record fails.
    fn note_fills(&self, author: &Author<'_>) -> Result<(), TxnError> {
        if self.fills.is_empty() {
            return Ok(());
        }
        let Author::Txn(txn, _) = author else {
            return Err(TxnError::NotForced);
        };
        let mut fills = txn.fills.lock();
        debug_assert!(
            !txn.has_ended(),
            "no thread forces pages of an ended transaction"
        );
        for &(at, _) in &self.fills {
            fills.add(self.page_id(at));
        }
        Ok(())
    }

    fn append(&self, author: &Author<'_>) -> Result<Lsn, TxnError> {
        if let Author::Undo(txn, next) = author {
            debug_assert!(*next < txn.last(), "what is undone next lies before");
        }
        let log = self.store.log();
        let record = |kind, txn, prev, undo| Record {
            kind,
            txn,
            prev,
            undo,
            redo: &self.redo,
        };
        let lsn = match *author {
            Author::System => log.append(&record(RecordKind::Change, TxnId(0), Lsn::ZERO, &[]))?,
            Author::Txn(txn, undo) => txn.append(false, || {
                log.append(&record(RecordKind::Change, txn.id, txn.last(), undo))
            })?,
            Author::Undo(txn, _) if mutated(Mutation::ForgetClr) => txn.append(false, || {
                log.append(&record(RecordKind::Change, txn.id, txn.last(), &[]))
            })?,
            Author::Undo(txn, next) => txn.append(false, || {
                log.append(&record(RecordKind::Compensation, txn.id, next, &[]))
            })?,
        };
        Ok(lsn)
    }
}
