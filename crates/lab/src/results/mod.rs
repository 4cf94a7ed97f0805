//! The schema of `results.json`.
//!
//! One value of [`Results`] contains everything about an experiment: the question, the plan, the machine,
//! every run as it was measured, the statistics, and the final sentence. The report, the terminal text,
//! `runs.csv` and any later comparison read this value alone, so that a page can be written again from the
//! file years after the run.
//!
//! # Invariants
//! 1. Numbers are finite; what was not measured is `None` or an empty list, never 0 and never NaN
//!    ([`Results::problems`] lists offences).
//! 2. [`Run::level`] is the key of exactly one [`LevelResult::level`]; run ids are unique and count in the
//!    order in which the runs were started.
//! 3. A failed run stays in the list with its reason; an outlier stays in the list with its label.
//! 4. Times of one run are in seconds from its own start; [`Run::started_s`] is seconds from the start of the
//!    experiment on a monotonic clock.
//! 5. A ratio is `response(level) / response(baseline)`; [`Response::better`] says whether lower is better.
//!
//! # Versions
//! [`SCHEMA_VERSION`] rises when a field changes its meaning or goes away. New optional fields come without a
//! new version: readers ignore what they don't know and take the default for what is not there.
//!
//! # What can fail
//! Reading: text that isn't JSON, or a `schema_version` above ours ([`ResultsError`]).

mod answer;
mod csv;
mod figure;
mod level;
mod noise;
mod plan;
mod run;
mod section;

pub(crate) use answer::DEPENDS;
pub use answer::{
    Answer, Attribution, Badge, Ceiling, Confidence, Fill, Published, PublishedPoint,
};
pub use figure::{Averaging, Figure, LevelFigure};
pub(crate) use level::Comparability;
pub use level::{Interval, Knee, KneeShare, LevelResult, RobustEffect, Verdict};
pub use noise::{AaCheck, Drift, Estimate, Mde, Noise, Normality, Outlier, Residual};
pub use plan::{Better, Deviation, Experiment, Factor, PlanInfo, PlannedRun, Response};
pub use run::{
    Control, Event, FileIo, FileRole, LOG_FULL, LatchTotal, Latency, NOT_DUE, OWN_THREADS, Run,
    RunStatus, Series, SpinTotal, THINKING, WaitTotal,
};
pub(crate) use run::{FOR_TURN, OVERLAP, has_think_times};
pub(crate) use section::{ALONG, SHOWN};
pub use section::{Bounds, Chart, Curve, Mark, Panel, Point, Section, SheetTable};

use crate::environment::Environment;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The version of the schema this crate writes.
pub const SCHEMA_VERSION: u32 = 1;

/// All that one experiment has to say; the content of `results.json`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Results {
    /// [`SCHEMA_VERSION`] of the writer.
    pub schema_version: u32,
    /// What was asked, of what.
    pub experiment: Experiment,
    /// The models of drives that the runs worked on, one line each; empty where all drives were real.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub models: Vec<String>,
    /// When it began, UTC, `2026-11-21T20:45:00Z`.
    pub started: String,
    /// When it ended, UTC.
    pub finished: String,
    /// From the first set-up to the last tear-down, without the pauses of a resumed experiment.
    pub duration_s: f64,
    /// What was going to be done, in which order.
    pub plan: PlanInfo,
    /// What was done otherwise than planned, and what was repeated, skipped or reverted.
    #[serde(default)]
    pub deviations: Vec<Deviation>,
    /// What stood against the figures while they were taken, one sentence each: shown above all else.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// Where it ran.
    pub environment: Environment,
    /// Every run that was started, in order of start.
    pub runs: Vec<Run>,
    /// Every level, in the order of the plan's factor.
    pub levels: Vec<LevelResult>,
    /// Where more stops to help; `None` where the factor has no order or too little is known.
    #[serde(default)]
    pub knee: Option<Knee>,
    /// How far the figures can be trusted.
    pub noise: Noise,
    /// What the time went into, and how sure that is.
    pub attribution: Attribution,
    /// Measured upper bounds and how close the runs came; empty when none was measured.
    #[serde(default)]
    pub ceilings: Vec<Ceiling>,
    /// The answer in words.
    pub answer: Answer,
    /// Sections of the report that this experiment alone has.
    #[serde(default)]
    pub sections: Vec<Section>,
    /// What this experiment does not show, one sentence each.
    #[serde(default)]
    pub limits: Vec<String>,
    /// The published result of the same question.
    #[serde(default)]
    pub published: Option<Published>,
    /// The command that runs it again.
    pub reproduce: String,
}

/// The JSON Schema (2020-12) of what this program writes as `results.json`, as text with a trailing newline.
/// Every field is in it with its meaning.
#[must_use]
pub fn json_schema() -> String {
    let settings = schemars::generate::SchemaSettings::draft2020_12().for_serialize();
    let mut schema = settings.into_generator().into_root_schema_for::<Results>();
    let title = format!("Furrow lab results.json, version {SCHEMA_VERSION}");
    schema.insert("title".to_string(), title.into());
    // A schema is a JSON value already: writing it out cannot fail.
    let text = serde_json::to_string_pretty(&schema).unwrap_or_default();
    text + "\n"
}

