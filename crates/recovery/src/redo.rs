//! Redo: every page change again, where the page is older.
//!
//! A page that cannot be read (torn while it was written for the first time, or never written) is set aside,
//! and changes of it are skipped until one that rebuilds the page. If none comes, the page is reported.
//!
//! A page whose rows are not in the log ([`Change::FormatForced`]) and which is not on the disk is emptied
//! for a transaction that will be rolled back. Any other such page was forced before its commit, or its
//! rollback has rebuilt it: it is set aside as well.
//!
//! A page that can be read and that a change does not fit is also set aside. A page that the log rebuilds is
//! written without an image; if it is torn and its checksum holds by chance, it may contain anything.
//!
//! Pages that are still set aside at the end are an error of the restart. A repair goes on without them
//! ([`redo_around`]).

use crate::RecoveryError;
use furrow_format::{
    Change, ChangeReader, FileId, Lsn, PAGE_SIZE, Page, PageBuf, PageId, TxnId, apply,
};
use furrow_io::File;
use furrow_io::mutation::{Mutation, mutated};
use furrow_log::{LogError, LogScan, OwnedRecord, RecordKind};
use furrow_pool::{Ex, LatchRank, PageWrite, PoolError, Sh};
use furrow_txn::Store;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Arc;

/// What redo did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RedoStats {
    /// Records read.
    pub records: u64,
    /// Page changes repeated.
    pub applied: u64,
    /// Changes that the pages had already.
    pub skipped: u64,
    /// Unreadable pages that the log rebuilt.
    pub rebuilt: u64,
}

/// A page that was set aside to the end.
#[derive(Debug)]
pub struct Aside {
    /// The page.
    pub page: PageId,
    /// Why.
    pub error: RecoveryError,
    /// Whether it can be read, and is older than the log says.
    pub is_stale: bool,
}

/// Repeats the changes from `from` to `end` on pages of the files for which `wanted` is true. `loses` is true
/// for the transactions that undo will roll back.
pub fn redo(
    store: &Store,
    file: Arc<dyn File>,
    span: (Lsn, Lsn),
    wanted: &dyn Fn(FileId) -> bool,
    loses: &dyn Fn(TxnId) -> bool,
) -> Result<RedoStats, RecoveryError> {
    let (stats, aside) = redo_around(store, file, span, wanted, loses)?;
    match aside.into_iter().next() {
        Some(first) => Err(first.error),
        None => Ok(stats),
    }
}

/// As [`redo`]; pages that were set aside are no error, and are returned in order.
pub fn redo_around(
    store: &Store,
    file: Arc<dyn File>,
    (from, end): (Lsn, Lsn),
    wanted: &dyn Fn(FileId) -> bool,
    loses: &dyn Fn(TxnId) -> bool,
) -> Result<(RedoStats, Vec<Aside>), RecoveryError> {
    let binding = store.log().binding();
    let mut scan = LogScan::open(file, binding, from)?;
    let mut redo = Redo {
        store,
        wanted,
        loses,
        stats: RedoStats::default(),
        broken: BTreeMap::new(),
        before: Box::new([0; PAGE_SIZE]),
    };
    let repeated = redo.repeat(&mut scan, (from, end));
    for broken in redo.broken.values().filter(|aside| !aside.is_stale) {
        // Noted among the suspect pages now that no record rebuilds it.
        let key = store.key(broken.page);
        drop(store.pool().fetch(key, Sh, LatchRank::Data));
    }
    repeated?;
    let aside: Vec<Aside> = redo.broken.into_values().collect();
    debug_assert!(
        aside.iter().all(|aside| wanted(aside.page.file)),
        "only pages of the files that were asked for are set aside"
    );
    Ok((redo.stats, aside))
}

/// Changes that faults ordered by tests leave out; no other change is left out.
fn left_out(change: &Change<'_>) -> bool {
    match change {
        Change::RemoveRow { .. } | Change::HeapFree { .. } => mutated(Mutation::SkipRedoOfRemoval),
        Change::SetBit { .. } | Change::SetBits { .. } => mutated(Mutation::SkipRedoOfBits),
        _ => false,
    }
}

struct Redo<'a> {
    store: &'a Store,
    wanted: &'a dyn Fn(FileId) -> bool,
    loses: &'a dyn Fn(TxnId) -> bool,
    stats: RedoStats,
    broken: BTreeMap<PageId, Aside>,
    /// The page before the record's changes.
    before: Box<PageBuf>,
}

impl<'a> Redo<'a> {
    fn repeat(&mut self, scan: &mut LogScan, (from, end): (Lsn, Lsn)) -> Result<(), RecoveryError> {
        let mut last = Lsn::ZERO;
        while last < end {
            // Analysis has read up to `end`, so a missing record is an error and not the end.
            let Some(record) = scan.next_record()? else {
                return Err(scan.unreadable_or(LogError::Missing(end)).into());
            };
            last = record.lsn;
            if last >= from && last <= end {
                self.record(&record)?;
            }
        }
        Ok(())
    }

