//! The state behind a simulated volume: what the running system sees, what the disk holds, and what lies
//! between the two.

use super::crash::{self, Crash};
use super::fault::{Effect, Fault, OpCounts, OpKind, SyncLoss};
use super::node::{Bytes, Change, Node, Pending};
use super::{Hook, SimOptions};
use crate::namespace::Namespace;
use crate::random::{RngCore, SeededRng, seeded};
use crate::{IoError, IoErrorKind, IoOp, Space};
use rustix::io::Errno;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use twox_hash::XxHash3_64;

/// A change of a name that is not durable yet.
#[derive(Debug, Clone)]
enum NameChange {
    File(PathBuf, usize),
    Dir(PathBuf),
    Gone(PathBuf),
}

impl NameChange {
    fn path(&self) -> &Path {
        match self {
            NameChange::File(path, _) | NameChange::Dir(path) | NameChange::Gone(path) => path,
        }
    }
}

/// The whole machine: power, disks, and planned faults.
#[derive(Clone)]
pub(super) struct Disk {
    options: SimOptions,
    rng: SeededRng,
    pub(super) names: Namespace<usize>,
    durable_names: Namespace<usize>,
    pending_names: Vec<(u64, NameChange)>,
    pub(super) nodes: Vec<Node>,
    /// The most bytes of all files at or below a directory together; the empty path means everything.
    pub(super) capacities: BTreeMap<PathBuf, u64>,
    /// Grows when handles die: by a power loss, or by the death of the process.
    pub(super) generation: u64,
    pub(super) powered: bool,
    pub(super) counts: OpCounts,
    pub(super) faults: Vec<Fault>,
    next_number: u64,
    /// Of all operations so far: see [`Disk::trace`].
    pub(super) fingerprint: u64,
    pub(super) hook: Option<Hook>,
}

impl Disk {
    pub(super) fn new(options: SimOptions) -> Disk {
        Disk {
            options,
            rng: seeded(options.seed),
            names: Namespace::new(),
            durable_names: Namespace::new(),
            pending_names: Vec::new(),
            nodes: Vec::new(),
            capacities: BTreeMap::new(),
            generation: 0,
            powered: true,
            counts: OpCounts::default(),
            faults: Vec::new(),
            next_number: 1,
            fingerprint: 0,
            hook: None,
        }
    }

    fn number(&mut self) -> u64 {
        self.next_number += 1;
        self.next_number - 1
    }

    /// Counts an operation and returns its fault, if any; all faults that match it count, the first one acts.
    pub(super) fn begin(&mut self, kind: OpKind, path: &Path) -> Option<Effect> {
        self.counts.count(kind);
        self.trace(kind as u64);
        path.as_os_str()
            .as_encoded_bytes()
            .iter()
            .for_each(|&byte| self.trace(u64::from(byte)));
        let mut effect = None;
        for fault in &mut self.faults {
            let met = fault.meet(kind, path);
            effect = effect.or(met);
        }
        effect
    }

    fn used_bytes(&self, under: &Path) -> u64 {
        let inside = self
            .names
            .files()
            .iter()
            .filter(|(path, _)| path.starts_with(under));
        inside
            .filter_map(|(_, &node)| self.nodes.get(node))
            .map(|node| node.current.len())
            .sum()
    }

    /// Free and total bytes of the smallest disk that `path` lies on.
    pub(super) fn space(&self, path: &Path) -> Space {
        let on = self
            .capacities
            .iter()
            .filter(|(dir, _)| path.starts_with(dir));
        on.map(|(dir, &total_bytes)| Space {
            free_bytes: total_bytes.saturating_sub(self.used_bytes(dir)),
            total_bytes,
        })
        .min_by_key(|space| space.free_bytes)
        .unwrap_or(Space {
            free_bytes: u64::MAX,
            total_bytes: u64::MAX,
        })
    }

    /// Whether `grow` more bytes fit on the disk.
    pub(super) fn check_space(&self, op: IoOp, path: &Path, grow: u64) -> Result<(), IoError> {
        if grow == 0 || self.capacities.is_empty() || grow <= self.space(path).free_bytes {
            return Ok(());
        }
        Err(IoError::new(op, path, 0, IoErrorKind::NoSpace))
    }

    pub(super) fn create_file(&mut self, path: &Path) -> usize {
        let node = self.nodes.len();
        self.nodes.push(Node::default());
        self.names.insert(path, node);
        self.change_name(NameChange::File(path.to_path_buf(), node));
        node
    }

    pub(super) fn create_dir(&mut self, path: &Path) {
        self.names.insert_dir(path);
        self.change_name(NameChange::Dir(path.to_path_buf()));
    }

    pub(super) fn remove(&mut self, path: &Path) {
        self.names.remove(path);
        self.change_name(NameChange::Gone(path.to_path_buf()));
    }

    fn change_name(&mut self, change: NameChange) {
        let number = self.number();
        self.pending_names.push((number, change));
    }

    /// The names are on the disk, unless the volume promises less and will sync them with the next file.
    pub(super) fn finish_names(&mut self) {
        if !self.options.weak_names {
            self.settle_names();
        }
    }

    fn settle_names(&mut self) {
        for (_, change) in std::mem::take(&mut self.pending_names) {
            apply_name(&mut self.durable_names, &change);
        }
    }

    /// Adds a number to the fingerprint.
    fn trace(&mut self, word: u64) {
        self.fingerprint = XxHash3_64::oneshot_with_seed(self.fingerprint, &word.to_le_bytes());
    }

