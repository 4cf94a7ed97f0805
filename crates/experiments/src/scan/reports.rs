//! The tables of the order-entry load in the databases, and what reports over them have to give.

use super::options::Options;
use super::queries::Query;
use crate::targets::{Target, Value};
use crate::workloads::order_entry::conditions::{self, Moment};
use crate::workloads::order_entry::{self as order_entry, HotRows, Population};
use crate::workloads::place::{failed, wrong};
use crate::workloads::prepared::session_in;
use furrow_lab::experiment::{RunContext, StepError};
use std::sync::atomic::AtomicBool;

/// The tables have the same rows in every database of every experiment.
pub(super) const SEED: u64 = 0x5CA_5EED;

/// What each report gives in the first database.
#[derive(Debug, Default)]
pub(super) struct Reports {
    answers: Vec<(Query, Vec<Vec<Value>>)>,
    /// Bytes of the order lines, all of which each report reads.
    line_bytes: u64,
}

/// Pages of the order lines.
const LINE_PAGES: &str = "SELECT SUM(used_page_count) FROM sys.dm_db_partition_stats \
                          WHERE object_id = OBJECT_ID(N'dbo.order_line') AND index_id IN (0, 1);";

pub(super) fn population(options: &Options) -> Population {
    Population::new(options.scale, SEED)
}

impl Reports {
    /// Loads the tables; the first database gives the answers that the others have to give.
    pub(super) fn fill(
        &mut self,
        target: &dyn Target,
        database: &str,
        options: &Options,
        context: &mut RunContext<'_>,
    ) -> Result<(), StepError> {
        let cancel = context.cancel_flag();
        let mut live = |share: f64| context.live_share(share);
        self.load(target, database, options, (cancel, &mut live))
    }

    pub(super) fn load(
        &mut self,
        target: &dyn Target,
        database: &str,
        options: &Options,
        (cancel, live): (&AtomicBool, &mut dyn FnMut(f64)),
    ) -> Result<(), StepError> {
        let population = population(options);
        order_entry::load(target, database, &population, HotRows::Packed, cancel, live)?;
        let mut session = session_in(target, database).map_err(failed)?;
        session.batch("CHECKPOINT;").map_err(failed)?;
        let is_first = self.answers.is_empty();
        if is_first {
            let pages = session.batch(LINE_PAGES).map_err(failed)?;
            self.line_bytes = pages.scalar().map_or(0, Value::count) * 8192;
        }
        let reports = options.queries.iter().filter(|query| query.is_report());
        for &query in reports.filter(|_| is_first) {
            let reply = session.batch(&query.text_at(1)).map_err(failed)?;
            self.answers.push((query, reply.rows));
        }
        Ok(())
    }

    /// Bytes that a cold report reads at least.
    pub(super) fn cold_bytes(&self) -> u64 {
        (self.line_bytes / 10 * 9).max(1)
    }

    /// Fails where a report gave something else than in the first database.
    pub(super) fn check(&self, query: Query, rows: &[Vec<Value>]) -> Result<(), StepError> {
        let wanted = self.answers.iter().find(|(of, _)| *of == query);
        if wanted.is_none_or(|(_, wanted)| wanted == rows) {
            return Ok(());
        }
        Err(StepError::Violation(format!(
            "the report {} differs from that of the first database",
            query.word()
        )))
    }
}

/// Fails where the consistency conditions do not hold after users have changed the tables.
pub(super) fn check_conditions(
    target: &dyn Target,
    database: &str,
    options: &Options,
) -> Result<(), StepError> {
    let broken = conditions::broken(target, database, options.scale, Moment::Any);
    let broken = broken.map_err(wrong)?;
    match broken.is_empty() {
        true => Ok(()),
        false => Err(StepError::Violation(broken.join("; "))),
    }
}
