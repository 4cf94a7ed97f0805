//! An experiment without an engine: a model of responses, a fake server, and files that are really created.

use furrow_io::{MemoryVolume, Volume};
use furrow_lab::design::{Cell, Factor};
use furrow_lab::environment::Environment;
use furrow_lab::experiment::{Experiment, RunContext, StepError};
use furrow_lab::guard::Removal;
use furrow_lab::journal::{History, Kind, ManualClock, State, write_file};
use furrow_lab::plan::{Forecast, Plan};
use furrow_lab::results::{
    self, Ceiling, Latency, Published, PublishedPoint, Results, Run, WaitTotal,
};
use furrow_lab::runner::{Runner, RunnerError, RunnerSetup, Stop};
use furrow_stats::Stream;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

/// What goes wrong, and where.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Trouble {
    /// The run fails in this state, at its first `times` attempts.
    Fails { run: u32, state: State, times: u32 },
    /// Ctrl-C while the run measures.
    CtrlC { run: u32 },
    /// The figures hold a number that is not finite.
    NotFinite { run: u32 },
    /// The first attempt of the run finds that the engine lost something; a second one would not. Run 0 is
    /// the preparation.
    Violates { run: u32 },
    /// Another program puts a file into the run's directory.
    Intruder { run: u32 },
    /// After this run another disk is mounted over the data directory.
    OtherDisk { after: u32 },
}

/// A server that stores databases by name.
pub(crate) type Server = Arc<Mutex<BTreeSet<String>>>;

/// The model: true seconds by level, noise, drift.
#[derive(Debug)]
pub(crate) struct Synthetic {
    pub(crate) files: Vec<u64>,
    pub(crate) truth: Vec<f64>,
    pub(crate) cv: f64,
    pub(crate) drift: f64,
    /// By level the used part of a limit of the log; empty without a limit. With one all but 20 s of a run
    /// are waits for the log.
    pub(crate) uses: Vec<f64>,
    /// By level the part of the processors that other programs have, and the used part of a bound of whole
    /// runs; empty without either.
    pub(crate) beside: Vec<(f64, f64)>,
    /// Whether the levels are numbers of sessions, and work is due at a rate where this is `Some(true)`.
    pub(crate) sessions: Option<bool>,
    /// Whether the levels are words without an order.
    pub(crate) are_words: bool,
    /// Levels that may not be the answer, by their places.
    pub(crate) probes: Vec<usize>,
    /// Runs that take so many times as long as the model has it.
    pub(crate) slow: Vec<(u32, f64)>,
    /// Whether a published result is known, with which any result agrees.
    pub(crate) is_published: bool,
    /// Correlation of the noise of neighbouring runs.
    pub(crate) likeness: f64,
    pub(crate) seed: u64,
    pub(crate) clock: Arc<ManualClock>,
    /// Data goes to `data` below it, journal and results to `out`.
    pub(crate) root: PathBuf,
    pub(crate) server: Server,
    pub(crate) trouble: Vec<Trouble>,
    pub(crate) forecast_bytes: u64,
    /// Bytes of the file that all runs share.
    pub(crate) shared_bytes: u64,
    /// Whether all runs share a file that is created once.
    pub(crate) prepares: bool,
    /// How often it was created.
    pub(crate) prepared: u32,
    /// Attempts seen by (run, state).
    pub(crate) seen: Vec<(u32, u32, State)>,
}

impl Synthetic {
    /// The published shape: falls to 8, rises at 16.
    pub(crate) fn published(cv: f64, seed: u64) -> Synthetic {
        Synthetic {
            files: vec![1, 2, 4, 8, 16],
            truth: vec![100.0, 97.0, 94.5, 94.0, 95.0],
            cv,
            drift: 0.02,
            uses: Vec::new(),
            beside: Vec::new(),
            sessions: None,
            are_words: false,
            probes: Vec::new(),
            slow: Vec::new(),
            is_published: false,
            likeness: 0.0,
            seed,
            root: PathBuf::from("/"),
            clock: Arc::new(ManualClock::at(1_767_225_600_000_000)),
            server: Arc::new(Mutex::new(BTreeSet::from(["production".to_string()]))),
            trouble: Vec::new(),
            forecast_bytes: 1 << 20,
            shared_bytes: 12,
            prepares: false,
            prepared: 0,
            seen: Vec::new(),
        }
    }

