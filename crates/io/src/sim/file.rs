//! One open file of a simulated volume.

use super::disk::{Disk, bad_sector, device_error, no_memory};
use super::fault::{Effect, OpKind, SyncLoss};
use super::{Hook, SimVolume};
use crate::poison::Poison;
use crate::{File, Fill, IoError, IoErrorKind, IoOp, ReadRun, WriteRun};
use parking_lot::MutexGuard;
use std::path::{Path, PathBuf};

/// A handle: dead once the volume's generation has passed its own.
#[derive(Debug)]
pub(super) struct SimFile {
    pub(super) volume: SimVolume,
    pub(super) path: PathBuf,
    pub(super) node: usize,
    pub(super) generation: u64,
    pub(super) writable: bool,
    pub(super) poison: Poison,
}

/// The part of a batch that a fault lets pass: bytes from the front.
fn passing(total: u64, effect: Option<Effect>) -> u64 {
    if effect == Some(Effect::Partial) {
        total / 2
    } else {
        total
    }
}

impl SimFile {
    /// The machine, when it has power and this handle is valid; and the fault of the operation, if any.
    fn begin(
        &self,
        kind: OpKind,
        op: IoOp,
    ) -> Result<(MutexGuard<'_, Disk>, Option<Effect>), IoError> {
        self.volume
            .begin(kind, op, &self.path, Some(self.generation))
    }

    fn check_writable(&self, op: IoOp) -> Result<(), IoError> {
        if !self.writable {
            return Err(IoError::new(op, &self.path, 0, IoErrorKind::Denied));
        }
        self.poison.check(op, &self.path)
    }

    fn crashed(&self, op: IoOp, disk: &mut Disk) -> IoError {
        disk.powered = false;
        IoError::new(op, &self.path, 0, IoErrorKind::Crashed)
    }

    /// Refuses the operation where the fault requires it.
    fn refuse(&self, op: IoOp, offset: u64, effect: Option<Effect>) -> Result<(), IoError> {
        match effect {
            Some(Effect::Fail) => Err(device_error(op, &self.path, offset)),
            Some(Effect::BadSector) => Err(bad_sector(op, &self.path, offset)),
            Some(Effect::NoMemory) => Err(no_memory(op, &self.path, offset)),
            Some(Effect::NoSpace) => {
                Err(IoError::new(op, &self.path, offset, IoErrorKind::NoSpace))
            }
            _ => Ok(()),
        }
    }

    /// The runs of a batch as it will reach the disk: shortened, moved or damaged by the fault.
    fn outgoing(&self, runs: &[WriteRun<'_, '_>], effect: Option<Effect>) -> Vec<(u64, Vec<u8>)> {
        let mut left = passing(runs.iter().map(WriteRun::len_bytes).sum(), effect);
        let mut out = Vec::with_capacity(runs.len());
        for run in runs {
            let mut bytes = Vec::with_capacity(usize::try_from(run.len_bytes()).unwrap_or(0));
            run.bufs.iter().for_each(|buf| bytes.extend_from_slice(buf));
            bytes.truncate(usize::try_from(left).unwrap_or(usize::MAX));
            left -= bytes.len() as u64;
            let offset = match effect {
                Some(Effect::Misdirect(by)) => run.offset.saturating_add_signed(by),
                _ => run.offset,
            };
            out.push((offset, bytes));
        }
        if let (Some(Effect::Flip { at, mask }), Some((_, bytes))) = (effect, out.first_mut()) {
            flip(bytes, at, mask);
        }
        out.retain(|(_, bytes)| !bytes.is_empty());
        out
    }

