//! The error log of an instance.

use super::file::LogFile;
use super::{Entry, Options, Source};
use furrow_io::sync::{Condvar, Mutex};
use furrow_io::time::{Duration, Moment, WallTime};
use furrow_io::{IoError, Volume};
use furrow_messages::Message;
use std::collections::VecDeque;
use std::path::Path;
use std::sync::Arc;

/// Lines that may wait for a flush.
const MOST_PENDING: usize = 10_000;

#[derive(Debug, Default)]
struct Memory {
    tail: VecDeque<Entry>,
    pending: VecDeque<Entry>,
    dropped: u64,
    closing: bool,
}

/// The error log of an instance.
#[derive(Debug)]
pub struct ErrorLog {
    options: Options,
    /// `None` for a log in memory. Taken before `memory` where both are needed.
    file: Option<Mutex<LogFile>>,
    memory: Mutex<Memory>,
    work: Condvar,
}

/// What lines to read: those that hold both texts and lie in the time span.
#[derive(Debug, Clone, Default)]
pub struct Search {
    /// A text that must be in the line, whatever the case of its letters.
    pub first: Option<String>,
    /// Another.
    pub second: Option<String>,
    /// Not before.
    pub from: Option<WallTime>,
    /// Not after.
    pub to: Option<WallTime>,
    /// The newest first.
    pub descending: bool,
}

impl Search {
    fn matches(&self, entry: &Entry) -> bool {
        let text = entry.text.to_lowercase();
        let holds = |wanted: &Option<String>| {
            wanted
                .as_ref()
                .is_none_or(|wanted| text.contains(&wanted.to_lowercase()))
        };
        holds(&self.first)
            && holds(&self.second)
            && self.from.is_none_or(|from| entry.at >= from)
            && self.to.is_none_or(|to| entry.at <= to)
    }
}

impl ErrorLog {
    /// A log that lives in memory only.
    pub fn in_memory(options: Options) -> ErrorLog {
        let log = ErrorLog {
            options,
            file: None,
            memory: Mutex::new(Memory::default()),
            work: Condvar::new(),
        };
        log.write_banner();
        log
    }

    /// The log in a directory, which is created if it is missing. An instance that starts begins a new file:
    /// the file of an earlier one is cycled first. If that fails, say on a full disk, the instance starts
    /// nevertheless: the old file is continued, and the first line gives the reason.
    pub fn open(
        volume: Arc<dyn Volume>,
        dir: &Path,
        options: Options,
    ) -> Result<ErrorLog, IoError> {
        let mut file = LogFile::open(volume, dir, options.archives, options.encoding)?;
        let cycled = if file.is_empty() {
            Ok(())
        } else {
            file.cycle()
        };
        let log = ErrorLog {
            options,
            file: Some(Mutex::new(file)),
            memory: Mutex::new(Memory::default()),
            work: Condvar::new(),
        };
        if let Err(error) = cycled {
            log.write(
                Source::Server,
                &format!("The error log could not be cycled. {error}."),
            );
        }
        log.write_banner();
        // Lines that cannot be written yet wait for the next flush.
        let _ = log.flush();
        Ok(log)
    }

    /// Writes a text, in memory; a line break in it begins another line.
    pub fn write(&self, source: Source, text: &str) {
        self.write_at(WallTime::now(), source, text);
    }

    pub(super) fn write_at(&self, at: WallTime, source: Source, text: &str) {
        let mut memory = self.memory.lock();
        for entry in Entry::split(at, source, text) {
            self.keep(&mut memory, entry);
        }
        drop(memory);
        self.work.notify_one();
    }

    /// Writes a message: errors with a line of their numbers before the text.
    pub fn write_message(&self, source: Source, message: &Message) {
        let [numbers, text] = message.log_lines();
        if message.is_error() {
            self.write(source, &format!("{numbers}\n{text}"));
        } else {
            self.write(source, &text);
        }
    }