    pub(crate) fn plan(&self) -> Plan {
        Plan::new(
            "synthetic",
            "How many files for this model?",
            self.factors(),
            11,
        )
    }

    fn beside(&self, level: &str) -> Option<(f64, f64)> {
        let place = self.files.iter().position(|n| n.to_string() == level)?;
        self.beside.get(place).copied()
    }

    fn meet(&mut self, state: State, context: &RunContext<'_>) -> Result<(), StepError> {
        let run = context.run_id();
        let before = self
            .seen
            .iter()
            .filter(|(r, _, s)| (*r, *s) == (run, state))
            .count() as u32;
        self.seen.push((run, before + 1, state));
        let hit = self.trouble.iter().any(|trouble| {
            matches!(trouble, Trouble::Fails { run: r, state: s, times }
                if (*r, *s) == (run, state) && before < *times)
        });
        if hit {
            Err(StepError::Failed(format!(
                "the model fails in {}",
                state.word()
            )))
        } else {
            Ok(())
        }
    }

    fn has(&self, trouble: Trouble) -> bool {
        self.trouble.contains(&trouble)
    }

    /// The response depends on seed and run alone, so that a resumed experiment gives the same figures.
    fn seconds(&self, cell: &Cell, run: u32) -> f64 {
        let own = |run: u32| Stream::named(self.seed, &format!("run {run}")).normal();
        let fresh = (1.0 - self.likeness * self.likeness).sqrt();
        let noise = (2..=run).fold(own(1), |before, run| {
            self.likeness * before + fresh * own(run)
        });
        let drift = 1.0 + self.drift * f64::from(run) / 36.0;
        let slow = self.slow.iter().find(|(slow, _)| *slow == run);
        let slow = slow.map_or(1.0, |(_, times)| *times);
        self.truth[cell.index] * drift * slow * (self.cv * noise).exp()
    }
}

fn directory(root: &Path, context: &RunContext<'_>) -> PathBuf {
    root.join(format!("data/lab_{}", context.tag()))
}

/// The file that all runs share; its name is known only while it is created.
fn shared_file(root: &Path, context: &RunContext<'_>) -> PathBuf {
    root.join(format!("data/shared_{}", context.tag()))
}

fn database(context: &RunContext<'_>) -> String {
    format!("lab_{}", context.tag())
}

impl Experiment for Synthetic {
    fn subject(&self) -> results::Experiment {
        results::Experiment {
            name: "synthetic".to_string(),
            question: "How many files for this model?".to_string(),
            factor: results::Factor {
                singular: "file".to_string(),
                plural: "files".to_string(),
                option: "--files".to_string(),
            },
            ..results::Experiment::default()
        }
    }

    fn factors(&self) -> Vec<Factor> {
        if self.are_words {
            let words: Vec<String> = self.files.iter().map(u64::to_string).collect();
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            return vec![Factor::words("files", &words)];
        }
        match self.sessions {
            Some(_) => vec![Factor::sessions("files", &self.files)],
            None => vec![Factor::counts("files", &self.files)],
        }
    }

    fn volumes(&self) -> Vec<PathBuf> {
        vec![self.root.join("data")]
    }

    fn volume_identity(&self, _directory: &Path) -> Option<String> {
        let moved = self.trouble.iter().any(|trouble| {
            matches!(trouble, Trouble::OtherDisk { after }
                if self.seen.iter().any(|(run, _, _)| run == after))
        });
        Some(if moved { "disk 2" } else { "disk 1" }.to_string())
    }

    fn prepare(&mut self, context: &mut RunContext<'_>) -> Result<(), StepError> {
        if !self.prepares {
            return Ok(());
        }
        assert!(context.run().is_none());
        self.prepared += 1;
        let path = shared_file(&self.root, context);
        context.claim_file(&path)?;
        let pages = vec![7; self.shared_bytes as usize];
        write_file(context.volume().as_ref(), &path, &pages)?;
        if self.has(Trouble::Violates { run: 0 }) && self.prepared == 1 {
            let text = "condition 2 does not hold".to_string();
            return Err(StepError::Violation(text));
        }
        Ok(())
    }

