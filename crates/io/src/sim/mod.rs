//! The crash model: a machine whose power fails when a test orders it.
//!
//! A [`SimVolume`] stores, for each file, the bytes that the running system sees, the bytes that the disk
//! holds for certain, and between the two the list of unsynced operations in order. A sync empties one file's
//! list into its durable bytes; a power loss lets any part of the list survive.
//!
//! # Invariants
//! 1. What was synced and not written again survives every power loss, byte for byte. So does a length or a
//!    name whose operation returned (unless [`SimOptions`] weakens that), and the bytes of `write_durable`.
//! 2. A sync is a barrier for its own file only; between two syncs writes reach the disk in any order, in
//!    units of 512 or 4096 bytes.
//! 3. `write_durable` makes its own bytes durable and no earlier write of the file: so tests detect code that
//!    relies on more.
//! 4. One thread, one seed, one list of faults: the same bytes, always.
//!
//! # How a crash test goes
//! 1. Run the workload once and read [`SimVolume::counts`].
//! 2. For each `n`: a new volume, a fault `Fault::new(Ops::Changes, Effect::PowerLoss).nth(n)`, and the
//!    workload again until an operation fails with `Crashed`.
//! 3. For each [`Crash`] of [`SimVolume::outcomes`], and for some random seeds: `volume.crash(&outcome)` is
//!    the machine after that outcome, the original stays as it was; recover it and compare.
//!
//! [`SimVolume::on_boundary`] gives the machine at every sync of a single run instead, so that step 2 needs
//! no repetition.
//!
//! # What the model leaves out
//! Bytes beside a write in the same sector never suffer (power-safe overwrite); a rename does not exist,
//! because the seam has none.

mod crash;
mod disk;
mod fault;
mod file;
mod node;

use crate::poison::Poison;
use crate::{Access, File, IoError, IoErrorKind, IoOp, Open, Space, Volume, time};
use disk::{Disk, bad_sector, device_error, no_memory};
use file::SimFile;
use parking_lot::{Mutex, MutexGuard};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use crash::{Crash, HEADER_BYTES, HOLE_BYTES};
pub use fault::{Effect, Fault, OpCounts, OpKind, Ops, SyncLoss};

/// What kind of machine is simulated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SimOptions {
    /// Of the faults that are left to chance; power losses have seeds of their own.
    pub seed: u64,
    /// `resize` is durable only after the next sync of the file: less than the seam promises.
    pub weak_lengths: bool,
    /// `Create`, `create_dir` and `remove` are durable only after the next sync of any file: less than the
    /// seam promises.
    pub weak_names: bool,
}

/// Called with the machine as it is just before a sync or a durable write takes effect.
#[derive(Clone)]
struct Hook(Arc<Watcher>);

/// The hook of a test: gets the path of the file, and the machine.
type Watcher = dyn Fn(&Path, SimVolume) + Send + Sync;

impl Hook {
    fn call(&self, path: &Path, machine: SimVolume) {
        (self.0)(path, machine);
    }
}

/// A simulated machine with its files; clones are the same machine.
#[derive(Clone)]
pub struct SimVolume(Arc<Mutex<Disk>>);

impl SimVolume {
    /// A machine with empty disks.
    pub fn new(options: SimOptions) -> SimVolume {
        SimVolume(Arc::new(Mutex::new(Disk::new(options))))
    }

