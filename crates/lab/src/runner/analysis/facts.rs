//! Runs that count, as a table.

use crate::journal::History;
use crate::plan::{Plan, PlannedRun};
use crate::results::{Better, Interval, Run, RunStatus};
use furrow_io::time::WallTime;
use furrow_stats::{Table, TwoWay};

/// A journal's runs laid out for judging.
pub(super) struct Facts<'a> {
    pub(super) history: &'a History,
    pub(super) plan: &'a Plan,
    pub(super) planned: Vec<PlannedRun>,
    /// Key of each cell.
    pub(super) keys: Vec<String>,
    /// Cell that everything is compared with.
    pub(super) baseline: usize,
    /// By cell, whether it may be the answer.
    pub(super) contenders: Vec<bool>,
    /// Every run that was begun, warm-ups left out, in order.
    pub(super) runs: Vec<Run>,
    /// Logarithms by arm and block.
    pub(super) logs: Table,
    /// The additive model; `None` when the runs do not carry one.
    pub(super) model: Option<TwoWay>,
}

impl<'a> Facts<'a> {
    pub(super) fn of(history: &'a History) -> Facts<'a> {
        let plan = &history.plan;
        let planned = plan.runs();
        let keys: Vec<String> = plan
            .cells()
            .iter()
            .map(|cell| cell.key(&plan.factors))
            .collect();
        let runs: Vec<Run> = planned
            .iter()
            .filter(|run| run.block > 0)
            .filter_map(|run| run_of(history, run))
            .collect();
        // A search has more rounds than its plan has blocks.
        let rounds = planned.last().map_or(0, |run| run.block as usize);
        let mut logs = Table::new(plan.arms(), rounds);
        for planned in planned.iter().filter(|run| run.block > 0) {
            let run = runs
                .iter()
                .find(|run| run.id == planned.id && run.status.is_good());
            if let Some(response) = run.and_then(|run| run.response).filter(|&r| r > 0.0) {
                logs.set(planned.arm, planned.block as usize - 1, response.ln());
            }
        }
        let model = TwoWay::fit(&logs).ok();
        let baseline = plan.baseline_cell().unwrap_or(0);
        Facts {
            history,
            plan,
            planned,
            contenders: vec![true; keys.len()],
            keys,
            baseline,
            runs,
            logs,
            model,
        }
    }

    /// The arms that ran a cell: the baseline has two.
    pub(super) fn arms_of(&self, cell: usize) -> Vec<usize> {
        let mut arms = vec![cell];
        if self.plan.aa_control && cell == self.baseline {
            arms.push(self.keys.len());
        }
        arms
    }

    /// Whether a cell may be the answer.
    pub(super) fn may_win(&self, cell: usize) -> bool {
        self.contenders.get(cell) == Some(&true)
    }

    /// The good runs of a cell.
    pub(super) fn good(&self, cell: usize) -> Vec<&Run> {
        let of = |run: &&Run| run.level == self.keys[cell] && run.status.is_good();
        self.runs.iter().filter(of).collect()
    }

    /// The arm and block of a run.
    pub(super) fn place(&self, id: u32) -> Option<(usize, usize)> {
        let run = self.planned.iter().find(|run| run.id == id)?;
        Some((run.arm, (run.block as usize).checked_sub(1)?))
    }

    /// Blocks in which every arm has a good run.
    pub(super) fn blocks_done(&self) -> u32 {
        (0..self.logs.blocks())
            .filter(|&block| (0..self.logs.arms()).all(|arm| self.logs.get(arm, block).is_some()))
            .count() as u32
    }

    /// Mean seconds of one whole block, set-up and tear-down included.
    pub(super) fn block_seconds(&self) -> f64 {
        let seconds: Vec<f64> = self
            .runs
            .iter()
            .filter(|run| run.status.is_good())
            .map(|run| run.seconds.unwrap_or(0.0) + run.overhead_s.unwrap_or(0.0))
            .collect();
        furrow_stats::mean(&seconds) * self.plan.arms() as f64
    }

    /// Whether the response is a time or a rate, so that better means faster.
    pub(super) fn is_speed(&self) -> bool {
        let unit = self.plan.response.unit.as_str();
        matches!(unit, "s" | "ms" | "us" | "min") || unit.ends_with("/s")
    }

    /// The logarithm turned so that less is better.
    pub(super) fn loss(&self, log: f64) -> f64 {
        super::verdict::as_loss(log, self.plan.response.better)
    }

    /// The table turned so that less is better.
    pub(super) fn losses(&self) -> Table {
        let mut losses = self.logs.clone();
        if self.plan.response.better == Better::Higher {
            for arm in 0..losses.arms() {
                for block in 0..losses.blocks() {
                    if let Some(log) = losses.get(arm, block) {
                        losses.set(arm, block, -log);
                    }
                }
            }
        }
        losses
    }
}

/// A log interval as ratios.
pub(super) fn ratios((low, high): (f64, f64), confidence: f64) -> Interval {
    Interval {
        low: low.exp(),
        high: high.exp(),
        confidence,
    }
}

fn run_of(history: &History, planned: &PlannedRun) -> Option<Run> {
    let story = history.runs.get(&planned.id)?;
    if let Some(record) = &story.record {
        return Some(Run {
            status: story.status(),
            ..record.clone()
        });
    }
    let status = match story.status() {
        // Ended as failed once, and the second try never came.
        RunStatus::Done | RunStatus::Retried(_) => RunStatus::Failed("no figures".to_string()),
        other => other,
    };
    let cell = planned
        .cell
        .settings
        .iter()
        .map(|(n, l)| (n.clone(), l.key.clone()))
        .collect();
    Some(Run {
        id: planned.id,
        block: planned.block,
        position: planned.position,
        level: planned.cell.key(&history.plan.factors),
        cell,
        control: planned.control,
        status,
        started: WallTime::from_unix_us(story.started_us).iso(),
        started_s: (story.started_us - history.started_us) as f64 / 1e6,
        ..Run::default()
    })
}
