//! Reading a record.

use super::frame::{
    COMPLEX, DATA_HEADER_SIZE, FORWARDING_STUB_SIZE, Frame, INDEX_HEADER_SIZE, VERSION_TAG_SIZE,
    frame, record_len,
};
use super::status::{RecordKind, Status};
use crate::bytes::{chunk, u16_at};
use crate::{PageId, PageType, RowId};

/// First two bytes of the complex column that leads from a forwarded record back to its stub.
pub(super) const BACK_POINTER: u16 = 1024;
/// Size of that column: marker and row id.
pub(super) const BACK_POINTER_SIZE: usize = 10;

/// A record whose frame is sound.
#[derive(Debug, Clone, Copy)]
pub struct Record<'a> {
    bytes: &'a [u8],
    fixed_start: usize,
    fixed_end: usize,
    frame: Frame,
}

impl<'a> Record<'a> {
    /// The data record at the start of `bytes`. Stubs and pieces of large values have no columns: `None`.
    #[inline]
    pub fn data(bytes: &'a [u8]) -> Option<Record<'a>> {
        let status = Status(*bytes.first()?);
        if matches!(
            status.kind(),
            RecordKind::ForwardingStub | RecordKind::BlobFragment
        ) {
            return None;
        }
        let fixed_end = usize::from(u16_at(bytes, 2)?);
        Record::new(bytes, status, DATA_HEADER_SIZE, fixed_end)
    }

    /// The index record at the start of `bytes`, on a page with this `pminlen`.
    #[inline]
    pub fn index(bytes: &'a [u8], pminlen: u16) -> Option<Record<'a>> {
        let status = Status(*bytes.first()?);
        Record::new(bytes, status, INDEX_HEADER_SIZE, usize::from(pminlen))
    }

    /// The record at the start of `bytes`, in the form of the page's type.
    #[inline]
    pub fn of_page(page_type: PageType, pminlen: u16, bytes: &'a [u8]) -> Option<Record<'a>> {
        match page_type {
            PageType::Index => Record::index(bytes, pminlen),
            _ => Record::data(bytes),
        }
    }

    #[inline]
    fn new(bytes: &'a [u8], status: Status, start: usize, fixed_end: usize) -> Option<Record<'a>> {
        if fixed_end < start {
            return None;
        }
        let frame = frame(bytes, status, fixed_end)?;
        let bytes = bytes.get(..frame.end)?;
        Some(Record {
            bytes,
            fixed_start: start,
            fixed_end,
            frame,
        })
    }

    /// The whole record.
    #[inline]
    pub fn bytes(self) -> &'a [u8] {
        self.bytes
    }

    /// Status byte A.
    #[inline]
    pub fn status(self) -> Status {
        Status(self.bytes.first().copied().unwrap_or(0))
    }

    /// Whether the record is deleted and waits to be removed.
    #[inline]
    pub fn is_ghost(self) -> bool {
        self.status().is_ghost()
    }

    /// The fixed columns.
    #[inline]
    pub fn fixed(self) -> &'a [u8] {
        self.bytes
            .get(self.fixed_start..self.fixed_end)
            .unwrap_or_default()
    }

    /// `len` bytes of the fixed columns at `offset` from the record's start; `None` where the record
    /// has not so many.
    #[inline]
    pub fn fixed_at(self, offset: u16, len: u16) -> Option<&'a [u8]> {
        let (start, end) = (usize::from(offset), usize::from(offset) + usize::from(len));
        if start < self.fixed_start || end > self.fixed_end {
            return None;
        }
        self.bytes.get(start..end)
    }

    /// Column count beside the null bitmap; 0 where there is none.
    #[inline]
    pub fn column_count(self) -> u16 {
        self.frame.columns
    }

    /// Whether bit `bit` (from 0) of the null bitmap is set; `None` where the record has no such bit.
    #[inline]
    pub fn null_bit(self, bit: u16) -> Option<bool> {
        if bit >= self.frame.columns {
            return None;
        }
        let byte = self
            .bytes
            .get(self.frame.null_bitmap + usize::from(bit / 8))?;
        Some(byte & (1 << (bit % 8)) != 0)
    }

    /// Whether the record stores the first `columns` columns and none of them is NULL; a record without a
    /// bitmap stores all of them.
    #[inline]
    pub fn has_no_nulls(self, columns: u16) -> bool {
        if self.frame.null_bitmap == 0 {
            return true;
        }
        let bitmap = self.bytes.get(self.frame.null_bitmap..);
        let (whole, bits) = (usize::from(columns / 8), columns % 8);
        let Some((bytes, rest)) = bitmap.and_then(|bitmap| bitmap.split_at_checked(whole)) else {
            return false;
        };
        let last = rest.first().copied().unwrap_or(0) & ((1 << bits) - 1);
        columns <= self.frame.columns && last == 0 && bytes.iter().all(|&byte| byte == 0)
    }

    /// Variable columns stored, without the back-pointer of a forwarded record.
    #[inline]
    pub fn var_count(self) -> u16 {
        match self.back_pointer() {
            Some(_) => self.frame.vars - 1,
            None => self.frame.vars,
        }
    }

    /// Bytes of variable column `ordinal` (from 0), and whether it is complex; `None` where it is not stored.
    #[inline]
    pub fn var(self, ordinal: u16) -> Option<(&'a [u8], bool)> {
        if self.has_moved() && ordinal >= self.var_count() {
            return None;
        }
        self.stored_var(ordinal)
    }

    #[inline]
    fn stored_var(self, ordinal: u16) -> Option<(&'a [u8], bool)> {
        let Frame { ends, vars, .. } = self.frame;
        if ordinal >= vars {
            return None;
        }
        let at = ends + 2 * usize::from(ordinal);
        let end = u16_at(self.bytes, at)?;
        let start = match ordinal {
            0 => ends + 2 * usize::from(vars),
            _ => usize::from(u16_at(self.bytes, at - 2)? & !COMPLEX),
        };
        let column = self.bytes.get(start..usize::from(end & !COMPLEX))?;
        Some((column, end & COMPLEX != 0))
    }

    /// Whether it is a forwarded record, or was one before it was deleted: a ghost's second byte says so.
    #[inline]
    fn has_moved(self) -> bool {
        match self.status().kind() {
            RecordKind::Forwarded => true,
            RecordKind::GhostData => self.bytes.get(1) == Some(&1),
            _ => false,
        }
    }

    /// Where a forwarded record's stub is.
    #[inline]
    pub fn forwarded_from(self) -> Option<RowId> {
        match self.status().kind() {
            RecordKind::Forwarded => self.back_pointer(),
            _ => None,
        }
    }

    fn back_pointer(self) -> Option<RowId> {
        if !self.has_moved() {
            return None;
        }
        let (column, complex) = self.stored_var(self.frame.vars.checked_sub(1)?)?;
        if !complex || u16_at(column, 0)? != BACK_POINTER {
            return None;
        }
        Some(RowId::from_bytes(chunk(column, 2)?))
    }

    /// The version tag: pointer into the version store (8 bytes), transaction sequence number (6 bytes).
    pub fn version_tag(self) -> Option<&'a [u8; VERSION_TAG_SIZE]> {
        if !self.status().has(Status::VERSION_TAG) {
            return None;
        }
        self.bytes.last_chunk()
    }

