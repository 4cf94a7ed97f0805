//! The load: each session is a terminal that deals itself transactions and runs them.

use super::audit::Asked;
use super::calls::{Calls, Form};
use super::churn::Churn;
use super::population::Population;
use super::procedures::{self, DEADLOCK, TRIES};
use super::random::Kind;
use super::requests::{Request, Requests};
use super::statements::Statements;
use crate::targets::{Session, Target, TargetError};
use crate::workloads::load::{Job, Piece, Work};
use crate::workloads::prepared::session_in;
use furrow_io::time::Duration;
use furrow_lab::experiment::{StepError, latency_of, new_histogram};
use furrow_lab::results::Latency;
use hdrhistogram::Histogram;
use parking_lot::Mutex;
use std::sync::Arc;

/// How transactions reach the engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Calling {
    /// As stored procedures: one request each.
    Procedures,
    /// As plain statements.
    Statements,
}

impl Calling {
    /// As it is written.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Calling::Procedures => "procedures",
            Calling::Statements => "statements",
        }
    }

    /// From the word.
    pub(crate) fn parse(text: &str) -> Result<Calling, String> {
        let mut all = [Calling::Procedures, Calling::Statements].into_iter();
        let found = all.find(|calling| calling.word() == text);
        found.ok_or_else(|| "write procedures or statements".to_owned())
    }
}

/// What the sessions of a run share: counts and latencies. One for all sessions, so that its size does not
/// depend on how many they are.
#[derive(Debug)]
struct Ledger {
    asked: Asked,
    latencies: Vec<Histogram<u64>>,
}

/// The load of one run.
#[derive(Debug)]
pub(crate) struct OrderEntry {
    population: Population,
    calling: Calling,
    churn: Churn,
    has_pauses: bool,
    seed: u64,
    ledger: Arc<Mutex<Ledger>>,
}

/// How a run calls its transactions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Manner {
    /// Procedures or statements.
    pub(crate) calling: Calling,
    /// Whether transactions make tables.
    pub(crate) churn: Churn,
    /// Whether sessions key in and think.
    pub(crate) has_pauses: bool,
}

impl OrderEntry {
    /// The load in a database that was loaded so; `seed` is that of the run's inputs. Makes the procedures.
    pub(crate) fn new(
        target: &dyn Target,
        database: &str,
        population: Population,
        manner: Manner,
        seed: u64,
    ) -> Result<OrderEntry, StepError> {
        if manner.calling == Calling::Procedures {
            let session = session_in(target, database);
            let made =
                session.and_then(|mut session| procedures::create(session.as_mut(), manner.churn));
            made.map_err(|e| StepError::Failed(e.full()))?;
        }
        let histograms: Result<Vec<_>, _> = Kind::ALL.iter().map(|_| new_histogram()).collect();
        let latencies = histograms.map_err(|e| StepError::Failed(e.to_string()))?;
        Ok(OrderEntry {
            population,
            calling: manner.calling,
            churn: manner.churn,
            has_pauses: manner.has_pauses,
            seed,
            ledger: Arc::new(Mutex::new(Ledger {
                asked: Asked::default(),
                latencies,
            })),
        })
    }

    /// What was asked, as counted so far.
    pub(crate) fn asked(&self) -> Asked {
        self.ledger.lock().asked.clone()
    }

    /// Latencies by kind of transaction, those that did not occur left out.
    pub(crate) fn latencies(&self) -> Vec<Latency> {
        let ledger = self.ledger.lock();
        let kinds = Kind::ALL.iter().zip(&ledger.latencies);
        let kinds = kinds.filter(|(_, histogram)| !histogram.is_empty());
        kinds
            .map(|(kind, histogram)| latency_of(kind.name(), histogram, true))
            .collect()
    }
}

impl Work for OrderEntry {
    fn open(&self, place: u32, session: &mut dyn Session) -> Result<Box<dyn Job>, TargetError> {
        let scale = self.population.scale;
        let form: Box<dyn Form> = match self.calling {
            Calling::Procedures => Box::new(Calls::prepare(session, scale.districts)?),
            Calling::Statements => {
                Box::new(Statements::prepare(session, scale.districts, self.churn)?)
            }
        };
        Ok(Box::new(Terminal {
            requests: Requests::new(scale, self.population.constants, (self.seed, place)),
            form,
            next: None,
            last: None,
            has_pauses: self.has_pauses,
            districts: scale.districts,
            ledger: Arc::clone(&self.ledger),
        }))
    }

    /// Each transaction begins and ends within a piece.
    fn takes_turns(&self) -> bool {
        true
    }
}

struct Terminal {
    requests: Requests,
    form: Box<dyn Form>,
    /// The next transaction, once it is dealt.
    next: Option<Request>,
    last: Option<Kind>,
    has_pauses: bool,
    districts: u32,
    ledger: Arc<Mutex<Ledger>>,
}

impl Job for Terminal {
    fn pause(&mut self) -> Duration {
        if !self.has_pauses {
            return Duration::ZERO;
        }
        let next = self.requests.next();
        let pause_s = self.requests.pause_s(self.last, next.kind());
        self.next = Some(next);
        Duration::from_secs_f64(pause_s)
    }

    fn next(&mut self, session: &mut dyn Session, piece: Piece) -> Result<u64, TargetError> {
        let request = self.next.take().unwrap_or_else(|| self.requests.next());
        let warehouse = self.requests.warehouse;
        // A delivery has committed some of its transactions: its form runs the victim again, and that alone.
        let is_one = request.kind() != Kind::Delivery;
        let mut deadlocks = 0;
        let outcome = loop {
            match self.form.run(session, warehouse, &request) {
                Err(error) if error.number == DEADLOCK && deadlocks < TRIES && is_one => {
                    deadlocks += 1;
                }
                other => break other?,
            }
        };
        let us = piece.from.elapsed_us().max(1);
        self.last = Some(request.kind());
        let mut ledger = self.ledger.lock();
        ledger
            .asked
            .count(&request, outcome, warehouse, self.districts);
        ledger.asked.deadlocks += u64::from(deadlocks);
        if let Some(histogram) = ledger.latencies.get_mut(request.kind() as usize) {
            histogram.saturating_record(us);
        }
        Ok(1)
    }
}