    /// Does a batch as far as the fault allows; returns what was written and whether it failed after that.
    fn put(
        &self,
        disk: &mut Disk,
        runs: &[WriteRun<'_, '_>],
        effect: Option<Effect>,
    ) -> Result<Vec<(u64, Vec<u8>)>, IoError> {
        let first = runs.first().map_or(0, |run| run.offset);
        self.refuse(IoOp::Write, first, effect)?;
        if effect == Some(Effect::Lose) {
            return Ok(Vec::new());
        }
        let out = self.outgoing(runs, effect);
        let end = out
            .iter()
            .map(|(offset, bytes)| offset + bytes.len() as u64)
            .max()
            .unwrap_or(0);
        let grow = end.saturating_sub(self.current_len(disk));
        disk.check_space(IoOp::Write, &self.path, grow)?;
        for (offset, bytes) in &out {
            disk.write(self.node, *offset, bytes);
        }
        match effect {
            Some(Effect::Partial) => Err(device_error(IoOp::Write, &self.path, first)),
            Some(Effect::PowerLoss) => Err(self.crashed(IoOp::Write, disk)),
            _ => Ok(out),
        }
    }

    fn current_len(&self, disk: &Disk) -> u64 {
        disk.nodes
            .get(self.node)
            .map_or(0, |node| node.current.len())
    }

    /// A copy of the volume just before something becomes durable, and the test's hook to call with it.
    fn boundary(&self, disk: &Disk) -> Option<(Hook, SimVolume)> {
        disk.hook
            .as_ref()
            .map(|hook| (Hook::clone(hook), SimVolume::fork_of(disk)))
    }

    fn sync_turn(&self, disk: &mut Disk, effect: Option<Effect>) -> Result<(), IoError> {
        match effect {
            Some(Effect::Lose) => {}
            Some(Effect::PowerLoss) => return Err(self.crashed(IoOp::Sync, disk)),
            Some(Effect::NoSpace | Effect::BadSector | Effect::NoMemory) => {
                return self.refuse(IoOp::Sync, 0, effect);
            }
            Some(Effect::Fail | Effect::Partial) => {
                disk.fail_sync(self.node, &self.path, SyncLoss::Random);
                return Err(device_error(IoOp::Sync, &self.path, 0));
            }
            Some(Effect::FailSync(loss)) => {
                disk.fail_sync(self.node, &self.path, loss);
                return Err(device_error(IoOp::Sync, &self.path, 0));
            }
            _ => disk.sync(self.node),
        }
        Ok(())
    }
}

fn flip(bytes: &mut [u8], at: u64, mask: u8) {
    let last = bytes.len().saturating_sub(1);
    let at = usize::try_from(at).unwrap_or(last).min(last);
    if let Some(byte) = bytes.get_mut(at) {
        *byte ^= mask;
    }
}

impl File for SimFile {
    fn read(&self, runs: &mut [ReadRun<'_, '_>]) -> Result<(), IoError> {
        let (mut disk, effect) = self.begin(OpKind::Read, IoOp::Read)?;
        if effect == Some(Effect::PowerLoss) {
            return Err(self.crashed(IoOp::Read, &mut disk));
        }
        let first = runs.first().map_or(0, |run| run.offset);
        self.refuse(IoOp::Read, first, effect)?;
        let Some(node) = disk.nodes.get(self.node) else {
            return Err(IoError::new(
                IoOp::Read,
                &self.path,
                first,
                IoErrorKind::Crashed,
            ));
        };
        let mut left = passing(runs.iter().map(ReadRun::len_bytes).sum(), effect);
        for run in runs.iter_mut() {
            if run.end_bytes() > node.current.len() {
                return Err(IoError::new(
                    IoOp::Read,
                    &self.path,
                    run.offset,
                    IoErrorKind::PastEnd,
                ));
            }
            if !node.current.is_readable(run.offset, run.len_bytes()) {
                return Err(device_error(IoOp::Read, &self.path, run.offset));
            }
            let mut at = run.offset;
            for buf in run.bufs.iter_mut() {
                let now = buf.len().min(usize::try_from(left).unwrap_or(usize::MAX));
                node.current.read(at, &mut buf[..now]);
                at += buf.len() as u64;
                left -= now as u64;
            }
        }
        if let (Some(Effect::Flip { at, mask }), Some(run)) = (effect, runs.first_mut())
            && let Some(buf) = run.bufs.first_mut()
        {
            flip(buf, at, mask);
        }
        if effect == Some(Effect::Partial) {
            return Err(device_error(IoOp::Read, &self.path, first));
        }
        Ok(())
    }

