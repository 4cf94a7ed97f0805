//! The plan of an experiment: all that is decided before the first run.
//!
//! # Purpose
//! The question, the levels, how often and in which order they run, and the margin for the verdict. The plan
//! is hashed before anything runs. The hash is in the journal and in the report, so that a margin or a
//! baseline chosen afterwards would show.
//!
//! # Invariants
//! 1. The hash is SHA-256 over canonical JSON: keys sorted, no blanks, numbers as `serde_json` writes
//!    them. The same plan gives the same hash on every machine.
//! 2. The list of runs is a function of the plan alone.
//! 3. A plan that passed [`Plan::check`] has at least two cells, a baseline among them, and two blocks.
//!
//! # What can fail
//! [`PlanError`], each naming the setting.

mod explain;
mod hash;

pub(crate) use explain::peak_by_volume;
pub use explain::{Forecast, TimeModel, explain, minutes, power_sentence};
pub use hash::canonical_json;

use crate::design::{Cell, Factor, block_orders, cells};
use crate::report::words::{shell_word, typed_percent};
use crate::results::{Better, Control};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use thiserror::Error;

/// The margin of equivalence unless one is given.
pub const USUAL_DELTA: f64 = 0.02;

/// The power with which differences are promised to be found: nine experiments in ten find them.
pub(crate) const PROMISED_POWER: f64 = 0.9;

/// Runs are thought to vary by this much until they are seen.
pub const ASSUMED_CV: f64 = 0.03;

/// The part of a full factorial's runs that a search may take.
const PART: u32 = 3;
/// Rounds of a search for each block of the full factorial, at most: the last two configurations may run
/// often.
const ROUNDS_PER_BLOCK: u32 = 4;

/// The measure the verdict is about.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Response {
    /// As text: `elapsed time`.
    pub name: String,
    /// Unit as printed: `s`.
    pub unit: String,
    /// Which direction is good.
    pub better: Better,
}

/// What happens to the database between two runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reset {
    /// Every run makes a database of its own.
    Fresh,
    /// Every run begins with copies of files that were prepared once.
    Restore,
    /// All runs work in the database that was prepared once.
    Keep,
}

impl Reset {
    /// As text for a reader.
    pub fn words(self) -> &'static str {
        match self {
            Reset::Fresh => "fresh database each run",
            Reset::Restore => "files prepared once, copied before each run",
            Reset::Keep => "the same database in all runs, prepared once",
        }
    }
}

/// What the guard enforces.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GuardLimits {
    /// Required free space, as a multiple of the predicted peak.
    pub space_factor: f64,
    /// Runs that fail one after the other before the experiment is stopped.
    pub failures_in_a_row: u32,
}

impl Default for GuardLimits {
    fn default() -> GuardLimits {
        GuardLimits {
            space_factor: 1.2,
            failures_in_a_row: 3,
        }
    }
}

/// The plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// Version of this shape.
    pub version: u32,
    /// Name of the experiment: `datafiles`.
    pub name: String,
    /// The question in plain words.
    pub question: String,
    /// The factors.
    pub factors: Vec<Factor>,
    /// The level of each factor that everything is compared with.
    pub baseline: Vec<String>,
    /// Blocks.
    pub blocks: u32,
    /// Seed of the order and of every bootstrap.
    pub seed: u64,
    /// Whether the baseline runs twice a block.
    pub aa_control: bool,
    /// Whether the best is searched for: configurations that will hardly be the best are dropped.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub search: bool,
    /// Equivalence margin, a share.
    pub delta: f64,
    /// The measure.
    pub response: Response,
    /// Wall-clock time, `HH:MM` UTC, after which no run is started.
    #[serde(default)]
    pub until: Option<String>,
    /// What happens between runs.
    pub reset: Reset,
    /// Unmeasured runs of the baseline before the first block.
    #[serde(default)]
    pub warm_up_runs: u32,
    /// What the guard enforces.
    pub guard: GuardLimits,
    /// Settings that are the same in every run.
    #[serde(default)]
    pub settings: BTreeMap<String, String>,
    /// The experiment's own options as they were typed: a resumed experiment reads them again.
    #[serde(default)]
    pub arguments: Vec<String>,
    /// The directory in which they were typed: paths among them start there.
    #[serde(default)]
    pub directory: String,
    /// Blocks at each time before more were added ([`Plan::extend`]), rising. No part of what was planned,
    /// so neither written with it nor hashed.
    #[serde(skip)]
    pub extended_at: Vec<u32>,
}