/// Why a `results.json` can't be read.
#[derive(Debug, thiserror::Error)]
pub enum ResultsError {
    /// Not JSON, or not of this shape.
    #[error("results.json is not readable: {0}")]
    Shape(#[from] serde_json::Error),
    /// Written by a later program.
    #[error("results.json has schema version {found}; this program reads up to {SCHEMA_VERSION}")]
    Version {
        /// The version in the text.
        found: u32,
    },
}

impl Results {
    /// Seconds from the beginning of the first run to the end of the last one, pauses included.
    pub(crate) fn span_s(&self) -> f64 {
        let end = |run: &Run| run.started_s + run.seconds.unwrap_or(0.0);
        let first = self.runs.iter().map(|run| run.started_s).reduce(f64::min);
        let last = self.runs.iter().map(end).reduce(f64::max);
        first.zip(last).map_or(0.0, |(first, last)| last - first)
    }

    /// The level with this key.
    #[must_use]
    pub fn level(&self, key: &str) -> Option<&LevelResult> {
        self.levels.iter().find(|level| level.level == key)
    }

    /// The level everything is compared with.
    #[must_use]
    pub fn baseline(&self) -> Option<&LevelResult> {
        self.levels.iter().find(|level| level.is_baseline)
    }

    /// Whether levels were compared with the baseline, and what stands against it.
    pub(crate) fn comparability(&self) -> Comparability {
        Comparability::of(&self.levels)
    }

    /// The level whose change of waits is shown: the one whose cause is sought, if that has as many sessions.
    pub(crate) fn explained_level(&self) -> Option<&LevelResult> {
        let recommended = self.answer.recommended.as_deref();
        LevelResult::to_explain(self.levels.iter(), recommended, self.plan.delta)
    }

    /// Whether a point of a curve was shown to differ from the curve's first point; `None` where the plan has
    /// no such curve.
    #[must_use]
    pub fn is_shown_along(&self, curve: &str, point: &str) -> Option<bool> {
        let tables = self.sections.iter().flat_map(|section| &section.tables);
        let along = tables.filter(|table| table.caption == ALONG);
        let mut rows = along.flat_map(|table| &table.rows);
        rows.find_map(|row| match row.as_slice() {
            [name, at, .., shown] if name == curve && at == point => Some(shown == SHOWN),
            _ => None,
        })
    }

    /// The runs of a level that ended well, in order of start.
    pub fn good_runs<'a>(&'a self, key: &'a str) -> impl Iterator<Item = &'a Run> + 'a {
        self.runs
            .iter()
            .filter(move |run| run.level == key && run.status.is_good())
    }

    /// The text of `results.json`: indented, one trailing newline.
    pub fn to_json(&self) -> Result<String, serde_json::Error> {
        serde_json::to_string_pretty(self).map(|text| text + "\n")
    }

    /// Reads what [`Results::to_json`] wrote, this version or an earlier one.
    pub fn from_json(text: &str) -> Result<Results, ResultsError> {
        #[derive(Deserialize)]
        struct Head {
            schema_version: u32,
        }
        let head: Head = serde_json::from_str(text)?;
        if head.schema_version > SCHEMA_VERSION {
            return Err(ResultsError::Version {
                found: head.schema_version,
            });
        }
        Ok(serde_json::from_str(text)?)
    }

    /// Offences against the invariants above, in words; empty when there are none.
    #[must_use]
    pub fn problems(&self) -> Vec<String> {
        let mut problems = Vec::new();
        let mut ids = std::collections::BTreeSet::new();
        for run in &self.runs {
            if !ids.insert(run.id) {
                problems.push(format!("run id {} occurs twice", run.id));
            }
            if self.level(&run.level).is_none() {
                problems.push(format!(
                    "run {} has the unknown level '{}'",
                    run.id, run.level
                ));
            }
            if run.status.is_good()
                && run
                    .response
                    .is_none_or(|value| value.is_nan() || value <= 0.0)
            {
                problems.push(format!(
                    "run {} is good but has no response above 0",
                    run.id
                ));
            }
        }
        let baselines = self.levels.iter().filter(|level| level.is_baseline).count();
        if baselines > 1 || (baselines == 0 && !self.levels.is_empty()) {
            problems.push(format!(
                "{baselines} levels are the baseline; one has to be"
            ));
        }
        // serde_json turns a number that isn't finite into null, which then can't be read back.
        match self.to_json() {
            Ok(text) => {
                if let Err(error) = Results::from_json(&text) {
                    problems.push(format!("a number is not finite: {error}"));
                }
            }
            Err(error) => problems.push(error.to_string()),
        }
        problems
    }
}
