//! Runs of whole experiments in tests: from typed words to the results.

use crate::plugin::{Plugin, Start};
use clap::{Args, Command, FromArgMatches};
use furrow_io::{SystemVolume, Volume};
use furrow_lab::environment::Environment;
use furrow_lab::experiment::Experiment;
use furrow_lab::journal::SystemClock;
use furrow_lab::plan::Plan;
use furrow_lab::results::{Results, Section};
use furrow_lab::runner::{Runner, RunnerSetup, Stop};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

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
    let mut experiment: P = made(out, words).unwrap();
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
