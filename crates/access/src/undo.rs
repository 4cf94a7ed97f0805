//! The undo parts of log records of row operations.
//!
//! | bytes | field |
//! |---|---|
//! | 00 | operation |
//! | 01-08 | rowset |
//! | 09-.. | the key (trees) or the RID (heaps), then the old row where there is one |
//! | 09-.. | of a record replaced in a heap: the row's RID, where the record was, the record |
//! | 09-.. | of a load: the number of its rows in 4 bytes, the first key, the last key |
//! | 09-.. | of several rows inserted in a tree: their number in 2 bytes, their keys |
//! | 09-.. | of pages filled: numbers of rows (4 bytes) and pages (2), the first key of each, the last key |

use crate::key::Key;
use furrow_format::{RowId, RowsetId};

const TREE_INSERT: u8 = 1;
const TREE_UPDATE: u8 = 3;
const TREE_LOAD: u8 = 7;
const HEAP_UPDATE: u8 = 8;
const TREE_FILL: u8 = 9;
const TREE_INSERT_MANY: u8 = 10;
/// The same without the place, the record as it would be at home: logs of earlier builds have it.
const HEAP_UPDATE_ANYWHERE: u8 = 6;

fn part(code: u8, rowset: RowsetId, more: usize) -> Vec<u8> {
    let mut out = Vec::with_capacity(9 + more);
    out.push(code);
    out.extend_from_slice(&rowset.0.to_le_bytes());
    out
}

fn tree_part(code: u8, rowset: RowsetId, key: &Key, old: &[u8]) -> Vec<u8> {
    let mut out = part(
        code,
        rowset,
        1 + 2 * key.len() + key.size_bytes() + old.len(),
    );
    key.encode(&mut out);
    out.extend_from_slice(old);
    out
}

fn heap_part(code: u8, rowset: RowsetId, rid: RowId) -> Vec<u8> {
    let mut out = part(code, rowset, 8);
    out.extend_from_slice(&rid.to_bytes());
    out
}

/// A row operation, as far as its undoing needs it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UndoOp {
    /// A row was inserted in a tree: it is to be removed.
    TreeInsert(Key),
    /// Rows were inserted in a tree, in the order of their keys: they are to be removed.
    TreeInsertMany(Vec<Key>),
    /// A row of a tree was marked as ghost: it is to be brought back.
    TreeDelete(Key),
    /// A row of a tree was replaced: it is to be as it was.
    TreeUpdate(Key, Vec<u8>),
    /// Rows were loaded in a tree, between these keys (both included): they are to be removed.
    TreeLoad {
        /// Key of the first.
        first: Key,
        /// Key of the last.
        last: Key,
        /// How many they are.
        rows: u32,
    },
    /// New pages of a tree were filled, past the log perhaps: they are to be emptied and given back.
    TreeFill {
        /// The first key of each page, in order: it leads to the page.
        firsts: Vec<Key>,
        /// Key of the last row.
        last: Key,
        /// How many rows there are.
        rows: u32,
    },
    /// A row was put in a heap: it is to be removed.
    HeapInsert(RowId),
    /// A row of a heap was marked as ghost: it is to be brought back.
    HeapDelete(RowId),
    /// A row of a heap was replaced: it is to be as it was, where it was.
    HeapUpdate {
        /// The row's address.
        rid: RowId,
        /// Where its record was: there, or elsewhere. Logs of earlier builds do not contain it.
        was: Option<RowId>,
        /// The record.
        old: Vec<u8>,
    },
}

impl UndoOp {
    fn code(&self) -> u8 {
        match self {
            UndoOp::TreeInsert(_) => TREE_INSERT,
            UndoOp::TreeDelete(_) => 2,
            UndoOp::TreeUpdate(..) => TREE_UPDATE,
            UndoOp::HeapInsert(_) => 4,
            UndoOp::HeapDelete(_) => 5,
            UndoOp::HeapUpdate { was: Some(_), .. } => HEAP_UPDATE,
            UndoOp::HeapUpdate { was: None, .. } => HEAP_UPDATE_ANYWHERE,
            UndoOp::TreeLoad { .. } => TREE_LOAD,
            UndoOp::TreeFill { .. } => TREE_FILL,
            UndoOp::TreeInsertMany(_) => TREE_INSERT_MANY,
        }
    }

    /// The undo part of a log record.
    pub fn encode(&self, rowset: RowsetId) -> Vec<u8> {
        let out = self.encoded(rowset);
        debug_assert_eq!(
            UndoOp::decode(&out).as_ref(),
            Some(&(rowset, self.clone())),
            "an undo part reads back"
        );
        out
    }

    fn encoded(&self, rowset: RowsetId) -> Vec<u8> {
        match self {
            UndoOp::TreeInsert(key) | UndoOp::TreeDelete(key) => {
                tree_part(self.code(), rowset, key, &[])
            }
            UndoOp::TreeUpdate(key, old) => tree_part(self.code(), rowset, key, old),
            UndoOp::TreeInsertMany(keys) => UndoOp::tree_insert_many(rowset, keys),
            UndoOp::TreeLoad { first, last, rows } => {
                let mut out = part(TREE_LOAD, rowset, 128);
                out.extend_from_slice(&rows.to_le_bytes());
                first.encode(&mut out);
                last.encode(&mut out);
                out
            }
            UndoOp::TreeFill { firsts, last, rows } => {
                let mut out = part(TREE_FILL, rowset, 16 * firsts.len() + 64);
                out.extend_from_slice(&rows.to_le_bytes());
                out.extend_from_slice(&(firsts.len() as u16).to_le_bytes());
                for key in firsts.iter().chain([last]) {
                    key.encode(&mut out);
                }
                out
            }
            UndoOp::HeapInsert(rid) | UndoOp::HeapDelete(rid) => {
                heap_part(self.code(), rowset, *rid)
            }
            UndoOp::HeapUpdate { rid, was, old } => {
                let mut out = heap_part(self.code(), rowset, *rid);
                out.extend(was.iter().flat_map(|was| was.to_bytes()));
                out.extend_from_slice(old);
                out
            }
        }
    }