    fn keep(&self, memory: &mut Memory, entry: Entry) {
        if self.file.is_some() {
            if memory.pending.len() >= MOST_PENDING {
                memory.pending.pop_front();
                memory.dropped += 1;
            }
            memory.pending.push_back(entry.clone());
        }
        memory.tail.push_back(entry);
        while memory.tail.len() > self.options.tail_lines {
            memory.tail.pop_front();
        }
    }

    fn write_banner(&self) {
        for line in &self.options.banner {
            self.write(Source::Server, line);
        }
    }

    /// Brings all lines written so far to the file, durably.
    pub fn flush(&self) -> Result<(), IoError> {
        match &self.file {
            Some(file) => self.flush_to(&mut file.lock()),
            None => Ok(()),
        }
    }

    fn flush_to(&self, file: &mut LogFile) -> Result<(), IoError> {
        let (mut lines, dropped) = {
            let mut memory = self.memory.lock();
            let lines: Vec<Entry> = memory.pending.drain(..).collect();
            (lines, std::mem::take(&mut memory.dropped))
        };
        if dropped > 0 {
            let text = format!("{dropped} lines could not be written and are lost.");
            lines.splice(0..0, Entry::split(WallTime::now(), Source::Server, &text));
        }
        if lines.is_empty() {
            return Ok(());
        }
        let result = file.append(&lines);
        if result.is_err() {
            let mut memory = self.memory.lock();
            lines.drain(..usize::from(dropped > 0));
            memory.dropped += dropped;
            lines
                .into_iter()
                .rev()
                .for_each(|line| memory.pending.push_front(line));
        }
        result
    }

    /// sp_cycle_errorlog: closes the current file, moves the older ones up, and begins a new one.
    pub fn cycle(&self) -> Result<(), IoError> {
        if let Some(file) = &self.file {
            let mut file = file.lock();
            self.flush_to(&mut file)?;
            file.cycle()?;
        }
        self.memory.lock().tail.clear();
        self.write(
            Source::Server,
            "The error log has been reinitialized. See the previous log for older entries.",
        );
        self.write_banner();
        self.flush()
    }

    /// The last lines, oldest first, at most `most` of them, from memory.
    pub fn tail(&self, most: usize) -> Vec<Entry> {
        let memory = self.memory.lock();
        let skip = memory.tail.len().saturating_sub(most);
        memory.tail.iter().skip(skip).cloned().collect()
    }

    /// xp_readerrorlog: the lines of a file that fit the search; 0 is the current file, 1 the one before
    /// it. `None` where there is no such file.
    pub fn read(&self, number: usize, search: &Search) -> Result<Option<Vec<Entry>>, IoError> {
        let entries = match &self.file {
            Some(file) => {
                let mut file = file.lock();
                self.flush_to(&mut file)?;
                file.read(number)?
            }
            None => (number == 0).then(|| self.tail(usize::MAX)),
        };
        Ok(entries.map(|entries| {
            let mut found: Vec<Entry> = entries.into_iter().filter(|e| search.matches(e)).collect();
            if search.descending {
                found.reverse();
            }
            found
        }))
    }

    /// Waits until lines are pending or the log is closing; returns whether it is closing.
    pub(super) fn wait_for_work(&self, at_most: Duration) -> bool {
        let mut memory = self.memory.lock();
        if memory.pending.is_empty() && !memory.closing {
            self.work.wait_for(&mut memory, at_most);
        }
        memory.closing
    }

    /// Rests for a while, new lines or not, unless it is time to end.
    pub(super) fn wait_for_closing(&self, at_most: Duration) {
        let until = Moment::now().after(at_most);
        let mut memory = self.memory.lock();
        while !memory.closing {
            let left = until.since(Moment::now());
            if left.is_zero() {
                break;
            }
            self.work.wait_for(&mut memory, left);
        }
    }

    pub(super) fn set_closing(&self, closing: bool) {
        self.memory.lock().closing = closing;
        self.work.notify_all();
    }
}
