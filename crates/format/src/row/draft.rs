//! Rows that are written column by column.
//!
//! [`RowLayout::encode`] takes all values of a row at once, and looks at each column three times: for its
//! place, its null bit and its end. A [`RowDraft`] takes values one by one and puts each of them where it
//! lies in the finished row, so that a row whose columns arrive in the order of the table is finished when
//! its last value is.
//!
//! 1. A [`RowTemplate`] is created once for a layout: the bytes of a row in which every column is NULL, with
//!    a place for the end of every variable column.
//! 2. A draft begins as a copy of the template. A value of a fixed column goes to its offset, one of a
//!    variable column behind those before it, and its end to its place.
//! 3. [`RowDraft::finish`] removes the places of variable columns without bytes at the end of the row.
//!
//! A draft stays correct, but is no longer a row, when a variable column comes before one that is already
//! there, when a variable column is set twice, or when a value does not fit its column. `finish` then
//! refuses, as it does for a row that is too long or without a value that it requires: the caller encodes the
//! values, which a draft always has, by [`RowLayout::encode`], and gets its error.

use super::layout::NO_COLUMN;
use super::{Place, RowLayout};
use crate::MAX_ROW_SIZE;
use crate::bytes::put;
use crate::record::{Status, put_header};
use furrow_types::TypeId;
use std::sync::Arc;

/// The values of a `bit` column, in front of the row: several columns share one byte of the row itself.
const BITS: [u8; 2] = [0, 1];
/// Where the row begins in a draft.
const ROW: usize = BITS.len();

/// Where a value begins and ends in the bytes of a draft.
pub type Extent = (u32, u32);

/// What all rows of a layout have in common: see the module.
#[derive(Debug, PartialEq, Eq)]
pub struct RowTemplate {
    /// [`BITS`], and a row whose columns are all NULL.
    start: Vec<u8>,
    slots: Vec<Slot>,
    /// Columns that take no NULL.
    required: usize,
    /// Where the number of variable columns is.
    ends: usize,
    /// Variable columns.
    vars: usize,
}

/// Where a column lies in a draft.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Slot {
    kind: SlotKind,
    /// Of a fixed column, where its bytes are; of a variable one, where its end is.
    at: u16,
    /// Of a variable column, its number; of a `bit`, its bit.
    number: u16,
    /// Bytes: exactly, or of a variable column at most.
    len: u32,
    /// Where the byte with its null bit is, and this bit.
    null_at: u16,
    null_bit: u8,
    nullable: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SlotKind {
    Fixed,
    Bit,
    Var,
}

impl Slot {
    #[inline]
    fn is_fixed(&self, len: usize) -> bool {
        self.kind == SlotKind::Fixed && self.len as usize == len
    }

    /// Whether it is a variable column that takes so many bytes, and none behind it is there yet.
    #[inline]
    fn is_var(&self, len: usize, ended: usize) -> bool {
        self.kind == SlotKind::Var && usize::from(self.number) >= ended && len <= self.len as usize
    }
}

impl RowTemplate {
    /// The template of a layout; `None` for layouts of indexes and for those with gaps among the variable
    /// columns.
    pub fn new(layout: &RowLayout) -> Option<RowTemplate> {
        let vars = layout.vars();
        if !layout.form().is_data() || vars.contains(&NO_COLUMN) {
            return None;
        }
        let fixed_end = usize::from(layout.pminlen());
        let mut start = BITS.to_vec();
        let fixed = fixed_end.checked_sub(layout.form().header_size())?;
        put_header(layout.form().record_kind(), fixed, &mut start);
        start.resize(ROW + fixed_end, 0);
        start.extend_from_slice(&layout.null_columns().to_le_bytes());
        let nulls = start.len();
        let bitmap = usize::from(layout.null_columns()).div_ceil(8);
        start.resize(nulls + bitmap, 0);
        let ends = start.len();
        let mut slots = Vec::with_capacity(layout.columns().len());
        for column in layout.columns() {
            let bit = usize::from(column.null_bit?);
            let (byte, null_bit) = (bit / 8, 1 << (bit % 8));
            *start.get_mut(nulls + byte)? |= null_bit;
            let max_len = u32::from(column.max_len);
            let (kind, at, number, len) = match column.place {
                Place::Fixed(at) if column.kind == TypeId::Bit => {
                    (SlotKind::Bit, usize::from(at) + ROW, 1 << column.bit_pos, 1)
                }
                Place::Fixed(at) => (SlotKind::Fixed, usize::from(at) + ROW, 0, max_len),
                Place::Var(number) => {
                    let at = ends + 2 + 2 * usize::from(number);
                    let most = if max_len == 0 { u32::MAX } else { max_len };
                    (SlotKind::Var, at, number, most)
                }
            };
            slots.push(Slot {
                kind,
                at: u16::try_from(at).ok()?,
                number,
                len,
                null_at: u16::try_from(nulls + byte).ok()?,
                null_bit,
                nullable: column.nullable,
            });
        }
        let mut parts = Status::NULL_BITMAP;
        if !vars.is_empty() {
            parts |= Status::VARIABLE;
            start.extend_from_slice(&u16::try_from(vars.len()).ok()?.to_le_bytes());
            start.resize(start.len() + 2 * vars.len(), 0);
        }
        *start.get_mut(ROW)? |= parts;
        Some(RowTemplate {
            start,
            required: slots.iter().filter(|slot| !slot.nullable).count(),
            slots,
            ends,
            vars: vars.len(),
        })
    }
}

