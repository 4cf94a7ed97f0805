//! Experiments whose truth is known, judged by the analysis of every experiment: a model of responses and a
//! journal, without an engine.

use furrow_lab::design::{Cell, Factor};
use furrow_lab::environment::Environment;
use furrow_lab::experiment::{Experiment, RunContext, StepError};
use furrow_lab::journal::{Event, History, Line, Outcome};
use furrow_lab::plan::{Forecast, PlannedRun};
use furrow_lab::results::{self, Results, Run};
use furrow_lab::runner::{Analysis, analyse};
use furrow_lab::search::after_round;
use furrow_stats::Stream;
use std::path::{Path, PathBuf};

/// How runs vary about their truth. Every kind but the growing one has the standard deviation of the trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Noise {
    /// Normal, run by run.
    Independent,
    /// Neighbours in time resemble each other: an autoregression with 0.6.
    Alike,
    /// Student's t with 3 degrees of freedom: now and then a run far out.
    HeavyTailed,
    /// The deviations of 120 runs of an insert load on a machine that others used too, in their order.
    Recorded,
    /// The standard deviation doubles from level to level, from a quarter to four times that of the trial.
    Growing,
}

impl Noise {
    /// All kinds that are the same at every level.
    pub(crate) const LEVEL: [Noise; 4] = [
        Noise::Independent,
        Noise::Alike,
        Noise::HeavyTailed,
        Noise::Recorded,
    ];

    fn series(self, runs: usize, stream: &mut Stream) -> Vec<f64> {
        let mut before = stream.normal();
        let start = stream.below(RECORDED.len());
        let one = |run: usize| match self {
            Noise::Independent | Noise::Growing => stream.normal(),
            Noise::Alike => {
                before = 0.6 * before + 0.8 * stream.normal();
                before
            }
            Noise::HeavyTailed => {
                let chi: f64 = (0..3).map(|_| stream.normal().powi(2)).sum();
                // The variance of t with 3 degrees of freedom is 3.
                stream.normal() / chi.sqrt()
            }
            Noise::Recorded => RECORDED[(start + run) % RECORDED.len()],
        };
        (0..runs).map(one).collect()
    }

    fn scale(self, cell: usize) -> f64 {
        match self {
            Noise::Growing => 0.25 * f64::from(1_u32 << cell.min(4)),
            _ => 1.0,
        }
    }
}

/// An experiment with a known truth.
#[derive(Debug, Clone)]
pub(crate) struct Trial {
    pub(crate) factors: Vec<Factor>,
    /// Response of each cell.
    pub(crate) truth: Vec<f64>,
    pub(crate) noise: Noise,
    pub(crate) cv: f64,
    pub(crate) blocks: u32,
    /// Whether the blocks that the answer recommends are added, once.
    pub(crate) follows_advice: bool,
    /// Whether most cells are dropped after their first runs.
    pub(crate) search: bool,
}

impl Trial {
    /// Five numbers of files.
    pub(crate) fn files(truth: &[f64], noise: Noise, cv: f64) -> Trial {
        let counts: Vec<u64> = (0..truth.len()).map(|i| 1 << i).collect();
        Trial {
            factors: vec![Factor::counts("files", &counts)],
            truth: truth.to_vec(),
            noise,
            cv,
            blocks: 6,
            follows_advice: false,
            search: false,
        }
    }

