//! The outcomes of a power loss: every legal outcome has a name, random ones a seed.
//!
//! Unsynced operations have no order: any subset may have reached the disk. A write reaches it in units of
//! 512 or 4096 bytes, each whole, not at all, or (random outcomes only) as garbage inside its own bytes, or
//! so that it cannot be read until it is written again. Bytes that were synced and not written again never
//! suffer. Operations on the same unit keep their order: a later one that took effect covers an earlier one.

use super::node::{Change, Node, Pending};
use crate::image::Image;
use crate::random::{Rng, RngCore, SeededRng, seeded};
use std::path::{Path, PathBuf};

/// How much of a file [`Crash::HeadersOnly`] takes for its header.
pub const HEADER_BYTES: u64 = 8192;

/// Which unsynced operations survive a power loss.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Crash {
    /// All: as after the death of the process alone.
    KeepAll,
    /// None.
    DropAll,
    /// By seed, in another style for each file: all, none, a prefix, whole operations, or units; lengths
    /// and names independently; with garbage now and then.
    Random {
        /// Replays the outcome.
        seed: u64,
    },
    /// As `Random`, without garbage: units are kept or dropped whole.
    Torn {
        /// Replays the outcome.
        seed: u64,
    },
    /// As `Torn`; but where a write was torn, the units that were lost cannot be read now and then, until
    /// they are written again.
    Unreadable {
        /// Replays the outcome.
        seed: u64,
    },
    /// Only the operation of this number.
    OnlyOp(u64),
    /// All but the operation of this number.
    AllButOp(u64),
    /// Everything but one unit of 512 bytes, counted from its beginning, of the write of this number: a hole.
    AllButUnit {
        /// The write.
        op: u64,
        /// The unit of it.
        unit: usize,
    },
    /// The operations up to and with this number, in the order in which they were issued.
    UpToOp(u64),
    /// Of every write the first half, up to a sector boundary; names and lengths.
    FirstHalves,
    /// Of every write the second half, from a sector boundary; names and lengths.
    SecondHalves,
    /// Writes to the first page of each file, and nothing else: the header describes data that is missing.
    HeadersOnly,
    /// All but the writes to the first page of each file.
    AllButHeaders,
    /// Everything of one file, nothing of the others.
    OnlyFile(PathBuf),
    /// Everything but that of one file.
    AllButFile(PathBuf),
}

impl Crash {
    fn is_random(&self) -> bool {
        matches!(
            self,
            Crash::Random { .. } | Crash::Torn { .. } | Crash::Unreadable { .. }
        )
    }
}

/// In an outcome with unreadable units: of how many that were lost one is. A head writes one track at a time.
const LOST_TO_UNREADABLE: u32 = 6;

/// The unit of [`Crash::AllButUnit`].
pub const HOLE_BYTES: usize = 512;

/// What happened to a unit.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fate {
    Kept,
    Dropped,
    Garbage,
    Unreadable,
}

/// How a random outcome treats one file.
#[derive(Clone, Copy)]
enum Style {
    All,
    None,
    /// Operations below this number; that very one in units.
    Prefix(u64),
    /// Each operation with this chance in percent.
    Operations(u32),
    /// Each unit with this chance in percent.
    Units(u32),
}

/// Decides for one file; its random numbers depend on the seed and the file's number only.
struct Judge<'a> {
    crash: &'a Crash,
    path: &'a Path,
    rng: SeededRng,
    style: Style,
    unit_bytes: u64,
    garbage_percent: u32,
}

