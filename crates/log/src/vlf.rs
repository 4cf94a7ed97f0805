//! Virtual log files: how many a growth creates, which are in use.

use crate::layout::{FIRST_VLF_OFFSET, SECTOR};
use furrow_format::Lsn;

const KB: u64 = 1024;
const MB: u64 = 1024 * KB;
/// VLFs are whole multiples of this many bytes, but the last one of a growth.
const VLF_UNIT: u64 = 64 * KB;
/// LSNs can address this many bytes in a VLF; larger ones are split.
const VLF_MAX: u64 = (Lsn::MAX_BLOCK as u64 + 1) * 512;
/// Smallest VLF: it must hold several of the largest blocks.
const VLF_MIN: u64 = 128 * KB;

/// Which release's rule decides how many VLFs a creation or a growth adds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum VlfRule {
    /// Up to 2012: 4, 8 or 16 by size.
    Until2012,
    /// 2014 to 2019: one VLF for a growth below an eighth of the log; else 4, 8 or 16. The default here.
    #[default]
    From2014,
    /// From 2022: one VLF up to 64 MB.
    From2022,
}

impl VlfRule {
    /// VLFs that growing a log of `current_bytes` (0: creation) by `growth_bytes` adds.
    pub fn count(self, current_bytes: u64, growth_bytes: u64) -> u32 {
        let small_share = current_bytes > 0 && growth_bytes < current_bytes / 8;
        match self {
            VlfRule::From2014 | VlfRule::From2022 if small_share => 1,
            VlfRule::From2022 if growth_bytes <= 64 * MB => 1,
            VlfRule::Until2012 | VlfRule::From2014 if growth_bytes < 64 * MB => 4,
            _ if growth_bytes <= 1024 * MB => 8,
            _ => 16,
        }
    }

    /// Sizes of these VLFs in bytes: equal multiples of 64 KB, the last takes the remainder. A log that is
    /// created gets at least two, so that one can be reused while the other is active.
    pub fn sizes(self, current_bytes: u64, growth_bytes: u64) -> Vec<u64> {
        let mut count = u64::from(self.count(current_bytes, growth_bytes));
        if current_bytes == 0 {
            count = count.max(2);
        }
        count = count
            .max(growth_bytes.div_ceil(VLF_MAX / 2))
            .min(growth_bytes / VLF_MIN)
            .max(1);
        let each = growth_bytes / count / VLF_UNIT * VLF_UNIT;
        let mut sizes = vec![each; count as usize];
        if let Some(last) = sizes.last_mut() {
            *last = growth_bytes - each * (count - 1);
        }
        debug_assert_eq!(sizes.iter().sum::<u64>(), growth_bytes);
        sizes
    }
}

/// A virtual log file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Vlf {
    /// Where it starts in the log file, in bytes.
    pub start: u64,
    /// Its size in bytes.
    pub size: u64,
    /// Its sequence number; 0 when it was never used.
    pub seq: u32,
}

/// The VLFs of a log in file order, and which of them hold the active log.
#[derive(Debug, Clone)]
pub(crate) struct VlfTable {
    vlfs: Vec<Vlf>,
    current: usize,
    /// Lowest sequence number that is still needed.
    oldest: u32,
}

impl VlfTable {
    /// A table over VLFs at `places` (start, size), none used; the first becomes current with number `seq`.
    pub(crate) fn new(places: &[(u64, u64)], seq: u32) -> VlfTable {
        let vlfs = places
            .iter()
            .map(|&(start, size)| Vlf {
                start,
                size,
                seq: 0,
            })
            .collect();
        let mut table = VlfTable {
            vlfs,
            current: 0,
            oldest: seq,
        };
        if let Some(first) = table.vlfs.first_mut() {
            first.seq = seq;
        }
        table
    }

    /// A table as found on disk: `seqs[i]` is the sequence number found in the i-th VLF, 0 for none. `None`
    /// if one that is needed is missing: it would count as free, and be overwritten.
    pub(crate) fn restored(
        places: &[(u64, u64)],
        seqs: &[u32],
        oldest: u32,
        current: u32,
    ) -> Option<VlfTable> {
        let vlfs: Vec<Vlf> = places
            .iter()
            .zip(seqs)
            .map(|(&(start, size), &seq)| Vlf {
                start,
                size,
                seq: if seq > current { 0 } else { seq },
            })
            .collect();
        let there = |seq| vlfs.iter().position(|v| v.seq == seq);
        let at = there(current)?;
        if oldest > current {
            return None;
        }
        if !(oldest.max(1)..current).all(|seq| there(seq).is_some()) {
            return None;
        }
        Some(VlfTable {
            vlfs,
            current: at,
            oldest,
        })
    }

    /// All VLFs, in file order.
    pub(crate) fn all(&self) -> &[Vlf] {
        &self.vlfs
    }

    /// The VLF being written.
    pub(crate) fn current(&self) -> Vlf {
        self.vlfs.get(self.current).copied().unwrap_or(Vlf {
            start: FIRST_VLF_OFFSET,
            size: 0,
            seq: 0,
        })
    }

    /// The VLF with sequence number `seq`, while it has not been overwritten.
    pub(crate) fn by_seq(&self, seq: u32) -> Option<Vlf> {
        self.vlfs.iter().copied().find(|v| v.seq == seq && seq != 0)
    }

