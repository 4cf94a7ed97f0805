//! Runs of whole experiments in tests: from typed words to the results; and an engine that gives wrong
//! answers.

use crate::plugin::{Plugin, Start};
use crate::targets::{
    DatabaseLayout, Embedded, Need, Reply, Session, Startup, StatementId, Target, TargetError,
    Value,
};
use clap::{Args, Command, FromArgMatches};
use furrow_io::{SystemVolume, Volume};
use furrow_lab::environment::Environment;
use furrow_lab::experiment::Experiment;
use furrow_lab::journal::SystemClock;
use furrow_lab::plan::Plan;
use furrow_lab::results::{Results, Section};
use furrow_lab::runner::{Runner, RunnerSetup, Stop};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// The experiment that these words make, as a quick look; files go to `out`.
pub(crate) fn made<P: Plugin>(out: &Path, words: &str) -> Result<P, String> {
    let start = Start::new(out.to_path_buf(), "/".into(), true);
    let command = P::Options::augment_args(Command::new(P::NAME).no_binary_name(true));
    let matches = command.try_get_matches_from(words.split_whitespace());
    let matches = matches.map_err(|e| e.to_string())?;
    let options = P::Options::from_arg_matches(&matches).map_err(|e| e.to_string())?;
    P::new(options, &start).map_err(|e| e.to_string())
}

/// Runs two blocks of it on real files. Every run has to be good, and nothing but the journal may be left.
pub(crate) fn run_blocks<P: Plugin>(out: &Path, words: &str) -> Results {
    run_made(out, made::<P>(out, words).unwrap())
}

/// The same of an experiment that was made, and changed: a load that ends after so many units does as much
/// on a busy machine as on any other.
pub(crate) fn run_made<P: Plugin>(out: &Path, mut experiment: P) -> Results {
    let mut runner = runner_of(out, &experiment);
    let stop = runner.run(&mut experiment, &mut |_| {}).unwrap();
    let runs = runner.log().history().runs.values();
    let failures: Vec<_> = runs.flat_map(|run| run.failures.clone()).collect();
    assert_eq!((stop, failures), (Stop::Finished, Vec::new()));
    let results = runner.results(&experiment, Environment::default());
    assert_eq!(results.problems(), Vec::<String>::new());
    let page = furrow_lab::report::render(&results);
    let is_modelled = |section: &Section| section.heading.starts_with("Modelled");
    let has_model = !results.models.is_empty() || results.sections.iter().any(is_modelled);
    assert_eq!(page.contains("MODEL"), has_model);
    let left = SystemVolume::new().list(out).unwrap();
    assert_eq!(left, [out.join("journal.jsonl")]);
    results
}

/// A runner of two blocks of an experiment, on real files.
pub(crate) fn runner_of(out: &Path, experiment: &dyn Experiment) -> Runner {
    let plan = Plan {
        blocks: 2,
        ..experiment.plan(3)
    };
    let setup = RunnerSetup {
        volume: Arc::new(SystemVolume::new()),
        out_dir: out.to_path_buf(),
        clock: Arc::new(SystemClock::new()),
        cancel: Arc::new(AtomicBool::new(false)),
        program: "test".to_owned(),
    };
    Runner::create(setup, plan, experiment).unwrap()
}

/// Changes the reply to a text.
type Spoil = Arc<dyn Fn(&str, &mut Reply) + Send + Sync>;
/// The number of the error that a text gets instead of a reply.
type Refuse = Arc<dyn Fn(&str) -> Option<u32> + Send + Sync>;

/// The engine, but some of its replies are changed, and some texts are refused.
pub(crate) struct Spoiled {
    inner: Embedded,
    spoil: Spoil,
    refuse: Refuse,
}

impl Spoiled {
    pub(crate) fn new(spoil: impl Fn(&str, &mut Reply) + Send + Sync + 'static) -> Spoiled {
        Spoiled {
            inner: Embedded::new(),
            spoil: Arc::new(spoil),
            refuse: Arc::new(|_| None),
        }
    }

    /// The first texts with this part in them get errors of these numbers.
    pub(crate) fn refusing(part: &'static str, numbers: &'static [u32]) -> Spoiled {
        let done = AtomicUsize::new(0);
        let refuse = move |text: &str| {
            let is_meant = text.contains(part);
            is_meant.then(|| numbers.get(done.fetch_add(1, Ordering::Relaxed)).copied())?
        };
        Spoiled {
            refuse: Arc::new(refuse),
            ..Spoiled::new(|_, _| {})
        }
    }
}

impl std::fmt::Debug for Spoiled {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Spoiled").finish_non_exhaustive()
    }
}

impl Target for Spoiled {
    fn name(&self) -> String {
        self.inner.name()
    }

    fn version(&self) -> String {
        self.inner.version()
    }

    fn lacks(&self, needs: &[Need]) -> Vec<String> {
        self.inner.lacks(needs)
    }

    fn paths(&self, layout: &DatabaseLayout) -> Vec<PathBuf> {
        self.inner.paths(layout)
    }

    fn start(&mut self, volume: &Arc<dyn Volume>, startup: &Startup) -> Result<(), TargetError> {
        self.inner.start(volume, startup)
    }

    fn connect(&self) -> Result<Box<dyn Session>, TargetError> {
        Ok(Box::new(SpoiledSession {
            inner: self.inner.connect()?,
            spoil: Arc::clone(&self.spoil),
            refuse: Arc::clone(&self.refuse),
            texts: Vec::new(),
        }))
    }

    fn stop(&mut self) -> Result<(), TargetError> {
        self.inner.stop()
    }
}

struct SpoiledSession {
    inner: Box<dyn Session>,
    spoil: Spoil,
    refuse: Refuse,
    /// Texts of what was prepared.
    texts: Vec<(StatementId, String)>,
}

impl SpoiledSession {
    fn text_of(&self, statement: StatementId) -> &str {
        let mut texts = self.texts.iter();
        texts
            .find(|(of, _)| *of == statement)
            .map_or("", |(_, text)| text.as_str())
    }

    fn meet(&self, text: &str) -> Result<(), TargetError> {
        match (self.refuse)(text) {
            None => Ok(()),
            Some(number) => Err(TargetError {
                number,
                level: 16,
                state: 1,
                text: format!("spoiled: {text}"),
            }),
        }
    }
}

impl Session for SpoiledSession {
    fn batch(&mut self, text: &str) -> Result<Reply, TargetError> {
        self.meet(text)?;
        let mut reply = self.inner.batch(text)?;
        (self.spoil)(text, &mut reply);
        Ok(reply)
    }

    fn prepare(&mut self, text: &str, parameters: &str) -> Result<StatementId, TargetError> {
        let statement = self.inner.prepare(text, parameters)?;
        self.texts.push((statement, text.to_owned()));
        Ok(statement)
    }

    fn execute(&mut self, statement: StatementId, values: &[Value]) -> Result<u64, TargetError> {
        self.meet(self.text_of(statement))?;
        self.inner.execute(statement, values)
    }

    fn query(&mut self, statement: StatementId, values: &[Value]) -> Result<Reply, TargetError> {
        self.meet(self.text_of(statement))?;
        let mut reply = self.inner.query(statement, values)?;
        (self.spoil)(self.text_of(statement), &mut reply);
        Ok(reply)
    }

    fn canceller(&self) -> Box<dyn Fn() + Send + Sync> {
        self.inner.canceller()
    }
}
