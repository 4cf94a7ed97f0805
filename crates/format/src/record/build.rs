//! Building records from their parts.

use super::frame::{DATA_HEADER_SIZE, FORWARDING_STUB_SIZE, VERSION_TAG_SIZE};
use super::status::{RecordKind, Status};
use super::view::{BACK_POINTER, BACK_POINTER_SIZE};
use crate::RowId;
use crate::bytes::put;

const COMPLEX: u16 = 0x8000;

/// A variable column to store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct VarColumn<'a> {
    /// Its bytes; empty for NULL.
    pub bytes: &'a [u8],
    /// Whether they are a pointer to data elsewhere.
    pub complex: bool,
}

/// The parts of a data or index record.
///
/// A null bitmap is stored when `columns` is not 0. Empty variable columns at the end are cut, and
/// with them the whole variable part when none is left.
#[derive(Debug, Clone, Copy)]
pub struct RecordBuilder<'a> {
    /// Kind of the record: index kinds give the index form, all others the data form.
    pub kind: RecordKind,
    /// The fixed columns, record header excluded.
    pub fixed: &'a [u8],
    /// Column count beside the null bitmap; 0 = no bitmap.
    pub columns: u16,
    /// The null bitmap; bits that are missing count as "not null".
    pub null_bitmap: &'a [u8],
    /// The variable columns.
    pub vars: &'a [VarColumn<'a>],
    /// For a forwarded record: where its stub is.
    pub forwarded_from: Option<RowId>,
    /// The version tag.
    pub version_tag: Option<[u8; VERSION_TAG_SIZE]>,
}

impl<'a> RecordBuilder<'a> {
    /// A record with fixed columns only.
    pub const fn new(kind: RecordKind, fixed: &'a [u8]) -> RecordBuilder<'a> {
        RecordBuilder {
            kind,
            fixed,
            columns: 0,
            null_bitmap: &[],
            vars: &[],
            forwarded_from: None,
            version_tag: None,
        }
    }

    /// Appends the record to `out`; gives its length, or `None` (with `out` unchanged) where offsets
    /// of 15 bits do not reach its end.
    pub fn build(&self, out: &mut Vec<u8>) -> Option<usize> {
        let start = out.len();
        put_header(self.kind, self.fixed.len(), out);
        out.extend_from_slice(self.fixed);
        let tail = Tail {
            columns: self.columns,
            null_bitmap: self.null_bitmap,
            vars: self.vars.iter().copied(),
            forwarded_from: self.forwarded_from,
            version_tag: self.version_tag,
        };
        tail.put(start, out)
    }
}

/// Appends a record's header, for `fixed_len` bytes of fixed columns to follow.
#[inline]
pub(crate) fn put_header(kind: RecordKind, fixed_len: usize, out: &mut Vec<u8>) {
    let status = Status::new(kind, 0).0;
    if matches!(kind, RecordKind::Index | RecordKind::GhostIndex) {
        return out.push(status);
    }
    let fixed_end = u16::try_from(fixed_len + DATA_HEADER_SIZE).unwrap_or(u16::MAX);
    let [low, high] = fixed_end.to_le_bytes();
    out.extend_from_slice(&[status, 0, low, high]);
}

/// What follows the fixed columns.
pub(crate) struct Tail<'a, V> {
    pub(crate) columns: u16,
    pub(crate) null_bitmap: &'a [u8],
    pub(crate) vars: V,
    pub(crate) forwarded_from: Option<RowId>,
    pub(crate) version_tag: Option<[u8; VERSION_TAG_SIZE]>,
}

