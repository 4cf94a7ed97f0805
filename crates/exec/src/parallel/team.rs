//! The helpers of a scan, as the session's thread sees them.

use super::exchange::{Batch, Event, Exchange, Waiter};
use super::{Decided, ParallelPlan, helper};
use crate::scan::ScanPlan;
use furrow_context::context::Context;
use furrow_context::error::{Result, SqlError};
use furrow_context::server::HelperPermit;
use furrow_engine::{Division, EngineError, OpenScan};
use furrow_io::process::add_helper_cpu_ns;
use furrow_io::thread::{JoinHandle, spawn_named};
use furrow_observe::task::{Task, count_logical_reads, count_reads, count_writes};
use std::sync::Arc;

/// Helpers that run.
pub(super) struct Team {
    exchange: Arc<Exchange>,
    division: Arc<Division>,
    scan: Arc<ScanPlan>,
    /// Holds the lock of the table.
    open: Option<OpenScan>,
    threads: Vec<(JoinHandle<()>, Arc<Task>)>,
    _permit: HelperPermit,
    gave_up: bool,
}

impl Team {
    /// Starts helpers for a plan; `None` where none can be started: the system has no more threads, or the
    /// database takes no further sessions.
    pub(super) fn start(
        plan: &Arc<ParallelPlan>,
        decided: Decided,
        cx: &mut Context,
    ) -> Result<Option<Team>> {
        let Decided { division, permit } = decided;
        let wanted = permit.threads;
        let mut team = Team {
            exchange: Exchange::new(wanted),
            division: Arc::new(division),
            scan: Arc::clone(&plan.scan),
            open: plan.scan.open_whole(cx)?,
            threads: Vec::with_capacity(wanted),
            _permit: permit,
            gave_up: false,
        };
        for number in 0..wanted {
            if team.add(plan, number, cx).is_err() {
                // Those that run do the work of all.
                team.exchange.fewer(wanted - number);
                break;
            }
        }
        if team.threads.is_empty() {
            team.end(cx);
            return Ok(None);
        }
        cx.sessions.activity().now_parallel(team.threads.len());
        Ok(Some(team))
    }

    fn add(&mut self, plan: &Arc<ParallelPlan>, number: usize, cx: &mut Context) -> Result<()> {
        let waiter = Arc::new(Waiter {
            exchange: Arc::clone(&self.exchange),
            helper: number,
        });
        let table = (self.scan.db, &*self.scan.table);
        let thread = u16::try_from(number + 1).unwrap_or(u16::MAX);
        let context = cx.helper(table, thread, (&self.division, waiter))?;
        let task = Arc::clone(context.sessions.task());
        let (plan, exchange) = (Arc::clone(plan), Arc::clone(&self.exchange));
        let started = spawn_named("parallel scan", move || {
            helper::run(&plan, number, context, &exchange);
        });
        let thread = started.map_err(|e| Box::<SqlError>::from(EngineError::Thread(e)))?;
        self.threads.push((thread, task));
        Ok(())
    }

    /// The next batch; `None` at the end, or where helpers have given up ([`Team::gave_up`]).
    pub(super) fn receive(&mut self, cx: &mut Context) -> Result<Option<Batch>> {
        loop {
            match self.exchange.receive(|| cx.check_cancel())? {
                Event::Batch(batch) => return Ok(Some(batch)),
                Event::End => return Ok(None),
                Event::GaveUp => {
                    self.gave_up = true;
                    return Ok(None);
                }
                Event::Wait(helper, wait) => {
                    let session = cx.sessions.by_table(self.scan.db, &self.scan.table)?;
                    let no_wait = self.scan.hints.no_wait;
                    let is_lent = wait.is_lent();
                    session.wait_for_reader(wait, no_wait, |waited| match waited {
                        Some(waited) => self.exchange.answer(helper, waited, is_lent),
                        None => self.stop(),
                    })?;
                }
            }
        }
    }

    /// Whether there was no memory for the groups of a helper.
    pub(super) fn gave_up(&self) -> bool {
        self.gave_up
    }

    /// Ends the helpers, waits for them, and takes over what they have noted. Called once.
    pub(super) fn end(&mut self, cx: &mut Context) {
        self.stop();
        // The pages that helpers have read are charged to the table, and each helper has scanned it.
        let session = cx.sessions.by_table(self.scan.db, &self.scan.table);
        if let (Ok(session), Some(scan)) = (session, self.open.take()) {
            session.close_scan(scan);
        }
        for report in self.exchange.reports() {
            if let Some(reads) = &mut cx.sessions.reads {
                reads.scan();
            }
            count_logical_reads(report.pages.logical_reads);
            count_reads(report.pages.reads);
            count_writes(report.pages.writes);
            add_helper_cpu_ns(report.cpu_ns);
            cx.take_notes(report.null_eliminated, &report.made_null);
        }
    }

    /// Ends the helpers and waits for them: not for the end of their parts, nor of a function under way.
    fn stop(&mut self) {
        self.division.end();
        self.exchange.end();
        for (_, task) in &self.threads {
            task.cancel();
        }
        for (thread, _) in self.threads.drain(..) {
            // A thread that has panicked has reported an error at its end.
            let _ = thread.join();
        }
    }
}

impl Drop for Team {
    /// A cursor that is dropped without being closed leaves no helper behind either.
    fn drop(&mut self) {
        self.stop();
        debug_assert!(self.threads.is_empty(), "no helper outlives its cursor");
    }
}