    fn lock(&self) -> MutexGuard<'_, Disk> {
        self.0.lock()
    }

    /// A copy without faults, hook and counts, with the power on and no handle open.
    fn fork_of(disk: &Disk) -> SimVolume {
        let mut copy = disk.clone();
        copy.faults.clear();
        copy.hook = None;
        copy.counts = OpCounts::default();
        copy.powered = true;
        copy.end_process();
        SimVolume(Arc::new(Mutex::new(copy)))
    }

    /// Another machine in the same state, unsynced operations included, without faults, counts and handles.
    pub fn fork(&self) -> SimVolume {
        SimVolume::fork_of(&self.lock())
    }

    /// The machine after a power loss with this outcome; this one stays as it is.
    pub fn crash(&self, outcome: &Crash) -> SimVolume {
        let after = self.fork();
        after.lock().restart(outcome);
        after
    }

    /// Loses the power and gets it back, in place: all handles are dead, faults and counts stay.
    pub fn restart(&self, outcome: &Crash) {
        self.lock().restart(outcome);
    }

    /// Takes the power: every operation fails with `Crashed` until [`SimVolume::restart`].
    pub fn power_off(&self) {
        self.lock().powered = false;
    }

    /// Whether the power is on.
    pub fn is_powered(&self) -> bool {
        self.lock().powered
    }

    /// The process dies and the system does not: handles are invalid, locks free, and no write is lost.
    pub fn kill_process(&self) {
        self.lock().end_process();
    }

    /// The named outcomes of a power loss now: all, none, each operation alone, all but each, each prefix,
    /// halves, headers, each file alone, all but each file.
    pub fn outcomes(&self) -> Vec<Crash> {
        let unsynced = self.lock().unsynced();
        let mut outcomes = vec![Crash::DropAll, Crash::KeepAll];
        if unsynced.is_empty() {
            return outcomes;
        }
        outcomes.extend([
            Crash::FirstHalves,
            Crash::SecondHalves,
            Crash::HeadersOnly,
            Crash::AllButHeaders,
        ]);
        for (number, _) in &unsynced {
            outcomes.extend([
                Crash::OnlyOp(*number),
                Crash::AllButOp(*number),
                Crash::UpToOp(*number),
            ]);
        }
        let mut files: Vec<PathBuf> = unsynced.into_iter().map(|(_, path)| path).collect();
        files.sort();
        files.dedup();
        if files.len() > 1 {
            for path in files {
                outcomes.extend([Crash::OnlyFile(path.clone()), Crash::AllButFile(path)]);
            }
        }
        outcomes
    }

    /// The numbers of the unsynced operations on one file, in order of issue, each with the bytes that it
    /// writes.
    pub fn unsynced_in(&self, path: &Path) -> Vec<(u64, usize)> {
        let written = |disk: &mut Disk, node: usize| disk.nodes[node].unsynced();
        self.with_file(path, written).unwrap_or_default()
    }

    /// Calls `watcher` with a fork of the machine at every sync and durable write, before it takes effect
    /// and before the caller gets its answer.
    pub fn on_boundary(&self, watcher: impl Fn(SimVolume) + Send + Sync + 'static) {
        self.on_boundary_of(move |_, machine| watcher(machine));
    }

    /// As [`SimVolume::on_boundary`], with the file that is synced or written. The watcher may use the
    /// machine: so something else can be done while one waits for a sync.
    pub fn on_boundary_of(&self, watcher: impl Fn(&Path, SimVolume) + Send + Sync + 'static) {
        self.lock().hook = Some(Hook(Arc::new(watcher)));
    }

    /// Places a fault; it counts operations from now on.
    pub fn inject(&self, fault: Fault) {
        self.lock().faults.push(fault);
    }

    /// Takes all faults away.
    pub fn heal(&self) {
        self.lock().faults.clear();
    }

    /// Operations begun so far.
    pub fn counts(&self) -> OpCounts {
        self.lock().counts
    }

    /// A number derived from all operations so far, this machine's and those of the machines it came from by
    /// forks and power losses: their kinds, files, places and lengths, in order. Two runs that do the same
    /// have the same.
    pub fn fingerprint(&self) -> u64 {
        self.lock().fingerprint
    }

    /// The files in and below `dir` have a disk of `bytes` to themselves; the empty path means all.
    pub fn set_capacity(&self, dir: &Path, bytes: u64) {
        self.lock().capacities.insert(dir.to_path_buf(), bytes);
    }

    /// What a file holds as the running system sees it.
    pub fn contents(&self, path: &Path) -> Result<Vec<u8>, IoError> {
        self.with_file(path, |disk, node| disk.nodes[node].current.to_vec())
    }

    /// What a file holds on the disk for certain.
    pub fn durable_contents(&self, path: &Path) -> Result<Vec<u8>, IoError> {
        self.with_file(path, |disk, node| disk.nodes[node].durable.to_vec())
    }

    /// Bits rot at rest: flips those of `mask` in one byte, for the system and on the disk.
    pub fn rot(&self, path: &Path, offset: u64, mask: u8) -> Result<(), IoError> {
        let mut byte = [0];
        self.with_file(path, |disk, node| {
            disk.nodes[node].current.read(offset, &mut byte);
        })?;
        self.overwrite(path, offset, &[byte[0] ^ mask])
    }

    /// Changes the bytes of a file, in the system's view and on the disk, without an operation.
    pub fn overwrite(&self, path: &Path, offset: u64, bytes: &[u8]) -> Result<(), IoError> {
        self.with_file(path, |disk, node| {
            disk.nodes[node].current.write(offset, bytes);
            disk.finish_write(node, offset, bytes);
        })
    }

    /// Puts the file that another machine has at `path` in the place of this one's: a file restored from an
    /// older backup than its companions. No handle may be open on it.
    pub fn take_file_from(&self, other: &SimVolume, path: &Path) -> Result<(), IoError> {
        let image = other.with_file(path, |disk, node| disk.nodes[node].current.clone())?;
        self.with_file(path, |disk, node| {
            let node = &mut disk.nodes[node];
            node.pending.clear();
            node.durable = image.clone();
            node.current = image;
        })
    }

    fn with_file<T>(
        &self,
        path: &Path,
        act: impl FnOnce(&mut Disk, usize) -> T,
    ) -> Result<T, IoError> {
        let mut disk = self.lock();
        let node = disk.names.file(IoOp::Open, path)?;
        Ok(act(&mut disk, node))
    }

    /// The machine, when it has power and the handle of `generation` is valid; and the fault of the
    /// operation, if any.
    fn begin(
        &self,
        kind: OpKind,
        op: IoOp,
        path: &Path,
        generation: Option<u64>,
    ) -> Result<(MutexGuard<'_, Disk>, Option<Effect>), IoError> {
        let mut disk = self.lock();
        let alive =
            |disk: &Disk| disk.powered && generation.is_none_or(|own| own == disk.generation);
        let crashed = || IoError::new(op, path, 0, IoErrorKind::Crashed);
        if !alive(&disk) {
            return Err(crashed());
        }
        let effect = disk.begin(kind, path);
        if let Some(Effect::Delay(span)) = effect {
            drop(disk);
            time::sleep(span);
            disk = self.lock();
            if !alive(&disk) {
                return Err(crashed());
            }
        }
        Ok((disk, effect))
    }

    /// As `begin`, for operations on names: those that fail have done nothing.
    fn begin_named(
        &self,
        kind: OpKind,
        op: IoOp,
        path: &Path,
    ) -> Result<(MutexGuard<'_, Disk>, bool), IoError> {
        let (disk, effect) = self.begin(kind, op, path, None)?;
        match effect {
            Some(Effect::Fail | Effect::Partial | Effect::FailSync(_)) => {
                Err(device_error(op, path, 0))
            }
            Some(Effect::BadSector) => Err(bad_sector(op, path, 0)),
            Some(Effect::NoMemory) => Err(no_memory(op, path, 0)),
            Some(Effect::NoSpace) => Err(IoError::new(op, path, 0, IoErrorKind::NoSpace)),
            effect => Ok((disk, effect == Some(Effect::PowerLoss))),
        }
    }

    fn query(&self, op: IoOp, path: &Path) -> Result<MutexGuard<'_, Disk>, IoError> {
        let (mut disk, power_fails) = self.begin_named(OpKind::Query, op, path)?;
        fail_power(&mut disk, power_fails, op, path)?;
        Ok(disk)
    }
}