/// One run of the plan.
#[derive(Debug, Clone, PartialEq)]
pub struct PlannedRun {
    /// Place in the whole order, from 1.
    pub id: u32,
    /// Block, from 1; 0 for a warm-up.
    pub block: u32,
    /// Place in the block, from 1.
    pub position: u32,
    /// Column of the analysis: the cells in order, then the baseline's second label.
    pub arm: usize,
    /// Its settings.
    pub cell: Cell,
    /// Which label of the baseline.
    pub control: Control,
}

/// Why a plan makes no sense.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum PlanError {
    /// Nothing to compare.
    #[error("the plan has {cells} cells; a comparison needs at least two")]
    TooFewCells {
        /// Cells of the plan.
        cells: usize,
    },
    /// More than a full grid can carry.
    #[error(
        "the plan has {cells} cells, above {most}: give fewer levels, or search for the best by --search"
    )]
    TooManyCells {
        /// Cells of the plan.
        cells: usize,
        /// The limit.
        most: usize,
    },
    /// The baseline is none of the cells.
    #[error("the baseline {} is not among the levels of the factors", baseline.join(", "))]
    NoBaseline {
        /// The requested baseline.
        baseline: Vec<String>,
    },
    /// A level occurs twice.
    #[error("factor '{factor}' has level '{level}' twice")]
    DoubleLevel {
        /// The factor.
        factor: String,
        /// The level.
        level: String,
    },
    /// A number out of its range.
    #[error("{what} is {value}; {rule}")]
    OutOfRange {
        /// The setting.
        what: &'static str,
        /// Its value.
        value: String,
        /// What it should be.
        rule: &'static str,
    },
}

impl Plan {
    /// The version of the shape that this program writes.
    pub const VERSION: u32 = 2;

    /// The numbers of blocks that a plan may have.
    pub const BLOCKS: RangeInclusive<u32> = 2..=1_000;

    /// The most cells of a full grid.
    pub const MOST_CELLS: usize = 72;

    /// The most cells of a search.
    pub(crate) const MOST_SEARCHED: usize = 300;

    /// A plan with the usual design: six blocks, the baseline twice, a margin of 2%, elapsed seconds.
    /// The baseline is the first level of every factor.
    pub fn new(name: &str, question: &str, factors: Vec<Factor>, seed: u64) -> Plan {
        let baseline = factors
            .iter()
            .map(|factor| {
                factor
                    .levels
                    .first()
                    .map(|l| l.key.clone())
                    .unwrap_or_default()
            })
            .collect();
        Plan {
            version: Plan::VERSION,
            name: name.to_string(),
            question: question.to_string(),
            factors,
            baseline,
            blocks: 6,
            seed,
            aa_control: true,
            search: false,
            delta: USUAL_DELTA,
            response: Response {
                name: "elapsed time".to_string(),
                unit: "s".to_string(),
                better: Better::Lower,
            },
            until: None,
            reset: Reset::Fresh,
            warm_up_runs: 0,
            guard: GuardLimits::default(),
            settings: BTreeMap::new(),
            arguments: Vec::new(),
            directory: String::new(),
            extended_at: Vec::new(),
        }
    }

    /// Adds blocks to an experiment that is under way, up to so many in all. The runs so far keep their ids
    /// and their order.
    pub fn extend(&mut self, blocks: u32) {
        if blocks > self.blocks {
            self.extended_at.push(self.blocks);
            self.blocks = blocks;
        }
    }

    /// The order of the arms in each block; added blocks are drawn by themselves.
    fn orders(&self) -> Vec<Vec<usize>> {
        let mut orders: Vec<Vec<usize>> = Vec::new();
        let rounds = if self.search { ROUNDS_PER_BLOCK } else { 1 };
        for until in self.extended_at.iter().chain([&self.blocks]) {
            let more = rounds.saturating_mul(*until) as usize;
            let more = more.saturating_sub(orders.len());
            let seed = self.seed.wrapping_add(orders.len() as u64);
            orders.extend(block_orders(self.arms(), more, seed));
        }
        orders
    }

