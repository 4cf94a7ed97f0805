//! What turns typed options into an experiment, the same way for all of them.
//!
//! A [`Plugin`] names itself and its options (a clap `Args` of its own). An [`Entry`] is what the registry
//! keeps of it: functions that add the options to a command, make the experiment from what was parsed, and
//! make it again from the plan in a journal.

use clap::{ArgMatches, Args, Command, FromArgMatches};
use furrow_lab::experiment::{Experiment, OptionsError};
use furrow_lab::plan::Plan;
use std::path::{Path, PathBuf};

/// The limit that every experiment states.
pub(crate) const NOT_SQL_SERVER: &str =
    "The engine is Furrow, not SQL Server: a difference carries over where its cause is.";

/// The circumstances under which an experiment is made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Start {
    /// Where journal, results and report go; data files too, unless volumes are named.
    pub out_dir: PathBuf,
    /// Where paths begin that were typed without a root.
    pub directory: PathBuf,
    /// A look in about a minute: options that were not typed get smaller values.
    pub is_quick: bool,
    /// Whether the options are those of an experiment that has begun.
    pub is_resumed: bool,
}

impl Start {
    /// All of them.
    pub fn new(out_dir: PathBuf, directory: PathBuf, is_quick: bool) -> Start {
        Start {
            out_dir,
            directory,
            is_quick,
            is_resumed: false,
        }
    }

    /// A path as it was typed, from the root on.
    pub fn path(&self, typed: &Path) -> PathBuf {
        // Joining an absolute path gives that path.
        self.directory.join(typed)
    }
}

/// An experiment that can be made from options.
pub trait Plugin: Experiment + Sized + 'static {
    /// The name on the command line: `datafiles`.
    const NAME: &'static str;
    /// The question in one line, for `furrow lab list`.
    const QUESTION: &'static str;
    /// Its own options. Names that all experiments have are taken: `--blocks`, `--seed`, `--delta`,
    /// `--until`, `--quick`, `--search`, `--out`, `--explain`, `--fail-if`, `--notify`, `--plain`,
    /// `--json-progress`.
    type Options: Args;

    /// Makes the experiment. Nothing is written yet.
    fn new(options: Self::Options, start: &Start) -> Result<Self, OptionsError>;
}

/// An experiment as the registry knows it.
#[derive(Debug, Clone, Copy)]
pub struct Entry {
    /// [`Plugin::NAME`].
    pub name: &'static str,
    /// [`Plugin::QUESTION`].
    pub question: &'static str,
    /// Adds the options to a command.
    pub options: fn(Command) -> Command,
    make: Make,
}

/// Makes an experiment from what was parsed.
type Make = fn(&ArgMatches, &Start) -> Result<Box<dyn Experiment>, OptionsError>;

impl Entry {
    /// The entry of a plug-in.
    pub const fn of<P: Plugin>() -> Entry {
        Entry {
            name: P::NAME,
            question: P::QUESTION,
            options: P::Options::augment_args,
            make: |matches, start| {
                let options = P::Options::from_arg_matches(matches);
                let options = options.map_err(|e| OptionsError(e.to_string()))?;
                Ok(Box::new(P::new(options, start)?))
            },
        }
    }

    /// A command that has this experiment's options alone.
    fn command(&self) -> Command {
        (self.options)(Command::new(self.name).no_binary_name(true))
    }

    /// Makes the experiment from its own options as they were typed. Gives the words that the plan records:
    /// the same, with `--quick` where it was a quick look.
    pub fn make(
        &self,
        words: &[String],
        start: &Start,
    ) -> Result<(Box<dyn Experiment>, Vec<String>), OptionsError> {
        let matches = self.command().try_get_matches_from(words);
        let matches = matches.map_err(|e| OptionsError(e.to_string()))?;
        let experiment = (self.make)(&matches, start)?;
        let quick = start.is_quick.then(|| QUICK.to_owned());
        let recorded = quick.into_iter().chain(words.iter().cloned()).collect();
        Ok((experiment, recorded))
    }

    /// Makes the experiment again of which a journal has the plan.
    pub fn of_plan(
        &self,
        plan: &Plan,
        out_dir: PathBuf,
    ) -> Result<Box<dyn Experiment>, OptionsError> {
        if plan.version != Plan::VERSION {
            return Err(OptionsError(
                "its journal is of an earlier version of this program, whose experiments cannot be \
                 continued; begin a new one"
                    .to_owned(),
            ));
        }
        let is_quick = plan.arguments.iter().any(|word| word == QUICK);
        let words: Vec<String> = plan
            .arguments
            .iter()
            .filter(|w| *w != QUICK)
            .cloned()
            .collect();
        let mut start = Start::new(out_dir, PathBuf::from(&plan.directory), is_quick);
        start.is_resumed = true;
        let (experiment, _) = self.make(&words, &start)?;
        let same = experiment.plan(plan.seed);
        if same.factors != plan.factors || same.settings != plan.settings {
            return Err(OptionsError(
                "the options in its journal make another plan now: a file that they name has changed, or the \
                 program has; begin a new one"
                    .to_owned(),
            ));
        }
        Ok(experiment)
    }

    /// The words of this experiment's own options among all that were parsed, as they would be typed again.
    pub fn words(&self, matches: &ArgMatches) -> Vec<String> {
        let mut words = Vec::new();
        for option in self.command().get_arguments() {
            let id = option.get_id().as_str();
            let typed = matches.value_source(id) == Some(clap::parser::ValueSource::CommandLine);
            let (Some(long), true) = (option.get_long(), typed) else {
                continue;
            };
            if !option.get_action().takes_values() {
                words.push(format!("--{long}"));
                continue;
            }
            let occurrences = matches.get_raw_occurrences(id);
            for values in occurrences.into_iter().flatten() {
                let values: Vec<String> =
                    values.map(|v| v.to_string_lossy().into_owned()).collect();
                let value = values.join(",");
                if value.starts_with('-') {
                    words.push(format!("--{long}={value}"));
                } else {
                    words.extend([format!("--{long}"), value]);
                }
            }
        }
        words
    }
}

/// The option that makes a quick look.
const QUICK: &str = "--quick";