/// A row under way, or the values of one; used again and again.
#[derive(Debug, Default)]
pub struct RowDraft {
    /// [`BITS`] and the row, if there is a template; then values that have no place in it.
    bytes: Vec<u8>,
    /// By column, where its value is in the bytes; `None` is NULL.
    places: Vec<Option<Extent>>,
    template: Option<Arc<RowTemplate>>,
    /// Whether all that was set has its place in the row.
    in_place: bool,
    /// Variable columns whose end is in the row.
    ended: usize,
    /// Variable columns up to the last one with bytes.
    stored_vars: usize,
    /// Columns without a value that require one.
    missing: usize,
}

impl RowDraft {
    /// Begins a row with this many columns, all NULL. A template for another number of columns is not used.
    #[inline]
    pub fn begin(&mut self, columns: usize, template: Option<&Arc<RowTemplate>>) {
        self.bytes.clear();
        if self.places.len() == columns {
            self.places.fill(None);
        } else {
            self.places.clear();
            self.places.resize(columns, None);
        }
        (self.ended, self.stored_vars) = (0, 0);
        let template = template.filter(|template| template.slots.len() == columns);
        self.in_place = template.is_some();
        if let Some(template) = template {
            self.bytes.extend_from_slice(&template.start);
            self.missing = template.required;
            if !self.is_of(template) {
                self.template = Some(Arc::clone(template));
            }
        }
    }

    /// Begins a row of these values, which are at these places of the bytes.
    pub fn of_parts(bytes: Vec<u8>, places: Vec<Option<Extent>>) -> RowDraft {
        RowDraft {
            bytes,
            places,
            ..RowDraft::default()
        }
    }

    /// The bytes, and by column where its value is in them.
    pub fn parts(&self) -> (&[u8], &[Option<Extent>]) {
        (&self.bytes, &self.places)
    }

    /// Becomes the same row.
    pub fn copy_from(&mut self, other: &RowDraft) {
        self.bytes.clone_from(&other.bytes);
        self.places.clone_from(&other.places);
        self.template.clone_from(&other.template);
        (self.in_place, self.missing) = (other.in_place, other.missing);
        (self.ended, self.stored_vars) = (other.ended, other.stored_vars);
    }

    /// Bytes that its values take, at most.
    pub fn size_bytes(&self) -> usize {
        self.bytes.len()
    }

    /// A column's value.
    #[inline]
    pub fn get(&self, column: usize) -> Option<&[u8]> {
        let (start, end) = (*self.places.get(column)?)?;
        self.bytes.get(start as usize..end as usize)
    }

    /// Sets a column to bytes that are its encoded value.
    #[inline]
    pub fn set(&mut self, column: usize, value: Option<&[u8]>) {
        let Some(value) = value else {
            return self.set_null(column);
        };
        let (slot, start) = (self.slot(column), self.bytes.len());
        match slot {
            Some(slot) if slot.is_fixed(value.len()) => {
                let _inside = put(&mut self.bytes, usize::from(slot.at), value);
                self.set_place(column, Some(slot), (usize::from(slot.at), value.len()));
            }
            _ => {
                self.bytes.extend_from_slice(value);
                self.place_appended(column, slot, start);
            }
        }
    }

    /// Sets a column to the value that `encode` appends. After an error the column is unchanged.
    #[inline]
    pub fn set_with<E>(
        &mut self,
        column: usize,
        encode: impl FnOnce(&mut Vec<u8>) -> Result<(), E>,
    ) -> Result<(), E> {
        let start = self.bytes.len();
        if let Err(error) = encode(&mut self.bytes) {
            self.bytes.truncate(start);
            return Err(error);
        }
        self.place_appended(column, self.slot(column), start);
        Ok(())
    }

    fn set_null(&mut self, column: usize) {
        if let Some(place) = self.places.get_mut(column)
            && place.take().is_some()
        {
            self.in_place = false;
        }
    }

    #[inline]
    fn slot(&self, column: usize) -> Option<Slot> {
        let template = self.template.as_ref().filter(|_| self.in_place)?;
        template.slots.get(column).copied()
    }