    /// Whether a VLF holds part of the active log.
    pub(crate) fn is_active(&self, vlf: &Vlf) -> bool {
        vlf.seq != 0 && vlf.seq >= self.oldest
    }

    /// Bytes in VLFs that can be taken next.
    pub(crate) fn free_bytes(&self) -> u64 {
        self.vlfs
            .iter()
            .filter(|v| !self.is_active(v))
            .map(|v| v.size)
            .sum()
    }

    /// Bytes in all VLFs.
    pub(crate) fn total_bytes(&self) -> u64 {
        self.vlfs.iter().map(|v| v.size).sum()
    }

    /// Whether [`VlfTable::truncate_before`] would free any.
    pub(crate) fn keeps_before(&self, seq: u32) -> bool {
        seq.min(self.current().seq) > self.oldest
    }

    /// Frees the VLFs whose records all lie before `seq`. Returns whether any came free.
    pub(crate) fn truncate_before(&mut self, seq: u32) -> bool {
        let moved = self.keeps_before(seq);
        self.oldest = self.oldest.max(seq.min(self.current().seq));
        debug_assert!(
            self.oldest <= self.current().seq,
            "the VLF being written is never free"
        );
        moved
    }

    /// Makes the next free VLF in file order current, with the next sequence number; `None` when
    /// all are active.
    pub(crate) fn advance(&mut self) -> Option<Vlf> {
        let n = self.vlfs.len();
        let next = (1..=n)
            .map(|step| (self.current + step) % n)
            .find(|&i| self.vlfs.get(i).is_some_and(|v| !self.is_active(v)))?;
        let seq = self.current().seq + 1;
        debug_assert!(
            self.vlfs.iter().all(|v| v.seq < seq),
            "sequence numbers grow"
        );
        let vlf = self.vlfs.get_mut(next)?;
        vlf.seq = seq;
        self.current = next;
        let vlf = *vlf;
        debug_assert!(self.is_active(&vlf), "the VLF being written is active");
        Some(vlf)
    }

    /// The place of the VLF being written in the file.
    pub(crate) fn current_place(&self) -> usize {
        self.current
    }

    /// Removes the VLFs from this place on from the table; the caller has checked that none is active.
    pub(crate) fn cut(&mut self, from: usize) -> Vec<Vlf> {
        debug_assert!(self.current < from, "the VLF being written stays");
        let gone = self.vlfs.split_off(from.min(self.vlfs.len()));
        debug_assert!(
            !gone.iter().any(|vlf| self.is_active(vlf)),
            "the active log stays"
        );
        gone
    }

    /// Puts VLFs back that were cut off.
    pub(crate) fn put_back(&mut self, vlfs: Vec<Vlf>) {
        self.vlfs.extend(vlfs);
    }

    /// Adds VLFs of these sizes at the end of the file.
    pub(crate) fn append(&mut self, sizes: &[u64]) {
        for &size in sizes {
            let start = self
                .vlfs
                .last()
                .map_or(FIRST_VLF_OFFSET, |v| v.start + v.size);
            debug_assert!(size >= SECTOR as u64, "a VLF has blocks");
            self.vlfs.push(Vlf {
                start,
                size,
                seq: 0,
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vlf_counts_match_the_published_table() {
        let (gb, rules) = (
            1024 * MB,
            [VlfRule::Until2012, VlfRule::From2014, VlfRule::From2022],
        );
        for (current, growth, expected) in [
            (0, MB, [4, 4, 1]),
            (0, 64 * MB, [8, 8, 1]),
            (0, 512 * MB, [8, 8, 8]),
            (0, 8 * gb, [16, 16, 16]),
            (8 * gb, 64 * MB, [8, 1, 1]),
            (8 * gb, 2 * gb, [16, 16, 16]),
        ] {
            let counts = rules.map(|rule| rule.count(current, growth));
            assert_eq!(counts, expected, "log of {current} bytes grows by {growth}");
        }
        assert_eq!(VlfRule::From2014.sizes(0, 8 * gb), [512 * MB; 16]);
    }

    #[test]
    fn vlf_sizes_add_up_and_stay_addressable() {
        for growth in [512 * KB, MB, 5 * MB + 8192, 80 * MB, 300 * 1024 * MB] {
            let sizes = VlfRule::default().sizes(0, growth);
            assert_eq!(sizes.iter().sum::<u64>(), growth);
            assert!(
                sizes.len() >= 2
                    && sizes
                        .iter()
                        .all(|&s| (VLF_MIN..=VLF_MAX + VLF_UNIT * 16).contains(&s))
            );
        }
    }

    #[test]
    fn vlfs_are_reused_in_a_circle_and_never_while_active() {
        let mut table = VlfTable::new(&[(8192, 100), (8292, 100), (8392, 100)], 10);
        assert_eq!(table.advance().unwrap().seq, 11);
        assert_eq!(table.advance().unwrap().start, 8392);
        assert!(table.advance().is_none(), "all three are active");
        assert!(table.truncate_before(12));
        assert_eq!(table.free_bytes(), 200);
        assert_eq!(table.advance().map(|v| (v.start, v.seq)), Some((8192, 13)));
        table.append(&[SECTOR as u64]);
        assert_eq!(table.advance().map(|v| (v.start, v.seq)), Some((8292, 14)));
        assert_eq!(table.advance().map(|v| (v.start, v.seq)), Some((8492, 15)));
        assert!(table.by_seq(10).is_none() && table.by_seq(13).is_some());
    }
}
