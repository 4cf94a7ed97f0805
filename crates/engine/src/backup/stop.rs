//! Where a restore of the log stops: looked for in the log before any of it is put in place.
//!
//! # Rules
//! 1. STOPAT stops before the first commit, in the order of the log, whose time is later. A transaction that
//!    has not committed there is rolled back.
//! 2. STOPATMARK stops behind the commit of the first transaction with the mark, STOPBEFOREMARK before it.
//!    With AFTER only transactions that committed then or later count.
//! 3. A mark `lsn:` is a record of the log. Where there is none, no other one is taken for it.
//! 4. Blocks come in any order: stripes are read side by side. The first place in the log counts.

use furrow_format::Lsn;
use furrow_io::mutation::{Mutation, mutated};
use furrow_io::sync::Mutex;
use furrow_io::time::WallTime;
use furrow_log::{LogBlock, RecordKind};
use furrow_messages::Message;
use furrow_tables::EngineError;
use furrow_txn::CommitBody;

/// Where a restore stops.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StopPoint {
    /// STOPAT: what was committed by then.
    Time(WallTime),
    /// STOPATMARK and STOPBEFOREMARK.
    Mark {
        /// The name of the transaction.
        name: String,
        /// AFTER: only transactions that committed then or later.
        after: Option<WallTime>,
        /// Whether the transaction itself is restored.
        inclusive: bool,
    },
    /// A record of the log.
    Lsn {
        /// Its LSN.
        lsn: Lsn,
        /// Whether the record itself is restored.
        inclusive: bool,
    },
}

/// What was seen of the log so far.
#[derive(Debug, Default)]
struct Seen {
    /// The first record to leave out.
    stop: Option<Lsn>,
    /// The first commit without a time.
    untimed: Option<Lsn>,
}

/// A search for a stop point. Several threads may look at blocks.
#[derive(Debug)]
pub struct StopSearch {
    point: StopPoint,
    seen: Mutex<Seen>,
}

impl StopSearch {
    /// A search for this point.
    pub fn new(point: StopPoint) -> StopSearch {
        StopSearch {
            point,
            seen: Mutex::default(),
        }
    }

    /// Looks at a block of the log, as a backup has it.
    pub fn look(&self, block: &[u8]) -> Result<(), EngineError> {
        let bad = |what: &str| EngineError::Damaged(format!("{what} in the log of a backup"));
        let block = LogBlock::copied(block).ok_or_else(|| bad("a malformed block"))?;
        for record in block.records() {
            if let StopPoint::Lsn { lsn, inclusive } = self.point {
                if record.lsn == lsn {
                    self.seen.lock().stop = Some(Lsn(lsn.0 + u64::from(inclusive)));
                }
                continue;
            }
            let view = record.get();
            if view.kind == RecordKind::Commit {
                let body = CommitBody::decode(view.redo);
                self.commit(record.lsn, &body.ok_or_else(|| bad("a malformed commit"))?);
            }
        }
        Ok(())
    }

    fn commit(&self, lsn: Lsn, body: &CommitBody) {
        let mut seen = self.seen.lock();
        let earlier = |first: Option<Lsn>, lsn: Lsn| Some(first.map_or(lsn, |f| f.min(lsn)));
        match &self.point {
            StopPoint::Time(stop) => match body.at {
                Some(at) if at > *stop => seen.stop = earlier(seen.stop, lsn),
                Some(_) => {}
                None => seen.untimed = earlier(seen.untimed, lsn),
            },
            StopPoint::Mark {
                name,
                after,
                inclusive,
            } => {
                let named = |m: &furrow_txn::TxnMark| m.name.to_lowercase() == name.to_lowercase();
                let late = after.is_none_or(|after| body.at.is_some_and(|at| at >= after));
                if late && body.mark.as_ref().is_some_and(named) {
                    seen.stop = earlier(seen.stop, Lsn(lsn.0 + u64::from(*inclusive)));
                }
            }
            StopPoint::Lsn { .. } => {}
        }
    }

    /// The first record to leave out, once all of the log was looked at; `None` where it ends before that.
    pub fn found(&self, last: Lsn) -> Result<Option<Lsn>, EngineError> {
        let seen = self.seen.lock();
        // What stops behind the last record has come to its point, too.
        let stop = seen.stop.filter(|stop| *stop <= last.next());
        if seen
            .untimed
            .is_some_and(|lsn| stop.is_none_or(|stop| lsn < stop))
        {
            let text = "'RESTORE WITH STOPAT' of a log without times of commits (format 4 or older) is not \
            supported.";
            return Err(EngineError::of(Message::custom(40_514, 16, 1, text)));
        }
        Ok(match mutated(Mutation::StopLate) {
            true => stop.map(|stop| Lsn(stop.0 + 1)),
            false => stop,
        })
    }
}