    /// Whether the plan can be run and judged.
    pub fn check(&self) -> Result<(), PlanError> {
        for factor in &self.factors {
            for (i, level) in factor.levels.iter().enumerate() {
                if factor.levels[..i]
                    .iter()
                    .any(|before| before.key == level.key)
                {
                    let (factor, level) = (factor.name.clone(), level.key.clone());
                    return Err(PlanError::DoubleLevel { factor, level });
                }
            }
        }
        let cells = self.cells().len();
        if cells < 2 {
            return Err(PlanError::TooFewCells { cells });
        }
        let most = match self.search {
            true => Plan::MOST_SEARCHED,
            false => Plan::MOST_CELLS,
        };
        if cells > most {
            return Err(PlanError::TooManyCells { cells, most });
        }
        if self.baseline_cell().is_none() {
            return Err(PlanError::NoBaseline {
                baseline: self.baseline.clone(),
            });
        }
        let range = |what, value: String, rule| Err(PlanError::OutOfRange { what, value, rule });
        if !Plan::BLOCKS.contains(&self.blocks) {
            return range(
                "blocks",
                self.blocks.to_string(),
                "it must be from 2 to 1000",
            );
        }
        if self.search && cells < 4 {
            return range(
                "search",
                format!("over {cells} configurations"),
                "it needs four or more: give several levels to several factors",
            );
        }
        // The first round, and two more of the two best.
        if self.search && (self.most_runs() as usize) < cells + 4 {
            return range(
                "blocks",
                self.blocks.to_string(),
                "a third of so many blocks must be more than one round of a search: give more",
            );
        }
        if !(self.delta > 0.0 && self.delta < 1.0) {
            return range(
                "delta",
                self.delta.to_string(),
                "it must lie between 0 and 1",
            );
        }
        if !(self.guard.space_factor >= 1.0 && self.guard.space_factor.is_finite()) {
            let value = self.guard.space_factor.to_string();
            return range("space_factor", value, "it must be at least 1");
        }
        if let Some(until) = &self.until
            && parse_until(until).is_none()
        {
            return range("until", until.clone(), "it must read HH:MM");
        }
        Ok(())
    }

    /// All combinations of levels.
    pub fn cells(&self) -> Vec<Cell> {
        cells(&self.factors)
    }

    /// The index of the cell that everything is compared with.
    pub fn baseline_cell(&self) -> Option<usize> {
        self.cells().iter().position(|cell| {
            cell.settings.len() == self.baseline.len()
                && cell
                    .settings
                    .iter()
                    .zip(&self.baseline)
                    .all(|(s, key)| s.1.key == *key)
        })
    }

    /// Columns of the analysis.
    pub fn arms(&self) -> usize {
        self.cells().len() + usize::from(self.aa_control)
    }

    /// Every run, in order. Warm-ups come first, as block 0.
    pub fn runs(&self) -> Vec<PlannedRun> {
        let cells = self.cells();
        let baseline = self.baseline_cell().unwrap_or(0);
        let second = cells.len();
        let mut runs = Vec::new();
        let mut push = |block: u32, position: u32, arm: usize| {
            let cell = cells[if arm == second { baseline } else { arm }].clone();
            let control = match arm {
                _ if !self.aa_control || block == 0 => Control::None,
                _ if arm == second => Control::APrime,
                _ if arm == baseline => Control::A,
                _ => Control::None,
            };
            let id = runs.len() as u32 + 1;
            runs.push(PlannedRun {
                id,
                block,
                position,
                arm,
                cell,
                control,
            });
        };
        for warm_up in 0..self.warm_up_runs {
            push(0, warm_up + 1, baseline);
        }
        for (block, order) in self.orders().iter().enumerate() {
            for (position, &arm) in order.iter().enumerate() {
                push(block as u32 + 1, position as u32 + 1, arm);
            }
        }
        runs
    }

    /// Runs of a full factorial.
    pub(crate) fn full_factorial(&self) -> u32 {
        self.cells().len() as u32 * self.blocks
    }

    /// Runs that a search takes at most.
    pub(crate) fn most_runs(&self) -> u32 {
        self.full_factorial() / PART
    }

    /// The runs that are likely, as far as that is known before: a search runs a part of the runs that it has
    /// an order for.
    pub fn likely_runs(&self) -> Vec<PlannedRun> {
        let mut runs = self.runs();
        if self.search {
            runs.truncate(self.most_runs() as usize);
        }
        runs
    }

    /// The command that runs the plan.
    pub fn command(&self) -> String {
        let mut command = format!(
            "furrow lab run {} --blocks {} --seed {}",
            self.name, self.blocks, self.seed
        );
        if self.search {
            command.push_str(" --search");
        }
        for word in &self.arguments {
            command.push(' ');
            command.push_str(&shell_word(word));
        }
        if (self.delta - USUAL_DELTA).abs() > 1e-12 {
            command.push_str(&format!(" --delta {}", typed_percent(self.delta)));
        }
        command
    }

    /// SHA-256 of the canonical JSON, hexadecimal.
    pub fn hash(&self) -> String {
        hash::sha256_hex(canonical_json(self).as_bytes())
    }
}

