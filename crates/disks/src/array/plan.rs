//! The operations of drives that a write needs.
//!
//! A mirrored or plain level writes every copy of every piece. A parity level treats each row by itself
//! and takes the cheaper of two ways:
//!
//! - read-modify-write: read the old bytes of the pieces and of the parities, then write both;
//! - reconstruct-write: read those bytes of the row that are not overwritten, then write pieces and
//!   parities. A write of the whole row reads nothing.

use crate::device::Operation;
use crate::raid::{Piece, Raid};
use smallvec::SmallVec;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct DriveOperation {
    pub(super) drive: u32,
    pub(super) operation: Operation,
}

pub(super) type Operations = SmallVec<[DriveOperation; 4]>;

/// Operations in two phases; the second begins when the first is done.
pub(super) struct Plan {
    pub(super) first: Operations,
    pub(super) then: Operations,
}

/// A range of bytes within a unit.
type Within = (u64, u64);

pub(super) fn write(raid: &Raid, offset: u64, bytes: u64) -> Plan {
    let pieces = raid.pieces(offset, bytes);
    let (mut reads, mut writes) = (Operations::new(), Operations::new());
    if raid.level().parities() == 0 {
        for piece in &pieces {
            let first = raid.data_drive(piece.row, piece.column);
            for drive in first..first + raid.copies() {
                let within = (piece.within, piece.within + piece.bytes);
                writes.push(operation(raid, true, drive, piece.row, within));
            }
        }
    } else {
        for row in pieces.chunk_by(|a, b| a.row == b.row) {
            plan_row(raid, row, &mut reads, &mut writes);
        }
    }
    if reads.is_empty() {
        return Plan {
            first: writes,
            then: Operations::new(),
        };
    }
    Plan {
        first: reads,
        then: writes,
    }
}

fn operation(raid: &Raid, write: bool, drive: u32, row: u64, within: Within) -> DriveOperation {
    DriveOperation {
        drive,
        operation: Operation {
            write,
            offset: raid.drive_offset(row, within.0),
            bytes: within.1 - within.0,
        },
    }
}

fn plan_row(raid: &Raid, pieces: &[Piece], reads: &mut Operations, writes: &mut Operations) {
    let Some(row) = pieces.first().map(|piece| piece.row) else {
        return;
    };
    let parities = raid.level().parities();
    let merged = merged_ranges(pieces);
    let rest = not_overwritten(raid, pieces, &merged);
    let modify_reads = pieces.len() + merged.len() * parities as usize;
    let reconstruct = rest.len() < modify_reads;
    let mut parity_ranges = merged.clone();
    if reconstruct {
        for (column, within) in &rest {
            let drive = raid.data_drive(row, *column);
            reads.push(operation(raid, false, drive, row, *within));
        }
        parity_ranges = SmallVec::from_slice(&[hull(&merged)]);
    }
    for piece in pieces {
        let drive = raid.data_drive(row, piece.column);
        let within = (piece.within, piece.within + piece.bytes);
        if !reconstruct {
            reads.push(operation(raid, false, drive, row, within));
        }
        writes.push(operation(raid, true, drive, row, within));
    }
    for number in 0..parities {
        let drive = raid.parity_drive(row, number);
        for within in &parity_ranges {
            if !reconstruct {
                reads.push(operation(raid, false, drive, row, *within));
            }
            writes.push(operation(raid, true, drive, row, *within));
        }
    }
}

/// The ranges within a unit that the pieces cover, merged and sorted.
fn merged_ranges(pieces: &[Piece]) -> SmallVec<[Within; 4]> {
    let mut ranges: SmallVec<[Within; 4]> = pieces
        .iter()
        .map(|piece| (piece.within, piece.within + piece.bytes))
        .collect();
    ranges.sort_unstable();
    let mut merged: SmallVec<[Within; 4]> = SmallVec::new();
    for range in ranges {
        match merged.last_mut() {
            Some(last) if range.0 <= last.1 => last.1 = last.1.max(range.1),
            _ => merged.push(range),
        }
    }
    merged
}

fn hull(merged: &[Within]) -> Within {
    let from = merged.first().map_or(0, |range| range.0);
    (from, merged.last().map_or(from, |range| range.1))
}

/// What of the row's columns lies in the range of the write and is not overwritten by it.
fn not_overwritten(
    raid: &Raid,
    pieces: &[Piece],
    merged: &[Within],
) -> SmallVec<[(u32, Within); 8]> {
    let (from, to) = hull(merged);
    let mut rest = SmallVec::new();
    for column in 0..raid.columns() {
        let mut at = from;
        if let Some(piece) = pieces.iter().find(|piece| piece.column == column) {
            if piece.within > at {
                rest.push((column, (at, piece.within)));
            }
            at = piece.within + piece.bytes;
        }
        if at < to {
            rest.push((column, (at, to)));
        }
    }
    rest
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::raid::Level;

    const K: u64 = 1024;

    fn counts(level: Level, drives: u32, offset: u64, bytes: u64) -> (usize, usize) {
        let raid = Raid::new(level, drives, 64 * K).unwrap();
        let plan = write(&raid, offset, bytes);
        let all = || plan.first.iter().chain(&plan.then);
        let writes = all().filter(|each| each.operation.write).count();
        assert!(plan.then.iter().all(|each| each.operation.write));
        (all().count() - writes, writes)
    }

    #[test]
    fn a_small_write_costs_what_the_textbook_says() {
        assert_eq!(counts(Level::Raid0, 4, 0, 8 * K), (0, 1));
        assert_eq!(counts(Level::Raid10, 4, 0, 8 * K), (0, 2));
        assert_eq!(counts(Level::Raid1, 2, 0, 8 * K), (0, 2));
        assert_eq!(counts(Level::Raid5, 6, 0, 8 * K), (2, 2));
        assert_eq!(counts(Level::Raid6, 6, 0, 8 * K), (3, 3));
        // Split over two columns of one row, and over two rows.
        assert_eq!(counts(Level::Raid10, 4, 60 * K, 8 * K), (0, 4));
        assert_eq!(counts(Level::Raid5, 6, 60 * K, 8 * K), (4, 4));
        assert_eq!(counts(Level::Raid5, 6, 5 * 64 * K - 4 * K, 8 * K), (4, 4));
    }

    #[test]
    fn a_write_of_a_whole_row_reads_nothing_and_most_of_a_row_reads_the_rest() {
        assert_eq!(counts(Level::Raid5, 6, 0, 5 * 64 * K), (0, 6));
        assert_eq!(counts(Level::Raid6, 6, 0, 4 * 64 * K), (0, 6));
        assert_eq!(counts(Level::Raid5, 6, 0, 4 * 64 * K), (1, 5));
        assert_eq!(counts(Level::Raid5, 3, 0, 64 * K), (1, 2));
    }
}
