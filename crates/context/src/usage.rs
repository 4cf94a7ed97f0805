//! How often indexes are used: `sys.dm_db_index_usage_stats`.
//!
//! As in SQL Server, an execution of a statement counts once for each access path in its plan, however often
//! the path is used, and once for each index that it updates. The figures are in memory while their database
//! is open; those of a dropped index are removed with it. `tempdb` is not counted: its tables are created and
//! dropped with every connection. An instance that was started with trace flag 2330 counts nothing.

use crate::system_databases::TEMPDB;
use furrow_engine::{Database, Index, Table};
use furrow_io::time::WallTime;
use furrow_observe::traceflags::{TraceFlag, TraceFlags};
use parking_lot::RwLock;
use std::collections::HashMap;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Weak};

/// The kinds of use of an index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Use {
    /// Rows are looked up by their keys.
    Seek,
    /// It is read from one end.
    Scan,
    /// Rows that were found in another index are fetched.
    Lookup,
    /// Rows are inserted, changed or deleted.
    Update,
}

/// An index: the numbers of its database, its table and the index.
pub type IndexName = (u16, i32, i32);

/// Count, and time of the last use in microseconds since 1970.
#[derive(Debug, Default)]
struct Count {
    times: AtomicU64,
    last_us: AtomicI64,
}

#[derive(Debug)]
struct IndexUse {
    database: Weak<Database>,
    counts: [Count; 4],
}

/// Count, and time of the last use.
pub type Counted = (u64, Option<WallTime>);

/// The counts of an index by kind of use: seeks, scans, lookups, updates.
#[derive(Debug)]
pub struct UsageView {
    /// The index.
    pub index: IndexName,
    /// Seeks, scans, lookups, updates.
    pub counts: [Counted; 4],
}

/// The counts of all indexes.
#[derive(Debug)]
pub struct Usage {
    /// Whether uses are counted: not under trace flag 2330 at the start of the instance.
    counts: bool,
    all: RwLock<HashMap<IndexName, IndexUse>>,
}

/// The identification of an index in this module.
pub fn name_of(database: u16, table: &Table, index: &Index) -> IndexName {
    let id = i32::try_from(index.id()).unwrap_or(i32::MAX);
    (database, table.id().0, id)
}

impl Usage {
    /// No counts yet.
    pub fn new(flags: &TraceFlags) -> Usage {
        Usage {
            counts: !flags.is_on_globally(TraceFlag::NO_INDEX_USAGE),
            all: RwLock::default(),
        }
    }

    /// Counts a use of an index by a statement that began at this time.
    pub(crate) fn count(
        &self,
        database: &Arc<Database>,
        index: IndexName,
        what: Use,
        began: WallTime,
    ) {
        if !self.counts {
            return;
        }
        let own = |known: &IndexUse| std::ptr::eq(known.database.as_ptr(), Arc::as_ptr(database));
        {
            let all = self.all.read();
            if let Some(known) = all.get(&index).filter(|known| own(known)) {
                known.note(what, began);
                return;
            }
        }
        if database.name().eq_ignore_ascii_case(TEMPDB) {
            return;
        }
        let new = IndexUse {
            database: Arc::downgrade(database),
            counts: Default::default(),
        };
        new.note(what, began);
        self.all.write().insert(index, new);
    }

    /// Removes the counts of dropped indexes: one index of a table, or all of them.
    pub fn forget(&self, database: u16, table: i32, index: Option<i32>) {
        let mut all = self.all.write();
        all.retain(|&(d, t, i), _| {
            (d, t) != (database, table) || index.is_some_and(|index| index != i)
        });
    }

    /// The counts of the indexes of open databases; `is_open` says whether a database is.
    pub fn view(&self, is_open: impl Fn(&Arc<Database>) -> bool) -> Vec<UsageView> {
        let all = self.all.read();
        let open = |known: &&IndexUse| known.database.upgrade().is_some_and(|db| is_open(&db));
        let mut rows: Vec<UsageView> = all
            .iter()
            .filter(|(_, known)| open(known))
            .map(|(index, known)| UsageView {
                index: *index,
                counts: known.counts.each_ref().map(Count::get),
            })
            .collect();
        rows.sort_by_key(|row| row.index);
        rows
    }
}

impl IndexUse {
    fn note(&self, what: Use, began: WallTime) {
        if let Some(count) = self.counts.get(what as usize) {
            count.times.fetch_add(1, Ordering::Relaxed);
            count.last_us.store(began.unix_us(), Ordering::Relaxed);
        }
    }
}

impl Count {
    fn get(&self) -> Counted {
        let times = self.times.load(Ordering::Relaxed);
        let last = WallTime::from_unix_us(self.last_us.load(Ordering::Relaxed));
        (times, (times > 0).then_some(last))
    }
}
