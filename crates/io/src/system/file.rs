//! One open file of the system.

use super::calls::{data_sync, full_sync};
use super::lanes::Lanes;
use super::options::{Engine, io_uring_available};
use super::transfer::{self, Failure};
use super::{grow, helpers};
use crate::poison::Poison;
use crate::{Access, File, Fill, IoError, IoErrorKind, IoOp, ReadRun, WriteRun};
use parking_lot::Mutex;
use rustix::io::Errno;
use std::path::{Path, PathBuf};

/// Descriptors, the poison, and the locks of length changes and syncs.
#[derive(Debug)]
pub(crate) struct SystemFile {
    path: PathBuf,
    lanes: Lanes,
    engine: Engine,
    access: Access,
    writable: bool,
    poison: Poison,
    /// One sync at a time: the kernel reports a failed write-back to one caller only, and the one beside it
    /// must not take its own success for the truth.
    sync_turn: Mutex<()>,
    resize_turn: Mutex<()>,
}

impl SystemFile {
    pub(crate) fn new(
        path: &Path,
        lanes: Lanes,
        engine: Engine,
        access: Access,
        writable: bool,
    ) -> SystemFile {
        SystemFile {
            path: path.to_path_buf(),
            lanes,
            engine,
            access,
            writable,
            poison: Poison::default(),
            sync_turn: Mutex::new(()),
            resize_turn: Mutex::new(()),
        }
    }

    /// Makes what a dead process left in the page cache durable and empties the cache, so that recovery
    /// builds on what the disk holds and on nothing else.
    pub(crate) fn settle(&self) -> Result<(), IoError> {
        self.sync()?;
        #[cfg(target_os = "linux")]
        if let Err(errno) =
            rustix::fs::fadvise(self.lanes.cached(), 0, None, rustix::fs::Advice::DontNeed)
        {
            tracing::debug!(file = %self.path.display(), %errno, "the page cache was not emptied");
        }
        Ok(())
    }

    fn failed(&self, op: IoOp, offset: u64, failure: Failure) -> IoError {
        match failure {
            Failure::PastEnd => IoError::new(op, &self.path, offset, IoErrorKind::PastEnd),
            Failure::Errno(errno) => IoError::of_errno(op, &self.path, offset, errno),
        }
    }

    fn check_writable(&self, op: IoOp) -> Result<(), IoError> {
        if !self.writable {
            return Err(IoError::new(op, &self.path, 0, IoErrorKind::Denied));
        }
        self.poison.check(op, &self.path)
    }

    /// How a batch is done. Through the page cache several at once gain little: mostly it is copying.
    fn way(&self, runs: usize) -> Way {
        if runs < 2 || !self.lanes.is_direct() {
            return Way::Serial;
        }
        match self.engine {
            Engine::Auto if io_uring_available() => Way::Ring,
            Engine::Auto | Engine::Threads => Way::Helpers(runs - 1),
            Engine::Plain => Way::Serial,
        }
    }

    /// Finishes the runs of a batch, one after the other or with helpers. The first failure ends it.
    fn finish<T: Send>(
        &self,
        way: Way,
        runs: impl Iterator<Item = T> + Send,
        each: impl Fn(T) -> Result<(), IoError> + Sync,
    ) -> Result<(), IoError> {
        let Way::Helpers(helpers) = way else {
            return { runs }.try_for_each(each);
        };
        let (runs, failure) = (Mutex::new(runs), Mutex::new(None));
        helpers::run(helpers, &|| {
            while failure.lock().is_none() {
                // The lock is held for the time of taking a run, not of doing it.
                let next = runs.lock().next();
                match next.map(&each) {
                    None => break,
                    Some(Ok(())) => {}
                    Some(Err(error)) => *failure.lock() = Some(error),
                }
            }
        });
        failure.into_inner().map_or(Ok(()), Err)
    }

