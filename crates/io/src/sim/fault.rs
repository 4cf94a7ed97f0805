//! What goes wrong, where and when: faults are placed by kind of operation, file and count.

use std::path::{Path, PathBuf};
use std::time::Duration;

/// Kinds of operations that are counted and can fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names of the seam's own methods")]
pub enum OpKind {
    Open,
    Create,
    CreateDir,
    Remove,
    Read,
    Write,
    WriteDurable,
    Sync,
    Resize,
    /// `exists`, `list`, `space`, `len_bytes`.
    Query,
}

impl OpKind {
    /// All kinds.
    pub const ALL: [OpKind; 10] = [
        OpKind::Open,
        OpKind::Create,
        OpKind::CreateDir,
        OpKind::Remove,
        OpKind::Read,
        OpKind::Write,
        OpKind::WriteDurable,
        OpKind::Sync,
        OpKind::Resize,
        OpKind::Query,
    ];

    /// Whether it may change what a disk holds.
    pub fn changes(self) -> bool {
        !matches!(self, OpKind::Open | OpKind::Read | OpKind::Query)
    }
}

/// How many operations of each kind were begun.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct OpCounts([u64; OpKind::ALL.len()]);

impl OpCounts {
    /// Operations of one kind.
    pub fn of(&self, kind: OpKind) -> u64 {
        self.0[kind as usize]
    }

    /// Operations that `ops` includes.
    pub fn matching(&self, ops: Ops) -> u64 {
        OpKind::ALL
            .into_iter()
            .filter(|&kind| ops.holds(kind))
            .map(|kind| self.of(kind))
            .sum()
    }

    /// Operations of all kinds.
    pub fn total(&self) -> u64 {
        self.0.iter().sum()
    }

    pub(crate) fn count(&mut self, kind: OpKind) {
        self.0[kind as usize] += 1;
    }
}

/// A set of kinds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ops {
    /// Every operation.
    Any,
    /// Those that may change what a disk holds.
    Changes,
    /// `write` and `write_durable`.
    Writes,
    /// `sync` and `write_durable`.
    Syncs,
    /// One kind.
    Only(OpKind),
}

impl Ops {
    /// Whether `kind` belongs to it.
    pub fn holds(self, kind: OpKind) -> bool {
        match self {
            Ops::Any => true,
            Ops::Changes => kind.changes(),
            Ops::Writes => matches!(kind, OpKind::Write | OpKind::WriteDurable),
            Ops::Syncs => matches!(kind, OpKind::Sync | OpKind::WriteDurable),
            Ops::Only(one) => one == kind,
        }
    }
}

/// What a failed sync leaves of the writes it was to make durable. None of them is tried again: the system
/// takes them for clean.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SyncLoss {
    /// All reached the disk.
    Nothing,
    /// None reached it.
    Everything,
    /// Each unit of 512 or 4096 bytes by itself, by the volume's seed.
    Random,
}

/// What goes wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// `EIO`; nothing is done. A sync fails as by `FailSync(SyncLoss::Random)`.
    Fail,
    /// `ENODATA`, as the block layer reports a bad sector; nothing is done.
    BadSector,
    /// `ENOMEM`; nothing is done.
    NoMemory,
    /// `NoSpace`; nothing is done.
    NoSpace,
    /// `EIO` after the first half of the bytes has been moved: a short transfer.
    Partial,
    /// A sync or durable write fails, with this loss.
    FailSync(SyncLoss),
    /// Success is reported and nothing is done: a lost write, a sync without effect.
    Lose,
    /// A write goes that many bytes beside its place (and not to it); success is reported.
    Misdirect(i64),
    /// The bits of `mask` are flipped in one byte of what is read or written, `at` bytes into it.
    Flip {
        /// Which byte of the first run; past its end it means the last.
        at: u64,
        /// Which bits.
        mask: u8,
    },
    /// The operation takes that long, and then works.
    Delay(Duration),
    /// The power goes while the operation is under way: it may or may not take effect, which [`super::Crash`]
    /// decides later. It and all after it fail with `Crashed`.
    PowerLoss,
}

/// A fault: the `nth` operation of `ops` on files at or below `under`, and perhaps those after it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    ops: Ops,
    under: Option<PathBuf>,
    nth: u64,
    times: u64,
    effect: Effect,
    seen: u64,
}

impl Fault {
    /// On the first operation of `ops`, once, anywhere.
    pub fn new(ops: Ops, effect: Effect) -> Fault {
        Fault {
            ops,
            under: None,
            nth: 1,
            times: 1,
            effect,
            seen: 0,
        }
    }

    /// Only on this file, or on files in and below this directory.
    pub fn under(mut self, path: impl Into<PathBuf>) -> Fault {
        self.under = Some(path.into());
        self
    }

    /// From the `nth` (from 1) matching operation after the fault is placed.
    pub fn nth(mut self, nth: u64) -> Fault {
        self.nth = nth;
        self
    }

    /// For `times` operations.
    pub fn times(mut self, times: u64) -> Fault {
        self.times = times;
        self
    }

    /// For all operations from then on.
    pub fn sticky(self) -> Fault {
        self.times(u64::MAX)
    }

    /// Counts an operation; its effect when it is hit.
    pub(crate) fn meet(&mut self, kind: OpKind, path: &Path) -> Option<Effect> {
        let here = self
            .under
            .as_ref()
            .is_none_or(|under| path.starts_with(under));
        if !here || !self.ops.holds(kind) {
            return None;
        }
        self.seen += 1;
        let hit = self.seen >= self.nth && self.seen - self.nth < self.times;
        hit.then_some(self.effect)
    }
}
