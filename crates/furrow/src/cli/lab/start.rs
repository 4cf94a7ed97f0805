//! From what was typed, or from a journal, to an experiment that can begin.

use super::super::args::RunArguments;
use super::super::{FAILED, Failure, REFUSED, USAGE};
use super::choice::Choice;
use furrow_io::Volume;
use furrow_io::random::random_seed;
use furrow_io::time::WallTime;
use furrow_lab::datafiles::{self, Options, OptionsError};
use furrow_lab::fill;
use furrow_lab::journal::{self, Event, JournalError};
use furrow_lab::plan::Plan;
use std::path::{Path, PathBuf};

/// Inserted in each run of a quick look: eighteen of them take less than a minute on two cores.
const QUICK_BYTES: u64 = 256 << 20;
const QUICK_BLOCKS: u32 = 3;
/// Of the experiment on proportional fill: past 512 MB, so that skip targets are reckoned anew once.
const QUICK_FILL_BYTES: u64 = 640 << 20;
/// Seeds that are made up are short enough to be typed again.
const SEEDS: u64 = 1_000_000;

/// An experiment that can begin. A plan is there for a new one; a resumed one has it in its journal.
pub(super) struct Start {
    pub(super) experiment: Choice,
    pub(super) plan: Option<Plan>,
    pub(super) out_dir: PathBuf,
}

fn usage(error: &OptionsError) -> Failure {
    Failure::new(USAGE, error.to_string())
}

fn absolute(path: &Path) -> Result<PathBuf, Failure> {
    std::path::absolute(path)
        .map_err(|e| Failure::new(USAGE, format!("{} is not a path: {e}", path.display())))
}

impl Start {
    /// A new experiment.
    pub(super) fn fresh(volume: &dyn Volume, typed: &RunArguments) -> Result<Start, Failure> {
        let name = typed.experiment.as_deref().unwrap_or(datafiles::NAME);
        let out = typed.out.clone().unwrap_or_else(|| {
            let stamp = WallTime::now().file_stamp();
            PathBuf::from("furrow-lab").join(format!("{name}-{stamp}"))
        });
        let out_dir = absolute(&out)?;
        let journal = out_dir.join(journal::FILE_NAME);
        if volume.exists(&journal).unwrap_or(false) {
            let text = format!(
                "{} holds an experiment already; go on with it by --resume {0}, or give another --out",
                out_dir.display()
            );
            return Err(Failure::new(REFUSED, text));
        }
        let seed = typed.seed.unwrap_or_else(|| random_seed() % SEEDS);
        let experiment = if name == fill::NAME {
            Choice::fill(typed, volumes(volume, typed)?, QUICK_FILL_BYTES, &out_dir)?
        } else {
            Choice::data_files(options(volume, typed)?, &out_dir)?
        };
        let mut plan = experiment.plan(seed);
        plan.blocks = typed.blocks.unwrap_or(if typed.quick {
            QUICK_BLOCKS
        } else {
            plan.blocks
        });
        plan.delta = typed.delta;
        plan.until.clone_from(&typed.until);
        plan.check()
            .map_err(|e| Failure::new(USAGE, e.to_string()))?;
        Ok(Start {
            experiment,
            plan: Some(plan),
            out_dir,
        })
    }

    /// The experiment whose journal lies in `dir`.
    pub(super) fn again(
        volume: &dyn Volume,
        dir: &Path,
        blocks: Option<u32>,
    ) -> Result<Start, Failure> {
        let out_dir = absolute(dir)?;
        if !volume
            .exists(&out_dir.join(journal::FILE_NAME))
            .unwrap_or(false)
        {
            let text = format!(
                "{} holds no experiment: there is no journal.jsonl",
                out_dir.display()
            );
            return Err(Failure::new(USAGE, text));
        }
        let lines = journal::read(volume, &out_dir).map_err(|e| unreadable(&e))?;
        let plan = lines.first().and_then(|line| match &line.event {
            Event::Plan { plan, .. } => Some(plan),
            _ => None,
        });
        let plan = plan.ok_or_else(|| {
            let text = format!(
                "{} was begun and never got a plan; start anew",
                out_dir.display()
            );
            Failure::new(FAILED, text)
        })?;
        if let Some(blocks) = blocks.filter(|&blocks| blocks < plan.blocks) {
            let text = format!(
                "the plan has {} blocks; --blocks {blocks} would take some away, which is not possible",
                plan.blocks
            );
            return Err(Failure::new(USAGE, text));
        }
        let experiment =
            Choice::of_plan(plan, &out_dir).map_err(|e| Failure::new(FAILED, e.to_string()))?;
        Ok(Start {
            experiment,
            plan: None,
            out_dir,
        })
    }
}

fn unreadable(error: &JournalError) -> Failure {
    Failure::new(FAILED, error.to_string())
}

/// The directories that were typed, which must be there, each once, whatever way leads to it.
fn volumes(volume: &dyn Volume, typed: &RunArguments) -> Result<Vec<PathBuf>, Failure> {
    let mut volumes = Vec::new();
    let mut led_to: Vec<PathBuf> = Vec::new();
    for dir in &typed.volumes {
        let dir = absolute(dir)?;
        if !volume.exists(&dir).unwrap_or(false) {
            let text = format!(
                "--volume {} is not there; make the directory first",
                dir.display()
            );
            return Err(Failure::new(USAGE, text));
        }
        if let Err(error) = volume.list(&dir) {
            let text = format!(
                "--volume {} is not a directory that can be read: {}",
                dir.display(),
                error.kind
            );
            return Err(Failure::new(USAGE, text));
        }
        let leads_to = dir.canonicalize().unwrap_or_else(|_| dir.clone());
        if let Some(other) = led_to.iter().position(|earlier| *earlier == leads_to) {
            let text = format!(
                "--volume {} and --volume {} are the same directory, {}; give it once",
                volumes.get(other).unwrap_or(&dir).display(),
                dir.display(),
                leads_to.display()
            );
            return Err(Failure::new(USAGE, text));
        }
        led_to.push(leads_to);
        volumes.push(dir);
    }
    Ok(volumes)
}

fn options(volume: &dyn Volume, typed: &RunArguments) -> Result<Options, Failure> {
    let usual = Options::default();
    let total = if typed.quick {
        QUICK_BYTES
    } else {
        usual.total_bytes
    };
    let volumes = volumes(volume, typed)?;
    let options = Options {
        files: typed.files.clone().unwrap_or(usual.files),
        volumes,
        connections: typed.connections.unwrap_or(usual.connections),
        total_bytes: typed.total.unwrap_or(total),
        pool_bytes: typed.pool,
        log_bytes: typed.log,
        rows_per_commit: typed
            .rows_per_commit
            .clone()
            .unwrap_or(usual.rows_per_commit),
        layouts: typed.layout.clone().unwrap_or(usual.layouts),
    };
    options.check().map_err(|e| usage(&e))?;
    Ok(options)
}
