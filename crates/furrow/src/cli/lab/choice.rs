//! The experiments that the command line knows, behind one face.

use super::super::args::RunArguments;
use super::super::{Failure, USAGE};
use furrow_lab::datafiles::{DataFiles, Embedded, Options, OptionsError, Watch};
use furrow_lab::experiment::Experiment;
use furrow_lab::fill::{self, ProportionalFill};
use furrow_lab::journal::History;
use furrow_lab::plan::Plan;
use std::path::{Path, PathBuf};

/// An experiment.
pub(super) enum Choice {
    DataFiles(DataFiles),
    Fill(ProportionalFill),
}

fn usage(error: &OptionsError) -> Failure {
    Failure::new(USAGE, error.to_string())
}

impl Choice {
    pub(super) fn data_files(options: Options, out_dir: &Path) -> Result<Choice, Failure> {
        DataFiles::new(options, out_dir, Box::new(Embedded::new()))
            .map(Choice::DataFiles)
            .map_err(|error| usage(&error))
    }

    /// The other experiment, with what was typed; `quick_bytes` is inserted in a quick look.
    pub(super) fn fill(
        typed: &RunArguments,
        volumes: Vec<PathBuf>,
        quick_bytes: u64,
        out_dir: &Path,
    ) -> Result<Choice, Failure> {
        let usual = fill::Options::default();
        let one = |typed: &Option<Vec<u64>>, option: &str, usual: u64| match typed.as_deref() {
            None => Ok(usual),
            Some([one]) => Ok(*one),
            Some(_) => {
                let text = format!("{option} takes one number with {}", fill::NAME);
                Err(Failure::new(USAGE, text))
            }
        };
        if typed.layout.is_some() {
            let text = format!(
                "--layout is not for {}: its rows are sequential",
                fill::NAME
            );
            return Err(Failure::new(USAGE, text));
        }
        let total = if typed.quick {
            quick_bytes
        } else {
            usual.total_bytes
        };
        let options = fill::Options {
            files: one(&typed.files, "--files", usual.files)?,
            volumes,
            connections: typed.connections.unwrap_or(usual.connections),
            total_bytes: typed.total.unwrap_or(total),
            rows_per_commit: one(
                &typed.rows_per_commit,
                "--rows-per-commit",
                usual.rows_per_commit,
            )?,
            pool_bytes: typed.pool,
            log_bytes: typed.log,
        };
        ProportionalFill::new(options, out_dir)
            .map(Choice::Fill)
            .map_err(|error| usage(&error))
    }

    /// The experiment of a journal's plan.
    pub(super) fn of_plan(plan: &Plan, out_dir: &Path) -> Result<Choice, OptionsError> {
        if plan.name == fill::NAME {
            let options = fill::Options::of_plan(plan)?;
            return ProportionalFill::new(options, out_dir).map(Choice::Fill);
        }
        let options = Options::of_plan(plan)?;
        DataFiles::new(options, out_dir, Box::new(Embedded::new())).map(Choice::DataFiles)
    }

    pub(super) fn as_dyn(&self) -> &dyn Experiment {
        match self {
            Choice::DataFiles(experiment) => experiment,
            Choice::Fill(experiment) => experiment,
        }
    }

    pub(super) fn as_dyn_mut(&mut self) -> &mut dyn Experiment {
        match self {
            Choice::DataFiles(experiment) => experiment,
            Choice::Fill(experiment) => experiment,
        }
    }

    pub(super) fn plan(&self, seed: u64) -> Plan {
        match self {
            Choice::DataFiles(experiment) => experiment.plan(seed),
            Choice::Fill(experiment) => experiment.plan(seed),
        }
    }

    pub(super) fn volumes(&self) -> Vec<PathBuf> {
        match self {
            Choice::DataFiles(experiment) => experiment.volumes(),
            Choice::Fill(experiment) => experiment.volumes(),
        }
    }

    pub(super) fn watch(&mut self, watch: Watch) {
        match self {
            Choice::DataFiles(experiment) => experiment.watch(watch),
            Choice::Fill(experiment) => experiment.watch(watch),
        }
    }

    /// Reads from a journal what the report needs beside the runs.
    pub(super) fn take_in(&mut self, history: &History) {
        match self {
            Choice::DataFiles(experiment) => experiment.take_in(history),
            Choice::Fill(_) => {}
        }
    }
}