    fn write(&self, runs: &[WriteRun<'_, '_>]) -> Result<(), IoError> {
        self.check_writable(IoOp::Write)?;
        let (mut disk, effect) = self.begin(OpKind::Write, IoOp::Write)?;
        self.put(&mut disk, runs, effect).map(|_| ())
    }

    fn write_durable(&self, runs: &[WriteRun<'_, '_>]) -> Result<(), IoError> {
        self.check_writable(IoOp::Write)?;
        let (mut disk, effect) = self.begin(OpKind::WriteDurable, IoOp::Write)?;
        let written = match self.put(&mut disk, runs, effect) {
            Ok(written) => written,
            Err(error) if error.kind == IoErrorKind::Crashed => return Err(error),
            Err(error) => return self.poison.watch(Err(error)),
        };
        if let Some(Effect::FailSync(loss)) = effect {
            disk.fail_sync(self.node, &self.path, loss);
            return self
                .poison
                .watch(Err(device_error(IoOp::Write, &self.path, 0)));
        }
        let watcher = self.boundary(&disk);
        for (offset, bytes) in &written {
            disk.finish_write(self.node, *offset, bytes);
        }
        drop(disk);
        if let Some((hook, fork)) = watcher {
            hook.call(&self.path, fork);
        }
        Ok(())
    }

    fn sync(&self) -> Result<(), IoError> {
        self.poison.check(IoOp::Sync, &self.path)?;
        let (mut disk, effect) = self.begin(OpKind::Sync, IoOp::Sync)?;
        let watcher = self.boundary(&disk);
        let outcome = self.sync_turn(&mut disk, effect);
        drop(disk);
        if let Some((hook, fork)) = watcher {
            hook.call(&self.path, fork);
        }
        match outcome {
            Err(error) if error.kind == IoErrorKind::Crashed => Err(error),
            outcome => self.poison.watch(outcome),
        }
    }

    fn resize(&self, bytes: u64, _fill: Fill) -> Result<(), IoError> {
        self.check_writable(IoOp::Resize)?;
        let (mut disk, effect) = self.begin(OpKind::Resize, IoOp::Resize)?;
        if matches!(
            effect,
            Some(Effect::Fail | Effect::Partial | Effect::FailSync(_))
        ) {
            // A length that could not be made durable is a failed sync.
            return self
                .poison
                .watch(Err(device_error(IoOp::Resize, &self.path, bytes)));
        }
        self.refuse(IoOp::Resize, bytes, effect)?;
        if effect == Some(Effect::Lose) {
            return Ok(());
        }
        let grow = bytes.saturating_sub(self.current_len(&disk));
        disk.check_space(IoOp::Resize, &self.path, grow)?;
        disk.resize(self.node, bytes);
        if effect == Some(Effect::PowerLoss) {
            return Err(self.crashed(IoOp::Resize, &mut disk));
        }
        disk.finish_resize(self.node, bytes);
        Ok(())
    }

    fn len_bytes(&self) -> Result<u64, IoError> {
        let (mut disk, effect) = self.begin(OpKind::Query, IoOp::Length)?;
        if effect == Some(Effect::PowerLoss) {
            return Err(self.crashed(IoOp::Length, &mut disk));
        }
        self.refuse(IoOp::Length, 0, effect)?;
        Ok(self.current_len(&disk))
    }

    fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for SimFile {
    fn drop(&mut self) {
        if self.writable {
            let mut disk = self.volume.lock();
            if disk.generation == self.generation
                && let Some(node) = disk.nodes.get_mut(self.node)
            {
                node.locked = false;
            }
        }
    }
}
