//! What log records say about undoing row operations.
//!
//! | bytes | field |
//! |---|---|
//! | 00 | operation |
//! | 01-08 | rowset |
//! | 09-.. | the key (trees) or the RID (heaps), then the old row where there is one |

use crate::key::Key;
use furrow_format::{RowId, RowsetId};

/// A row operation, as far as its undoing needs it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UndoOp {
    /// A row was inserted in a tree: it is to be removed.
    TreeInsert(Key),
    /// A row of a tree was marked as ghost: it is to be brought back.
    TreeDelete(Key),
    /// A row of a tree was replaced: it is to be as it was.
    TreeUpdate(Key, Vec<u8>),
    /// A row was put in a heap: it is to be removed.
    HeapInsert(RowId),
    /// A row of a heap was marked as ghost: it is to be brought back.
    HeapDelete(RowId),
    /// A record of a heap was replaced: it is to be as it was.
    HeapUpdate(RowId, Vec<u8>),
}

impl UndoOp {
    fn code(&self) -> u8 {
        match self {
            UndoOp::TreeInsert(_) => 1,
            UndoOp::TreeDelete(_) => 2,
            UndoOp::TreeUpdate(..) => 3,
            UndoOp::HeapInsert(_) => 4,
            UndoOp::HeapDelete(_) => 5,
            UndoOp::HeapUpdate(..) => 6,
        }
    }

    /// The undo part of a log record.
    pub fn encode(&self, rowset: RowsetId) -> Vec<u8> {
        let mut out = Vec::with_capacity(48);
        out.push(self.code());
        out.extend_from_slice(&rowset.0.to_le_bytes());
        match self {
            UndoOp::TreeInsert(key) | UndoOp::TreeDelete(key) => key.encode(&mut out),
            UndoOp::TreeUpdate(key, old) => {
                key.encode(&mut out);
                out.extend_from_slice(old);
            }
            UndoOp::HeapInsert(rid) | UndoOp::HeapDelete(rid) => {
                out.extend_from_slice(&rid.to_bytes());
            }
            UndoOp::HeapUpdate(rid, old) => {
                out.extend_from_slice(&rid.to_bytes());
                out.extend_from_slice(old);
            }
        }
        out
    }

    /// Reads an undo part: the rowset and the operation.
    pub fn decode(bytes: &[u8]) -> Option<(RowsetId, UndoOp)> {
        let (&code, rest) = bytes.split_first()?;
        let (rowset, mut rest) = rest.split_first_chunk::<8>()?;
        let rowset = RowsetId(u64::from_le_bytes(*rowset));
        let op = match code {
            1..=3 => {
                let key = Key::decode(&mut rest)?;
                match code {
                    1 => UndoOp::TreeInsert(key),
                    2 => UndoOp::TreeDelete(key),
                    _ => UndoOp::TreeUpdate(key, rest.to_vec()),
                }
            }
            4..=6 => {
                let (rid, old) = rest.split_first_chunk::<8>()?;
                let rid = RowId::from_bytes(*rid);
                match code {
                    4 => UndoOp::HeapInsert(rid),
                    5 => UndoOp::HeapDelete(rid),
                    _ => UndoOp::HeapUpdate(rid, old.to_vec()),
                }
            }
            _ => return None,
        };
        Some((rowset, op))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use furrow_format::PageId;

    #[test]
    fn undo_parts_round_trip_and_cut_ones_are_refused() {
        let key = Key::of(&[Some(b"12345678"), None]);
        let rid = RowId {
            page: PageId::new(3, 77),
            slot: 5,
        };
        for op in [
            UndoOp::TreeInsert(key.clone()),
            UndoOp::TreeDelete(key.clone()),
            UndoOp::TreeUpdate(key, b"old row".to_vec()),
            UndoOp::HeapInsert(rid),
            UndoOp::HeapDelete(rid),
            UndoOp::HeapUpdate(rid, b"old".to_vec()),
        ] {
            let bytes = op.encode(RowsetId(1 << 56 | 9));
            assert_eq!(UndoOp::decode(&bytes), Some((RowsetId(1 << 56 | 9), op)));
            assert_eq!(UndoOp::decode(&bytes[..9]), None);
        }
    }
}
