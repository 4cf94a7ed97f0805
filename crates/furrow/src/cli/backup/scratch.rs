//! Restores a database into a temporary directory.

use crate::cli::checked::check_files;
use crate::cli::outcome::{FAILED, Failure, INTERRUPTED, REFUSED};
use furrow_backup::chain::{Chain, file_moves};
use furrow_backup::media::BackupKind;
use furrow_backup::{
    BackupError, FilePages, Listener, MediaSet, RestoreRequest, restore_database, restore_log,
};
use furrow_check::{CheckError, Options, Report};
use furrow_engine::{Instance, InstanceConfig, StopPoint};
use furrow_io::{IoErrorKind, SystemVolume, Volume};
use furrow_lab::size::size_text;
use furrow_observe::task::{self, Task};
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use tempfile::TempDir;

/// Session number of the restore.
const SESSION: i32 = 51;

/// A directory that is removed at the end, and also at the second Ctrl-C.
pub(crate) struct Scratch {
    directory: Arc<Mutex<Option<TempDir>>>,
    path: PathBuf,
    stop: Arc<AtomicBool>,
    visible: bool,
}

/// A set that was restored.
pub(crate) struct RestoredStep {
    pub(crate) pages: u64,
    pub(crate) elapsed_us: u64,
}

/// A database that was restored and shut down. Dropping it removes its files.
pub(crate) struct Restored {
    _directory: TempDir,
    pub(crate) steps: Vec<RestoredStep>,
    /// Its data files.
    pub(crate) files: Vec<PathBuf>,
}

impl Scratch {
    /// Creates the directory, and installs the handler for Ctrl-C.
    pub(crate) fn make(dir: Option<&Path>, quiet: bool) -> Result<Scratch, Failure> {
        let directory = Arc::new(Mutex::new(None));
        let stop = Arc::new(AtomicBool::new(false));
        // Before the directory exists, so that Ctrl-C never leaves it behind.
        listen(&directory, &stop)?;
        let mut named = tempfile::Builder::new();
        named.prefix("furrow-rehearse-");
        let made = match dir {
            Some(dir) => named.tempdir_in(dir),
            None => named.tempdir(),
        };
        let made = made.map_err(|e| {
            let dir = dir.map_or_else(std::env::temp_dir, Path::to_path_buf);
            let reason = IoErrorKind::of_std(&e);
            let text = format!("cannot make a directory in {}: {reason}", dir.display());
            Failure::new(REFUSED, text)
        })?;
        let path = std::path::absolute(made.path());
        let path = path.map_err(|e| Failure::new(REFUSED, e.to_string()))?;
        if let Ok(mut directory) = directory.lock() {
            *directory = Some(made);
        }
        Ok(Scratch {
            directory,
            path,
            stop,
            visible: !quiet && std::io::stderr().is_terminal(),
        })
    }

    fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::SeqCst)
    }

    pub(crate) fn interrupted() -> Failure {
        Failure::new(INTERRUPTED, "interrupted; what was restored is removed")
    }

    /// Refuses a database that is larger than the free space.
    fn fits(&self, volume: &SystemVolume, chain: &Chain) -> Result<(), Failure> {
        let Ok(space) = volume.space(&self.path) else {
            return Ok(());
        };
        let needed = chain.size_bytes();
        if needed <= space.free_bytes {
            return Ok(());
        }
        let text = format!(
            "database {} takes {} and {} has {} free: name a directory with more space by --dir",
            chain.database(),
            size_text(needed.next_multiple_of(1 << 20)),
            self.path.parent().unwrap_or(&self.path).display(),
            size_text(space.free_bytes >> 20 << 20),
        );
        Err(Failure::new(REFUSED, text))
    }

    /// Restores a chain, recovers the database and shuts it down.
    pub(crate) fn restore(&self, media: &[MediaSet], chain: &Chain) -> Result<Restored, Failure> {
        let volume = SystemVolume::new();
        self.fits(&volume, chain)?;
        let failed = |e: &dyn std::fmt::Display| Failure::new(FAILED, e.to_string());
        let directory = tempfile::Builder::new().tempdir_in(&self.path);
        let directory = directory.map_err(|e| failed(&e))?;
        let home = directory.path();
        let config = InstanceConfig {
            directory: Some(home.to_path_buf()),
            ..InstanceConfig::default()
        };
        let instance = Instance::start(Arc::new(volume), config).map_err(|e| failed(&e))?;
        let task = Task::new(instance.instruments(), SESSION, "rehearsal");
        let entered = task::enter(&task);
        let steps = self.steps((&instance, &task), home, (media, chain));
        let files = steps.and_then(|steps| {
            let database = instance.database(chain.database());
            let files = database
                .and_then(|d| d.file_list())
                .map_err(|e| failed(&e))?;
            let data = files.into_iter().filter(|f| f.filegroup != 0);
            let files: Vec<PathBuf> = data.map(|f| f.path).collect();
            Ok((steps, files))
        });
        drop(entered);
        let ended = match &files {
            Ok(_) => instance.shut_down().map_err(|e| failed(&e)),
            Err(_) => {
                instance.abandon();
                Ok(())
            }
        };
        let (steps, files) = files?;
        ended?;
        Ok(Restored {
            _directory: directory,
            steps,
            files,
        })
    }

    /// Checks the files of a restored database.
    pub(crate) fn check(&self, restored: &Restored, threads: usize) -> Result<Report, CheckError> {
        let how = Options {
            workers: threads,
            ..Options::default()
        };
        let seen = (self.visible, Some(&*self.stop));
        check_files(&restored.files, (&how, None), seen)
    }

    fn steps(
        &self,
        (instance, task): (&Arc<Instance>, &Arc<Task>),
        home: &Path,
        (media, chain): (&[MediaSet], &Chain),
    ) -> Result<Vec<RestoredStep>, Failure> {
        let moves = file_moves(chain, home);
        let count = chain.steps.len();
        let mut done = Vec::new();
        for (at, (step, moves)) in chain.steps.iter().zip(moves).enumerate() {
            let request = RestoreRequest {
                name: chain.database().to_owned(),
                moves,
                recovery: at + 1 == count,
                position: Some(step.position),
                stop: step.stop.map(|lsn| StopPoint::Lsn {
                    lsn,
                    inclusive: true,
                }),
                continue_after_error: step.info.damaged,
                ..RestoreRequest::default()
            };
            if self.is_stopped() {
                return Err(Scratch::interrupted());
            }
            let mut shown = Shown {
                scratch: self,
                task,
                what: format!("restoring {}, set {} of {count}", chain.database(), at + 1),
                percent: 0,
            };
            let Some(media) = media.get(step.media) else {
                return Err(Failure::new(FAILED, "the media set is gone"));
            };
            let restored = match step.info.kind {
                BackupKind::Log => restore_log(instance, media, &request, &mut shown),
                _ => restore_database(instance, media, &request, &mut shown),
            };
            shown.clear();
            let report = restored.map_err(|e| self.failure(&step.name(), &e))?;
            if self.is_stopped() {
                return Err(Scratch::interrupted());
            }
            done.push(RestoredStep {
                pages: report.pages,
                elapsed_us: report.elapsed_us,
            });
        }
        Ok(done)
    }

    fn failure(&self, set: &str, error: &BackupError) -> Failure {
        if self.is_stopped() {
            return Scratch::interrupted();
        }
        let mut texts: Vec<String> = Vec::new();
        for message in error.messages() {
            texts.push(format!("Msg {}: {}", message.number, message.text));
        }
        if texts.is_empty() {
            texts.push(error.to_string());
        }
        let text = format!("{set} cannot be restored: {}", texts.join(" "));
        Failure::new(FAILED, text)
    }
}

/// The first Ctrl-C stops the running step; the second one removes the directory and ends the process.
fn listen(directory: &Arc<Mutex<Option<TempDir>>>, stop: &Arc<AtomicBool>) -> Result<(), Failure> {
    let stop = Arc::clone(stop);
    // A weak reference, because the handler lives as long as the process.
    let directory = Arc::downgrade(directory);
    let handler = move || {
        if stop.swap(true, Ordering::SeqCst) {
            let directory = directory.upgrade();
            let mut held = directory.as_ref().and_then(|d| d.lock().ok());
            if let Some(held) = &mut held {
                drop(held.take());
            }
            // The lock stays held: the program's other exit path waits for this one.
            std::process::exit(i32::from(INTERRUPTED));
        }
        eprintln!("\nstopping: what was restored is removed");
    };
    ctrlc::set_handler(handler)
        .map_err(|e| Failure::new(FAILED, format!("cannot listen for Ctrl-C: {e}")))
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if let Ok(mut directory) = self.directory.lock() {
            drop(directory.take());
        }
    }
}

/// Prints percentages, and passes Ctrl-C on to the restore.
struct Shown<'a> {
    scratch: &'a Scratch,
    task: &'a Arc<Task>,
    what: String,
    percent: u64,
}

impl Shown<'_> {
    fn clear(&self) {
        if self.scratch.visible {
            eprint!("\r{:70}\r", "");
        }
    }
}

impl Listener for Shown<'_> {
    fn progress(&mut self, done: u64, total: u64) {
        if self.scratch.is_stopped() {
            self.task.cancel();
        }
        let percent = (done * 100 / total.max(1)).min(100);
        if self.scratch.visible && percent > self.percent {
            self.percent = percent;
            eprint!("\r{}: {percent:>3}%", self.what);
        }
    }

    fn files_done(&mut self, _: u16, _: &[FilePages]) {}
}
