//! A journal together with its history so far: every event goes to the disk first, then into the history.

use super::{Clock, Event, History, Journal, JournalError, Line, State};
use furrow_io::Volume;
use std::path::Path;
use std::sync::Arc;

/// The journal in use.
#[derive(Debug)]
pub struct Log {
    journal: Journal,
    history: History,
    clock: Arc<dyn Clock>,
    /// How far the clock lies behind the last session, if it was set back.
    behind_us: i64,
}

impl Log {
    /// A new journal in `dir`, begun by `first`, which must be the plan.
    pub fn create(
        volume: &Arc<dyn Volume>,
        dir: &Path,
        clock: Arc<dyn Clock>,
        first: Event,
    ) -> Result<Log, JournalError> {
        let at_us = clock.now_us();
        let line = Line {
            seq: 1,
            at_us,
            event: first,
        };
        let history = History::of(dir, std::slice::from_ref(&line))?;
        let mut journal = Journal::create(volume, dir)?;
        journal.append(at_us, line.event)?;
        Ok(Log {
            journal,
            history,
            clock,
            behind_us: 0,
        })
    }

    /// The journal in `dir`, to be continued.
    pub fn open(
        volume: &Arc<dyn Volume>,
        dir: &Path,
        clock: Arc<dyn Clock>,
    ) -> Result<Log, JournalError> {
        let (journal, lines) = Journal::open(volume, dir)?;
        let history = History::of(&dir.join(super::FILE_NAME), &lines)?;
        let behind_us = (history.last_us - clock.now_us()).max(0);
        Ok(Log {
            journal,
            history,
            clock,
            behind_us,
        })
    }

    /// Writes an event, durably, and takes it into the story.
    pub fn append(&mut self, event: Event) -> Result<(), JournalError> {
        let at_us = self.now_us();
        let event = self.journal.append(at_us, event)?;
        self.history.take(at_us, &event);
        Ok(())
    }

    /// A run enters a state.
    pub fn step(&mut self, run: u32, state: State) -> Result<(), JournalError> {
        self.append(Event::Step { run, state })
    }

    /// Now; never before the last event: a clock that was set back between two sessions is continued from the
    /// time of the journal.
    pub fn now_us(&self) -> i64 {
        self.clock.now_us() + self.behind_us
    }

    /// The history so far.
    pub fn history(&self) -> &History {
        &self.history
    }

    /// An error when the file was deleted or replaced.
    pub fn check_in_place(&self, volume: &dyn Volume) -> Result<(), JournalError> {
        self.journal.check_in_place(volume)
    }

    /// Cuts the padding off the file.
    pub fn trim(&mut self) -> Result<(), JournalError> {
        self.journal.trim()
    }
}
