//! One run as it was measured.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Which label of the A/A control a run carries.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Control {
    /// Not a baseline run, or there is no A/A control.
    #[default]
    None,
    /// The baseline's first label.
    A,
    /// The baseline's second label, A'.
    APrime,
}

/// How a run ended.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "state", content = "reason")]
pub enum RunStatus {
    /// Measured.
    #[default]
    Done,
    /// Measured at the second attempt; why the first one failed.
    Retried(String),
    /// Not measured; why.
    Failed(String),
    /// Not measured; cut off by Ctrl-C, a deadline or a kill.
    Interrupted(String),
}

impl RunStatus {
    /// Whether the run's figures count.
    #[must_use]
    pub fn is_good(&self) -> bool {
        matches!(self, RunStatus::Done | RunStatus::Retried(_))
    }

    /// One word for tables.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            RunStatus::Done => "done",
            RunStatus::Retried(_) => "retried",
            RunStatus::Failed(_) => "failed",
            RunStatus::Interrupted(_) => "interrupted",
        }
    }

    /// The reason, where there is one.
    #[must_use]
    pub fn reason(&self) -> Option<&str> {
        match self {
            RunStatus::Done => None,
            RunStatus::Retried(why) | RunStatus::Failed(why) | RunStatus::Interrupted(why) => {
                Some(why)
            }
        }
    }
}

/// One run: a level once, from a fresh set-up to its tear-down.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Run {
    /// Place in the order of start, from 1; unique.
    pub id: u32,
    /// Block, from 1.
    pub block: u32,
    /// Place in the block, from 1.
    pub position: u32,
    /// Key of the level.
    pub level: String,
    /// The other factors of the cell, name and value.
    #[serde(default)]
    pub cell: BTreeMap<String, String>,
    /// Which of the baseline's two labels.
    #[serde(default)]
    pub control: Control,
    /// How it ended.
    pub status: RunStatus,
    /// Start on the wall clock, UTC.
    #[serde(default)]
    pub started: String,
    /// Start in seconds since the experiment's start.
    pub started_s: f64,
    /// The response the verdict is about, in the response's unit; `None` when the run failed.
    pub response: Option<f64>,
    /// Seconds of the measured part.
    #[serde(default)]
    pub seconds: Option<f64>,
    /// Seconds of set-up and tear-down.
    #[serde(default)]
    pub overhead_s: Option<f64>,
    /// Sessions that worked at the same time.
    #[serde(default)]
    pub workers: u32,
    /// Threads that may work for the sessions at the same time, where they are known to be more than the
    /// sessions: a statement is divided, or further sessions work beside it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threads: Option<u32>,
    /// Microseconds that all sessions together slept because the load asks for it: keying and think times;
    /// with a rate, until the next piece of work was due. `None` where it was not recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paused_us: Option<u64>,
    /// With a rate: microseconds that all pieces of work together waited, from when each was due until a
    /// session began it. `None` without a rate, or where it was not recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queued_us: Option<u64>,
    /// Rows written or read.
    #[serde(default)]
    pub rows: Option<u64>,
    /// Rows a second.
    #[serde(default)]
    pub rows_per_s: Option<f64>,
    /// Commits a second.
    #[serde(default)]
    pub commits_per_s: Option<f64>,
    /// Latency of each kind of operation.
    #[serde(default)]
    pub latency: Vec<Latency>,
    /// Waits of the working sessions, of this run alone.
    #[serde(default)]
    pub waits: Vec<WaitTotal>,
    /// Waits of background work (checkpoint, lazy writer, log), of this run alone.
    #[serde(default)]
    pub background_waits: Vec<WaitTotal>,
    /// Latch classes, of this run alone.
    #[serde(default)]
    pub latches: Vec<LatchTotal>,
    /// Spinlock classes, of this run alone.
    #[serde(default)]
    pub spinlocks: Vec<SpinTotal>,
    /// Traffic of each file, of this run alone.
    #[serde(default)]
    pub files: Vec<FileIo>,
    /// CPU seconds of the process under test, user and system together.
    #[serde(default)]
    pub cpu_s: Option<f64>,
    /// CPU seconds that others took from the machine meanwhile.
    #[serde(default)]
    pub cpu_other_s: Option<f64>,
    /// One-second series.
    #[serde(default)]
    pub series: Vec<Series>,
    /// What happened at a moment: checkpoints, growth.
    #[serde(default)]
    pub events: Vec<Event>,
    /// Figures that this experiment alone measures, by name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub figures: Vec<super::Figure>,
    /// What this experiment alone records, by name, in a form of its own; its sections are made from it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub extra: BTreeMap<String, serde_json::Value>,
    /// Anything else worth a sentence.
    #[serde(default)]
    pub notes: Vec<String>,
}

