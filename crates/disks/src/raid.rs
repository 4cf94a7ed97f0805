//! Which drive holds which bytes.
//!
//! An address of the array is cut into stripe units. Unit `u` lies on column `u mod columns` in row
//! `u / columns`; a column is one drive (RAID 0), a pair of drives (RAID 10), all drives (RAID 1), or one
//! of the row's data drives (RAID 5 and 6), whose place rotates with the row (left-symmetric).
//!
//! # Invariants
//! 1. The pieces of a range cover it exactly once, in order. `every_byte_of_a_range_is_covered_once`.
//! 2. A page of 8 KB at a start that is no multiple of 8 KB crosses a unit boundary in exactly one of
//!    `unit / 8 KB` places, and never where its start is a multiple. `the_share_of_pages_that_cross...`.
//! 3. The drives of a row are distinct. `a_row_of_parity_uses_each_drive_once`.

use smallvec::SmallVec;
use std::fmt;
use thiserror::Error;

/// How drives are joined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// Striped, without redundancy; also a single drive.
    Raid0,
    /// Every drive holds everything.
    Raid1,
    /// Striped with one parity unit a row.
    Raid5,
    /// Striped with two parity units a row.
    Raid6,
    /// Striped over mirrored pairs.
    Raid10,
}

impl Level {
    /// Its name as a specification has it.
    pub const fn name(self) -> &'static str {
        match self {
            Level::Raid0 => "raid0",
            Level::Raid1 => "raid1",
            Level::Raid5 => "raid5",
            Level::Raid6 => "raid6",
            Level::Raid10 => "raid10",
        }
    }

    /// The level of a name.
    pub fn named(name: &str) -> Option<Level> {
        [
            Level::Raid0,
            Level::Raid1,
            Level::Raid5,
            Level::Raid6,
            Level::Raid10,
        ]
        .into_iter()
        .find(|level| level.name() == name)
    }

    /// Parity units of a row.
    pub const fn parities(self) -> u32 {
        match self {
            Level::Raid5 => 1,
            Level::Raid6 => 2,
            _ => 0,
        }
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Drives that cannot be joined so.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum RaidError {
    /// Too few drives, or an odd number where pairs are needed.
    #[error("{level} takes {wanted}, not {drives}")]
    Drives {
        /// The level.
        level: Level,
        /// Drives that were given.
        drives: u32,
        /// What it takes.
        wanted: &'static str,
    },
    /// A stripe unit that pages cannot be cut by.
    #[error("a stripe unit is a multiple of 512 bytes from 4K to 16M, not {0} bytes")]
    Stripe(u64),
}

/// The most drives of an array.
pub const MAX_DRIVES: u32 = 64;

/// The geometry of an array.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Raid {
    level: Level,
    drives: u32,
    stripe_bytes: u64,
    columns: u32,
}

/// A part of a range that lies in one stripe unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Piece {
    /// The row of the unit.
    pub row: u64,
    /// The column of the unit.
    pub column: u32,
    /// Offset in the unit.
    pub within: u64,
    /// Length.
    pub bytes: u64,
}

impl Raid {
    /// A geometry.
    pub fn new(level: Level, drives: u32, stripe_bytes: u64) -> Result<Raid, RaidError> {
        let (fits, wanted) = match level {
            Level::Raid0 => (drives >= 1, "1 to 64 drives"),
            Level::Raid1 => (drives >= 2, "2 to 64 drives"),
            Level::Raid5 => (drives >= 3, "3 to 64 drives"),
            Level::Raid6 => (drives >= 4, "4 to 64 drives"),
            Level::Raid10 => (
                drives >= 2 && drives.is_multiple_of(2),
                "an even number of drives from 2 to 64",
            ),
        };
        if !fits || drives > MAX_DRIVES {
            return Err(RaidError::Drives {
                level,
                drives,
                wanted,
            });
        }
        if !(4096..=16 << 20).contains(&stripe_bytes) || !stripe_bytes.is_multiple_of(512) {
            return Err(RaidError::Stripe(stripe_bytes));
        }
        let columns = match level {
            Level::Raid0 => drives,
            Level::Raid1 => 1,
            Level::Raid5 => drives - 1,
            Level::Raid6 => drives - 2,
            Level::Raid10 => drives / 2,
        };
        Ok(Raid {
            level,
            drives,
            stripe_bytes,
            columns,
        })
    }