/// Minutes since midnight of `HH:MM`.
pub fn parse_until(text: &str) -> Option<u32> {
    let (hours, minutes) = text.split_once(':')?;
    let digits = |part: &str| part.len() == 2 && part.bytes().all(|b| b.is_ascii_digit());
    if !digits(hours) || !digits(minutes) {
        return None;
    }
    let (hours, minutes): (u32, u32) = (hours.parse().ok()?, minutes.parse().ok()?);
    (hours < 24 && minutes < 60).then_some(60 * hours + minutes)
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(super) fn datafiles() -> Plan {
        let factors = vec![Factor::counts("files", &[1, 2, 4, 8, 16])];
        Plan::new(
            "datafiles",
            "How many data files for this insert load?",
            factors,
            20_260_101,
        )
    }

    #[test]
    fn the_usual_plan_has_six_blocks_of_six() {
        let plan = datafiles();
        plan.check().unwrap();
        let runs = plan.runs();
        assert_eq!(runs.len(), 36);
        assert!(
            runs.iter()
                .enumerate()
                .all(|(i, run)| run.id as usize == i + 1)
        );
        for block in 1..=6 {
            let of: Vec<&PlannedRun> = runs.iter().filter(|run| run.block == block).collect();
            let labelled = |control| of.iter().filter(|run| run.control == control).count();
            assert_eq!(
                (of.len(), labelled(Control::A), labelled(Control::APrime)),
                (6, 1, 1)
            );
            assert!(
                of.iter()
                    .filter(|run| run.control != Control::None)
                    .all(|run| run.cell.count("files") == Some(1))
            );
        }
    }

    #[test]
    fn added_blocks_leave_the_runs_before_them_as_they_were() {
        let plan = datafiles();
        let mut more = plan.clone();
        more.extend(4);
        assert_eq!(more, plan, "there are six already");
        more.extend(9);
        more.extend(10);
        let (before, after) = (plan.runs(), more.runs());
        assert_eq!(after.len(), 60);
        assert_eq!(after[..36], before);
        assert_eq!(more.hash(), Plan { blocks: 10, ..plan }.hash());
        for block in 7..=10 {
            let mut arms: Vec<usize> = after
                .iter()
                .filter(|run| run.block == block)
                .map(|run| run.arm)
                .collect();
            arms.sort_unstable();
            assert_eq!(arms, [0, 1, 2, 3, 4, 5]);
        }
    }

    #[test]
    fn warm_ups_come_first_and_carry_no_label() {
        let plan = Plan {
            warm_up_runs: 2,
            ..datafiles()
        };
        let runs = plan.runs();
        assert_eq!(runs.len(), 38);
        assert!(
            runs[..2]
                .iter()
                .all(|run| run.block == 0 && run.control == Control::None)
        );
        assert_eq!(runs[2].block, 1);
    }

    #[test]
    fn plans_that_make_no_sense_are_refused_by_name() {
        let broken = |change: &dyn Fn(&mut Plan)| {
            let mut plan = datafiles();
            change(&mut plan);
            plan.check().unwrap_err()
        };
        let lone = broken(&|p| p.factors[0].levels.truncate(1));
        assert_eq!(lone, PlanError::TooFewCells { cells: 1 });
        let no_baseline = broken(&|p| p.baseline = vec!["3".to_string()]);
        assert!(matches!(no_baseline, PlanError::NoBaseline { .. }));
        let twice = broken(&|p| p.factors[0].levels[1].key = "1".to_string());
        assert!(matches!(twice, PlanError::DoubleLevel { .. }));
        for (error, name) in [
            (broken(&|p| p.blocks = 1), "blocks"),
            (broken(&|p| p.delta = 0.0), "delta"),
            (broken(&|p| p.delta = f64::NAN), "delta"),
            (broken(&|p| p.until = Some("6 am".to_string())), "until"),
        ] {
            assert!(error.to_string().starts_with(name), "{error}");
        }
        let grid = broken(&|p| {
            p.factors
                .push(Factor::counts("a", &(0..20).collect::<Vec<_>>()));
            p.baseline.push("0".to_string());
        });
        assert!(matches!(grid, PlanError::TooManyCells { cells: 100, .. }));
    }

    #[test]
    fn times_of_day_are_read_strictly() {
        assert_eq!(parse_until("06:00"), Some(360));
        assert_eq!(parse_until("23:59"), Some(1_439));
        for wrong in ["24:00", "6:00", "06:60", "0600", "", "+1:00"] {
            assert_eq!(parse_until(wrong), None, "{wrong}");
        }
    }
}
