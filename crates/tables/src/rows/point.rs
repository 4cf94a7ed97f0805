//! The row with a whole unique clustered key, read without a scan.
//!
//! 1. The table is locked with the intent of a scan with the same hints, and the row as such a scan locks it.
//! 2. The row is copied, and the caller takes its columns from the copy with no latch held.
//! 3. For a statement that may change the row, the lock of a row that does not qualify is given back
//!    ([`Session::pass_over_row`]), by the rules of `candidates`.

use super::RowKey;
use super::insert::key_of_values;
use crate::error::EngineError;
use crate::session::{LockHints, Session};
use crate::table::{Row, Table};
use furrow_txn::lock::{LockMode, Resource};
use furrow_types::Value;
use std::ops::Range;
use std::sync::Arc;

/// A row that was looked up.
#[derive(Debug)]
pub struct PointRow {
    /// The row's name.
    pub key: RowKey,
    /// For a row that may be changed: its lock, and the numbers of the locks that the look-up took.
    lock: Option<(Resource, Range<u64>)>,
}

impl Table {
    /// Whether an index and the number of its first columns with a known value name one row, that
    /// [`Session::look_up`] reads: the whole key of a unique clustered index.
    #[inline]
    pub fn is_point(&self, index: usize, known: usize) -> bool {
        let base = self.base();
        index == 0
            && known == base.key.len()
            && !base.uniquifier
            && !self.is_heap()
            && !base.shape().at_rest
    }
}

impl Session {
    /// Reads the row with this clustered key ([`Table::is_point`]) for a statement with these hints. `take`
    /// gets the row. READPAST is for scans: a row that is locked is waited for.
    pub fn look_up(
        &mut self,
        table: &Arc<Table>,
        key: &[Value],
        hints: LockHints,
        take: impl FnOnce(Row<'_>) -> Result<(), EngineError>,
    ) -> Result<Option<PointRow>, EngineError> {
        debug_assert!(table.is_point(0, key.len()), "the key names one row");
        debug_assert!(!hints.read_past, "only scans pass over locked rows");
        let before = self.swap_hints(self.hints_of(hints));
        let found = self.reading(|session| session.look_up_hinted(table, key, take));
        self.unswap_hints(before);
        found
    }

    fn look_up_hinted(
        &mut self,
        table: &Arc<Table>,
        key: &[Value],
        take: impl FnOnce(Row<'_>) -> Result<(), EngineError>,
    ) -> Result<Option<PointRow>, EngineError> {
        table.check_readable()?;
        let lock = self.hinted_lock();
        let reading = self.reading_mode(lock);
        let key = key_of_values(table, table.base(), key)?;
        let brief = self.lock_for_reading(table, Self::reading_intent(reading))?;
        let from = self.candidates(lock).map(|_| self.lock_mark());
        let mut bytes = std::mem::take(&mut self.read);
        let found = self.read_row(table, &key, reading, &mut bytes);
        self.give_back(brief);
        let taken = found.and_then(|found| match found {
            true => Row::new(table, table.base(), &bytes)
                .and_then(take)
                .map(|()| true),
            false => Ok(false),
        });
        // The row's name is its own key: the one that was looked for may be another text for an equal value.
        let own = table.base().locator_of(&bytes);
        self.read = bytes;
        if !taken? {
            return Ok(None);
        }
        let own = own.ok_or_else(|| EngineError::Damaged("a row has no key".to_owned()))?;
        let lock = from.map(|from| (self.row_resource(table, &key), from..self.lock_mark()));
        Ok(Some(PointRow {
            key: RowKey(own),
            lock,
        }))
    }

    /// Gives back the lock of a row that was looked up and does not qualify, unless the transaction had the
    /// lock before.
    pub fn pass_over_row(&mut self, row: PointRow) {
        if let Some((resource, taken)) = row.lock {
            let locks = &self.db.locks;
            locks.unlock_taken(&self.owner, &resource, LockMode::U, taken);
        }
    }
}