    fn forecast(&self, _cell: &Cell) -> Forecast {
        Forecast {
            seconds: 50.0,
            peak_bytes: vec![(self.root.join("data"), self.forecast_bytes)],
            shared_bytes: match self.prepares {
                true => vec![(self.root.join("data"), self.shared_bytes)],
                false => Vec::new(),
            },
            ..Forecast::default()
        }
    }

    fn setup(&mut self, cell: &Cell, context: &mut RunContext<'_>) -> Result<(), StepError> {
        self.clock.advance(5.0);
        let dir = directory(&self.root, context);
        context.claim_directory(&dir)?;
        context.volume().create_dir(&dir)?;
        for file in 0..cell.count("files").unwrap_or(1).min(2) {
            let path = dir.join(format!("data{file}.ndf"));
            context.claim_file(&path)?;
            write_file(context.volume().as_ref(), &path, b"pages")?;
        }
        if self.prepares {
            let files = context.volume().list(&self.root.join("data"))?;
            let shared = files
                .iter()
                .find(|f| f.display().to_string().contains("shared_"));
            context.restore(shared.unwrap(), &dir.join("restored"))?;
        }
        context.claim(Kind::Database, database(context))?;
        self.server.lock().unwrap().insert(database(context));
        self.meet(State::Setup, context)
    }

    fn measure(&mut self, cell: &Cell, context: &mut RunContext<'_>) -> Result<Run, StepError> {
        let run = context.run_id();
        let seconds = self.seconds(cell, run);
        self.clock.advance(seconds);
        if self.has(Trouble::CtrlC { run }) {
            context.cancel_flag().store(true, Ordering::Relaxed);
        }
        if context.is_cancelled() {
            return Err(StepError::Cancelled);
        }
        if self.has(Trouble::Intruder { run }) {
            let path = directory(&self.root, context).join("holiday.jpg");
            write_file(context.volume().as_ref(), &path, b"beach")?;
        }
        self.meet(State::Measure, context)?;
        let waited = if self.uses.is_empty() {
            seconds * 0.7
        } else {
            seconds - 20.0
        };
        let log_us = (waited * 16.0 * 1e6) as u64;
        Ok(Run {
            response: Some(seconds),
            seconds: Some(seconds),
            workers: 16,
            // The environment of these experiments has no number of processors: one is assumed.
            cpu_other_s: self
                .beside(&cell.key(&self.factors()))
                .map(|(others, _)| others * seconds),
            rows_per_s: Some(262_144.0 / seconds),
            cpu_s: self.has(Trouble::NotFinite { run }).then_some(f64::NAN),
            latency: vec![Latency {
                operation: "commit".into(),
                p99_us: 900,
                count: 1,
                coordinated_omission_possible: self.sessions != Some(true),
                ..Latency::default()
            }],
            waits: vec![WaitTotal {
                wait_type: "WRITELOG".to_string(),
                category: "Tran Log IO".to_string(),
                total_us: log_us,
                ..WaitTotal::default()
            }],
            ..Run::default()
        })
    }

    fn collect(
        &mut self,
        _cell: &Cell,
        record: &mut Run,
        context: &mut RunContext<'_>,
    ) -> Result<(), StepError> {
        record.notes.push("collected".to_string());
        self.meet(State::Collect, context)
    }

    fn verify(
        &mut self,
        _cell: &Cell,
        _record: &Run,
        context: &mut RunContext<'_>,
    ) -> Result<(), StepError> {
        self.meet(State::Verify, context)?;
        let run = context.run_id();
        let verified = self
            .seen
            .iter()
            .filter(|(r, _, s)| (*r, *s) == (run, State::Verify));
        if self.has(Trouble::Violates { run }) && verified.count() == 1 {
            let text = "condition 3 does not hold".to_string();
            return Err(StepError::Violation(text));
        }
        Ok(())
    }

    fn teardown(&mut self, _cell: &Cell, context: &mut RunContext<'_>) -> Result<(), StepError> {
        self.clock.advance(1.0);
        self.meet(State::Teardown, context)?;
        let name = database(context);
        // One that stays as evidence is not the run's any more.
        let mut owned = context.owned().into_iter();
        let is_owned = owned.any(|thing| thing.kind == Kind::Database && thing.name == name);
        if is_owned && self.server.lock().unwrap().remove(&name) {
            context.database_removed(&name)?;
        }
        // One file by hand; the rest is the runner's.
        if let Some(path) = context
            .owned_paths()
            .first()
            .cloned()
            .filter(|p| p.extension().is_some())
        {
            assert_eq!(context.remove(Kind::File, &path)?, Removal::Gone);
        }
        Ok(())
    }

