//! Log records: a header, what undo needs, what redo needs.
//!
//! | bytes | field |
//! |---|---|
//! | 00-03 | length in bytes, header included |
//! | 04 | kind |
//! | 05-07 | length of the undo part in bytes |
//! | 08-15 | transaction, 0 for none |
//! | 16-23 | LSN of the transaction's record before; of a compensation record: the next one to undo |
//! | 24-.. | undo part, then redo part |

#![deny(clippy::indexing_slicing)]

use furrow_format::{Lsn, TxnId};

/// Bytes of a record's header.
pub(crate) const RECORD_HEADER_BYTES: usize = 24;

/// The kind of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum RecordKind {
    /// A group of page changes; with an undo part when a transaction's rollback must undo it.
    Change = 1,
    /// Page changes that undo an earlier record; never undone itself.
    Compensation = 2,
    /// The transaction is committed.
    Commit = 3,
    /// The transaction is rolled back, wholly.
    Abort = 4,
    /// A checkpoint begins here: redo starts at this record's LSN once it is completed.
    CheckpointBegin = 5,
    /// A checkpoint is completed: its begin, the active transactions, the dirty pages' oldest LSN.
    CheckpointEnd = 6,
}

impl RecordKind {
    fn from_byte(byte: u8) -> Option<RecordKind> {
        use RecordKind as K;
        [
            K::Change,
            K::Compensation,
            K::Commit,
            K::Abort,
            K::CheckpointBegin,
            K::CheckpointEnd,
        ]
        .into_iter()
        .find(|&kind| kind as u8 == byte)
    }
}

/// A record as it is handed to the log, or as it lies in a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Record<'a> {
    /// Its kind.
    pub kind: RecordKind,
    /// The transaction it belongs to; `TxnId(0)` for none.
    pub txn: TxnId,
    /// The transaction's record before; of a compensation record the next one to undo.
    pub prev: Lsn,
    /// What undo needs; empty when there is nothing to undo.
    pub undo: &'a [u8],
    /// What redo needs: page changes, or the body of the kind.
    pub redo: &'a [u8],
}

impl<'a> Record<'a> {
    /// A record outside any transaction, with nothing to undo.
    pub fn system(kind: RecordKind, redo: &'a [u8]) -> Record<'a> {
        Record {
            kind,
            txn: TxnId(0),
            prev: Lsn::ZERO,
            undo: &[],
            redo,
        }
    }

    /// Length in the log in bytes.
    pub fn len_bytes(&self) -> usize {
        RECORD_HEADER_BYTES + self.undo.len() + self.redo.len()
    }

    /// The header's bytes.
    pub(crate) fn header(&self) -> [u8; RECORD_HEADER_BYTES] {
        debug_assert!(
            self.undo.len() < 1 << 24,
            "three bytes hold the undo part's length"
        );
        debug_assert!(
            u32::try_from(self.len_bytes()).is_ok(),
            "four bytes hold the length"
        );
        let (len, kind, undo_len) = (self.len_bytes(), self.kind as u8, self.undo.len());
        let first = len as u64 | u64::from(kind) << 32 | (undo_len as u64) << 40;
        let mut bytes = [0; RECORD_HEADER_BYTES];
        let (words, _) = bytes.as_chunks_mut();
        for (to, word) in words.iter_mut().zip([first, self.txn.0, self.prev.0]) {
            *to = word.to_le_bytes();
        }
        bytes
    }

    /// Reads the record at the start of `bytes`, and its length; `None` when it does not fit or
    /// makes no sense.
    pub fn read(bytes: &'a [u8]) -> Option<(Record<'a>, usize)> {
        let header: &[u8; RECORD_HEADER_BYTES] = bytes.first_chunk()?;
        let [l0, l1, l2, l3, kind, u0, u1, u2, rest @ ..] = *header;
        let len = u32::from_le_bytes([l0, l1, l2, l3]) as usize;
        let undo_len = u32::from_le_bytes([u0, u1, u2, 0]) as usize;
        let body = bytes.get(RECORD_HEADER_BYTES..len)?;
        let (undo, redo) = body.split_at_checked(undo_len)?;
        let record = Record {
            kind: RecordKind::from_byte(kind)?,
            txn: TxnId(u64::from_le_bytes(*rest.first_chunk()?)),
            prev: Lsn(u64::from_le_bytes(*rest.last_chunk()?)),
            undo,
            redo,
        };
        Some((record, len))
    }
}

/// A record copied out of the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnedRecord {
    bytes: Vec<u8>,
    /// Where it lies.
    pub lsn: Lsn,
}

impl OwnedRecord {
    /// Copies the record at the start of `bytes`.
    pub(crate) fn copy(bytes: &[u8], lsn: Lsn) -> Option<OwnedRecord> {
        let (_, len) = Record::read(bytes)?;
        Some(OwnedRecord {
            bytes: bytes.get(..len)?.to_vec(),
            lsn,
        })
    }

    /// The record.
    pub fn get(&self) -> Record<'_> {
        debug_assert!(
            Record::read(&self.bytes).is_some(),
            "checked when it was copied"
        );
        Record::read(&self.bytes).map_or(Record::system(RecordKind::Abort, &[]), |r| r.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_reads_back_as_it_was_written() {
        let record = Record {
            kind: RecordKind::Change,
            txn: TxnId(77),
            prev: Lsn(123_456),
            undo: b"undo me",
            redo: b"and redo me",
        };
        let mut bytes = record.header().to_vec();
        bytes.extend_from_slice(record.undo);
        bytes.extend_from_slice(record.redo);
        bytes.extend_from_slice(b"next");
        assert_eq!(Record::read(&bytes), Some((record, record.len_bytes())));
        for cut in 0..record.len_bytes() {
            assert_eq!(Record::read(&bytes[..cut]), None, "cut at {cut}");
        }
        bytes[4] = 200;
        assert_eq!(Record::read(&bytes), None);
    }
}
