//! The body of `CheckpointEnd`.
//!
//! | bytes | field |
//! |---|---|
//! | 00-07 | LSN of the checkpoint's begin |
//! | 08-15 | redo point |
//! | 16-23 | next transaction number |
//! | 24-27 | records of this checkpoint's end that follow this one |
//! | 28-31 | active transactions in this record |
//! | 32-.. | each: number, first LSN, last LSN |

use furrow_format::{Lsn, TxnId};
use furrow_txn::ListedTxn;

/// Active transactions in one record; a list that is longer goes on in the next record.
const PER_RECORD: usize = 2000;

/// One record of a checkpoint's end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct EndBody {
    pub(crate) begin: Lsn,
    pub(crate) redo_point: Lsn,
    pub(crate) next_txn: u64,
    pub(crate) more: u32,
    pub(crate) active: Vec<ListedTxn>,
}

impl EndBody {
    /// The bodies for a list of any length, at least one.
    pub(crate) fn split(
        begin: Lsn,
        redo_point: Lsn,
        next_txn: u64,
        active: &[ListedTxn],
    ) -> Vec<EndBody> {
        let chunks: Vec<&[ListedTxn]> = if active.is_empty() {
            vec![&[]]
        } else {
            active.chunks(PER_RECORD).collect()
        };
        let last = chunks.len() - 1;
        let body = |(i, chunk): (usize, &[ListedTxn])| EndBody {
            begin,
            redo_point,
            next_txn,
            more: (last - i) as u32,
            active: chunk.to_vec(),
        };
        chunks.into_iter().enumerate().map(body).collect()
    }

    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(32 + 24 * self.active.len());
        for word in [self.begin.0, self.redo_point.0, self.next_txn] {
            out.extend_from_slice(&word.to_le_bytes());
        }
        out.extend_from_slice(&self.more.to_le_bytes());
        out.extend_from_slice(&(self.active.len() as u32).to_le_bytes());
        for txn in &self.active {
            for word in [txn.id.0, txn.first.0, txn.last.0] {
                out.extend_from_slice(&word.to_le_bytes());
            }
        }
        out
    }

    pub(crate) fn decode(bytes: &[u8]) -> Option<EndBody> {
        let word = |at: usize| Some(u64::from_le_bytes(*bytes.get(at..)?.first_chunk()?));
        let half = |at: usize| Some(u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?));
        let count = half(28)? as usize;
        if bytes.len() != 32 + 24 * count {
            return None;
        }
        let listed = |i: usize| {
            let at = 32 + 24 * i;
            let (first, last) = (Lsn(word(at + 8)?), Lsn(word(at + 16)?));
            Some(ListedTxn {
                id: TxnId(word(at)?),
                first,
                last,
            })
        };
        Some(EndBody {
            begin: Lsn(word(0)?),
            redo_point: Lsn(word(8)?),
            next_txn: word(16)?,
            more: half(24)?,
            active: (0..count).map(listed).collect::<Option<_>>()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lists_of_transactions_split_and_come_back() {
        let txn = |i| ListedTxn {
            id: TxnId(i),
            first: Lsn(i * 2),
            last: Lsn(i * 3),
        };
        let all: Vec<ListedTxn> = (1..=4500).map(txn).collect();
        let bodies = EndBody::split(Lsn(5), Lsn(4), 9, &all);
        assert_eq!(bodies.iter().map(|b| b.more).collect::<Vec<_>>(), [2, 1, 0]);
        let back: Vec<ListedTxn> = bodies
            .iter()
            .flat_map(|b| EndBody::decode(&b.encode()).unwrap().active)
            .collect();
        assert_eq!(back, all);
        let bytes = EndBody::split(Lsn(5), Lsn(4), 9, &[])[0].encode();
        assert!(EndBody::decode(&bytes).is_some());
        assert!(EndBody::decode(&bytes[..31]).is_none());
    }
}