    /// The level.
    pub const fn level(&self) -> Level {
        self.level
    }

    /// Drives.
    pub const fn drives(&self) -> u32 {
        self.drives
    }

    /// The stripe unit.
    pub const fn stripe_bytes(&self) -> u64 {
        self.stripe_bytes
    }

    /// Columns of data.
    pub const fn columns(&self) -> u32 {
        self.columns
    }

    /// Bytes of the array for drives of `drive_bytes`.
    pub const fn capacity_bytes(&self, drive_bytes: u64) -> u64 {
        drive_bytes / self.stripe_bytes * self.stripe_bytes * self.columns as u64
    }

    /// Stripe units that a range touches.
    pub const fn units_touched(&self, offset: u64, bytes: u64) -> u64 {
        if bytes == 0 {
            return 0;
        }
        (offset + bytes - 1) / self.stripe_bytes - offset / self.stripe_bytes + 1
    }

    /// The pieces of a range, in order.
    pub fn pieces(&self, offset: u64, bytes: u64) -> SmallVec<[Piece; 4]> {
        let mut pieces = SmallVec::new();
        let (mut at, end) = (offset, offset + bytes);
        while at < end {
            let unit = at / self.stripe_bytes;
            let within = at - unit * self.stripe_bytes;
            let length = (self.stripe_bytes - within).min(end - at);
            pieces.push(Piece {
                row: unit / u64::from(self.columns),
                column: (unit % u64::from(self.columns)) as u32,
                within,
                bytes: length,
            });
            at += length;
        }
        pieces
    }

    /// The drive of parity `number` of a row.
    pub fn parity_drive(&self, row: u64, number: u32) -> u32 {
        debug_assert!(number < self.level.parities(), "no such parity");
        let last = self.drives - 1;
        let first = last - (row % u64::from(self.drives)) as u32;
        (first + number) % self.drives
    }

    /// The drive of a data column of a row; of a mirrored column the first copy.
    pub fn data_drive(&self, row: u64, column: u32) -> u32 {
        debug_assert!(column < self.columns, "no such column");
        match self.level {
            Level::Raid0 => column,
            Level::Raid1 => 0,
            Level::Raid10 => column * 2,
            Level::Raid5 | Level::Raid6 => {
                let parities = self.level.parities();
                (self.parity_drive(row, 0) + parities + column) % self.drives
            }
        }
    }

    /// Copies of a data column.
    pub const fn copies(&self) -> u32 {
        match self.level {
            Level::Raid1 => self.drives,
            Level::Raid10 => 2,
            _ => 1,
        }
    }

    /// The byte of a drive where `within` of a row's unit lies.
    pub const fn drive_offset(&self, row: u64, within: u64) -> u64 {
        row * self.stripe_bytes + within
    }
}

