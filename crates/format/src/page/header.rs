//! The 96 bytes before the first record, field by field.

use crate::bytes::Field;
use crate::{
    AllocUnitId, Lsn, PAGE_SIZE, Page, PageBuf, PageFlags, PageId, PageMut, PageType, TxnId,
};

/// Size of the page header in bytes.
pub const HEADER_SIZE: usize = 96;
/// Bytes for records and slot array.
pub const BODY_SIZE: usize = PAGE_SIZE - HEADER_SIZE;
/// Size of an entry of the slot array.
pub const SLOT_SIZE: usize = 2;
/// Most slots that fit between header and end of page: more is damage.
pub const MAX_SLOTS: u16 = (BODY_SIZE / SLOT_SIZE) as u16;

// The layout. Each field's name, first byte and size; the proof below leaves no gap and no overlap.
const HEADER_VERSION: Field<0, 1> = Field; //    0      always 1
const TYPE: Field<1, 1> = Field; //              1      page type
const TYPE_FLAGS: Field<2, 1> = Field; //        2      flags by type
const LEVEL: Field<3, 1> = Field; //             3      index level, 0 = leaf
const FLAGS: Field<4, 2> = Field; //             4..6   protection, alignment
const INDEX_PART: Field<6, 2> = Field; //        6..8   upper part of the allocation unit id
const PREV: Field<8, 6> = Field; //              8..14  left sibling: page u32, file u16
const PMINLEN: Field<14, 2> = Field; //         14..16  fixed part of a record, its header included
const NEXT: Field<16, 6> = Field; //            16..22  right sibling
const SLOT_COUNT: Field<22, 2> = Field; //      22..24  entries of the slot array
const OBJECT_PART: Field<24, 4> = Field; //     24..28  lower part of the allocation unit id
const FREE_COUNT: Field<28, 2> = Field; //      28..30  free bytes, contiguous or not
const FREE_DATA: Field<30, 2> = Field; //       30..32  first byte behind the last record
const PAGE_ID: Field<32, 6> = Field; //         32..38  own id
const RESERVED: Field<38, 2> = Field; //        38..40  bytes kept back for transactions' undo
pub(crate) const LSN: Field<40, 10> = Field; // 40..50  last change: VLF u32, block u32, record u16
const XACT_RESERVED: Field<50, 2> = Field; //   50..52  part of RESERVED owed to XDES_ID
const XDES_ID: Field<52, 6> = Field; //         52..58  last transaction that reserved bytes
const GHOSTS: Field<58, 2> = Field; //          58..60  ghost records
pub(crate) const TORN_BITS: Field<60, 4> = Field; // 60..64  checksum or displaced bits
const UNUSED: Field<64, 32> = Field; //         64..96  zero

const _: () = {
    assert!(HEADER_VERSION.end() == TYPE.start() && TYPE.end() == TYPE_FLAGS.start());
    assert!(TYPE_FLAGS.end() == LEVEL.start() && LEVEL.end() == FLAGS.start());
    assert!(FLAGS.end() == INDEX_PART.start() && INDEX_PART.end() == PREV.start());
    assert!(PREV.end() == PMINLEN.start() && PMINLEN.end() == NEXT.start());
    assert!(NEXT.end() == SLOT_COUNT.start() && SLOT_COUNT.end() == OBJECT_PART.start());
    assert!(OBJECT_PART.end() == FREE_COUNT.start() && FREE_COUNT.end() == FREE_DATA.start());
    assert!(FREE_DATA.end() == PAGE_ID.start() && PAGE_ID.end() == RESERVED.start());
    assert!(RESERVED.end() == LSN.start() && LSN.end() == XACT_RESERVED.start());
    assert!(XACT_RESERVED.end() == XDES_ID.start() && XDES_ID.end() == GHOSTS.start());
    assert!(GHOSTS.end() == TORN_BITS.start() && TORN_BITS.end() == UNUSED.start());
    assert!(UNUSED.end() == HEADER_SIZE && BODY_SIZE == 8096);
};

