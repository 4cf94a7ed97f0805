//! The tables of the order-entry load in the databases, and what reports over them have to give.

use super::options::Options;
use super::queries::Query;
use crate::targets::{Target, Value};
use crate::workloads::order_entry::conditions::{self, Moment};
use crate::workloads::order_entry::{self as order_entry, HotRows, Population};
use crate::workloads::place::failed;
use crate::workloads::prepared::session_in;
use furrow_lab::experiment::{RunContext, StepError};
use std::sync::atomic::AtomicBool;

/// The tables have the same rows in every database of every experiment.
pub(super) const SEED: u64 = 0x5CA_5EED;

/// What each report gives in the first database.
#[derive(Debug, Default)]
pub(super) struct Reports {
    answers: Vec<(Query, Vec<Vec<Value>>)>,
}

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
        let reports = options.queries.iter().filter(|query| query.is_report());
        for &query in reports.filter(|_| is_first) {
            let reply = session.batch(query.text()).map_err(failed)?;
            self.answers.push((query, reply.rows));
        }
        Ok(())
    }

    /// Fails where a report gives something else than in the first database; after users have changed the
    /// tables, where their conditions do not hold.
    pub(super) fn check(
        &self,
        target: &dyn Target,
        database: &str,
        query: Query,
        options: &Options,
    ) -> Result<(), StepError> {
        if options.beside > 0 {
            let broken = conditions::broken(target, database, options.scale, Moment::Run);
            let broken = broken.map_err(failed)?;
            return if broken.is_empty() {
                Ok(())
            } else {
                Err(StepError::Failed(broken.join("; ")))
            };
        }
        let Some((_, rows)) = self.answers.iter().find(|(of, _)| *of == query) else {
            return Ok(());
        };
        let mut session = session_in(target, database).map_err(failed)?;
        let reply = session.batch(query.text()).map_err(failed)?;
        if reply.rows == *rows {
            return Ok(());
        }
        Err(StepError::Failed(format!(
            "the report {} differs from that of the first database",
            query.word()
        )))
    }
}
