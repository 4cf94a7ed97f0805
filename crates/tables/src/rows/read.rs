//! Reading single rows by key.

use super::RowKey;
use super::insert::key_of_values;
use super::lock_waits::LockWaits;
use super::pages::{Keep, PageAsk};
use super::reading::{Reading, mode_of_row};
use crate::error::{EngineError, refuse};
use crate::session::{ReadLock, ScanSpec, Session};
use crate::table::{Row, Table};
use furrow_access::Key;
use furrow_txn::lock::{Granted, LockMode, Resource};
use furrow_types::Value;
use std::sync::Arc;

/// What a look at a row came to.
enum Seen {
    Copied,
    /// There is no row, or it is a ghost.
    Absent,
    /// Its lock, or its page's, has to be waited for.
    Locked,
}

impl Session {
    /// Reads the row whose clustered key is `key`, all its columns; of a heap, or where the clustered key
    /// is not unique, the row with this primary key.
    pub fn get<'a>(
        &'a mut self,
        table: &'a Arc<Table>,
        key: &[Value],
    ) -> Result<Option<Row<'a>>, EngineError> {
        table.check_readable()?;
        let base = table.base();
        if let Some(at) = table.lookup_index().filter(|&at| at > 0) {
            return self.get_through(table, at, key);
        }
        if base.uniquifier || table.is_heap() || key.len() != base.key.len() {
            let text = format!(
                "A row of '{}' is read by its whole unique clustered key.",
                table.name
            );
            return Err(refuse(40514, 16, 2, &text));
        }
        let key = key_of_values(table, base, key)?;
        self.get_by_key(table, &key)
    }

    /// Reads a row by the whole key of a unique nonclustered index.
    fn get_through<'a>(
        &'a mut self,
        table: &'a Arc<Table>,
        index: usize,
        key: &[Value],
    ) -> Result<Option<Row<'a>>, EngineError> {
        self.whole_key(table, index, key)?;
        let mut scan = self.scan(table, &ScanSpec::equal(index, key.to_vec()))?;
        let found = scan.next_row()?.is_some();
        let bytes = scan.take_row();
        drop(scan);
        if !found {
            return Ok(None);
        }
        self.read = bytes;
        Row::new(table, table.base(), &self.read).map(Some)
    }

    fn whole_key(&self, table: &Table, index: usize, key: &[Value]) -> Result<(), EngineError> {
        let columns = table.indexes.get(index).map_or(0, |i| i.key.len());
        if key.len() == columns {
            return Ok(());
        }
        let text = format!("A row of '{}' is read by its whole unique key.", table.name);
        Err(refuse(40514, 16, 5, &text))
    }

    /// Names the row with this unique clustered key; of a heap, or where the clustered key is not unique, the
    /// row with this primary key, which is locked U until the transaction ends.
    pub fn find_row(
        &mut self,
        table: &Arc<Table>,
        key: &[Value],
    ) -> Result<Option<RowKey>, EngineError> {
        let Some(index) = table.lookup_index().filter(|&at| at > 0) else {
            return table.row_key(key).map(Some);
        };
        self.whole_key(table, index, key)?;
        let spec = ScanSpec {
            lock: ReadLock::Update,
            covered: true,
            ..ScanSpec::equal(index, key.to_vec())
        };
        let mut scan = self.scan(table, &spec)?;
        match scan.next_row()?.is_some() {
            true => Ok(scan.row_key()),
            false => Ok(None),
        }
    }

    /// Reads the row with this name, all its columns.
    pub fn get_row<'a>(
        &'a mut self,
        table: &'a Arc<Table>,
        key: &RowKey,
    ) -> Result<Option<Row<'a>>, EngineError> {
        self.get_by_key(table, &key.0)
    }

    fn get_by_key<'a>(
        &'a mut self,
        table: &'a Arc<Table>,
        key: &Key,
    ) -> Result<Option<Row<'a>>, EngineError> {
        let found = self.reading(|session| {
            let reading = session.reading_mode(session.hinted_lock());
            let brief = session.lock_for_reading(table, Self::reading_intent(reading))?;
            let mut bytes = std::mem::take(&mut session.read);
            let found = session.read_row(table, key, reading, &mut bytes);
            session.read = bytes;
            session.give_back(brief);
            found
        })?;
        match found {
            true => Row::new(table, table.base(), &self.read).map(Some),
            false => Ok(None),
        }
    }

    /// Copies a row of the clustered index, under the locks that `reading` requires.
    pub(super) fn read_row(
        &mut self,
        table: &Arc<Table>,
        key: &Key,
        reading: Reading,
        out: &mut Vec<u8>,
    ) -> Result<bool, EngineError> {
        let resource = self.row_resource(table, key);
        match reading {
            Reading::Dirty => self.copy_row(table, key, out),
            Reading::Committed => self.read_committed(table, key, resource, out),
            Reading::Kept(mode) => {
                if self.approach(table, table.base(), key, mode)? {
                    return self.copy_row(table, key, out);
                }
                let granted = self.lock_row(table, resource, mode)?;
                let found = self.copy_locked(table, key, mode, out)?;
                if !found && granted == Granted::New {
                    self.db.locks.unlock(&self.owner, &resource);
                }
                Ok(found)
            }
            Reading::Range(mode) if table.is_heap() => {
                let plain = mode_of_row(mode);
                self.approach(table, table.base(), key, plain)?;
                let granted = self.lock_row(table, resource, plain)?;
                let found = self.copy_locked(table, key, plain, out)?;
                if found || granted != Granted::New {
                    return Ok(found);
                }
                // Only the lock of the whole table keeps other sessions from inserting a row at this
                // address.
                self.db.locks.unlock(&self.owner, &resource);
                self.lock_table(table, plain)?;
                self.copy_row(table, key, out)
            }
            Reading::Range(mode) => self.read_guarded(table, key, mode, out),
        }
    }

    /// Copies a row of a tree, or guards its absence.
    fn read_guarded(
        &mut self,
        table: &Arc<Table>,
        key: &Key,
        mode: LockMode,
        out: &mut Vec<u8>,
    ) -> Result<bool, EngineError> {
        let (resource, plain) = (self.row_resource(table, key), mode_of_row(mode));
        self.approach(table, table.base(), key, plain)?;
        let granted = self.lock_row(table, resource, plain)?;
        let found = self.copy_locked(table, key, plain, out)?;
        if !found {
            if granted == Granted::New {
                self.db.locks.unlock(&self.owner, &resource);
            }
            // The absence of the row must be repeatable: the gap is locked, and read again.
            self.guard_absence(table, table.base(), key, mode)?;
            return self.copy_locked(table, key, plain, out);
        }
        Ok(true)
    }

    /// Copies a row whose lock is held, once the page where it is, or would be, has the intent that goes with
    /// it.
    pub(super) fn copy_locked(
        &mut self,
        table: &Table,
        key: &Key,
        mode: LockMode,
        out: &mut Vec<u8>,
    ) -> Result<bool, EngineError> {
        let base = table.base();
        let mut waits = LockWaits::default();
        loop {
            let (found, blocked, left) = {
                let pages = PageAsk::new(self, table, base, (mode, Keep::Held)).of_rows();
                let pages = pages.of_look(&waits);
                let found = base.rowset.look(key, |page, row| {
                    let free = pages.may_at(page);
                    if let Some(row) = row.filter(|_| free) {
                        out.clear();
                        out.extend_from_slice(row);
                    }
                    free.then_some(row.is_some())
                });
                (found, pages.blocked.take(), pages.left())
            };
            waits.end_look(self, left);
            match found? {
                Some(found) => return Ok(found),
                None => waits.wait(self, table, blocked)?,
            }
        }
    }

    fn copy_row(&self, table: &Table, key: &Key, out: &mut Vec<u8>) -> Result<bool, EngineError> {
        let copied = table.base().rowset.get(key, |row| {
            out.clear();
            out.extend_from_slice(row);
        })?;
        Ok(copied.is_some())
    }

    /// Reads a row that is committed: the lock is tested under the latch. A row that is not there may
    /// be one deleted and not committed: then its lock is really taken for a moment.
    fn read_committed(
        &mut self,
        table: &Arc<Table>,
        key: &Key,
        resource: Resource,
        out: &mut Vec<u8>,
    ) -> Result<bool, EngineError> {
        let mut waits = LockWaits::default();
        loop {
            let (copied, blocked) = {
                let base = table.base();
                let pages = PageAsk::new(self, table, base, (LockMode::S, Keep::Tested));
                let pages = pages.of_look(&waits);
                let copied = base.rowset.look(key, |page, row| match row {
                    _ if !pages.may_at(page) => Seen::Locked,
                    None => Seen::Absent,
                    Some(row) => match pages.test(resource, LockMode::S) {
                        true => {
                            out.clear();
                            out.extend_from_slice(row);
                            Seen::Copied
                        }
                        false => Seen::Locked,
                    },
                });
                (copied, pages.blocked.take())
            };
            waits.release(self);
            match copied? {
                Seen::Copied => return Ok(true),
                Seen::Locked => waits.wait(self, table, blocked)?,
                Seen::Absent => {
                    let granted = self.lock_row(table, resource, LockMode::S)?;
                    let found = self.copy_row(table, key, out);
                    if granted == Granted::New {
                        self.db.locks.unlock(&self.owner, &resource);
                    }
                    return found;
                }
            }
        }
    }
}
