//! Search: the best of many configurations in a third of the runs of a full factorial.
//!
//! # Algorithm
//! 1. The first round (block) runs every configuration once.
//! 2. After each round [`after_round`] judges all runs so far ([`furrow_stats::race`]) and drops the
//!    configurations that are unlikely to be the best: the fewer runs are left, the fewer configurations
//!    continue.
//! 3. The search ends when its leader is within the margin of the best with 95%, or when the next round
//!    would take more than a third of the runs of the full factorial.
//!
//! Dropped configurations are journalled, so that a search that was stopped continues with the same ones.
//!
//! # What can fail
//! Nothing. A configuration without a figure after the first round is dropped.

use crate::experiment::Experiment;
use crate::journal::History;
use crate::plan::Plan;
use crate::results::Better;
use furrow_stats::{Standing, StatsError, Table, cells_to_drop, race};

/// The chance to be within the margin of the best with which a leader wins.
pub(crate) const ENOUGH: f64 = 0.95;
const DRAWS: usize = 4_000;

/// What follows from a round.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    /// Cells that run no more.
    pub dropped: Vec<u32>,
    /// Whether the search ends here.
    pub is_over: bool,
}

/// By cell, whether it may be the answer.
pub(crate) fn contenders(plan: &Plan, experiment: &dyn Experiment) -> Vec<bool> {
    let cells = plan.cells();
    let Some(baseline) = plan.baseline_cell().and_then(|place| cells.get(place)) else {
        return vec![true; cells.len()];
    };
    let may_win = |cell| experiment.may_win(cell, baseline);
    cells.iter().map(may_win).collect()
}

/// Logarithms of the responses by cell and round, turned so that less is better. Cells that may not be the
/// answer have none.
fn losses(history: &History, contenders: &[bool]) -> Table {
    let plan = &history.plan;
    let planned = plan.runs();
    let rounds = planned.last().map_or(0, |run| run.block as usize);
    let mut losses = Table::new(plan.arms(), rounds);
    let is_contender = |arm: usize| contenders.get(arm) != Some(&false);
    let of_rounds = planned.iter().filter(|run| run.block > 0);
    for run in of_rounds.filter(|run| is_contender(run.arm)) {
        let story = history
            .runs
            .get(&run.id)
            .filter(|story| story.status().is_good());
        let record = story.and_then(|story| story.record.as_ref());
        let response = record.and_then(|record| record.response);
        if let Some(response) = response.filter(|&response| response > 0.0) {
            let loss = match plan.response.better {
                Better::Lower => response.ln(),
                Better::Higher => -response.ln(),
            };
            losses.set(run.arm, run.block as usize - 1, loss);
        }
    }
    losses
}

/// The ranking of the configurations that may be the answer. An error after the first round, which contains
/// no information about the noise.
pub(crate) fn standing(history: &History, contenders: &[bool]) -> Result<Standing, StatsError> {
    let plan = &history.plan;
    race(
        &losses(history, contenders),
        plan.delta.ln_1p(),
        DRAWS,
        plan.seed,
    )
}

/// What follows from the runs when a round is complete. `contenders` has by cell whether it may be the
/// answer: those that may not run in the first round alone.
#[must_use]
pub fn after_round(history: &History, contenders: &[bool]) -> Verdict {
    let plan = &history.plan;
    let running: Vec<usize> = (0..plan.cells().len())
        .filter(|&cell| !history.is_dropped(cell))
        .collect();
    let begun = history.runs.len() as u32;
    let left = plan.most_runs().saturating_sub(begun) as usize;
    let standing = standing(history, contenders).ok();
    let dropped = cells_to_drop(
        &losses(history, contenders),
        &running,
        left,
        standing.as_ref(),
    );
    let stay = running.len() - dropped.len();
    let is_won = standing.is_some_and(|standing| standing.within >= ENOUGH);
    Verdict {
        dropped: dropped.into_iter().map(|cell| cell as u32).collect(),
        is_over: is_won || stay < 2 || stay > left,
    }
}
