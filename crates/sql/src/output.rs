//! What a batch gives to its client, behind the commits that it depends on.
//!
//! A transaction may have changed a row whose last change is committed and not durable yet: it *follows* that
//! commit (`furrow_engine::Followed`). Before anything that may depend on it leaves to the client, the log is
//! flushed. The end of a statement is held back instead, because it usually comes before a COMMIT that
//! flushes the log anyway.

use furrow_context::error::SqlError;
use furrow_context::sink::{BatchEnd, Notice, ResultColumn, Sink};
use furrow_engine::Followed;
use furrow_types::Value;
use std::sync::Arc;

/// Ends of statements that are held back at most.
const MOST_HELD: usize = 1_000;

/// The client of a batch under way.
pub(crate) struct Output<'a> {
    sink: &'a mut dyn Sink,
    followed: Arc<Followed>,
    /// Counts of statements that have ended and were not given to the client.
    held: Vec<Option<u64>>,
    /// Why a commit that results depend on cannot become durable: nothing is given to the client any more.
    failed: Option<Box<SqlError>>,
}

impl<'a> Output<'a> {
    pub(crate) fn new(sink: &'a mut dyn Sink, followed: &Arc<Followed>) -> Output<'a> {
        followed.rearm();
        Output {
            sink,
            followed: Arc::clone(followed),
            held: Vec::new(),
            failed: None,
        }
    }

    /// The client, once all that was produced before may be given to it. `None` if it must never be.
    #[inline]
    fn ready(&mut self) -> Option<&mut dyn Sink> {
        if self.followed.is_any() || !self.held.is_empty() || self.failed.is_some() {
            self.settle();
        }
        match self.failed {
            None => Some(self.sink),
            Some(_) => None,
        }
    }

    #[cold]
    fn settle(&mut self) {
        if self.failed.is_some() {
            return;
        }
        match self.followed.settle() {
            Ok(()) => self.held.drain(..).for_each(|rows| self.sink.done(rows)),
            Err(error) => self.failed = Some(error.into()),
        }
        debug_assert!(self.failed.is_some() || !self.followed.is_any());
    }

    /// The batch has ended so: gives the rest to the client, or the error.
    pub(crate) fn finish(mut self, end: &mut BatchEnd) {
        self.ready();
        for message in self.failed.iter().flat_map(|error| &error.messages) {
            end.worst_level = end.worst_level.max(message.level);
            self.sink.notice(&Notice {
                message: message.clone(),
                procedure: None,
            });
        }
    }
}

impl Sink for Output<'_> {
    fn columns(&mut self, columns: &[ResultColumn]) {
        if let Some(client) = self.ready() {
            client.columns(columns);
        }
    }

    fn row(&mut self, row: &[Value]) {
        if let Some(client) = self.ready() {
            client.row(row);
        }
    }

    fn done(&mut self, rows: Option<u64>) {
        if self.held.len() < MOST_HELD && self.followed.is_any() {
            self.held.push(rows);
        } else if let Some(client) = self.ready() {
            client.done(rows);
        }
    }

    fn notice(&mut self, notice: &Notice) {
        if let Some(client) = self.ready() {
            client.notice(notice);
        }
    }
}