    /// Adds an unsynced write.
    pub(super) fn write(&mut self, node: usize, offset: u64, bytes: &[u8]) {
        self.trace(offset);
        self.trace(bytes.len() as u64);
        let number = self.number();
        if let Some(node) = self.nodes.get_mut(node) {
            let extends = offset + bytes.len() as u64 > node.current.len();
            node.current.write(offset, bytes);
            let bytes = Bytes::new(bytes);
            node.pending.push(Pending {
                number,
                change: Change::Write {
                    offset,
                    bytes,
                    extends,
                },
            });
        }
    }

    /// Makes the bytes of one range durable, and no other pending operation.
    pub(super) fn finish_write(&mut self, node: usize, offset: u64, bytes: &[u8]) {
        if let Some(node) = self.nodes.get_mut(node) {
            if node.shrinks_pending() {
                // A length that is still under way can't be passed over; the system commits it as well.
                node.settle();
            }
            node.punch(offset, offset + bytes.len() as u64);
            node.durable.write(offset, bytes);
        }
    }

    /// Sets the length for the running system, unsynced.
    pub(super) fn resize(&mut self, node: usize, len: u64) {
        self.trace(len);
        let number = self.number();
        if let Some(node) = self.nodes.get_mut(node) {
            node.current.set_len(len);
            node.pending.push(Pending {
                number,
                change: Change::SetLen(len),
            });
        }
    }

    /// Makes the length durable, unless the volume promises less.
    pub(super) fn finish_resize(&mut self, node: usize, len: u64) {
        let weak = self.options.weak_lengths;
        if let Some(node) = self.nodes.get_mut(node).filter(|_| !weak) {
            node.pending.pop();
            node.punch(len, u64::MAX);
            node.durable.set_len(len);
        }
    }

    /// A sync that worked.
    pub(super) fn sync(&mut self, node: usize) {
        self.settle_names();
        if let Some(node) = self.nodes.get_mut(node) {
            node.settle();
        }
    }

    /// A sync that failed: what it was to write is clean for the system, and on the disk by chance.
    pub(super) fn fail_sync(&mut self, number: usize, path: &Path, loss: SyncLoss) {
        let outcome = match loss {
            SyncLoss::Nothing => Crash::KeepAll,
            SyncLoss::Everything => Crash::DropAll,
            SyncLoss::Random => Crash::Torn {
                seed: self.rng.next_u64(),
            },
        };
        if let Some(node) = self.nodes.get_mut(number) {
            node.durable = crash::survivor(&outcome, path, number, node);
            node.pending.clear();
            node.diverged = true;
        }
    }

    /// Empties the system's cache, as a new opener does after its sync: data that a failed sync lost is no
    /// longer visible.
    pub(super) fn drop_cache(&mut self, node: usize) {
        if let Some(node) = self.nodes.get_mut(node).filter(|node| node.diverged) {
            node.current = node.durable.clone();
            for op in &node.pending {
                match &op.change {
                    Change::Write { offset, bytes, .. } => {
                        node.current.write(*offset, bytes.as_slice());
                    }
                    Change::SetLen(len) => node.current.set_len(*len),
                }
            }
            node.diverged = false;
        }
    }

    /// The numbers and paths of the unsynced operations, in order of issue.
    pub(super) fn unsynced(&self) -> Vec<(u64, PathBuf)> {
        let mut all: Vec<(u64, PathBuf)> = self
            .pending_names
            .iter()
            .map(|(number, change)| (*number, change.path().to_path_buf()))
            .collect();
        for (path, &node) in self.names.files() {
            let pending = self.nodes.get(node).map_or(&[][..], |node| &node.pending);
            all.extend(pending.iter().map(|op| (op.number, path.clone())));
        }
        all.sort();
        all.dedup();
        all
    }

    /// The power was lost and is back: the disk holds what `crash` lets survive, and all handles are dead.
    pub(super) fn restart(&mut self, crash: &Crash) {
        for (number, change) in std::mem::take(&mut self.pending_names) {
            if crash::name_survives(crash, change.path(), number) {
                apply_name(&mut self.durable_names, &change);
            }
        }
        self.names = self.durable_names.clone();
        let mut alive = vec![false; self.nodes.len()];
        for (path, &number) in self.names.files() {
            if let Some(node) = self.nodes.get_mut(number) {
                node.durable = crash::survivor(crash, path, number, node);
                node.current = node.durable.clone();
                alive[number] = true;
            }
        }
        for (node, alive) in self.nodes.iter_mut().zip(alive) {
            if !alive {
                *node = Node::default();
            }
            node.pending.clear();
            node.diverged = false;
        }
        self.end_process();
        self.powered = true;
    }

    /// All handles are dead and their locks gone; the disk and the system's cache stay.
    pub(super) fn end_process(&mut self) {
        self.generation += 1;
        for node in &mut self.nodes {
            node.locked = false;
        }
    }
}

fn apply_name(names: &mut Namespace<usize>, change: &NameChange) {
    match change {
        // A name whose directory was lost is lost with it.
        NameChange::File(path, node) if names.check_create(path).is_ok() => {
            names.insert(path, *node);
        }
        NameChange::Dir(path) if path.parent().is_none_or(|above| names.is_dir(above)) => {
            names.insert_dir(path);
        }
        NameChange::Gone(path) if names.check_remove(path).is_ok() => names.remove(path),
        NameChange::File(..) | NameChange::Dir(_) | NameChange::Gone(_) => {}
    }
}

/// The error of a device that failed.
pub(super) fn device_error(op: IoOp, path: &Path, offset: u64) -> IoError {
    IoError::of_errno(op, path, offset, Errno::IO)
}

/// The same past the cache of the file system.
pub(super) fn bad_sector(op: IoOp, path: &Path, offset: u64) -> IoError {
    IoError::of_errno(op, path, offset, Errno::NODATA)
}

pub(super) fn no_memory(op: IoOp, path: &Path, offset: u64) -> IoError {
    IoError::of_errno(op, path, offset, Errno::NOMEM)
}
