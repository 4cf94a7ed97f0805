//! Pages that a backup must copy because of what its log says.
//!
//! The allocation maps are read once, while the database is written. Two kinds of pages may be missing after
//! that, and redo of the backup's log would need them:
//! - *Fills.* A load with minimal logging formats a page by `FormatForced` and does not log its rows. Such a
//!   page is durable before the transaction logs anything else (`furrow_txn::fills`). So at each record of
//!   the transaction that is no fill, its commit included, the pages that it filled before are to be copied,
//!   whether they were copied before or not.
//! - *Freed pages.* A page that was changed behind the redo point and freed before its map was read is in no
//!   copied extent. Its old content is still in the file, or the log rebuilds it.
//!
//! A page that the log rebuilds before it changes it needs no copy.

use furrow_format::{Change, ChangeReader, EXTENT_PAGES, FileId, Lsn, PageId, PageNo, TxnId};
use furrow_io::mutation::{Mutation, mutated};
use furrow_log::{OwnedRecord, RecordKind};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// A set of numbers as bits.
#[derive(Debug, Default)]
struct Bits(Vec<u64>);

impl Bits {
    fn set(&mut self, at: u32) {
        let word = at as usize / 64;
        if self.0.len() <= word {
            self.0.resize(word + 1, 0);
        }
        if let Some(word) = self.0.get_mut(word) {
            *word |= 1 << (at % 64);
        }
    }

    fn has(&self, at: u32) -> bool {
        let word = self.0.get(at as usize / 64);
        word.is_some_and(|word| word & 1 << (at % 64) != 0)
    }
}

/// What of a database is in a backup, and what its log asks for.
#[derive(Debug, Default)]
pub(crate) struct Coverage {
    /// Extents that were read, or whose pages the backup has from elsewhere.
    extents: HashMap<FileId, Bits>,
    /// Pages that need no copy any more: rebuilt by the log, or asked for.
    settled: HashMap<FileId, Bits>,
    /// Pages filled past the log that no later record of their transaction has followed yet.
    fills: HashMap<TxnId, Vec<PageId>>,
    needed: BTreeSet<PageId>,
}

impl Coverage {
    /// The extents of these pages are in the backup.
    pub(crate) fn cover(&mut self, file: FileId, first: PageNo, pages: u32) {
        let extents = self.extents.entry(file).or_default();
        let from = first.0 / EXTENT_PAGES;
        let end = (first.0 + pages).div_ceil(EXTENT_PAGES);
        (from..end).for_each(|extent| extents.set(extent));
    }

    fn is_settled(&self, page: PageId) -> bool {
        let extent = page.page.0 / EXTENT_PAGES;
        let covered = self.extents.get(&page.file).is_some_and(|e| e.has(extent));
        let settled = self.settled.get(&page.file);
        covered || settled.is_some_and(|s| s.has(page.page.0))
    }

    fn settle(&mut self, page: PageId) {
        self.settled.entry(page.file).or_default().set(page.page.0);
    }

    /// Takes in a record. Redo reads those from `redo_point` on: `changed` gets the pages of each.
    pub(crate) fn record(
        &mut self,
        record: &OwnedRecord,
        redo_point: Lsn,
        changed: &mut dyn FnMut(PageId),
    ) {
        if record.lsn < redo_point {
            return;
        }
        let view = record.get();
        match view.kind {
            RecordKind::Change | RecordKind::Compensation => {
                self.changes((view.txn, view.redo), changed);
            }
            RecordKind::Commit => self.followed(view.txn),
            RecordKind::Abort => drop(self.fills.remove(&view.txn)),
            RecordKind::CheckpointBegin | RecordKind::CheckpointEnd => {}
        }
    }

    fn changes(&mut self, (txn, redo): (TxnId, &[u8]), changed: &mut dyn FnMut(PageId)) {
        // By page: whether its first change rebuilds it, and whether that is a fill.
        let mut pages: BTreeMap<PageId, (bool, bool)> = BTreeMap::new();
        for (page, change) in ChangeReader::new(redo).filter_map(Result::ok) {
            let fill = matches!(change, Change::FormatForced(_));
            let now = pages.entry(page).or_default();
            now.0 |= change.rebuilds();
            now.1 |= fill;
        }
        let filled: Vec<PageId> = pages.iter().filter(|p| p.1.1).map(|p| *p.0).collect();
        if filled.is_empty() {
            self.followed(txn);
        } else {
            self.fills.entry(txn).or_default().extend(&filled);
        }
        for (page, (rebuilt, fill)) in pages {
            changed(page);
            if fill || self.is_settled(page) {
                continue;
            }
            self.settle(page);
            if !rebuilt && !mutated(Mutation::ForgetFreedPages) {
                self.needed.insert(page);
            }
        }
    }