    /// The undo part for a row inserted in a tree, without a copy of its key.
    pub(crate) fn tree_insert(rowset: RowsetId, key: &Key) -> Vec<u8> {
        tree_part(TREE_INSERT, rowset, key, &[])
    }

    /// The undo part for rows inserted in a tree, without a copy of their keys.
    pub(crate) fn tree_insert_many(rowset: RowsetId, keys: &[Key]) -> Vec<u8> {
        let mut out = part(TREE_INSERT_MANY, rowset, UndoOp::tree_insert_many_len(keys));
        debug_assert!(keys.len() <= usize::from(u16::MAX), "rows of one page");
        out.extend_from_slice(&(keys.len() as u16).to_le_bytes());
        for key in keys {
            key.encode(&mut out);
        }
        out
    }

    /// Bytes of such an undo part.
    pub(crate) fn tree_insert_many_len(keys: &[Key]) -> usize {
        let each = keys.iter().map(|key| 1 + 2 * key.len() + key.size_bytes());
        9 + 2 + each.sum::<usize>()
    }

    /// The undo part for a row of a tree replaced, without copies of key and row.
    pub(crate) fn tree_update(rowset: RowsetId, key: &Key, old: &[u8]) -> Vec<u8> {
        let out = tree_part(TREE_UPDATE, rowset, key, old);
        debug_assert!(
            UndoOp::decode(&out).is_some_and(|(found, _)| found == rowset),
            "an undo part reads back"
        );
        out
    }

    /// The undo part for a record of a heap replaced, without a copy of it.
    pub(crate) fn heap_update(rowset: RowsetId, rid: RowId, was: RowId, old: &[u8]) -> Vec<u8> {
        let mut out = part(HEAP_UPDATE, rowset, 16 + old.len());
        out.extend_from_slice(&rid.to_bytes());
        out.extend_from_slice(&was.to_bytes());
        out.extend_from_slice(old);
        debug_assert!(
            UndoOp::decode(&out).is_some_and(|(found, _)| found == rowset),
            "an undo part reads back"
        );
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
            4 | 5 => {
                let rid = RowId::from_bytes(*rest.first_chunk::<8>()?);
                match code {
                    4 => UndoOp::HeapInsert(rid),
                    _ => UndoOp::HeapDelete(rid),
                }
            }
            HEAP_UPDATE => {
                let (rid, rest) = rest.split_first_chunk::<8>()?;
                let (was, old) = rest.split_first_chunk::<8>()?;
                UndoOp::HeapUpdate {
                    rid: RowId::from_bytes(*rid),
                    was: Some(RowId::from_bytes(*was)),
                    old: old.to_vec(),
                }
            }
            HEAP_UPDATE_ANYWHERE => {
                let (rid, old) = rest.split_first_chunk::<8>()?;
                UndoOp::HeapUpdate {
                    rid: RowId::from_bytes(*rid),
                    was: None,
                    old: old.to_vec(),
                }
            }
            TREE_LOAD => {
                let (rows, mut rest) = rest.split_first_chunk::<4>()?;
                UndoOp::TreeLoad {
                    first: Key::decode(&mut rest)?,
                    last: Key::decode(&mut rest)?,
                    rows: u32::from_le_bytes(*rows),
                }
            }
            TREE_INSERT_MANY => {
                let (rows, mut rest) = rest.split_first_chunk::<2>()?;
                let keys = (0..u16::from_le_bytes(*rows)).map(|_| Key::decode(&mut rest));
                UndoOp::TreeInsertMany(keys.collect::<Option<_>>()?)
            }
            TREE_FILL => {
                let (rows, rest) = rest.split_first_chunk::<4>()?;
                let (pages, mut rest) = rest.split_first_chunk::<2>()?;
                let pages = 0..u16::from_le_bytes(*pages);
                UndoOp::TreeFill {
                    firsts: pages
                        .map(|_| Key::decode(&mut rest))
                        .collect::<Option<_>>()?,
                    last: Key::decode(&mut rest)?,
                    rows: u32::from_le_bytes(*rows),
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
            UndoOp::TreeInsertMany(vec![key.clone(), Key::of(&[None]), key.clone()]),
            UndoOp::TreeFill {
                firsts: vec![key.clone(), Key::of(&[None])],
                last: key.clone(),
                rows: 7,
            },
            UndoOp::TreeUpdate(key, b"old row".to_vec()),
            UndoOp::HeapInsert(rid),
            UndoOp::HeapDelete(rid),
            UndoOp::HeapUpdate {
                rid,
                was: Some(RowId { slot: 6, ..rid }),
                old: b"old".to_vec(),
            },
            UndoOp::HeapUpdate {
                rid,
                was: None,
                old: b"old".to_vec(),
            },
        ] {
            let bytes = op.encode(RowsetId(1 << 56 | 9));
            assert_eq!(UndoOp::decode(&bytes), Some((RowsetId(1 << 56 | 9), op)));
            assert_eq!(UndoOp::decode(&bytes[..9]), None);
        }
    }
}