    /// Runs it with the random numbers of `seed`.
    #[expect(
        clippy::unwrap_used,
        reason = "the plan is made here: a journal that does not begin with it is a mistake of the trial"
    )]
    pub(crate) fn run(&self, seed: u64) -> Results {
        let model = Model {
            factors: self.factors.clone(),
        };
        let mut plan = model.plan(seed);
        plan.blocks = self.blocks;
        plan.search = self.search;
        plan.aa_control = !self.search;
        let first = Line {
            seq: 1,
            at_us: START_US,
            event: Event::Plan {
                hash: plan.hash(),
                plan: Box::new(plan),
                program: String::new(),
                checks: Vec::new(),
            },
        };
        let mut history = History::of(Path::new("/journal"), &[first]).unwrap();
        let mut stream = Stream::named(seed, "trial");
        // Enough for all blocks that may be added.
        let noise = self.noise.series(4_000, &mut stream);
        self.go_on(&mut history, &noise);
        let results = judge(&history, &model);
        let advice = results.answer.next_step.as_deref();
        let more = advice.and_then(|next| next.rsplit_once("--blocks "));
        match more.and_then(|(_, blocks)| blocks.parse().ok()) {
            Some(blocks) if self.follows_advice => {
                history.take(history.last_us, &Event::Extended { blocks });
                self.go_on(&mut history, &noise);
                judge(&history, &model)
            }
            _ => results,
        }
    }

    /// Makes every run of the plan that is open, as the runner does.
    fn go_on(&self, history: &mut History, noise: &[f64]) {
        for planned in history.plan.runs() {
            let before = planned.block - 1;
            if self.search && !history.search_over && before > history.rounds_judged {
                let verdict = after_round(history, &[]);
                let event = Event::RoundJudged {
                    round: before,
                    dropped: verdict.dropped,
                    is_over: verdict.is_over,
                };
                history.take(history.last_us, &event);
            }
            if history.is_open(&planned) {
                self.make(history, &planned, noise);
            }
        }
    }

    fn make(&self, history: &mut History, planned: &PlannedRun, noise: &[f64]) {
        let (run, cell) = (planned.id, planned.cell.index);
        let deviation = self.cv * self.noise.scale(cell) * noise[run as usize % noise.len()];
        let response = self.truth[cell] * deviation.exp();
        let begun_us = history.last_us;
        let end_us = begun_us + (response * 1e6) as i64;
        let record = Box::new(Run {
            id: run,
            block: planned.block,
            position: planned.position,
            level: planned.cell.key(&history.plan.factors),
            control: planned.control,
            started_s: (begun_us - START_US) as f64 / 1e6,
            response: Some(response),
            seconds: Some(response),
            ..Run::default()
        });
        history.take(begun_us, &Event::RunStart { run, attempt: 1 });
        let attempt = 1;
        history.take(
            end_us,
            &Event::Metric {
                run,
                attempt,
                record,
            },
        );
        let end = Event::RunEnd {
            run,
            attempt,
            outcome: Outcome::Done,
            reason: String::new(),
        };
        history.take(end_us, &end);
    }
}

const START_US: i64 = 1_767_225_600_000_000;

fn judge(history: &History, model: &Model) -> Results {
    analyse(&Analysis {
        history,
        experiment: model,
        environment: Environment::default(),
        out_dir: Path::new("/out"),
    })
}

/// What the analysis needs of an experiment.
struct Model {
    factors: Vec<Factor>,
}

impl Experiment for Model {
    fn subject(&self) -> results::Experiment {
        results::Experiment {
            name: "truth".to_string(),
            response: results::Response {
                name: "elapsed time".to_string(),
                unit: "s".to_string(),
                ..results::Response::default()
            },
            ..results::Experiment::default()
        }
    }

    fn factors(&self) -> Vec<Factor> {
        self.factors.clone()
    }

    fn volumes(&self) -> Vec<PathBuf> {
        Vec::new()
    }

    fn forecast(&self, _cell: &Cell) -> Forecast {
        Forecast::default()
    }

    fn setup(&mut self, _cell: &Cell, _context: &mut RunContext<'_>) -> Result<(), StepError> {
        Err(StepError::Failed("the model is never run".to_string()))
    }

    fn measure(&mut self, _cell: &Cell, _context: &mut RunContext<'_>) -> Result<Run, StepError> {
        Err(StepError::Failed("the model is never run".to_string()))
    }

    fn teardown(&mut self, _cell: &Cell, _context: &mut RunContext<'_>) -> Result<(), StepError> {
        Ok(())
    }
}

/// Deviations of 120 runs of `datafiles` (24 MB each, 8 sessions) from their additive model, block effects
/// left in, over their standard deviation.
#[rustfmt::skip]
const RECORDED: [f64; 120] = [
    0.31, 0.47, -0.28, 1.45, -0.21, -0.02, -0.70, -1.98, 1.16, 2.28, -0.76, 1.54, -0.29, -0.91,
    -0.86, 2.17, 0.31, 1.33, 0.22, -0.63, -1.08, 1.25, 0.90, 0.32, 0.31, 0.04, 1.13, -0.21, 1.35,
    -1.81, -0.57, -0.02, -1.04, 0.22, 1.17, -0.70, 0.01, -0.60, -0.27, -1.24, 1.01, -0.23, -0.83,
    -1.09, 0.52, -0.20, 0.77, -0.48, -0.22, -0.11, 1.41, -0.29, 0.17, -0.06, 0.99, 0.13, 1.57, 0.90,
    -0.88, 1.25, 0.40, 1.68, 1.72, 0.60, 1.84, -0.90, 0.23, 0.63, 0.09, -1.69, -1.49, 0.25, -0.32,
    -0.03, 0.18, 1.18, 2.70, -1.21, -0.46, -0.29, -1.09, 0.38, -0.29, 1.98, 2.37, -0.43, 0.39, 0.93,
    -0.64, -0.29, 0.94, -1.77, -1.46, -0.82, -0.41, -1.44, -0.42, 1.02, -1.26, -0.96, -0.38, -0.86,
    0.25, -1.06, 0.67, -1.62, -1.79, -1.41, 0.01, 0.02, -0.17, -1.15, -1.28, -0.23, 0.59, -0.52,
    0.09, -0.42, -0.15, -0.51,
];
