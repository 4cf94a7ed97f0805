//! The body of a commit record: counts of rows, the time, and the transaction's mark.
//!
//! | bytes | field |
//! |---|---|
//! | 16 each | rowset, and by how much the number of its rows changes |
//! | 16 each | of a marked transaction: the mark, padded with zeros |
//! | 4 | of a marked transaction: units of 16 bytes that the mark takes |
//! | 8 | when it committed, in microseconds since 1970 |
//!
//! A mark is the length of the name in bytes (u16), the name, the length of the description (u16) and the
//! description, both in UTF-8.
//!
//! The length of the body modulo 16 says which parts there are: 0 for counts alone (format 4 and older), 8
//! for counts and time, 12 for counts, mark and time.

use crate::counts::{Deltas, decode_pairs, encode_pairs};
use furrow_io::time::WallTime;

/// Bytes of a unit: a pair of counts, a part of a mark.
const UNIT: usize = 16;
/// Most bytes of a mark: 128 characters and 255 characters, and their lengths.
const MOST_MARK_BYTES: usize = 4 + 4 * (128 + 255);

/// The mark of a transaction: BEGIN TRANSACTION ... WITH MARK.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TxnMark {
    /// The transaction's name.
    pub name: String,
    /// The description.
    pub description: String,
}

impl TxnMark {
    /// Log space that it takes in the commit record.
    pub(crate) fn log_bytes(&self) -> u64 {
        (self.name.len() + self.description.len() + 2 * UNIT) as u64
    }

    fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        for text in [&self.name, &self.description] {
            let len = u16::try_from(text.len()).unwrap_or(u16::MAX);
            out.extend_from_slice(&len.to_le_bytes());
            out.extend_from_slice(text.as_bytes().get(..usize::from(len)).unwrap_or_default());
        }
        debug_assert!(out.len() <= MOST_MARK_BYTES, "names and texts are short");
        out.resize(out.len().next_multiple_of(UNIT), 0);
        out
    }

    fn decode(bytes: &[u8]) -> Option<TxnMark> {
        let text = |bytes: &mut &[u8]| {
            let (len, rest) = bytes.split_first_chunk::<2>()?;
            let (text, rest) = rest.split_at_checked(usize::from(u16::from_le_bytes(*len)))?;
            *bytes = rest;
            String::from_utf8(text.to_vec()).ok()
        };
        let mut rest = bytes;
        let (name, description) = (text(&mut rest)?, text(&mut rest)?);
        Some(TxnMark { name, description })
    }
}

/// What a commit record says.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CommitBody {
    /// By how much it changes the numbers of rows.
    pub deltas: Deltas,
    /// When it committed; `None` in logs of format 4 and older.
    pub at: Option<WallTime>,
    /// Its mark.
    pub mark: Option<TxnMark>,
}

impl CommitBody {
    /// The bytes.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = encode_pairs(&self.deltas);
        let Some(at) = self.at else {
            return out;
        };
        if let Some(mark) = &self.mark {
            let mark = mark.encode();
            out.extend_from_slice(&mark);
            out.extend_from_slice(&((mark.len() / UNIT) as u32).to_le_bytes());
        }
        out.extend_from_slice(&at.unix_us().to_le_bytes());
        debug_assert!(
            CommitBody::decode(&out).is_some_and(|b| b.at == self.at && b.mark == self.mark),
            "the body of a commit record reads back"
        );
        out
    }

    /// Reads the bytes.
    pub fn decode(body: &[u8]) -> Option<CommitBody> {
        let (rest, at) = match body.len() % UNIT {
            0 => (body, None),
            8 | 12 => {
                let (rest, at) = body.split_last_chunk::<8>()?;
                let at = WallTime::from_unix_us(i64::from_le_bytes(*at));
                (rest, Some(at))
            }
            _ => return None,
        };
        let (rest, mark) = match rest.len() % UNIT {
            0 => (rest, None),
            _ => {
                let (rest, units) = rest.split_last_chunk::<4>()?;
                let bytes = (u32::from_le_bytes(*units) as usize).checked_mul(UNIT)?;
                let (rest, mark) = rest.split_at_checked(rest.len().checked_sub(bytes)?)?;
                (rest, Some(TxnMark::decode(mark)?))
            }
        };
        let deltas = decode_pairs(rest)?;
        Some(CommitBody { deltas, at, mark })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use furrow_format::RowsetId;

    #[test]
    fn bodies_with_time_and_mark_come_back_and_cut_ones_are_none_or_shorter() {
        let deltas = Deltas::from_slice(&[(RowsetId(7), 2), (RowsetId(1 << 60), -5)]);
        let at = Some(WallTime::from_unix_us(1_700_000_000_123_456));
        let mark = |name: &str, description: &str| {
            Some(TxnMark {
                name: name.to_owned(),
                description: description.to_owned(),
            })
        };
        for mark in [
            None,
            mark("m", ""),
            mark("a longer name", "and a text of more than a unit"),
        ] {
            let whole = CommitBody {
                deltas: deltas.clone(),
                at,
                mark,
            };
            let bytes = whole.encode();
            assert_eq!(CommitBody::decode(&bytes), Some(whole.clone()));
            for cut in 0..bytes.len() {
                assert_ne!(CommitBody::decode(&bytes[..cut]), Some(whole.clone()));
            }
        }
        let old = encode_pairs(&deltas);
        let read = CommitBody::decode(&old).unwrap();
        assert_eq!((read.deltas, read.at, read.mark), (deltas, None, None));
        assert_eq!(CommitBody::decode(&old[..31]), None);
    }
}
