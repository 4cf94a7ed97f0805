//! Suspect pages: those that a read or a consistency check found damaged, and what became of them.
//!
//! As `suspect_pages` has them: one row for each page and its last event, with a count. There are 1,000 rows
//! at most; later pages are not noted, as in SQL Server, until rows are removed.

use furrow_io::time::WallTime;
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Most rows.
const MOST: usize = 1000;

/// What happened to a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum SuspectEvent {
    /// The device refused to read it, or it is not the page that its place demands.
    Error = 1,
    /// Its checksum is wrong.
    Checksum = 2,
    /// It is torn.
    Torn = 3,
    /// It was restored from a backup.
    Restored = 4,
    /// DBCC repaired it.
    Repaired = 5,
    /// DBCC deallocated it.
    Deallocated = 7,
}

/// A row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SuspectPage {
    /// The database.
    pub database: u16,
    /// The file.
    pub file: u16,
    /// The page.
    pub page: u32,
    /// What happened.
    pub event: SuspectEvent,
    /// How often.
    pub count: u32,
    /// When last.
    pub last: WallTime,
}

type Rows = BTreeMap<(u16, u16, u32), (SuspectEvent, u32, WallTime)>;

/// The suspect pages of an instance since its start.
#[derive(Debug, Default)]
pub struct SuspectPages(Mutex<Rows>);

impl SuspectPages {
    fn rows(&self) -> MutexGuard<'_, Rows> {
        // The map is whole whatever became of a thread that had it.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes an error of a page, or what repaired it. A repair of a page that is not known is not noted.
    pub fn note(&self, (database, file, page): (u16, u16, u32), event: SuspectEvent) {
        let mut rows = self.rows();
        let full = rows.len() >= MOST;
        let now = WallTime::now();
        let cured = event >= SuspectEvent::Restored;
        match rows.get_mut(&(database, file, page)) {
            Some(row) => {
                let again = row.0 == event;
                *row = (
                    event,
                    if again || cured {
                        row.1 + u32::from(again)
                    } else {
                        1
                    },
                    now,
                );
            }
            None if full || cured => {}
            None => {
                rows.insert((database, file, page), (event, 1, now));
            }
        }
    }

    /// All rows, in the order of pages.
    pub fn list(&self) -> Vec<SuspectPage> {
        let rows = self.rows();
        let row = |(&(database, file, page), &(event, count, last))| SuspectPage {
            database,
            file,
            page,
            event,
            count,
            last,
        };
        rows.iter().map(row).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_has_one_row_with_its_last_event_and_there_are_a_thousand_rows() {
        let pages = SuspectPages::default();
        pages.note((5, 1, 70), SuspectEvent::Repaired);
        assert!(pages.list().is_empty(), "a page that was never suspect");
        pages.note((5, 1, 70), SuspectEvent::Checksum);
        pages.note((5, 1, 70), SuspectEvent::Checksum);
        let row = pages.list()[0];
        assert_eq!((row.event, row.count), (SuspectEvent::Checksum, 2));
        pages.note((5, 1, 70), SuspectEvent::Repaired);
        assert_eq!(pages.list()[0].event, SuspectEvent::Repaired);
        for page in 0..2_000 {
            pages.note((6, 1, page), SuspectEvent::Torn);
        }
        assert_eq!(pages.list().len(), MOST);
    }
}