    fn record(&mut self, record: &OwnedRecord) -> Result<(), RecoveryError> {
        let (view, lsn) = (record.get(), record.lsn);
        self.stats.records += 1;
        if !matches!(view.kind, RecordKind::Change | RecordKind::Compensation) {
            return Ok(());
        }
        if view.kind == RecordKind::Compensation && mutated(Mutation::SkipRedoOfUndo) {
            return Ok(());
        }
        // Pages in the order of their first change; a page may come up several times in a record.
        let mut pages: Vec<PageId> = Vec::new();
        for entry in ChangeReader::new(view.redo) {
            let (page, _) = entry.map_err(|source| RecoveryError::Redo {
                lsn,
                page: PageId::NONE,
                page_lsn: Lsn::ZERO,
                source,
            })?;
            if (self.wanted)(page.file) && !pages.contains(&page) {
                pages.push(page);
            }
        }
        for page in pages {
            // Also where the page has the change already: its map may not have the bit.
            self.store.changed.mark(page);
            self.page(page, lsn, view.txn, view.redo)?;
        }
        Ok(())
    }

    fn page(
        &mut self,
        page: PageId,
        lsn: Lsn,
        txn: TxnId,
        redo: &[u8],
    ) -> Result<(), RecoveryError> {
        let mine = || {
            ChangeReader::new(redo)
                .filter_map(Result::ok)
                .filter(|(p, _)| *p == page)
        };
        // Changes before the rebuild need the old page, and the rebuild overwrites their result.
        let start = mine().position(|(_, change)| change.rebuilds());
        let mine = || mine().skip(start.unwrap_or(0));
        let first = mine().next();
        // Its rows are on the disk, or lost.
        let forced = matches!(first, Some((_, Change::FormatForced(_)))) && !(self.loses)(txn);
        let rebuilds = first.is_some_and(|(_, change)| change.rebuilds()) && !forced;
        let Some(mut guard) = self.fetch(page, rebuilds)? else {
            return Ok(());
        };
        let known = Page::new(&guard);
        if known.page_id() == page && known.lsn() >= lsn {
            self.stats.skipped += 1;
            return Ok(());
        }
        if forced {
            let reason = format!("its rows are not in the log, and it is older than {lsn}");
            self.set_aside(page, RecoveryError::Broken { page, reason });
            return Ok(());
        }
        *self.before = *guard;
        let page_lsn = known.lsn();
        debug_assert!(
            page_lsn < lsn || known.page_id() != page,
            "a change is repeated only on an older page"
        );
        guard.begin_change_at(lsn);
        let mut changes = mine();
        let done = changes.try_for_each(|(_, change)| match left_out(&change) {
            true => Ok(()),
            false => apply(&change, &mut guard),
        });
        if let Err(source) = done {
            *guard = *self.before;
            let error = RecoveryError::Redo {
                lsn,
                page,
                page_lsn,
                source,
            };
            self.set_aside(page, error);
            return Ok(());
        }
        if !mutated(Mutation::StaleRedoLsn) {
            guard.finish_change(lsn, rebuilds);
        }
        self.stats.applied += 1;
        Ok(())
    }

    /// Sets a page aside that can be read.
    fn set_aside(&mut self, page: PageId, error: RecoveryError) {
        let is_stale = true;
        let aside = Aside {
            page,
            error,
            is_stale,
        };
        self.broken.insert(page, aside);
    }

    /// The page, latched; `None` when it cannot be read and this record does not rebuild it.
    fn fetch(
        &mut self,
        page: PageId,
        rebuilds: bool,
    ) -> Result<Option<PageWrite<'a>>, RecoveryError> {
        let store = self.store;
        let (pool, key) = (store.pool(), store.key(page));
        if let Entry::Vacant(whole) = self.broken.entry(page) {
            match pool.fetch_unnoted(key, Ex, LatchRank::Data) {
                Ok(guard) => return Ok(Some(guard)),
                Err(e @ (PoolError::BadPage { .. } | PoolError::Io { .. })) => {
                    let reason = e.to_string();
                    whole.insert(Aside {
                        page,
                        error: RecoveryError::Broken { page, reason },
                        is_stale: false,
                    });
                }
                Err(e) => return Err(e.into()),
            }
        }
        if !rebuilds {
            return Ok(None);
        }
        self.broken.remove(&page);
        self.stats.rebuilt += 1;
        debug_assert!(
            !self.broken.contains_key(&page),
            "a page that is rebuilt is no longer set aside"
        );
        Ok(Some(pool.create(key, LatchRank::Data)?))
    }
}
