//! What holds the log back besides recovery: backups under way, and the next log backup.
//!
//! # Invariant
//! The log from the smallest held position on is not truncated. Entering a hold and truncating the log take
//! one lock. So if the log has a position when its hold is entered, the log keeps it.

use furrow_format::Lsn;
use furrow_io::sync::Mutex;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

#[derive(Debug, Default)]
struct Held {
    next: u64,
    backups: BTreeMap<u64, Lsn>,
    log_backup: Option<Lsn>,
}

impl Held {
    fn oldest(&self) -> Lsn {
        let backups = self.backups.values().copied();
        backups.chain(self.log_backup).min().unwrap_or(Lsn::MAX)
    }
}

/// The positions from which on backups need the log.
#[derive(Debug, Default)]
pub struct LogHolds {
    held: Mutex<Held>,
}

impl LogHolds {
    /// Holds the log from the position that `from` returns until the hold is dropped.
    pub fn hold(self: &Arc<Self>, from: impl FnOnce() -> Lsn) -> LogHold {
        let mut held = self.held.lock();
        let id = held.next;
        held.next += 1;
        let from = from();
        let before = held.backups.insert(id, from);
        debug_assert!(before.is_none(), "a hold has a number of its own");
        debug_assert!(
            held.oldest() <= from,
            "the log from a hold on is not let go"
        );
        LogHold {
            holds: Arc::clone(self),
            id,
            from,
        }
    }

    /// Sets from where the next log backup needs the log; `None` where no log backup is expected.
    pub fn set_log_backup(&self, from: Option<Lsn>) {
        self.held.lock().log_backup = from;
    }

    /// From where the next log backup needs the log.
    pub fn log_backup(&self) -> Option<Lsn> {
        self.held.lock().log_backup
    }

    /// The oldest position that a backup under way needs.
    pub fn backup(&self) -> Option<Lsn> {
        self.held.lock().backups.values().copied().min()
    }

    /// The smallest position held; `Lsn::MAX` where none is.
    pub fn oldest(&self) -> Lsn {
        self.held.lock().oldest()
    }

    /// Does `cut` with the smallest position held, while none is entered.
    pub fn while_held<T>(&self, cut: impl FnOnce(Lsn) -> T) -> T {
        let held = self.held.lock();
        cut(held.oldest())
    }
}

/// The log is held from a position on until this is dropped.
pub struct LogHold {
    holds: Arc<LogHolds>,
    id: u64,
    from: Lsn,
}

impl fmt::Debug for LogHold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LogHold")
            .field("from", &self.from)
            .finish_non_exhaustive()
    }
}

impl LogHold {
    /// The position.
    pub fn from(&self) -> Lsn {
        self.from
    }
}

impl Drop for LogHold {
    fn drop(&mut self) {
        let held = self.holds.held.lock().backups.remove(&self.id);
        debug_assert_eq!(held, Some(self.from), "a hold ends once");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_of_all_holds_counts_until_it_is_dropped() {
        let holds = Arc::new(LogHolds::default());
        assert_eq!(holds.oldest(), Lsn::MAX);
        let first = holds.hold(|| Lsn(50));
        let second = holds.hold(|| Lsn(40));
        holds.set_log_backup(Some(Lsn(45)));
        assert_eq!((holds.oldest(), holds.backup()), (Lsn(40), Some(Lsn(40))));
        drop(second);
        assert_eq!((holds.oldest(), first.from()), (Lsn(45), Lsn(50)));
        holds.set_log_backup(None);
        assert_eq!(holds.while_held(|held| held), Lsn(50));
        drop(first);
        assert_eq!(holds.oldest(), Lsn::MAX);
    }
}
