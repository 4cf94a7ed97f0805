//! Builds an experiment from the command line or from a journal.

use super::super::{FAILED, Failure, REFUSED, USAGE};
use super::typed::{Chosen, RunArguments};
use furrow_experiments as experiments;
use furrow_io::Volume;
use furrow_io::random::random_seed;
use furrow_io::time::WallTime;
use furrow_lab::experiment::Experiment;
use furrow_lab::journal::{self, Event};
use furrow_lab::plan::Plan;
use std::path::{Path, PathBuf};

const QUICK_BLOCKS: u32 = 3;
/// Generated seeds are below this, so that a user can type them again.
const SEEDS: u64 = 1_000_000;

/// An experiment that can begin. A new one has a plan here; a resumed one has its plan in its journal.
pub(super) struct Start {
    pub(super) experiment: Box<dyn Experiment>,
    pub(super) plan: Option<Plan>,
    pub(super) out_dir: PathBuf,
}

/// The absolute path. It must be UTF-8: the databases of an experiment lie below it, and the journal and SQL
/// statements name it as text.
fn absolute(path: &Path) -> Result<PathBuf, Failure> {
    let shown = path.display();
    let path = std::path::absolute(path)
        .map_err(|e| Failure::new(USAGE, format!("{shown} is not a path: {e}")))?;
    match path.to_str() {
        Some(_) => Ok(path),
        None => {
            let text = format!("the path {} is not UTF-8: rename it", path.display());
            Err(Failure::new(USAGE, text))
        }
    }
}

impl Start {
    /// The experiment of the command line.
    pub(super) fn of(volume: &dyn Volume, typed: &RunArguments) -> Result<Start, Failure> {
        match (&typed.experiment, &typed.resume) {
            (Some(chosen), _) => Start::fresh(volume, chosen),
            (None, Some(dir)) => Start::again(volume, dir, typed.blocks),
            (None, None) => Err(Failure::new(
                USAGE,
                "give the name of an experiment (furrow lab list prints them), or --resume DIR",
            )),
        }
    }

    fn fresh(volume: &dyn Volume, chosen: &Chosen) -> Result<Start, Failure> {
        let (typed, name) = (&chosen.common, chosen.entry.name);
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
        let directory = absolute(Path::new("."))?;
        let start = experiments::Start::new(out_dir.clone(), directory.clone(), typed.quick);
        let (experiment, arguments) = chosen
            .entry
            .make(&chosen.words, &start)
            .map_err(|e| Failure::new(USAGE, e.to_string()))?;
        let mut plan = experiment.plan(typed.seed.unwrap_or_else(|| random_seed() % SEEDS));
        // With three blocks, a third of the runs would be the first round alone.
        let quick_blocks = match typed.search {
            true => plan.blocks,
            false => plan.blocks.min(QUICK_BLOCKS),
        };
        plan.blocks = typed.blocks.unwrap_or(if typed.quick {
            quick_blocks
        } else {
            plan.blocks
        });
        plan.delta = typed.delta;
        plan.search = typed.search;
        plan.aa_control &= !typed.search;
        plan.until.clone_from(&typed.until);
        plan.arguments = arguments;
        plan.directory = directory.display().to_string();
        plan.check()
            .map_err(|e| Failure::new(USAGE, e.to_string()))?;
        Ok(Start {
            experiment,
            plan: Some(plan),
            out_dir,
        })
    }

    /// The experiment whose journal is in `dir`.
    fn again(volume: &dyn Volume, dir: &Path, blocks: Option<u32>) -> Result<Start, Failure> {
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
        let lines = journal::read(volume, &out_dir);
        let lines = lines.map_err(|e| Failure::new(FAILED, e.to_string()))?;
        let plan = lines.first().and_then(|line| match &line.event {
            Event::Plan { plan, .. } => Some(plan),
            _ => None,
        });
        let plan = plan.ok_or_else(|| {
            let text = format!(
                "{} was begun and never got a plan; begin a new experiment",
                out_dir.display()
            );
            Failure::new(FAILED, text)
        })?;
        // An earlier resumption may have added some to those of the plan.
        let extended = lines.iter().rev().find_map(|line| match line.event {
            Event::Extended { blocks } => Some(blocks),
            _ => None,
        });
        let planned = extended.unwrap_or(plan.blocks);
        if let Some(blocks) = blocks.filter(|&blocks| blocks < planned) {
            let text = format!(
                "the plan has {planned} blocks; --blocks {blocks} would take some away, which is not possible"
            );
            return Err(Failure::new(USAGE, text));
        }
        let entry = experiments::entry(&plan.name).ok_or_else(|| {
            let text = format!("this program has no experiment '{}'", plan.name);
            Failure::new(FAILED, text)
        })?;
        let experiment = entry.of_plan(plan, out_dir.clone()).map_err(|e| {
            let text = format!("{} cannot be continued: {e}", out_dir.display());
            Failure::new(FAILED, text)
        })?;
        Ok(Start {
            experiment,
            plan: None,
            out_dir,
        })
    }
}