/// Sleep of a session between two pieces of work of a closed loop.
pub const THINKING: &str = "keying and thinking";
/// Sleep of a session until the next piece of work of a rate is due.
pub const NOT_DUE: &str = "no work was due";

/// Whether the sessions of a plan with these settings key and think, so that a run which did not record how
/// long has that time in what it calls running.
pub(crate) fn has_think_times<'a>(
    settings: impl IntoIterator<Item = (&'a String, &'a String)>,
) -> bool {
    let mut settings = settings.into_iter();
    settings.any(|(name, value)| name == "pace" && value == "spec")
}

impl Run {
    /// Whether waits were read. A load reads them with its processor time; sessions that only compute have
    /// none.
    pub(crate) fn has_read_waits(&self) -> bool {
        !self.waits.is_empty() || self.cpu_s.is_some()
    }

    /// Part of the machine's processors that other programs had meanwhile; `None` for a run that is too short
    /// for the ticks in which the system counts.
    pub(crate) fn others_share(&self, cpus: u32) -> Option<f64> {
        let seconds = self.seconds.filter(|&seconds| seconds >= LEAST_TICKS_S)?;
        let share = self.cpu_other_s? / seconds / f64::from(cpus.max(1));
        Some(share.min(1.0))
    }

    /// Whether pieces of work were due at a rate, so that a latency begins when its piece was due.
    #[must_use]
    pub fn is_open(&self) -> bool {
        let first = self.latency.first();
        first.is_some_and(|l| l.count > 0 && !l.coordinated_omission_possible)
    }

    /// Microseconds that all sessions together slept because the load asks for it, and what that time is.
    /// At most the time of all sessions: older journals count the sleep of a session that left early up to
    /// the planned end of the run.
    #[must_use]
    pub fn paused(&self) -> Option<(&'static str, u64)> {
        let name = if self.is_open() { NOT_DUE } else { THINKING };
        let all = |seconds: f64| (seconds * 1e6 * f64::from(self.workers.max(1))).round() as u64;
        let most = self.seconds.map_or(u64::MAX, all);
        let paused = self.paused_us.filter(|us| *us > 0);
        paused.map(|us| (name, us.min(most)))
    }
}

/// Seconds below which ten ticks of the system's clock, of 10 ms, do not fit into a run.
const LEAST_TICKS_S: f64 = 0.1;

/// Latencies of one kind of operation.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Latency {
    /// Kind: `commit`.
    pub operation: String,
    /// Operations counted.
    pub count: u64,
    /// Arithmetic mean.
    pub mean_us: f64,
    /// Median.
    pub p50_us: u64,
    /// 90th percentile.
    pub p90_us: u64,
    /// 95th percentile.
    pub p95_us: u64,
    /// 99th percentile.
    pub p99_us: u64,
    /// 99.9th percentile.
    pub p999_us: u64,
    /// 99.99th percentile.
    #[serde(default)]
    pub p9999_us: u64,
    /// Slowest.
    pub max_us: u64,
    /// Closed loop: a stalled session starts nothing, so that waiting time is missing from the figures.
    #[serde(default)]
    pub coordinated_omission_possible: bool,
    /// The whole histogram, HdrHistogram V2, base64.
    #[serde(default)]
    pub histogram: Option<String>,
}

/// One wait type.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WaitTotal {
    /// Name as in `sys.dm_os_wait_stats`.
    #[serde(rename = "type")]
    pub wait_type: String,
    /// Category as readers know it: `Buffer Latch`, `Tran Log IO`.
    #[serde(default)]
    pub category: String,
    /// Idle waits that say nothing about the load.
    #[serde(default)]
    pub benign: bool,
    /// Waits.
    pub count: u64,
    /// Time waited, signal time included.
    pub total_us: u64,
    /// Longest single wait.
    pub max_us: u64,
    /// Part between the signal and running again.
    pub signal_us: u64,
}

impl Latency {
    /// The 99th percentile in microseconds; `None` of fewer than a hundred operations, which have none.
    #[must_use]
    pub fn p99(&self) -> Option<u64> {
        (self.count >= 100).then_some(self.p99_us)
    }
}

/// Waits that share a category with others and mean something else: the name of the wait, and what it means.
const APART: &[(&str, &str)] = &[
    ("LOGMGR_RESERVE_APPEND", LOG_FULL),
    ("ASYNC_IO_COMPLETION", OWN_THREADS),
    ("BACKUPTHREAD", OWN_THREADS),
    ("THREADPOOL", FOR_TURN),
];