    fn write_plain(&self, runs: &[WriteRun<'_, '_>]) -> Result<(), IoError> {
        let way = self.way(runs.len());
        let done = if way == Way::Ring {
            batch::write(&self.lanes, runs)
        } else {
            Vec::new()
        };
        self.finish(way, runs.iter().enumerate(), |(index, run)| {
            let begun = done.get(index).copied().unwrap_or(Ok(0));
            begun
                .map_err(Failure::Errno)
                .and_then(|moved| {
                    transfer::write_rest(&self.lanes, run.offset, run.bufs, moved, false)
                })
                .map_err(|failure| self.failed(IoOp::Write, run.offset, failure))
                .map(|_durable| ())
        })
    }
}

/// How the runs of a batch are done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    Serial,
    Ring,
    /// With so many helpers at most.
    Helpers(usize),
}

impl File for SystemFile {
    fn read(&self, runs: &mut [ReadRun<'_, '_>]) -> Result<(), IoError> {
        let way = self.way(runs.len());
        let done = if way == Way::Ring {
            batch::read(&self.lanes, runs)
        } else {
            Vec::new()
        };
        self.finish(way, runs.iter_mut().enumerate(), |(index, run)| {
            let begun = done.get(index).copied().unwrap_or(Ok(0));
            begun
                .map_err(Failure::Errno)
                .and_then(|moved| transfer::read_rest(&self.lanes, run.offset, run.bufs, moved))
                .map_err(|failure| self.failed(IoOp::Read, run.offset, failure))
        })
    }

    fn write(&self, runs: &[WriteRun<'_, '_>]) -> Result<(), IoError> {
        self.check_writable(IoOp::Write)?;
        self.write_plain(runs)
    }

    fn write_durable(&self, runs: &[WriteRun<'_, '_>]) -> Result<(), IoError> {
        self.check_writable(IoOp::Write)?;
        // A single run carries its own flag; for several, one sync after all is cheaper than one each.
        let durable = match runs {
            [run] if self.access == Access::Log => self.poison.watch(
                transfer::write_rest(&self.lanes, run.offset, run.bufs, 0, true)
                    .map_err(|failure| self.failed(IoOp::Write, run.offset, failure)),
            )?,
            runs => {
                self.poison.watch(self.write_plain(runs))?;
                false
            }
        };
        if durable {
            return Ok(());
        }
        self.sync()
    }

    fn sync(&self) -> Result<(), IoError> {
        let _turn = self.sync_turn.lock();
        self.poison.check(IoOp::Sync, &self.path)?;
        self.poison.watch(
            data_sync(self.lanes.cached())
                .map_err(|errno| IoError::of_errno(IoOp::Sync, &self.path, 0, errno)),
        )
    }

    fn resize(&self, bytes: u64, fill: Fill) -> Result<(), IoError> {
        let _turn = self.resize_turn.lock();
        self.check_writable(IoOp::Resize)?;
        let old = self.len_bytes()?;
        let outcome = grow::set_len(&self.lanes, old, bytes, fill)
            .map_err(|failure| self.failed(IoOp::Resize, bytes, failure));
        match &outcome {
            // A full disk or a refusal leaves the file as it was; anything else may have hit other writes.
            Err(error)
                if matches!(
                    error.kind,
                    IoErrorKind::NoSpace | IoErrorKind::Denied | IoErrorKind::ReadOnly
                ) =>
            {
                return outcome;
            }
            _ => self.poison.watch(outcome)?,
        }
        let _turn = self.sync_turn.lock();
        self.poison.check(IoOp::Resize, &self.path)?;
        // Here a lack of space is no refusal: a thin disk could not take writes that were accepted before.
        self.poison.watch(
            full_sync(self.lanes.cached())
                .map_err(|errno| IoError::of_errno(IoOp::Resize, &self.path, bytes, errno)),
        )
    }