    fn ceiling_for(&self, category: &str, level: &str, _history: &History) -> Option<Ceiling> {
        let place = self.files.iter().position(|n| n.to_string() == level)?;
        (category == "Tran Log IO").then_some(Ceiling {
            name: "the log".to_string(),
            limit: Some(100.0),
            used: Some(100.0 * self.uses.get(place)?),
            level: level.to_string(),
            ..Ceiling::default()
        })
    }

    fn limits_of(&self, level: &str, _history: &History) -> Vec<Ceiling> {
        let used = self.beside(level).map(|(_, used)| used);
        let limit = used.map(|used| Ceiling {
            name: "the volume".to_string(),
            unit: "MB/s".to_string(),
            limit: Some(100.0),
            used: Some(100.0 * used),
            level: level.to_string(),
            ..Ceiling::default()
        });
        limit.into_iter().collect()
    }

    fn published(&self, results: &Results) -> Option<Published> {
        let point = |level: &results::LevelResult| PublishedPoint {
            level: level.level.clone(),
            ratio: 1.0,
            stated: true,
        };
        self.is_published.then(|| Published {
            points: results.levels.iter().map(point).collect(),
            comparisons: vec![("theirs".to_string(), "ours".to_string(), Some(true))],
            ..Published::default()
        })
    }

    fn remove_database(&mut self, name: &str) -> Result<(), StepError> {
        assert!(name.starts_with("lab_"), "asked to remove {name}");
        self.server.lock().unwrap().remove(name);
        Ok(())
    }

    fn may_win(&self, cell: &Cell, baseline: &Cell) -> bool {
        assert_eq!(baseline.index, 0);
        !self.probes.contains(&cell.index)
    }

    fn apply(&self, cell: &Cell) -> (String, String) {
        (
            format!("--files {}", cell.count("files").unwrap_or(0)),
            "--files 1".to_string(),
        )
    }
}

/// A volume with files of other programs on it.
pub(crate) fn furnish(volume: &dyn Volume) {
    furnish_at(volume, Path::new("/"));
}

/// The same below a root.
pub(crate) fn furnish_at(volume: &dyn Volume, root: &Path) {
    volume.create_dir(&root.join("data")).unwrap();
    write_file(volume, &root.join("data/production.mdf"), b"precious").unwrap();
}

/// Nothing that the experiment created is left, and no file of others is gone.
pub(crate) fn assert_clean(volume: &dyn Volume, server: &Server) {
    assert_clean_at(volume, Path::new("/"), server);
}

/// The same below a root.
pub(crate) fn assert_clean_at(volume: &dyn Volume, root: &Path, server: &Server) {
    let left = volume.list(&root.join("data")).unwrap();
    assert_eq!(left, [root.join("data/production.mdf")]);
    assert_eq!(
        *server.lock().unwrap(),
        BTreeSet::from(["production".to_string()])
    );
}

pub(crate) fn setup(volume: Arc<dyn Volume>, experiment: &Synthetic) -> RunnerSetup {
    RunnerSetup {
        volume,
        out_dir: experiment.root.join("out"),
        clock: experiment.clock.clone(),
        cancel: Arc::new(AtomicBool::new(false)),
        program: "test".to_string(),
    }
}

/// Runs a plan on a fresh volume.
pub(crate) fn run_all(
    experiment: &mut Synthetic,
    plan: Plan,
) -> Result<(Stop, Results), RunnerError> {
    let volume: Arc<dyn Volume> = Arc::new(MemoryVolume::new());
    furnish(volume.as_ref());
    let mut runner = Runner::create(setup(volume.clone(), experiment), plan, experiment)?;
    let stop = runner.run(experiment, &mut |_| {})?;
    assert_clean(volume.as_ref(), &experiment.server);
    let results = runner.results(experiment, Environment::default());
    assert_eq!(results.problems(), Vec::<String>::new());
    Ok((stop, results))
}
