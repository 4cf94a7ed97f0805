//! Facts as bytes of a fixed size: how they lie in scratch files.

use super::{BadPage, ChildFact, ForwardFact, KeyRef, PageFact, TextNode, TextRef, Why};
use furrow_format::{FileId, PageId, PageNo, RowId};

/// A fact that can be written to a scratch file and found again by its key.
pub(crate) trait Fact: Copy {
    /// What facts of this kind are sorted by.
    type Key: Ord + Copy;
    /// Bytes of a fact in a file.
    const BYTES: usize;
    /// Its key.
    fn key(&self) -> Self::Key;
    /// Appends its bytes.
    fn write(&self, to: &mut Vec<u8>);
    /// The fact in these bytes; `None` where they are too few.
    fn read(from: &[u8]) -> Option<Self>;
    /// Moves its references to keys, whose bytes now begin at `base`.
    fn rebase(&mut self, _base: u64) {}
}

/// Takes numbers from the front of a slice.
struct Take<'b>(&'b [u8]);

impl Take<'_> {
    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (first, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*first)
    }

    fn u8(&mut self) -> Option<u8> {
        self.array::<1>().map(|[byte]| byte)
    }

    fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_le_bytes)
    }

    fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    fn page(&mut self) -> Option<PageId> {
        Some(PageId {
            file: FileId(self.u16()?),
            page: PageNo(self.u32()?),
        })
    }

    fn row(&mut self) -> Option<RowId> {
        Some(RowId {
            page: self.page()?,
            slot: self.u16()?,
        })
    }
}

fn put_page(to: &mut Vec<u8>, id: PageId) {
    to.extend(id.file.0.to_le_bytes());
    to.extend(id.page.0.to_le_bytes());
}

fn put_row(to: &mut Vec<u8>, id: RowId) {
    put_page(to, id.page);
    to.extend(id.slot.to_le_bytes());
}

impl Fact for PageFact {
    type Key = PageId;
    const BYTES: usize = 48;

    fn key(&self) -> PageId {
        self.id
    }

    fn write(&self, to: &mut Vec<u8>) {
        put_page(to, self.id);
        to.extend(self.unit.to_le_bytes());
        to.extend(self.unit_id.to_le_bytes());
        to.extend([self.kind, self.level]);
        put_page(to, self.prev);
        put_page(to, self.next);
        to.extend(self.low.0.to_le_bytes());
        to.extend(self.high.0.to_le_bytes());
    }

    fn read(from: &[u8]) -> Option<PageFact> {
        let mut take = Take(from);
        Some(PageFact {
            id: take.page()?,
            unit: take.u32()?,
            unit_id: take.u64()?,
            kind: take.u8()?,
            level: take.u8()?,
            prev: take.page()?,
            next: take.page()?,
            low: KeyRef(take.u64()?),
            high: KeyRef(take.u64()?),
        })
    }

    fn rebase(&mut self, base: u64) {
        self.low.rebase(base);
        self.high.rebase(base);
    }
}

impl Fact for ChildFact {
    type Key = (PageId, u16);
    const BYTES: usize = 22;

    fn key(&self) -> (PageId, u16) {
        (self.parent, self.slot)
    }

    fn write(&self, to: &mut Vec<u8>) {
        put_page(to, self.parent);
        to.extend(self.slot.to_le_bytes());
        put_page(to, self.child);
        to.extend(self.key.0.to_le_bytes());
    }

    fn read(from: &[u8]) -> Option<ChildFact> {
        let mut take = Take(from);
        Some(ChildFact {
            parent: take.page()?,
            slot: take.u16()?,
            child: take.page()?,
            key: KeyRef(take.u64()?),
        })
    }

    fn rebase(&mut self, base: u64) {
        self.key.rebase(base);
    }
}

impl Fact for BadPage {
    type Key = PageId;
    const BYTES: usize = 15;

    fn key(&self) -> PageId {
        self.id
    }

    fn write(&self, to: &mut Vec<u8>) {
        put_page(to, self.id);
        match self.why {
            Why::NotWhole(text) => {
                to.push(0);
                to.extend(text.0.to_le_bytes());
            }
            Why::OtherPage(actual) => {
                to.push(1);
                put_page(to, actual);
                to.extend([0, 0]);
            }
            Why::Unread(text) => {
                to.push(2);
                to.extend(text.0.to_le_bytes());
            }
        }
    }

    fn read(from: &[u8]) -> Option<BadPage> {
        let mut take = Take(from);
        let (id, kind) = (take.page()?, take.u8()?);
        let why = match kind {
            0 => Why::NotWhole(KeyRef(take.u64()?)),
            1 => Why::OtherPage(take.page()?),
            _ => Why::Unread(KeyRef(take.u64()?)),
        };
        Some(BadPage { id, why })
    }

    fn rebase(&mut self, base: u64) {
        match &mut self.why {
            Why::NotWhole(text) | Why::Unread(text) => text.rebase(base),
            Why::OtherPage(_) => {}
        }
    }
}

impl Fact for ForwardFact {
    type Key = (RowId, RowId);
    const BYTES: usize = 20;

    fn key(&self) -> (RowId, RowId) {
        (self.at, self.other)
    }

    fn write(&self, to: &mut Vec<u8>) {
        put_row(to, self.at);
        put_row(to, self.other);
        to.extend(self.unit.to_le_bytes());
    }

    fn read(from: &[u8]) -> Option<ForwardFact> {
        let mut take = Take(from);
        Some(ForwardFact {
            at: take.row()?,
            other: take.row()?,
            unit: take.u32()?,
        })
    }
}

impl Fact for TextRef {
    type Key = (RowId, RowId, u64, Option<u64>, u32, bool);
    const BYTES: usize = 38;

    fn key(&self) -> Self::Key {
        let TextRef {
            to,
            from,
            blob,
            bytes,
            unit,
            ghost,
        } = *self;
        (to, from, blob, bytes, unit, ghost)
    }

    fn write(&self, to: &mut Vec<u8>) {
        put_row(to, self.from);
        put_row(to, self.to);
        to.extend(self.blob.to_le_bytes());
        to.extend(self.bytes.unwrap_or(0).to_le_bytes());
        to.extend(self.unit.to_le_bytes());
        to.extend([u8::from(self.bytes.is_some()), u8::from(self.ghost)]);
    }

    fn read(from: &[u8]) -> Option<TextRef> {
        let mut take = Take(from);
        let (from, to, blob) = (take.row()?, take.row()?, take.u64()?);
        let (bytes, unit) = (take.u64()?, take.u32()?);
        Some(TextRef {
            from,
            to,
            blob,
            bytes: (take.u8()? != 0).then_some(bytes),
            unit,
            ghost: take.u8()? != 0,
        })
    }
}

impl Fact for TextNode {
    type Key = RowId;
    const BYTES: usize = 28;

    fn key(&self) -> RowId {
        self.at
    }

    fn write(&self, to: &mut Vec<u8>) {
        put_row(to, self.at);
        to.extend(self.blob.to_le_bytes());
        to.extend(self.bytes.to_le_bytes());
        to.extend(self.unit.to_le_bytes());
    }

    fn read(from: &[u8]) -> Option<TextNode> {
        let mut take = Take(from);
        Some(TextNode {
            at: take.row()?,
            blob: take.u64()?,
            bytes: take.u64()?,
            unit: take.u32()?,
        })
    }
}
