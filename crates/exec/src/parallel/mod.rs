//! Scans that several threads do together: a plan that SQL Server shows as Parallelism (Gather Streams).
//!
//! # How it runs
//! 1. [`ParallelPlan::open`] decides whether it is worth it ([`decide`]). If not, the plan below runs as if
//!    this operator were not there.
//! 2. The session's own thread opens the scan, and with it holds the lock of the table. It starts the
//!    *helpers*: threads with a context of their own ([`helper`]).
//! 3. Each helper runs the plan below on parts of the scan, the next one when it is done with one: filter and
//!    expressions, and its part of the groups and aggregates where the plan below is an aggregate.
//! 4. The [`exchange`](exchange::Exchange) passes rows, or the finished parts of groups, to the session's
//!    thread. Both sides wait there as CXPACKET. The session's thread also waits for locks in the helpers'
//!    place: see `LockWaiter`.
//! 5. Closing the cursor ends the helpers and waits for them. Their pages, processor time and warnings are
//!    added to those of the statement.
//!
//! # Invariants
//! 1. No helper outlives its cursor (`Team::end`, an assertion in the drop).
//! 2. A row belongs to one part, so that it is given once
//!    (`a_parallel_scan_gives_what_a_serial_one_gives`, sql).
//! 3. Rows on their way take no more than [`exchange::MOST_BYTES`] and a batch for each helper.
//! 4. The first error of a helper, or of the session's thread in its place, is the statement's.
//!
//! # Order
//! Rows come in no order. [`place`](mod@place) puts this operator only where none is needed.

mod exchange;
mod helper;
mod merge;
mod place;
mod team;

pub use place::{RowOrder, place};

use crate::operator::{Cursor, Operator, Plan};
use crate::scan::ScanPlan;
use furrow_context::context::Context;
use furrow_context::error::Result;
use furrow_context::memory::Grant;
use furrow_context::server::HelperPermit;
use furrow_engine::{Division, PART_PAGES};
use furrow_io::thread::available_cpus;
use furrow_types::Value;
use std::sync::Arc;
use std::vec::IntoIter;
use team::Team;

/// Most helpers of a scan, as in SQL Server.
const MOST_HELPERS: usize = 64;

/// SQL Server's cost of a page that is read behind another one, of a row, and of the start of a scan.
const PAGE_COST: f64 = 0.000_740_74;
const ROW_COST: f64 = 0.000_001_1;
const START_COST: f64 = 0.003_282;

/// Tables of fewer rows are not looked at any closer.
const FEW_ROWS: i64 = 1_000;

/// A plan that helpers run on parts of its scan.
#[derive(Debug)]
pub struct ParallelPlan {
    /// What each of them runs: expressions and conditions on the rows of the scan, below an aggregate or not.
    pub input: Plan,
    /// The scan in it.
    pub scan: Arc<ScanPlan>,
    /// The hint MAXDOP: 0 for as many helpers as there are processors, `None` for what the server's option
    /// says.
    pub max_dop: Option<u32>,
}

/// What a scan is done with.
struct Decided {
    division: Division,
    permit: HelperPermit,
}

impl ParallelPlan {
    pub(crate) fn open<'p>(self: &'p Arc<Self>, cx: &mut Context) -> Result<Cursor<'p>> {
        let Some(decided) = self.decide(cx)? else {
            return self.input.open(cx);
        };
        // Memory for rows on their way.
        let mut grant = Grant::new(&cx.memory);
        if grant.take(exchange::MOST_BYTES).is_err() {
            grant.give_all_back();
            return self.input.open(cx);
        }
        let Some(team) = Team::start(self, decided, cx)? else {
            return self.input.open(cx);
        };
        match &self.input {
            Plan::Aggregate(aggregate) => merge::merged(aggregate, team, cx),
            _ => Ok(Cursor::new(Gather {
                team,
                batch: Vec::new().into_iter(),
                _grant: grant,
            })),
        }
    }

    /// Whether helpers are to do it, and how many. The estimate is SQL Server's for a scan, of the pages that
    /// the range has now.
    fn decide(&self, cx: &mut Context) -> Result<Option<Decided>> {
        let table = &self.scan.table;
        if table.row_count() < FEW_ROWS
            || cx.capturing.is_some()
            || cx.division.is_some()
            || cx.sessions.is_table_variable(table.name())
            || cx.has_long_values()
        {
            return Ok(None);
        }
        let wanted = match self.max_dop.unwrap_or(cx.server.configuration().max_dop()) {
            0 => available_cpus(),
            most => most as usize,
        };
        if wanted < 2 {
            return Ok(None);
        }
        let mut specs = self.scan.specs(cx)?.into_iter();
        let (Some(spec), None) = (specs.next(), specs.next()) else {
            return Ok(None);
        };
        let session = cx.sessions.by_table(self.scan.db, table)?;
        let Some(division) = session.division(table, &spec)? else {
            return Ok(None);
        };
        let rows = table.row_count() as f64 * division.share;
        let cost = START_COST + division.pages * PAGE_COST + rows * ROW_COST;
        if cost <= f64::from(cx.server.configuration().cost_threshold()) {
            return Ok(None);
        }
        let parts = (division.pages / f64::from(PART_PAGES)).ceil() as usize;
        let wanted = wanted.min(MOST_HELPERS).min(parts);
        let permit = match wanted {
            0 | 1 => None,
            wanted => cx.server.permit_helpers(wanted),
        };
        Ok(permit.map(|permit| Decided { division, permit }))
    }
}

/// Rows that come from helpers.
struct Gather {
    team: Team,
    batch: IntoIter<Vec<Value>>,
    _grant: Grant,
}

impl Operator for Gather {
    fn next(&mut self, cx: &mut Context, out: &mut Vec<Value>) -> Result<bool> {
        loop {
            if let Some(row) = self.batch.next() {
                *out = row;
                return Ok(true);
            }
            match self.team.receive(cx)? {
                Some(exchange::Batch::Rows(rows)) => self.batch = rows.into_iter(),
                Some(exchange::Batch::Groups(_)) => {}
                None => return Ok(false),
            }
        }
    }

    fn close(&mut self, cx: &mut Context) {
        self.team.end(cx);
    }
}