/// Ends an operation during which the power went.
fn fail_power(disk: &mut Disk, power_fails: bool, op: IoOp, path: &Path) -> Result<(), IoError> {
    if power_fails {
        disk.powered = false;
        return Err(IoError::new(op, path, 0, IoErrorKind::Crashed));
    }
    Ok(())
}

impl Volume for SimVolume {
    fn open(&self, path: &Path, how: Open, _access: Access) -> Result<Arc<dyn File>, IoError> {
        let creates = how == Open::Create;
        let (kind, op) = if creates {
            (OpKind::Create, IoOp::Create)
        } else {
            (OpKind::Open, IoOp::Open)
        };
        let (mut disk, power_fails) = self.begin_named(kind, op, path)?;
        let node = if creates {
            disk.names.check_create(path)?;
            disk.create_file(path)
        } else {
            disk.names.file(op, path)?
        };
        fail_power(&mut disk, power_fails, op, path)?;
        if creates {
            disk.finish_names();
        }
        let writable = how != Open::ReadOnly;
        if writable && std::mem::replace(&mut disk.nodes[node].locked, true) {
            return Err(IoError::new(op, path, 0, IoErrorKind::InUse));
        }
        let generation = disk.generation;
        drop(disk);
        let poison = Poison::default();
        let file = SimFile {
            volume: self.clone(),
            path: path.to_path_buf(),
            node,
            generation,
            writable,
            poison,
        };
        if how == Open::Existing {
            // As on the real system, what a dead process left in the cache is made durable before it is
            // read.
            file.sync()?;
            self.lock().drop_cache(node);
        }
        Ok(Arc::new(file))
    }

    fn exists(&self, path: &Path) -> Result<bool, IoError> {
        Ok(self.query(IoOp::Open, path)?.names.exists(path))
    }

    fn list(&self, dir: &Path) -> Result<Vec<PathBuf>, IoError> {
        self.query(IoOp::List, dir)?.names.list(dir)
    }

    fn create_dir(&self, dir: &Path) -> Result<(), IoError> {
        let (mut disk, power_fails) = self.begin_named(OpKind::CreateDir, IoOp::Create, dir)?;
        for step in disk.names.missing_dirs(dir)? {
            disk.create_dir(&step);
        }
        fail_power(&mut disk, power_fails, IoOp::Create, dir)?;
        disk.finish_names();
        Ok(())
    }

    fn remove(&self, path: &Path) -> Result<(), IoError> {
        let (mut disk, power_fails) = self.begin_named(OpKind::Remove, IoOp::Remove, path)?;
        disk.names.check_remove(path)?;
        disk.remove(path);
        fail_power(&mut disk, power_fails, IoOp::Remove, path)?;
        disk.finish_names();
        Ok(())
    }

    fn space(&self, dir: &Path) -> Result<Space, IoError> {
        let disk = self.query(IoOp::Space, dir)?;
        if !disk.names.is_dir(dir) {
            return Err(IoError::new(IoOp::Space, dir, 0, IoErrorKind::NotFound));
        }
        Ok(disk.space(dir))
    }
}

impl fmt::Debug for SimVolume {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let disk = self.lock();
        let files = disk.names.files().len();
        write!(
            f,
            "SimVolume({files} files, power {}, {} operations)",
            disk.powered,
            disk.counts.total()
        )
    }
}