    /// Notes where a column's value is, and that it is not NULL.
    #[inline]
    fn set_place(&mut self, column: usize, slot: Option<Slot>, (at, len): (usize, usize)) {
        let Some(place) = self.places.get_mut(column) else {
            return;
        };
        let was_null = place.replace((at as u32, (at + len) as u32)).is_none();
        if let Some(slot) = slot
            && was_null
            && let Some(byte) = self.bytes.get_mut(usize::from(slot.null_at))
        {
            *byte &= !slot.null_bit;
            self.missing -= usize::from(!slot.nullable);
        }
    }

    /// Gives the value that the bytes from `start` on are its place.
    #[inline]
    fn place_appended(&mut self, column: usize, slot: Option<Slot>, start: usize) {
        let len = self.bytes.len() - start;
        match slot {
            Some(slot) if slot.is_var(len, self.ended) => {
                self.end_var(&slot, start);
                self.set_place(column, Some(slot), (start, len));
            }
            _ => self.place_appended_elsewhere(column, slot, (start, len)),
        }
    }

    fn place_appended_elsewhere(
        &mut self,
        column: usize,
        slot: Option<Slot>,
        (start, len): (usize, usize),
    ) {
        match slot {
            Some(fixed) if fixed.is_fixed(len) => {
                self.bytes.copy_within(start.., usize::from(fixed.at));
                self.bytes.truncate(start);
                self.set_place(column, slot, (usize::from(fixed.at), len));
            }
            Some(Slot {
                kind: SlotKind::Bit,
                at,
                number,
                ..
            }) if len == 1 => {
                let (set, bit) = (
                    self.bytes.pop().is_some_and(|value| value != 0),
                    number as u8,
                );
                if let Some(byte) = self.bytes.get_mut(usize::from(at)) {
                    *byte = *byte & !bit | if set { bit } else { 0 };
                }
                self.set_place(column, slot, (usize::from(set), 1));
            }
            _ => {
                self.in_place = false;
                self.set_place(column, None, (start, len));
            }
        }
    }

    /// Notes the end of a variable column whose bytes are those from `start` on. Those between it and the
    /// last one before it have none.
    #[inline]
    fn end_var(&mut self, slot: &Slot, start: usize) {
        let number = usize::from(slot.number);
        let mut end_at = usize::from(slot.at) - 2 * (number - self.ended);
        // A row whose ends do not fit is refused for its length.
        let end = |at: usize| ((at - ROW) as u16).to_le_bytes();
        while self.ended < number {
            let _inside = put(&mut self.bytes, end_at, &end(start));
            (self.ended, end_at) = (self.ended + 1, end_at + 2);
        }
        let behind = self.bytes.len();
        let _inside = put(&mut self.bytes, end_at, &end(behind));
        self.ended = number + 1;
        if behind > start {
            self.stored_vars = self.ended;
        }
    }

    #[inline]
    fn is_of(&self, template: &Arc<RowTemplate>) -> bool {
        let own = self.template.as_ref();
        own.is_some_and(|own| Arc::ptr_eq(own, template))
    }

    /// Appends the finished row, if it is one of this template; `false`, with nothing appended, where its
    /// values have to be encoded: see the module.
    #[inline]
    pub fn finish(&self, template: &Arc<RowTemplate>, out: &mut Vec<u8>) -> bool {
        let complete = self.in_place && self.missing == 0 && self.is_of(template);
        if !complete || self.bytes.len() > ROW + MAX_ROW_SIZE {
            return false;
        }
        if self.stored_vars == template.vars {
            out.extend_from_slice(self.bytes.get(ROW..).unwrap_or_default());
            return true;
        }
        self.finish_cut(template, out);
        true
    }

    /// Appends the row without the places of variable columns behind the last one with bytes.
    fn finish_cut(&self, template: &RowTemplate, out: &mut Vec<u8>) {
        let start = out.len();
        let (row, values) = self
            .bytes
            .split_at_checked(template.start.len())
            .unwrap_or_default();
        let ends_size = if self.stored_vars > 0 {
            2 + 2 * self.stored_vars
        } else {
            0
        };
        let cut = template.start.len() - template.ends - ends_size;
        out.extend_from_slice(row.get(ROW..template.ends + ends_size).unwrap_or_default());
        let copied = out.get_mut(start..).unwrap_or_default();
        if let Some(status) = copied.first_mut()
            && self.stored_vars == 0
        {
            *status &= !Status::VARIABLE;
        }
        let ends = copied.get_mut(template.ends - ROW..).unwrap_or_default();
        for (at, number) in ends.as_chunks_mut().0.iter_mut().enumerate() {
            let value = match at {
                0 => self.stored_vars,
                _ => usize::from(u16::from_le_bytes(*number)) - cut,
            };
            *number = (value as u16).to_le_bytes();
        }
        out.extend_from_slice(values);
    }
}

#[cfg(test)]
mod tests;
