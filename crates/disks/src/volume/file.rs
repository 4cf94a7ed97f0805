//! A file on a modelled array.

use super::MountedArray;
use crate::SECTOR_BYTES;
use crate::array::{Direction, Request};
use furrow_io::{File, Fill, IoError, IoOp, ReadRun, WriteRun};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Zeros are written in requests of this size.
const ZERO_BYTES: u64 = 1 << 20;

#[derive(Debug)]
pub(super) struct ModelledFile {
    inner: Arc<dyn File>,
    array: Arc<MountedArray>,
    /// The path without links, by which the array has its extents.
    resolved: PathBuf,
}

impl ModelledFile {
    pub(super) fn new(
        inner: Arc<dyn File>,
        array: Arc<MountedArray>,
        resolved: PathBuf,
    ) -> ModelledFile {
        ModelledFile {
            inner,
            array,
            resolved,
        }
    }

    /// The requests to the array that ranges of the file become, in whole sectors.
    fn requests(
        &self,
        direction: Direction,
        ranges: impl Iterator<Item = (u64, u64)>,
    ) -> Vec<Request> {
        let places = self.array.places.lock();
        let mut requests = Vec::new();
        let Some(extents) = places.files.get(&self.resolved) else {
            return requests;
        };
        for (offset, end) in ranges {
            let from = offset / SECTOR_BYTES * SECTOR_BYTES;
            let to = end.div_ceil(SECTOR_BYTES).saturating_mul(SECTOR_BYTES);
            extents.map(from, to.saturating_sub(from), |offset, bytes| {
                requests.push(Request {
                    direction,
                    offset,
                    bytes,
                });
            });
        }
        requests
    }

    /// Does the work below while the array works, and waits for both.
    fn paced<T>(&self, requests: &[Request], work: impl FnOnce() -> T) -> T {
        let pending = self.array.pacer.begin(requests);
        let outcome = work();
        if !requests.is_empty() && !pending.wait() {
            self.array.late.fetch_add(1, Ordering::Relaxed);
        }
        outcome
    }

    fn flush(&self) {
        let flush = Request {
            direction: Direction::Flush,
            offset: 0,
            bytes: 0,
        };
        self.array.pacer.begin(&[flush]).wait();
    }

    fn write_requests(&self, runs: &[WriteRun<'_, '_>]) -> Result<Vec<Request>, IoError> {
        let end = runs.iter().map(WriteRun::end_bytes).max().unwrap_or(0);
        self.array.cover(IoOp::Write, &self.resolved, end)?;
        let ranges = runs.iter().map(|run| (run.offset, run.end_bytes()));
        Ok(self.requests(Direction::Write, ranges))
    }
}

impl File for ModelledFile {
    fn read(&self, runs: &mut [ReadRun<'_, '_>]) -> Result<(), IoError> {
        let ranges = runs.iter().map(|run| (run.offset, run.end_bytes()));
        let requests = self.requests(Direction::Read, ranges);
        self.paced(&requests, || self.inner.read(runs))
    }

    fn write(&self, runs: &[WriteRun<'_, '_>]) -> Result<(), IoError> {
        let requests = self.write_requests(runs)?;
        self.paced(&requests, || self.inner.write(runs))
    }

    fn write_durable(&self, runs: &[WriteRun<'_, '_>]) -> Result<(), IoError> {
        let requests = self.write_requests(runs)?;
        let outcome = self.paced(&requests, || self.inner.write_durable(runs));
        if self.array.model.array.controller.durable_syncs {
            self.flush();
        }
        outcome
    }

    fn sync(&self) -> Result<(), IoError> {
        let outcome = self.inner.sync();
        self.flush();
        outcome
    }

    fn resize(&self, bytes: u64, fill: Fill) -> Result<(), IoError> {
        let old = self.inner.len_bytes()?;
        self.array.cover(IoOp::Resize, &self.resolved, bytes)?;
        let mut requests = Vec::new();
        if fill == Fill::Zero && bytes > old {
            let steps = (old..bytes).step_by(ZERO_BYTES as usize);
            let ranges = steps.map(|from| (from, (from + ZERO_BYTES).min(bytes)));
            requests = self.requests(Direction::Write, ranges);
        }
        let outcome = self.paced(&requests, || self.inner.resize(bytes, fill));
        // A failed resize leaves the length as it was; the extents follow the length.
        let length = if outcome.is_ok() { bytes } else { old };
        self.array.cut(&self.resolved, length);
        self.flush();
        outcome
    }

    fn len_bytes(&self) -> Result<u64, IoError> {
        self.inner.len_bytes()
    }

    fn path(&self) -> &Path {
        self.inner.path()
    }
}