/// The share of requests of `bytes` that touch more than one stripe unit, of all that begin at `start` plus
/// a multiple of `bytes`: numerator and denominator over one period, exact.
pub fn crossing_share(stripe_bytes: u64, start: u64, bytes: u64) -> (u64, u64) {
    let period = stripe_bytes / gcd(stripe_bytes, bytes);
    let crosses = |k: u64| {
        let at = start + k * bytes;
        at / stripe_bytes != (at + bytes - 1) / stripe_bytes
    };
    let crossing = (0..period).filter(|k| crosses(*k)).count() as u64;
    let common = gcd(crossing, period).max(1);
    (crossing / common, period / common)
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PAGE_BYTES;

    const K: u64 = 1024;
    const SECTOR_63: u64 = 63 * 512;

    #[test]
    fn the_share_of_pages_that_cross_a_stripe_unit_is_exact() {
        assert_eq!(SECTOR_63, 32_256, "31.5 KB");
        for (stripe, expected) in [(8, (1, 1)), (64, (1, 8)), (128, (1, 16))] {
            let share = |start| crossing_share(stripe * K, start, PAGE_BYTES);
            assert_eq!(share(SECTOR_63), expected, "31.5 KB on {stripe} KB");
            assert_eq!(share(17 * K), expected, "any other start that is odd");
            assert_eq!(share(4 * K), expected, "an allocation unit of 4 KB");
            assert_eq!(share(32 * K), (0, 1), "32 KB on {stripe} KB");
            assert_eq!(share(64 * K), (0, 1), "64 KB on {stripe} KB");
        }
    }

    #[test]
    fn extents_and_backup_transfers_cross_as_the_arithmetic_says() {
        let share = |stripe: u64, start: u64, bytes: u64| crossing_share(stripe * K, start, bytes);
        for start in [SECTOR_63, 32 * K] {
            assert_eq!(share(64, start, 64 * K), (1, 1));
            assert_eq!(share(128, start, 64 * K), (1, 2));
            assert_eq!(share(256, start, 64 * K), (1, 4));
        }
        assert_eq!(share(64, 64 * K, 64 * K), (0, 1));
        let raid = Raid::new(Level::Raid0, 4, 64 * K).unwrap();
        assert_eq!(raid.units_touched(SECTOR_63, 1024 * K), 17);
        assert_eq!(raid.units_touched(1024 * K, 1024 * K), 16);
        assert_eq!(raid.units_touched(0, 0), 0);
    }

    #[test]
    fn every_byte_of_a_range_is_covered_once() {
        for level in [Level::Raid0, Level::Raid5, Level::Raid6, Level::Raid10] {
            let raid = Raid::new(level, 6, 8 * K).unwrap();
            for (offset, bytes) in [
                (0, 1),
                (512, 8 * K),
                (100, 300 * K),
                (7 * K, 3 * K),
                (64 * K, 64 * K),
            ] {
                let pieces = raid.pieces(offset, bytes);
                assert_eq!(pieces.iter().map(|p| p.bytes).sum::<u64>(), bytes);
                let mut at = offset;
                for piece in &pieces {
                    let unit = piece.row * u64::from(raid.columns()) + u64::from(piece.column);
                    assert_eq!(unit * raid.stripe_bytes() + piece.within, at);
                    at += piece.bytes;
                }
                assert_eq!(pieces.len() as u64, raid.units_touched(offset, bytes));
            }
        }
    }

    #[test]
    fn a_row_of_parity_uses_each_drive_once() {
        for (level, drives) in [(Level::Raid5, 3), (Level::Raid5, 7), (Level::Raid6, 6)] {
            let raid = Raid::new(level, drives, 64 * K).unwrap();
            let mut held_parity = vec![0; drives as usize];
            for row in 0..u64::from(drives) {
                let parities = (0..level.parities()).map(|number| raid.parity_drive(row, number));
                let data = (0..raid.columns()).map(|column| raid.data_drive(row, column));
                let mut used: Vec<u32> = parities.clone().chain(data).collect();
                parities.for_each(|drive| held_parity[drive as usize] += 1);
                used.sort_unstable();
                assert_eq!(used, (0..drives).collect::<Vec<_>>(), "{level} row {row}");
            }
            assert!(held_parity.iter().all(|&n| n == level.parities()));
        }
    }

    #[test]
    fn drives_that_cannot_be_joined_are_refused_with_what_is_wanted() {
        let message = |level, drives| Raid::new(level, drives, 64 * K).unwrap_err().to_string();
        assert_eq!(
            message(Level::Raid10, 5),
            "raid10 takes an even number of drives from 2 to 64, not 5"
        );
        assert!(message(Level::Raid5, 2).contains("3 to 64"));
        assert!(Raid::new(Level::Raid0, 1, 1000).is_err());
        assert_eq!(
            Raid::new(Level::Raid5, 5, 64 * K)
                .unwrap()
                .capacity_bytes(1_000_000),
            15 * 65_536 * 4
        );
    }
}
