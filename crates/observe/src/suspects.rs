//! Suspect pages: what reads, checks, repairs and restores note about damaged pages, until it is written to
//! `msdb.dbo.suspect_pages`.
//!
//! A read error is noted under latches and in the middle of transactions, where no table can be written. So
//! notes wait here, in order. [`SuspectPages::fold`] says what a note makes of a row.
//!
//! # Invariants
//! 1. *Notes are in order, and at most [`MOST_NOTES`] wait*: later errors are dropped; twice as many may wait
//!    before cures are, too. Proof: `notes_are_folded_in_order_and_bounded`.
//! 2. *A cure of a page that was never suspect makes no row.* Proof: the same test.

use furrow_io::time::{Duration, Moment, WallTime};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};

/// Most rows, as in SQL Server: pages that become suspect later are not noted until rows are removed.
pub const MOST_ROWS: usize = 1000;
/// After a failure to write notes, there is no other try for so long.
const PAUSE: Duration = Duration::from_secs(5);
/// Most notes that wait.
const MOST_NOTES: usize = 2000;

/// What happened to a page: `event_type`.
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

impl SuspectEvent {
    /// Whether the page is no longer suspect by this.
    fn is_cure(self) -> bool {
        self >= SuspectEvent::Restored
    }
}

/// A page: database, file, page.
pub type Place = (u16, u16, u32);

/// What a note is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Subject {
    /// Something happened to a page.
    Page(Place, SuspectEvent),
    /// A file of a database was restored as a whole: so were its suspect pages.
    Restored(u16, u16),
    /// A database is gone, and its rows with it.
    Dropped(u16),
}

impl Subject {
    fn database(self) -> u16 {
        match self {
            Subject::Page((database, _, _), _)
            | Subject::Restored(database, _)
            | Subject::Dropped(database) => database,
        }
    }

    /// How many notes may wait with it.
    fn most(self) -> usize {
        match self {
            Subject::Page(_, event) if !event.is_cure() => MOST_NOTES,
            _ => MOST_NOTES * 2,
        }
    }

    /// Whether it is about this page.
    fn is_about(self, place: Place) -> bool {
        match self {
            Subject::Page(page, _) => page == place,
            Subject::Restored(database, file) => (database, file) == (place.0, place.1),
            Subject::Dropped(database) => database == place.0,
        }
    }
}

/// Something to write to the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Note {
    /// What happened.
    pub subject: Subject,
    /// How often, one after the other.
    pub times: u32,
    /// When last.
    pub last: WallTime,
}

/// The columns of a row that a note changes, besides the time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RowState {
    /// `event_type`.
    pub event: i32,
    /// `error_count`.
    pub count: i32,
}

/// The notes of an instance that are not yet in the table.
#[derive(Debug, Default)]
pub struct SuspectPages {
    notes: Mutex<Vec<Note>>,
    /// Whether there are notes: read after each statement.
    waiting: AtomicBool,
    /// Held by the one that writes notes, or reads the table together with them.
    turn: Mutex<()>,
    /// When notes could not be written last.
    failed: Mutex<Option<Moment>>,
}

impl SuspectPages {
    fn notes(&self) -> MutexGuard<'_, Vec<Note>> {
        // The notes are whole whatever became of a thread that had them.
        self.notes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes what happened to a page.
    pub fn note(&self, place: Place, event: SuspectEvent) {
        self.push(Subject::Page(place, event));
    }

    /// Notes that a whole file was restored.
    pub fn note_restored(&self, database: u16, file: u16) {
        self.push(Subject::Restored(database, file));
    }

    /// Notes that a database is gone: its number may be another's soon.
    pub fn note_dropped(&self, database: u16) {
        self.push(Subject::Dropped(database));
    }

    fn push(&self, subject: Subject) {
        let mut notes = self.notes();
        let last = WallTime::now();
        let of_same = |note: &&mut Note| match subject {
            Subject::Page(place, _) => note.subject.is_about(place),
            Subject::Restored(..) | Subject::Dropped(_) => {
                note.subject.database() == subject.database()
            }
        };
        if let Some(before) = notes.iter_mut().rev().find(of_same)
            && before.subject == subject
        {
            before.times = before.times.saturating_add(1);
            before.last = last;
        } else if notes.len() < subject.most() {
            let times = 1;
            notes.push(Note {
                subject,
                times,
                last,
            });
        }
        self.waiting.store(true, Ordering::Release);
    }

    /// Whether there is something to write, and it is time to try.
    pub fn is_due(&self) -> bool {
        self.waiting.load(Ordering::Acquire) && self.failed().is_none_or(|at| at.elapsed() > PAUSE)
    }