impl<'a, V> Tail<'_, V>
where
    V: Iterator<Item = VarColumn<'a>> + Clone,
{
    /// Completes the record whose header and fixed columns `out` has from `start` on. Gives the
    /// record's length, or `None` with the record removed where it is too long.
    pub(crate) fn put(self, start: usize, out: &mut Vec<u8>) -> Option<usize> {
        let (mut kept, mut bytes) = (0, 0);
        for (at, var) in self.vars.clone().enumerate() {
            bytes += var.bytes.len();
            kept = match var.bytes.is_empty() && !var.complex {
                true => kept,
                false => at + 1,
            };
        }
        let count = kept + usize::from(self.forwarded_from.is_some());
        let bitmap_bytes = match self.columns {
            0 => 0,
            columns => 2 + usize::from(columns).div_ceil(8),
        };
        let ends_bytes = if count > 0 { 2 + 2 * count } else { 0 };
        let (bitmap, ends) = (out.len() - start, out.len() - start + bitmap_bytes);
        out.resize(start + ends + ends_bytes, 0);
        let record = out.get_mut(start..).unwrap_or_default();
        let mut parts = 0;
        if self.columns > 0 {
            parts |= Status::NULL_BITMAP;
            let given = self.null_bitmap.get(..bitmap_bytes - 2);
            let _inside = put(record, bitmap, &self.columns.to_le_bytes())
                && put(record, bitmap + 2, given.unwrap_or(self.null_bitmap));
        }
        if count > 0 {
            parts |= Status::VARIABLE;
            self.put_ends(kept, (ends, ends_bytes), record);
        }
        if self.version_tag.is_some() {
            parts |= Status::VERSION_TAG;
        }
        if let Some(status) = record.first_mut() {
            *status |= parts;
        }
        debug_assert_eq!(
            out.len(),
            start + ends + ends_bytes,
            "the bytes come behind"
        );
        out.reserve(bytes);
        for var in self.vars.take(kept) {
            out.extend_from_slice(var.bytes);
        }
        if let Some(stub) = self.forwarded_from {
            out.extend_from_slice(&BACK_POINTER.to_le_bytes());
            out.extend_from_slice(&stub.to_bytes());
        }
        if let Some(tag) = &self.version_tag {
            out.extend_from_slice(tag);
        }
        let len = out.len() - start;
        if len >= usize::from(COMPLEX) {
            out.truncate(start);
            return None;
        }
        Some(len)
    }

    /// Puts the number of variable columns, and where each of them ends.
    #[inline]
    fn put_ends(&self, kept: usize, (at, size): (usize, usize), record: &mut [u8]) {
        let count = kept + usize::from(self.forwarded_from.is_some());
        let mut place = record.get_mut(at..).unwrap_or_default();
        let mut put_next = |number: u16| {
            if let Some((next, rest)) = std::mem::take(&mut place).split_first_chunk_mut() {
                *next = number.to_le_bytes();
                place = rest;
            }
        };
        put_next(count as u16);
        let mut end = at + size;
        for var in self.vars.clone().take(kept) {
            end += var.bytes.len();
            let flag = if var.complex { COMPLEX } else { 0 };
            put_next(end as u16 | flag);
        }
        if self.forwarded_from.is_some() {
            put_next((end + BACK_POINTER_SIZE) as u16 | COMPLEX);
        }
    }
}