    /// The child page of a row on a non-leaf index page: the last six bytes of its fixed part.
    #[inline]
    pub fn child(self) -> Option<PageId> {
        Some(PageId::from_bytes(*self.fixed().last_chunk()?))
    }

    /// Where the row went, when the record at the start of `bytes` is a forwarding stub.
    #[inline]
    pub fn forwarded_to(bytes: &[u8]) -> Option<RowId> {
        let status = Status(*bytes.first()?);
        if status.kind() != RecordKind::ForwardingStub
            || record_len(PageType::Data, 0, bytes)? != FORWARDING_STUB_SIZE
        {
            return None;
        }
        chunk(bytes, 1).map(RowId::from_bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_real_index_record_gives_up_its_parts() {
        let bytes = [0x16, 2, 2, 0, 0, 0x2b, 0x8f, 0, 0, 6, 0, 3, 0, 0, 0xEE];
        assert_eq!(record_len(PageType::Index, 11, &bytes), Some(14));
        let record = Record::index(&bytes, 11).unwrap();
        assert_eq!(record.fixed(), &bytes[1..11]);
        assert_eq!(record.column_count(), 3);
        assert_eq!(
            (record.null_bit(2), record.null_bit(3)),
            (Some(false), None)
        );
        assert_eq!(record.var(0), None);
        assert_eq!(record.fixed_at(1, 10).unwrap(), &bytes[1..11]);
        assert_eq!(record.fixed_at(2, 10), None);
        assert_eq!(record.fixed_at(0, 1), None);
    }

    #[test]
    fn a_real_heap_index_record_with_a_variable_key_gives_up_its_parts() {
        let bytes = [
            0x26, 0xC2, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0x13, 0, 0x42, 0x55, 0x31, 0x30, 0x33, 0x32,
        ];
        let record = Record::index(&bytes, 9).unwrap();
        assert_eq!(record.bytes().len(), bytes.len());
        let rid: [u8; 8] = record.fixed().try_into().unwrap();
        assert_eq!(RowId::from_bytes(rid).to_string(), "(1:194:0)");
        assert_eq!(record.var(0), Some((&b"BU1032"[..], false)));
        assert_eq!(record.var(1), None);
    }

    #[test]
    fn map_records_without_columns_end_at_their_fixed_end() {
        let mut bytes = vec![0; 8092];
        bytes[2..4].copy_from_slice(&0x1f9c_u16.to_le_bytes());
        assert_eq!(record_len(PageType::Pfs, 0, &bytes), Some(8092));
        assert_eq!(record_len(PageType::Pfs, 0, &bytes[..8091]), None);
    }

    #[test]
    fn end_offsets_that_fall_or_reach_too_far_are_no_record() {
        let sound = [0x30, 0, 4, 0, 2, 0, 0, 2, 0, 14, 0, 15, 0, b'a', b'b'];
        let record = Record::data(&sound).unwrap();
        assert_eq!(record.var(0), Some((&b"a"[..], false)));
        assert_eq!(record.var(1), Some((&b"b"[..], false)));
        let mut too_far = sound;
        too_far[11] = 16;
        assert!(Record::data(&too_far).is_none());
        let mut falls = sound;
        falls[9] = 40;
        assert_eq!(Record::data(&falls).unwrap().var(0), None);
        assert_eq!(Record::data(&falls).unwrap().var(1), None);
        let mut into_array = sound;
        into_array[11] = 12;
        assert!(Record::data(&into_array).is_none());
        for cut in 0..sound.len() {
            assert!(Record::data(&sound[..cut]).is_none());
            assert_eq!(record_len(PageType::Data, 0, &sound[..cut]), None);
        }
    }
}