    fn failed(&self) -> Option<Moment> {
        *self.failed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes cannot be written now: the next try is after a pause.
    pub fn pause(&self) {
        *self.failed.lock().unwrap_or_else(PoisonError::into_inner) = Some(Moment::now());
    }

    /// The turn to write notes, or to read the table together with them; `None` while another has it.
    pub fn try_turn(&self) -> Option<MutexGuard<'_, ()>> {
        match self.turn.try_lock() {
            Ok(turn) => Some(turn),
            Err(TryLockError::Poisoned(turn)) => Some(turn.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    /// The same, once the other has ended.
    pub fn turn(&self) -> MutexGuard<'_, ()> {
        self.turn.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// All notes that wait.
    pub fn list(&self) -> Vec<Note> {
        self.notes().clone()
    }

    /// Forgets notes that are in the table now. The caller has had the turn since it listed them.
    pub fn written(&self, written: &[Note]) {
        let mut notes = self.notes();
        debug_assert!(notes.len() >= written.len(), "notes go by one way only");
        let mut known = written.iter();
        notes.retain_mut(|note| match known.next() {
            Some(before) => {
                debug_assert!(before.subject == note.subject, "notes stay in order");
                // It may have happened again meanwhile.
                note.times = note.times.saturating_sub(before.times);
                note.times > 0
            }
            None => true,
        });
        self.waiting.store(!notes.is_empty(), Ordering::Release);
    }

    /// What a note about a page makes of its row, or of no row.
    pub fn fold(row: Option<RowState>, note: &Note) -> Option<RowState> {
        let times = i32::try_from(note.times).unwrap_or(i32::MAX);
        let event = match note.subject {
            Subject::Dropped(_) => return None,
            Subject::Restored(..) => SuspectEvent::Restored,
            Subject::Page(_, event) => event,
        };
        let code = event as i32;
        let count = match row {
            // How often it failed before the cure stays.
            _ if event.is_cure() => row?.count,
            Some(row) if row.event == code => row.count.saturating_add(times),
            _ => times,
        };
        Some(RowState { event: code, count })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folded(pages: &SuspectPages, place: Place, row: Option<RowState>) -> Option<(i32, i32)> {
        let notes = pages.list();
        let about = notes.iter().filter(|note| note.subject.is_about(place));
        let row = about.fold(row, SuspectPages::fold);
        row.map(|row| (row.event, row.count))
    }

    #[test]
    fn notes_are_folded_in_order_and_bounded() {
        let pages = SuspectPages::default();
        let place = (5, 1, 70);
        pages.note(place, SuspectEvent::Repaired);
        assert_eq!(folded(&pages, place, None), None, "it was never suspect");
        pages.note(place, SuspectEvent::Checksum);
        pages.note((5, 1, 71), SuspectEvent::Torn);
        pages.note(place, SuspectEvent::Checksum);
        assert_eq!(pages.list().len(), 3, "the same twice is one note");
        assert_eq!(folded(&pages, place, None), Some((2, 2)));
        pages.note(place, SuspectEvent::Repaired);
        assert_eq!(folded(&pages, place, None), Some((5, 2)));
        pages.note_restored(5, 1);
        assert_eq!(folded(&pages, (5, 1, 71), None), Some((4, 1)));
        pages.note_dropped(5);
        assert_eq!(folded(&pages, place, None), None);
        for page in 0..5_000 {
            pages.note((6, 1, page), SuspectEvent::Torn);
        }
        assert_eq!(pages.list().len(), MOST_NOTES);
    }

    #[test]
    fn what_happens_while_notes_are_written_waits_for_the_next_time() {
        let pages = SuspectPages::default();
        assert!(!pages.is_due());
        pages.note((5, 1, 70), SuspectEvent::Error);
        pages.note((5, 1, 71), SuspectEvent::Error);
        let listed = pages.list();
        pages.note((5, 1, 71), SuspectEvent::Error);
        pages.note((5, 1, 72), SuspectEvent::Error);
        pages.written(&listed);
        assert!(pages.is_due());
        let left: Vec<(u32, u32)> = pages
            .list()
            .iter()
            .map(|note| match note.subject {
                Subject::Page((_, _, page), _) => (page, note.times),
                Subject::Restored(..) | Subject::Dropped(_) => (0, 0),
            })
            .collect();
        assert_eq!(left, [(71, 1), (72, 1)]);
        let listed = pages.list();
        pages.written(&listed);
        assert!(!pages.is_due() && pages.list().is_empty());
    }
}