impl<'a> Judge<'a> {
    fn new(crash: &'a Crash, path: &'a Path, number: usize, pending: &[Pending]) -> Judge<'a> {
        let (seed, garbage) = match crash {
            Crash::Random { seed } => (*seed, true),
            Crash::Torn { seed } | Crash::Unreadable { seed } => (*seed, false),
            _ => (0, false),
        };
        let mut rng =
            seeded(seed.wrapping_add((number as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15)));
        let first = pending.first().map_or(0, |op| op.number);
        let last = pending.last().map_or(0, |op| op.number);
        let style = match rng.random_range(0..100_u32) {
            0..15 => Style::None,
            15..30 => Style::All,
            30..50 => Style::Prefix(rng.random_range(first..=last)),
            50..75 => Style::Operations(rng.random_range(5..=95)),
            _ => Style::Units(rng.random_range(5..=95)),
        };
        let unit_bytes = if rng.random() { 512 } else { 4096 };
        let garbage_percent = if garbage && rng.random_ratio(1, 4) {
            rng.random_range(1..=20)
        } else {
            0
        };
        Judge {
            crash,
            path,
            rng,
            style,
            unit_bytes,
            garbage_percent,
        }
    }

    /// Whether an operation without bytes (on a name or a length) takes effect.
    fn keeps_whole(&mut self, number: u64) -> bool {
        match self.crash {
            Crash::KeepAll
            | Crash::FirstHalves
            | Crash::SecondHalves
            | Crash::AllButHeaders
            | Crash::AllButUnit { .. } => true,
            Crash::DropAll | Crash::HeadersOnly => false,
            Crash::Random { .. } | Crash::Torn { .. } | Crash::Unreadable { .. } => {
                match self.style {
                    Style::All => true,
                    Style::None => false,
                    Style::Prefix(end) => number < end || (number == end && self.rng.random()),
                    Style::Operations(percent) | Style::Units(percent) => self.chance(percent),
                }
            }
            Crash::OnlyOp(one) => number == *one,
            Crash::AllButOp(one) => number != *one,
            Crash::UpToOp(last) => number <= *last,
            Crash::OnlyFile(path) => self.path == path,
            Crash::AllButFile(path) => self.path != path,
        }
    }

    fn chance(&mut self, percent: u32) -> bool {
        self.rng.random_ratio(percent.min(100), 100)
    }

    /// The fates of a write's parts: ranges of its bytes, in order.
    fn parts(&mut self, number: u64, offset: u64, len: usize) -> Vec<(usize, usize, Fate)> {
        let fate = |kept: bool| if kept { Fate::Kept } else { Fate::Dropped };
        match self.crash {
            Crash::FirstHalves => vec![(0, middle(offset, len), Fate::Kept)],
            Crash::SecondHalves => vec![(middle(offset, len), len, Fate::Kept)],
            Crash::HeadersOnly | Crash::AllButHeaders => {
                let inside = HEADER_BYTES.saturating_sub(offset).min(len as u64) as usize;
                let header = *self.crash == Crash::HeadersOnly;
                vec![(0, inside, fate(header)), (inside, len, fate(!header))]
            }
            Crash::Random { .. } | Crash::Torn { .. } | Crash::Unreadable { .. } => {
                self.random_parts(number, offset, len)
            }
            Crash::AllButUnit { op, unit } if *op == number => {
                let start = (unit * HOLE_BYTES).min(len);
                let end = (start + HOLE_BYTES).min(len);
                let (kept, hole) = (Fate::Kept, Fate::Dropped);
                vec![(0, start, kept), (start, end, hole), (end, len, kept)]
            }
            _ => vec![(0, len, fate(self.keeps_whole(number)))],
        }
    }

    fn random_parts(&mut self, number: u64, offset: u64, len: usize) -> Vec<(usize, usize, Fate)> {
        let unit_percent = match self.style {
            Style::Units(percent) => percent,
            // The operation that was under way when the power went.
            Style::Prefix(end) if number == end => 50,
            _ => {
                let kept = self.keeps_whole(number);
                return vec![(0, len, if kept { Fate::Kept } else { Fate::Dropped })];
            }
        };
        let unreadable = matches!(self.crash, Crash::Unreadable { .. });
        let mut parts = Vec::new();
        let mut start = 0;
        while start < len {
            let to_boundary = self.unit_bytes - (offset + start as u64) % self.unit_bytes;
            let end = (start + to_boundary as usize).min(len);
            let fate = if self.chance(self.garbage_percent) {
                Fate::Garbage
            } else if self.chance(unit_percent) {
                Fate::Kept
            } else if unreadable && self.rng.random_ratio(1, LOST_TO_UNREADABLE) {
                Fate::Unreadable
            } else {
                Fate::Dropped
            };
            parts.push((start, end, fate));
            start = end;
        }
        parts
    }

    /// The length that a change to `to` leaves when it took hold: in growth, any on the way.
    fn length(&mut self, from: u64, to: u64) -> u64 {
        if self.crash.is_random() && to > from && self.rng.random_ratio(1, 3) {
            let part = self.rng.random_range(from..=to);
            return part - part % self.unit_bytes.min(part.max(1));
        }
        to
    }
}

/// Where the second half of a write begins: the sector boundary at or after its middle.
fn middle(offset: u64, len: usize) -> usize {
    let half = offset + (len / 2) as u64;
    ((half.next_multiple_of(512) - offset) as usize).min(len)
}

/// What a file holds after the power loss: its durable bytes, and what survived of the rest.
pub(super) fn survivor(crash: &Crash, path: &Path, number: usize, node: &Node) -> Image {
    let mut judge = Judge::new(crash, path, number, &node.pending);
    let mut image = node.durable.clone();
    let mut len = image.len();
    for op in &node.pending {
        match &op.change {
            Change::SetLen(to) => {
                if judge.keeps_whole(op.number) {
                    let to = judge.length(len, *to);
                    if to < len {
                        image.set_len(to);
                    }
                    len = to;
                }
            }
            Change::Write {
                offset,
                bytes,
                extends,
            } => {
                let mut kept_end = *offset;
                for (start, end, fate) in judge.parts(op.number, *offset, bytes.len()) {
                    let (at, part) = (offset + start as u64, &bytes.as_slice()[start..end]);
                    match fate {
                        Fate::Kept => image.write(at, part),
                        Fate::Garbage => image.write(at, &garbage(&mut judge.rng, part)),
                        Fate::Unreadable => image.spoil(at, part.len() as u64),
                        Fate::Dropped => continue,
                    }
                    kept_end = offset + end as u64;
                }
                if *extends && judge.keeps_whole(op.number) {
                    len = len.max(offset + bytes.len() as u64);
                } else if *extends && *crash == Crash::HeadersOnly {
                    len = len.max(kept_end.min(HEADER_BYTES));
                }
            }
        }
    }
    image.set_len(len);
    image
}

/// Whether a change of a name takes hold.
pub(super) fn name_survives(crash: &Crash, path: &Path, number: u64) -> bool {
    let of_name = usize::try_from(number)
        .unwrap_or(usize::MAX)
        .wrapping_add(1 << 20);
    let mut judge = Judge::new(crash, path, of_name, &[]);
    if crash.is_random() {
        return judge.rng.random();
    }
    judge.keeps_whole(number)
}

/// What a unit may hold when the power went while it was being written.
fn garbage(rng: &mut SeededRng, wanted: &[u8]) -> Vec<u8> {
    let mut bytes = wanted.to_vec();
    match rng.random_range(0..3) {
        0 => rng.fill_bytes(&mut bytes),
        1 => bytes.fill(0),
        _ => {
            let good = rng.random_range(0..=bytes.len());
            rng.fill_bytes(&mut bytes[good..]);
        }
    }
    bytes
}