    fn len_bytes(&self) -> Result<u64, IoError> {
        let found = rustix::fs::fstat(self.lanes.cached())
            .map_err(|errno| IoError::of_errno(IoOp::Length, &self.path, 0, errno))?;
        Ok(u64::try_from(found.st_size).unwrap_or(0))
    }

    fn path(&self) -> &Path {
        &self.path
    }
}

/// Batches by ring: per run the bytes moved, or the error; an empty answer when no ring was available.
#[cfg(target_os = "linux")]
mod batch {
    use super::{Errno, Lanes, ReadRun, WriteRun};
    use crate::system::lanes::Lane;
    use crate::system::ring::{self, Direction, Job};
    use crate::system::transfer::MAX_BUFFERS;

    pub(super) fn read(lanes: &Lanes, runs: &mut [ReadRun<'_, '_>]) -> Vec<Result<usize, Errno>> {
        let mut places = Vec::with_capacity(runs.len());
        let mut jobs = Vec::with_capacity(runs.len());
        for (index, run) in runs.iter_mut().enumerate() {
            if lanes.choose(run.offset, run.bufs.iter().map(|buf| &**buf)) == Lane::Direct {
                let count = run.bufs.len().min(MAX_BUFFERS);
                let iovec = run.bufs.as_mut_ptr().cast_const().cast();
                jobs.push(Job::new(
                    lanes.fd(Lane::Direct),
                    Direction::Read,
                    run.offset,
                    iovec,
                    count,
                ));
                places.push(index);
            }
        }
        // `IoSliceMut` has the layout of the system's iovec, by the standard library's promise.
        run(&mut jobs, &places, runs.len())
    }

    pub(super) fn write(lanes: &Lanes, runs: &[WriteRun<'_, '_>]) -> Vec<Result<usize, Errno>> {
        let mut places = Vec::with_capacity(runs.len());
        let mut jobs = Vec::with_capacity(runs.len());
        for (index, run) in runs.iter().enumerate() {
            if lanes.choose(run.offset, run.bufs.iter().map(|buf| &**buf)) == Lane::Direct {
                let count = run.bufs.len().min(MAX_BUFFERS);
                let iovec = run.bufs.as_ptr().cast();
                jobs.push(Job::new(
                    lanes.fd(Lane::Direct),
                    Direction::Write,
                    run.offset,
                    iovec,
                    count,
                ));
                places.push(index);
            }
        }
        run(&mut jobs, &places, runs.len())
    }

    /// Runs the jobs of the runs at `places`; runs that had none have moved nothing yet.
    #[expect(unsafe_code, reason = "hands the callers' buffers to the kernel")]
    fn run(jobs: &mut [Job<'_>], places: &[usize], runs: usize) -> Vec<Result<usize, Errno>> {
        let mut moved = vec![Ok(0); runs];
        // SAFETY: the arrays of buffers and the buffers are borrowed by `read` and `write` above for longer
        // than this call, those to be read into exclusively, and nothing touches them meanwhile.
        if !unsafe { ring::run(jobs) } {
            return moved;
        }
        for (job, &place) in jobs.iter().zip(places) {
            moved[place] = match usize::try_from(job.result) {
                Ok(count) => Ok(count),
                Err(_) => match Errno::from_raw_os_error(-job.result) {
                    // The plain engine starts this run again.
                    Errno::AGAIN | Errno::INTR | Errno::CANCELED => Ok(0),
                    errno => Err(errno),
                },
            };
        }
        moved
    }
}

#[cfg(not(target_os = "linux"))]
mod batch {
    use super::{Errno, Lanes, ReadRun, WriteRun};

    pub(super) fn read(_: &Lanes, _: &mut [ReadRun<'_, '_>]) -> Vec<Result<usize, Errno>> {
        Vec::new()
    }

    pub(super) fn write(_: &Lanes, _: &[WriteRun<'_, '_>]) -> Vec<Result<usize, Errno>> {
        Vec::new()
    }
}