    /// A record of the transaction follows what it has filled.
    fn followed(&mut self, txn: TxnId) {
        let fills = self.fills.remove(&txn).unwrap_or_default();
        for page in fills {
            if mutated(Mutation::ForgetFillPages) {
                continue;
            }
            self.settle(page);
            self.needed.insert(page);
        }
    }

    /// The pages to copy now, as runs in the order of the files.
    pub(crate) fn take_needed(&mut self) -> Vec<(PageId, u32)> {
        let mut runs: Vec<(PageId, u32)> = Vec::new();
        for page in std::mem::take(&mut self.needed) {
            match runs.last_mut() {
                Some((first, count))
                    if first.file == page.file && first.page.0 + *count == page.page.0 =>
                {
                    *count += 1;
                }
                _ => runs.push((page, 1)),
            }
        }
        runs
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use furrow_format::{AllocUnitId, ChangeWriter, PageInit, PageType};
    use furrow_io::{Access, MemoryVolume, Open, Volume};
    use furrow_log::{Log, LogConfig, LogCursor, Record};

    enum Step {
        Fill(u64, u32),
        Format(u64, u32),
        Change(u64, u32),
        Commit(u64),
        Abort(u64),
    }

    /// What is to be copied after these records.
    fn needed(covered: &[u32], steps: &[Step]) -> Vec<(PageId, u32)> {
        let volume = MemoryVolume::new();
        let file = volume.open("a.ldf".as_ref(), Open::Create, Access::Log);
        let log = Log::create(file.unwrap(), 1 << 20, [7; 16], LogConfig::default()).unwrap();
        let start = log.tail();
        for step in steps {
            let (kind, txn, change) = match step {
                Step::Fill(txn, page) => {
                    let page = PageId::new(1, *page);
                    let init = PageInit::new(page, PageType::Data, AllocUnitId(7 << 16), 4);
                    (
                        RecordKind::Change,
                        *txn,
                        Some((page, Change::FormatForced(init))),
                    )
                }
                Step::Format(txn, page) => {
                    let page = PageId::new(1, *page);
                    let init = PageInit::new(page, PageType::Data, AllocUnitId(7 << 16), 4);
                    (RecordKind::Change, *txn, Some((page, Change::Format(init))))
                }
                Step::Change(txn, page) => {
                    let page = PageId::new(1, *page);
                    (
                        RecordKind::Change,
                        *txn,
                        Some((page, Change::RemoveRow { slot: 0 })),
                    )
                }
                Step::Commit(txn) => (RecordKind::Commit, *txn, None),
                Step::Abort(txn) => (RecordKind::Abort, *txn, None),
            };
            let mut redo = Vec::new();
            if let Some((page, change)) = change {
                let mut writer = ChangeWriter::new(&mut redo);
                writer.push(page, &change);
            }
            let record = Record {
                kind,
                txn: TxnId(txn),
                prev: Lsn::ZERO,
                undo: &[],
                redo: &redo,
            };
            log.append(&record).unwrap();
        }
        log.flush_all().unwrap();
        let mut coverage = Coverage::default();
        for extent in covered {
            coverage.cover(FileId(1), PageNo(extent * 8), 8);
        }
        let mut cursor = LogCursor::at_vlf(start.vlf());
        while let Some(block) = cursor.next_block(&log, log.durable()).unwrap() {
            for record in block.records() {
                coverage.record(&record, start, &mut |_| {});
            }
        }
        coverage.take_needed()
    }

    fn pages(first: u32, count: u32) -> (PageId, u32) {
        (PageId::new(1, first), count)
    }

    #[test]
    fn pages_filled_past_the_log_are_copied_once_their_transaction_goes_on() {
        use Step::{Abort, Change, Commit, Fill};
        assert_eq!(needed(&[], &[Fill(4, 80), Fill(4, 81)]), []);
        let committed = [Fill(4, 80), Fill(4, 81), Commit(4)];
        assert_eq!(needed(&[], &committed), [pages(80, 2)]);
        assert_eq!(
            needed(&[10], &committed),
            [pages(80, 2)],
            "also where copied before"
        );
        let followed = [Fill(4, 80), Change(4, 9)];
        assert_eq!(needed(&[1], &followed), [pages(80, 1)]);
        assert_eq!(needed(&[], &[Fill(4, 80), Abort(4)]), []);
        assert_eq!(needed(&[], &[Fill(4, 80), Commit(5)]), []);
    }

    #[test]
    fn a_changed_page_outside_of_the_copied_extents_is_copied_unless_the_log_rebuilds_it() {
        use Step::{Change, Format};
        assert_eq!(needed(&[1], &[Change(3, 9)]), []);
        assert_eq!(
            needed(&[], &[Change(3, 9), Change(3, 9), Change(3, 11)]).len(),
            2
        );
        assert_eq!(needed(&[], &[Format(3, 9), Change(3, 9)]), []);
        assert_eq!(needed(&[], &[Change(3, 9), Format(3, 9)]), [pages(9, 1)]);
    }
}
