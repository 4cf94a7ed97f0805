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
//! | then 4 | rowsets in this record; absent in logs of before there were counts |
//! | then | each: number, committed rows at the checkpoint's begin |

use furrow_format::{Lsn, RowsetId, TxnId};
use furrow_txn::ListedTxn;

/// Active transactions in one record; a list that is longer goes on in the next record.
const PER_RECORD: usize = 2000;
/// The same for counts.
const COUNTS_PER_RECORD: usize = 3000;

/// One record of a checkpoint's end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct EndBody {
    pub(crate) begin: Lsn,
    pub(crate) redo_point: Lsn,
    pub(crate) next_txn: u64,
    pub(crate) more: u32,
    pub(crate) active: Vec<ListedTxn>,
    /// Rows of rowsets; `None` when the log has no counts.
    pub(crate) counts: Option<Vec<(RowsetId, i64)>>,
}

impl EndBody {
    /// The bodies for lists of any length, at least one: first those with transactions, then those with
    /// counts.
    pub(crate) fn split(
        begin: Lsn,
        redo_point: Lsn,
        next_txn: u64,
        active: &[ListedTxn],
        counts: &[(RowsetId, i64)],
    ) -> Vec<EndBody> {
        let body = |active: &[ListedTxn], counts: &[(RowsetId, i64)]| EndBody {
            begin,
            redo_point,
            next_txn,
            more: 0,
            active: active.to_vec(),
            counts: Some(counts.to_vec()),
        };
        let lists = active.chunks(PER_RECORD).map(|chunk| body(chunk, &[]));
        let counted = counts
            .chunks(COUNTS_PER_RECORD)
            .map(|chunk| body(&[], chunk));
        let mut bodies: Vec<EndBody> = lists.chain(counted).collect();
        if bodies.is_empty() {
            bodies.push(body(&[], &[]));
        }
        let last = bodies.len() - 1;
        for (at, body) in bodies.iter_mut().enumerate() {
            body.more = (last - at) as u32;
        }
        debug_assert!(
            bodies.last().is_some_and(|last| last.more == 0),
            "the last one says so"
        );
        bodies
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
        if let Some(counts) = &self.counts {
            out.extend_from_slice(&(counts.len() as u32).to_le_bytes());
            for (rowset, rows) in counts {
                out.extend_from_slice(&rowset.0.to_le_bytes());
                out.extend_from_slice(&rows.to_le_bytes());
            }
        }
        debug_assert_eq!(
            EndBody::decode(&out).as_ref(),
            Some(self),
            "a checkpoint's end reads back"
        );
        out
    }

    pub(crate) fn decode(bytes: &[u8]) -> Option<EndBody> {
        let word = |at: usize| Some(u64::from_le_bytes(*bytes.get(at..)?.first_chunk()?));
        let half = |at: usize| Some(u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?));
        let count = half(28)? as usize;
        let behind = count.checked_mul(24)?.checked_add(32)?;
        let counted = match bytes.get(behind..)? {
            [] => None,
            _ => Some(half(behind)? as usize),
        };
        let counted_bytes = counted.map_or(Some(0), |n| n.checked_mul(16)?.checked_add(4))?;
        if bytes.len() != behind.checked_add(counted_bytes)? {
            return None;
        }
        let rows = |i: usize| {
            let at = behind + 4 + 16 * i;
            Some((RowsetId(word(at)?), word(at + 8)? as i64))
        };
        let counts = counted.map(|n| (0..n).map(rows).collect::<Option<_>>());
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
            counts: match counts {
                Some(counts) => Some(counts?),
                None => None,
            },
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
        let counts: Vec<(RowsetId, i64)> = (0..4000_i64).map(|i| (RowsetId(7), -i)).collect();
        let bodies = EndBody::split(Lsn(5), Lsn(4), 9, &all, &counts);
        assert_eq!(
            bodies.iter().map(|b| b.more).collect::<Vec<_>>(),
            [4, 3, 2, 1, 0]
        );
        let back: Vec<EndBody> = bodies
            .iter()
            .map(|b| EndBody::decode(&b.encode()).unwrap())
            .collect();
        assert_eq!(back, bodies);
        assert!(back.iter().flat_map(|b| &b.active).eq(&all));
        assert!(
            back.iter()
                .flat_map(|b| b.counts.iter().flatten())
                .eq(&counts)
        );
        let bytes = EndBody::split(Lsn(5), Lsn(4), 9, &[], &counts[..1])[0].encode();
        assert!(EndBody::decode(&bytes).is_some());
        for cut in (0..bytes.len()).filter(|cut| *cut != 32) {
            assert!(EndBody::decode(&bytes[..cut]).is_none());
        }
        let old = EndBody::decode(&bytes[..32]).unwrap();
        assert_eq!(old.counts, None, "a log of before there were counts");
    }
}