/// What batches wait for while as many run as the processors take: no cause, because what those that run wait
/// for decides how long it lasts.
pub(crate) const FOR_TURN: &str = "waiting for a turn to run";

/// What the session of a backup or a restore waits for: the work itself, so that it is never a cause.
pub const OWN_THREADS: &str = "threads of the session's own statement";

/// The time of all threads over the time that passes, from which on threads work at the same time for a
/// session. Less is a matter of rounding.
pub(crate) const OVERLAP: f64 = 1.01;

/// What sessions wait for that find the log full: the pages that a checkpoint writes.
pub const LOG_FULL: &str = "log full, waiting for a checkpoint";

impl WaitTotal {
    /// What the time went into: the category, but for waits that mean something else than their category
    /// says, and the wait type where there is no category.
    #[must_use]
    pub fn bucket(&self) -> &str {
        let apart = APART.iter().find(|(name, _)| *name == self.wait_type);
        match apart {
            Some((_, words)) => words,
            None if self.category.is_empty() => &self.wait_type,
            None => &self.category,
        }
    }
}

/// One latch class, or one page type of buffer latches.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LatchTotal {
    /// Class as in `sys.dm_os_latch_stats`.
    pub class: String,
    /// Requests that had to wait.
    pub waits: u64,
    /// Time waited.
    pub total_us: u64,
    /// Longest single wait.
    pub max_us: u64,
}

/// One spinlock class.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SpinTotal {
    /// Class as in `sys.dm_os_spinlock_stats`.
    pub class: String,
    /// Times it was found held.
    pub collisions: u64,
    /// Loop iterations.
    pub spins: u64,
    /// Times the scheduler was given up.
    pub backoffs: u64,
    /// Time asleep in back-offs.
    #[serde(default)]
    pub sleep_us: u64,
}

/// What a file is for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FileRole {
    /// Pages.
    #[default]
    Data,
    /// The transaction log.
    Log,
    /// Anything else: double-write, backup stripe.
    Other,
}

/// Traffic of one file during the measured part of a run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FileIo {
    /// Where it lies.
    pub path: String,
    /// File id in the database.
    pub file_id: u32,
    /// What it is for.
    #[serde(default)]
    pub role: FileRole,
    /// Volume it lies on, as given by the user.
    #[serde(default)]
    pub volume: String,
    /// Read requests.
    pub reads: u64,
    /// Bytes read.
    pub bytes_read: u64,
    /// Time readers waited for this file.
    pub read_stall_us: u64,
    /// Write requests.
    pub writes: u64,
    /// Bytes written.
    pub bytes_written: u64,
    /// Time writers waited for this file.
    pub write_stall_us: u64,
    /// Bytes of these that checkpoints wrote.
    #[serde(default)]
    pub checkpoint_bytes: u64,
    /// Size at the end of the run.
    #[serde(default)]
    pub size_bytes: u64,
}

/// One series at a fixed interval.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Series {
    /// What: `commits`.
    pub name: String,
    /// Unit as printed: `commits/s`.
    pub unit: String,
    /// Seconds between two values; the first value covers the first interval.
    pub interval_s: f64,
    /// The values.
    pub values: Vec<f64>,
}

/// Something that happened during a run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Event {
    /// Seconds since the run's measured part began.
    pub at_s: f64,
    /// Kind, one word or two: `checkpoint`, `growth`.
    pub kind: String,
    /// Detail.
    #[serde(default)]
    pub text: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_share_of_others_is_a_part_of_the_machine_and_none_in_a_run_of_few_ticks() {
        let share = |seconds: f64, other: f64| {
            let run = Run {
                seconds: Some(seconds),
                cpu_other_s: Some(other),
                ..Run::default()
            };
            run.others_share(2)
        };
        assert_eq!(share(10.0, 5.0), Some(0.25));
        // A tick of 10 ms more than the two processors have.
        assert_eq!(share(0.2, 0.41), Some(1.0));
        // "651% of the processors": a tick or two while a statement ran for 1.7 ms.
        assert_eq!(share(0.0017, 0.022), None);
    }

    #[test]
    fn a_few_operations_have_no_99th_percentile() {
        let of = |count| Latency {
            count,
            p99_us: 1_580,
            ..Latency::default()
        };
        assert_eq!((of(1).p99(), of(99).p99()), (None, None));
        assert_eq!(of(100).p99(), Some(1_580));
    }
}
