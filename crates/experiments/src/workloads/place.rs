//! The directories of one run, and the instance and database in them.

use crate::targets::{DatabaseLayout, Startup, Target, TargetError, place_files};
use furrow_lab::experiment::{RunContext, StepError};
use std::path::{Path, PathBuf};

/// Where the files of a run lie: a directory of its own on each volume in use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunPlace {
    /// The name that directories and database have.
    pub name: String,
    /// One directory on each volume in use, the log's last where it has one of its own.
    pub directories: Vec<PathBuf>,
    /// Data files.
    pub data: Vec<PathBuf>,
    /// The log.
    pub log: PathBuf,
}

impl RunPlace {
    /// The place of a run with this tag. More volumes than files: the rest stays empty.
    pub fn new(volumes: &[PathBuf], log_volume: Option<&Path>, files: u64, tag: &str) -> RunPlace {
        let name = format!("lab_{tag}");
        let used = volumes.len().min(files as usize).max(1).min(volumes.len());
        let mut directories: Vec<PathBuf> = volumes[..used].iter().map(|v| v.join(&name)).collect();
        let log_directory = log_volume.map(|volume| volume.join(&name));
        let (data, log) = place_files(&directories, log_directory.as_deref(), files);
        if let Some(directory) = log_directory
            && !directories.contains(&directory)
        {
            directories.push(directory);
        }
        RunPlace {
            name,
            data: data.into_iter().map(|(_, path)| path).collect(),
            log: log.1,
            directories,
        }
    }

    /// The directory of the instance: beside the first data file.
    pub fn instance(&self) -> PathBuf {
        let first = self.directories.first().cloned().unwrap_or_default();
        first.join("instance")
    }

    /// Bytes by directory above the run's own, at the peak.
    pub fn peak(&self, file_bytes: u64, log_bytes: u64) -> Vec<(PathBuf, u64)> {
        // Two up: the directory of the run, then the volume.
        let volume = |file: &PathBuf| {
            let above = file.parent().and_then(Path::parent);
            above.map(Path::to_path_buf).unwrap_or_default()
        };
        let data = self.data.iter().map(|file| (volume(file), file_bytes));
        data.chain([(volume(&self.log), log_bytes)]).collect()
    }

    /// Claims and makes the directories.
    pub(crate) fn make_directories(&self, context: &mut RunContext<'_>) -> Result<(), StepError> {
        for directory in &self.directories {
            context.claim_directory(directory)?;
            context.volume().create_dir(directory)?;
        }
        Ok(())
    }

    /// Starts the instance in its directory and creates the database; each file is claimed before it is made.
    pub fn start(
        &self,
        target: &mut dyn Target,
        startup: &Startup,
        layout: &DatabaseLayout,
        context: &mut RunContext<'_>,
    ) -> Result<(), StepError> {
        for path in target.paths(layout) {
            context.claim_file(&path)?;
        }
        self.start_claimed(target, startup, layout, context)
    }

    /// The same where the files of the database are claimed already.
    pub(crate) fn start_claimed(
        &self,
        target: &mut dyn Target,
        startup: &Startup,
        layout: &DatabaseLayout,
        context: &mut RunContext<'_>,
    ) -> Result<(), StepError> {
        start_instance(target, startup, context)?;
        target.create_database(layout).map_err(failed)
    }
}

/// Claims the directory of the instance and starts it there.
pub(crate) fn start_instance(
    target: &mut dyn Target,
    startup: &Startup,
    context: &mut RunContext<'_>,
) -> Result<(), StepError> {
    context.claim_tree(&startup.directory)?;
    let volume = context.volume().clone();
    target.start(&volume, startup).map_err(failed)
}

/// A target's error as the failure of a step, with its number.
#[expect(
    clippy::needless_pass_by_value,
    reason = "the shape that map_err takes"
)]
pub fn failed(error: TargetError) -> StepError {
    StepError::Failed(error.full())
}

/// The same of a statement that the user gave, in `place`: what is not for want of a resource fails in every
/// run.
pub(crate) fn of_the_user(place: &str, error: &TargetError) -> StepError {
    let text = format!("{place}: {}", error.full());
    match error.is_of_resources() {
        true => StepError::Failed(text),
        false => StepError::Statement(text),
    }
}

/// The same of a statement that checks data: what is not for want of a resource is a wrong result.
pub(crate) fn wrong(error: TargetError) -> StepError {
    match error.is_of_resources() {
        true => failed(error),
        false => StepError::Violation(error.full()),
    }
}

/// Numbers of errors that name a damaged page.
const DAMAGE: [u32; 3] = [824, 3043, 8646];

/// An error of a statement that is measured: a wrong result where the engine says that its data is damaged.
pub(crate) fn wrong_if_damaged(error: TargetError) -> StepError {
    match DAMAGE.contains(&error.number) {
        true => wrong(error),
        false => failed(error),
    }
}

/// Stops the target and removes what the run made.
pub fn clear(target: &mut dyn Target, context: &mut RunContext<'_>) -> Result<(), StepError> {
    let stopped = target.stop();
    for thing in context.owned() {
        context.remove(thing.kind, Path::new(&thing.name))?;
    }
    stopped.map_err(failed)
}