/// The header fields of a freshly formatted page; everything else is zero or empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageInit {
    /// Own id.
    pub page: PageId,
    /// Type.
    pub kind: PageType,
    /// `m_typeFlagBits`.
    pub type_flags: u8,
    /// Index level, 0 = leaf.
    pub level: u8,
    /// Allocation unit the page belongs to.
    pub unit: AllocUnitId,
    /// Fixed part of a record: 4 and more on data pages, 1 and more on index pages.
    pub pminlen: u16,
    /// Left sibling.
    pub prev: PageId,
    /// Right sibling.
    pub next: PageId,
}

impl PageInit {
    /// An unlinked leaf-level page.
    pub const fn new(page: PageId, kind: PageType, unit: AllocUnitId, pminlen: u16) -> PageInit {
        let (prev, next) = (PageId::NONE, PageId::NONE);
        PageInit {
            page,
            kind,
            type_flags: 0,
            level: 0,
            unit,
            pminlen,
            prev,
            next,
        }
    }
}

impl<'a> Page<'a> {
    /// `m_headerVersion`: 1 on every formatted page.
    #[inline]
    pub fn header_version(self) -> u8 {
        u8::from_le_bytes(HEADER_VERSION.get(self.bytes()))
    }

    /// `m_type`.
    #[inline]
    pub fn page_type(self) -> PageType {
        PageType::from_byte(u8::from_le_bytes(TYPE.get(self.bytes())))
    }

    /// `m_typeFlagBits`.
    #[inline]
    pub fn type_flags(self) -> u8 {
        u8::from_le_bytes(TYPE_FLAGS.get(self.bytes()))
    }

    /// `m_level`.
    #[inline]
    pub fn level(self) -> u8 {
        u8::from_le_bytes(LEVEL.get(self.bytes()))
    }

    /// `m_flagBits`.
    #[inline]
    pub fn flags(self) -> PageFlags {
        PageFlags(FLAGS.get_u16(self.bytes()))
    }

    /// `m_indexId`: the index part of the allocation unit id.
    #[inline]
    pub fn index_part(self) -> u16 {
        INDEX_PART.get_u16(self.bytes())
    }

    /// `m_objId`: the object part of the allocation unit id.
    #[inline]
    pub fn object_part(self) -> u32 {
        OBJECT_PART.get_u32(self.bytes())
    }

    /// The allocation unit that the two parts name.
    #[inline]
    pub fn unit(self) -> AllocUnitId {
        AllocUnitId::from_parts(self.index_part(), self.object_part())
    }

    /// `m_prevPage`.
    #[inline]
    pub fn prev(self) -> PageId {
        PREV.get_page(self.bytes())
    }

    /// `m_nextPage`.
    #[inline]
    pub fn next(self) -> PageId {
        NEXT.get_page(self.bytes())
    }

    /// `pminlen`.
    #[inline]
    pub fn pminlen(self) -> u16 {
        PMINLEN.get_u16(self.bytes())
    }

    /// `m_slotCnt`, as stored: a damaged page may claim more than fit.
    #[inline]
    pub fn slot_count(self) -> u16 {
        SLOT_COUNT.get_u16(self.bytes())
    }

    /// `m_freeCnt`.
    #[inline]
    pub fn free_count(self) -> u16 {
        FREE_COUNT.get_u16(self.bytes())
    }

    /// `m_freeData`.
    #[inline]
    pub fn free_data(self) -> u16 {
        FREE_DATA.get_u16(self.bytes())
    }

    /// `m_pageId`.
    #[inline]
    pub fn page_id(self) -> PageId {
        PAGE_ID.get_page(self.bytes())
    }

    /// `m_reservedCnt`.
    #[inline]
    pub fn reserved_count(self) -> u16 {
        RESERVED.get_u16(self.bytes())
    }

    /// `m_lsn`.
    #[inline]
    pub fn lsn(self) -> Lsn {
        Lsn::from_bytes(LSN.get(self.bytes()))
    }

