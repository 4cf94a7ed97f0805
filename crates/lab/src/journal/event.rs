//! What can happen in an experiment.

use crate::plan::Plan;
use crate::results::Run;
use serde::{Deserialize, Serialize};
use std::fmt;

/// One line of the journal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Line {
    /// Number, from 1, without gaps.
    pub seq: u64,
    /// Wall clock, microseconds since 1970, never falling within one session.
    pub at_us: i64,
    /// What happened.
    #[serde(flatten)]
    pub event: Event,
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum Event {
    /// The experiment begins.
    Plan {
        /// The plan.
        plan: Box<Plan>,
        /// Its hash.
        hash: String,
        /// Program and version.
        program: String,
        /// Checks passed before the first run, one sentence each.
        checks: Vec<String>,
    },
    /// The experiment continues after an interruption.
    Resumed {
        /// Seconds between the last event and this one, during which nothing ran.
        gap_s: f64,
        /// Program and version that continues.
        #[serde(default)]
        program: String,
    },
    /// Blocks are added to the plan.
    Extended {
        /// Blocks in all from here on.
        blocks: u32,
    },
    /// A search has judged a round.
    RoundJudged {
        /// The round (block).
        round: u32,
        /// Cells that run no more.
        dropped: Vec<u32>,
        /// Whether the search ends here.
        is_over: bool,
    },
    /// What lies behind the directories that runs put files into.
    Volumes {
        /// Directory, and mount and device behind it.
        behind: Vec<(String, String)>,
    },
    /// What all runs share is about to be created.
    Preparing {
        /// How often it has been, this time included.
        attempt: u32,
    },
    /// A run begins.
    RunStart {
        /// Its id in the plan.
        run: u32,
        /// Attempt, from 1.
        attempt: u32,
    },
    /// A run enters a state.
    Step {
        /// The run.
        run: u32,
        /// The state.
        state: State,
    },
    /// A thing is about to be created: from here on the experiment owns it.
    Created {
        /// The run; `None` for the experiment as a whole.
        run: Option<u32>,
        /// What.
        thing: Thing,
    },
    /// An announced thing was found to belong to another owner, or was never created.
    Released {
        /// What.
        thing: Thing,
    },
    /// Something of ours is gone.
    Removed {
        /// What.
        thing: Thing,
    },
    /// What a run measured.
    Metric {
        /// The run.
        run: u32,
        /// The attempt.
        attempt: u32,
        /// The figures.
        record: Box<Run>,
    },
    /// A wrong result of the engine was found. The run that found it counts as failed, however it ends.
    Violation {
        /// The run; `None` where it was found while what all runs share was created.
        run: Option<u32>,
        /// What was wrong, and where the evidence is.
        text: String,
        /// What stays as evidence: the experiment owns it no more.
        kept: Vec<Thing>,
    },
    /// A run is over.
    RunEnd {
        /// The run.
        run: u32,
        /// The attempt.
        attempt: u32,
        /// How it ended.
        outcome: Outcome,
        /// Why, where it did not end well.
        #[serde(default)]
        reason: String,
    },
    /// Something went wrong.
    Error {
        /// The run, if one was under way.
        run: Option<u32>,
        /// What.
        text: String,
    },
    /// A change to the system was put back.
    Revert {
        /// What was put back.
        what: String,
        /// Whether it was verified.
        verified: bool,
    },
    /// A remark.
    Note {
        /// The run, if it is about one.
        run: Option<u32>,
        /// The sentence.
        text: String,
    },
    /// A bound of the volumes was measured, without an engine.
    Ceiling {
        /// The run before which it was measured.
        run: u32,
        /// What was measured.
        probe: CeilingProbe,
    },
    /// The operator did something: Ctrl-C, another deadline.
    Operator {
        /// What.
        text: String,
    },
    /// The experiment stops here.
    Stopped {
        /// Why.
        why: String,
    },
}

/// One measurement of what the volumes can do without an engine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CeilingProbe {
    /// Which bound: `durable log writes`.
    pub name: String,
    /// Bytes of each write.
    pub write_bytes: u64,
    /// Writes under way at once.
    pub writers: u32,
    /// Bytes a second.
    pub bytes_per_s: f64,
}

/// The state of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// Not begun.
    Planned,
    /// The database is being created.
    Setup,
    /// The load runs.
    Measure,
    /// Figures are read.
    Collect,
    /// The load is checked: as many rows as requested.
    Verify,
    /// The database is being removed.
    Teardown,
    /// Over, and counts.
    Done,
    /// Over, and does not count.
    Failed,
}

impl State {
    /// Every state that a run passes through on its way.
    pub const ON_THE_WAY: [State; 5] = [
        State::Setup,
        State::Measure,
        State::Collect,
        State::Verify,
        State::Teardown,
    ];

    /// The name of the state.
    pub fn word(self) -> &'static str {
        match self {
            State::Planned => "planned",
            State::Setup => "setup",
            State::Measure => "measure",
            State::Collect => "collect",
            State::Verify => "verify",
            State::Teardown => "teardown",
            State::Done => "done",
            State::Failed => "failed",
        }
    }
}

/// How an attempt ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// Its figures count.
    Done,
    /// It failed.
    Failed,
    /// It was cut off: Ctrl-C, or found unfinished after a kill.
    Interrupted,
}

/// The kind of a thing that was created.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// A file.
    File,
    /// A directory; removed only when empty.
    Directory,
    /// A directory whose whole content belongs to the experiment; removed with it.
    Tree,
    /// A database on a target; removed by the experiment.
    Database,
}

/// A thing that was created, by kind and full name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Thing {
    /// Kind.
    pub kind: Kind,
    /// Full path, or name of the database.
    pub name: String,
}

impl fmt::Display for Thing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.kind {
            Kind::File => "file",
            Kind::Directory | Kind::Tree => "directory",
            Kind::Database => "database",
        };
        write!(f, "{kind} {}", self.name)
    }
}