/// The stub that takes a moved heap row's place.
pub const fn forwarding_stub(target: RowId) -> [u8; FORWARDING_STUB_SIZE] {
    let [a, b, c, d, e, f, g, h] = target.to_bytes();
    [
        Status::new(RecordKind::ForwardingStub, 0).0,
        a,
        b,
        c,
        d,
        e,
        f,
        g,
        h,
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{PageId, PageType, Record, record_len};

    fn built(builder: &RecordBuilder<'_>) -> Vec<u8> {
        let mut out = vec![0xEE; 3];
        let len = builder.build(&mut out).unwrap();
        assert_eq!(out.len(), len + 3);
        out.split_off(3)
    }

    fn var(bytes: &[u8]) -> VarColumn<'_> {
        VarColumn {
            bytes,
            complex: false,
        }
    }

    #[test]
    fn the_published_index_records_are_built_byte_for_byte() {
        let fixed = [2, 2, 0, 0, 0x2b, 0x8f, 0, 0, 6, 0];
        let record = RecordBuilder {
            columns: 3,
            ..RecordBuilder::new(RecordKind::Index, &fixed)
        };
        assert_eq!(
            built(&record),
            [0x16, 2, 2, 0, 0, 0x2b, 0x8f, 0, 0, 6, 0, 3, 0, 0]
        );
        let vars = [var(b"BU1032")];
        let fixed = [0xC2, 0, 0, 0, 1, 0, 0, 0];
        let record = RecordBuilder {
            vars: &vars,
            ..RecordBuilder::new(RecordKind::Index, &fixed)
        };
        let expected = [0x26, 0xC2, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0x13, 0];
        assert_eq!(built(&record), [&expected[..], b"BU1032"].concat());
    }

    #[test]
    fn trailing_empty_variable_columns_are_cut() {
        let vars = [var(b""), var(b"x"), var(b""), var(b"")];
        let base = RecordBuilder::new(RecordKind::Primary, &[7, 7]);
        let base = RecordBuilder {
            columns: 5,
            null_bitmap: &[0b1_1000],
            ..base
        };
        let bytes = built(&RecordBuilder {
            vars: &vars,
            ..base
        });
        let record = Record::data(&bytes).unwrap();
        assert_eq!(record.status().0, 0x30);
        assert_eq!(record.var_count(), 2);
        assert_eq!(record.var(0), Some((&b""[..], false)));
        assert_eq!(record.var(1), Some((&b"x"[..], false)));
        assert_eq!(
            (record.null_bit(3), record.null_bit(0)),
            (Some(true), Some(false))
        );
        let none = built(&RecordBuilder {
            vars: &vars[2..],
            ..base
        });
        assert_eq!(none[0], 0x10);
        assert_eq!(none.len(), 4 + 2 + 2 + 1);
    }

    #[test]
    fn forwarded_rows_hide_their_back_pointer_and_stubs_point_at_them() {
        let home = RowId {
            page: PageId::new(3, 77),
            slot: 9,
        };
        let vars = [var(b"abc"), var(b"")];
        let bytes = built(&RecordBuilder {
            columns: 2,
            vars: &vars,
            forwarded_from: Some(home),
            version_tag: Some([5; 14]),
            ..RecordBuilder::new(RecordKind::Forwarded, &[])
        });
        assert_eq!(record_len(PageType::Data, 4, &bytes), Some(bytes.len()));
        let record = Record::data(&bytes).unwrap();
        assert_eq!(record.forwarded_from(), Some(home));
        assert_eq!(record.var_count(), 1);
        assert_eq!(record.var(0), Some((&b"abc"[..], false)));
        assert_eq!(record.var(1), None);
        assert_eq!(record.version_tag(), Some(&[5; 14]));
        // After its deletion the pointer is no value either.
        let mut ghost = bytes.clone();
        ghost[0] = record.status().with_kind(RecordKind::GhostData).0;
        ghost[1] = 1;
        let ghost = Record::data(&ghost).unwrap();
        assert_eq!((ghost.var_count(), ghost.var(1)), (1, None));
        assert_eq!(ghost.forwarded_from(), None);
        let stub = forwarding_stub(home);
        assert_eq!(record_len(PageType::Data, 4, &stub), Some(9));
        assert_eq!(Record::forwarded_to(&stub), Some(home));
        assert_eq!(Record::forwarded_to(&bytes), None);
        assert!(Record::data(&stub).is_none());
    }

    #[test]
    fn a_record_beyond_the_reach_of_its_offsets_is_refused() {
        let long = vec![1; 0x8000];
        let vars = [var(&long)];
        let mut out = vec![1, 2];
        let record = RecordBuilder::new(RecordKind::Primary, &[]);
        assert_eq!(
            RecordBuilder {
                vars: &vars,
                ..record
            }
            .build(&mut out),
            None
        );
        assert_eq!(out, [1, 2]);
    }
}