    /// `m_xactReserved`.
    #[inline]
    pub fn xact_reserved(self) -> u16 {
        XACT_RESERVED.get_u16(self.bytes())
    }

    /// `m_xdesId`.
    #[inline]
    pub fn xdes_id(self) -> TxnId {
        let [a, b, c, d, e, f] = XDES_ID.get(self.bytes());
        TxnId(u64::from_le_bytes([a, b, c, d, e, f, 0, 0]))
    }

    /// `m_ghostRecCnt`.
    #[inline]
    pub fn ghost_count(self) -> u16 {
        GHOSTS.get_u16(self.bytes())
    }

    /// `m_tornBits`.
    #[inline]
    pub fn torn_bits(self) -> u32 {
        TORN_BITS.get_u32(self.bytes())
    }
}

impl PageMut<'_> {
    /// Empties the page and gives it a new header. `m_lsn` stays: the caller stamps it.
    pub fn format(&mut self, init: &PageInit) {
        let lsn = LSN.get(self.bytes());
        let page: &mut PageBuf = self.bytes_mut();
        page.fill(0);
        LSN.set(page, lsn);
        HEADER_VERSION.set(page, [1]);
        TYPE.set(page, [init.kind.to_byte()]);
        TYPE_FLAGS.set(page, [init.type_flags]);
        LEVEL.set(page, [init.level]);
        INDEX_PART.set_u16(page, init.unit.index_part());
        OBJECT_PART.set_u32(page, init.unit.object_part());
        PREV.set_page(page, init.prev);
        NEXT.set_page(page, init.next);
        PMINLEN.set_u16(page, init.pminlen);
        PAGE_ID.set_page(page, init.page);
        FREE_COUNT.set_u16(page, BODY_SIZE as u16);
        FREE_DATA.set_u16(page, HEADER_SIZE as u16);
    }

    /// Sets `m_flagBits`.
    pub fn set_flags(&mut self, flags: PageFlags) {
        FLAGS.set_u16(self.bytes_mut(), flags.0);
    }

    /// Sets `m_level`.
    pub fn set_level(&mut self, level: u8) {
        LEVEL.set(self.bytes_mut(), [level]);
    }

    /// Sets `m_prevPage`.
    pub fn set_prev(&mut self, prev: PageId) {
        PREV.set_page(self.bytes_mut(), prev);
    }

    /// Sets `m_nextPage`.
    pub fn set_next(&mut self, next: PageId) {
        NEXT.set_page(self.bytes_mut(), next);
    }

    /// Sets `m_lsn`.
    #[inline]
    pub fn set_lsn(&mut self, lsn: Lsn) {
        LSN.set(self.bytes_mut(), lsn.to_bytes());
    }

    /// Sets `m_ghostRecCnt`.
    pub(crate) fn set_ghost_count(&mut self, ghosts: u16) {
        GHOSTS.set_u16(self.bytes_mut(), ghosts);
    }

    /// Sets the bytes reserved for undo: in all, of these for the last transaction, and which one that is.
    pub(crate) fn set_reserved(&mut self, reserved: u16, xact_reserved: u16, xdes: TxnId) {
        let [a, b, c, d, e, f, ..] = xdes.0.to_le_bytes();
        RESERVED.set_u16(self.bytes_mut(), reserved);
        XACT_RESERVED.set_u16(self.bytes_mut(), xact_reserved);
        XDES_ID.set(self.bytes_mut(), [a, b, c, d, e, f]);
    }

    /// Sets `m_tornBits`.
    pub fn set_torn_bits(&mut self, bits: u32) {
        TORN_BITS.set_u32(self.bytes_mut(), bits);
    }

    pub(super) fn set_slot_count(&mut self, count: u16) {
        SLOT_COUNT.set_u16(self.bytes_mut(), count);
    }

    pub(super) fn set_free_count(&mut self, free: u16) {
        FREE_COUNT.set_u16(self.bytes_mut(), free);
    }

    pub(super) fn set_free_data(&mut self, offset: u16) {
        FREE_DATA.set_u16(self.bytes_mut(), offset);
    }
}
