//! A simulated file: what the system sees, what the disk holds, and what was done in between.

use crate::image::Image;
use std::sync::Arc;

/// Bytes of an unsynced write: a range of a shared buffer, so that it can be cut without copying.
#[derive(Debug, Clone)]
pub(super) struct Bytes {
    whole: Arc<[u8]>,
    start: usize,
    end: usize,
}

impl Bytes {
    pub(super) fn new(bytes: &[u8]) -> Bytes {
        Bytes {
            whole: Arc::from(bytes),
            start: 0,
            end: bytes.len(),
        }
    }

    pub(super) fn as_slice(&self) -> &[u8] {
        &self.whole[self.start..self.end]
    }

    pub(super) fn len(&self) -> usize {
        self.end - self.start
    }

    fn part(&self, from: usize, to: usize) -> Bytes {
        Bytes {
            whole: Arc::clone(&self.whole),
            start: self.start + from,
            end: self.start + to,
        }
    }
}

/// What an unsynced operation does to a file.
#[derive(Debug, Clone)]
pub(super) enum Change {
    /// `extends`: the write made the file longer, and that length may be lost by itself.
    Write {
        offset: u64,
        bytes: Bytes,
        extends: bool,
    },
    SetLen(u64),
}

/// An unsynced operation and its number, which grows over the whole volume.
#[derive(Debug, Clone)]
pub(super) struct Pending {
    pub(super) number: u64,
    pub(super) change: Change,
}

/// A file.
#[derive(Debug, Clone, Default)]
pub(super) struct Node {
    /// As the running system sees it.
    pub(super) current: Image,
    /// As the disk holds it for certain.
    pub(super) durable: Image,
    /// What was done since, oldest first.
    pub(super) pending: Vec<Pending>,
    /// Whether a handle for writing is open.
    pub(super) locked: bool,
    /// A sync failed: the disk may never get what the system still shows.
    pub(super) diverged: bool,
}

impl Node {
    /// The number of each pending operation, with the bytes that it writes.
    pub(super) fn unsynced(&self) -> Vec<(u64, usize)> {
        let bytes = |change: &Change| match change {
            Change::Write { bytes, .. } => bytes.len(),
            Change::SetLen(_) => 0,
        };
        let pending = self.pending.iter();
        pending.map(|op| (op.number, bytes(&op.change))).collect()
    }

    /// Everything pending is on the disk.
    pub(super) fn settle(&mut self) {
        for op in self.pending.drain(..) {
            match op.change {
                Change::Write { offset, bytes, .. } => self.durable.write(offset, bytes.as_slice()),
                Change::SetLen(len) => self.durable.set_len(len),
            }
        }
    }

    /// Takes the bytes from `from` to `to` out of all pending writes: something newer is durable there.
    pub(super) fn punch(&mut self, from: u64, to: u64) {
        if self.pending.is_empty() {
            return;
        }
        let mut kept = Vec::with_capacity(self.pending.len());
        for op in self.pending.drain(..) {
            let Change::Write {
                offset,
                bytes,
                extends,
            } = &op.change
            else {
                kept.push(op);
                continue;
            };
            let end = offset + bytes.len() as u64;
            if end <= from || *offset >= to {
                kept.push(op);
                continue;
            }
            let mut keep = |start: u64, stop: u64| {
                if start < stop {
                    let bytes = bytes.part((start - offset) as usize, (stop - offset) as usize);
                    let extends = *extends && stop == end;
                    let change = Change::Write {
                        offset: start,
                        bytes,
                        extends,
                    };
                    kept.push(Pending {
                        number: op.number,
                        change,
                    });
                }
            };
            keep(*offset, from.min(end));
            keep(to.max(*offset), end);
        }
        self.pending = kept;
    }

    pub(super) fn shrinks_pending(&self) -> bool {
        self.pending
            .iter()
            .any(|op| matches!(op.change, Change::SetLen(_)))
    }
}
