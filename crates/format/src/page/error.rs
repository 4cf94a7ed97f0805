//! What can be wrong with a page or with a requested change.

/// Why a page cannot be changed as requested, or is unsound.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PageError {
    /// The page has less free space than the change takes: split, or look for another page.
    #[error("{needed} bytes needed, {free} free")]
    NoRoom {
        /// Bytes the change takes, slot entry included.
        needed: u16,
        /// Bytes free.
        free: u16,
    },
    /// The slot is beyond the slot array.
    #[error("slot {slot} of {count}")]
    NoSuchSlot {
        /// The requested slot.
        slot: u16,
        /// Slots the page has.
        count: u16,
    },
    /// The slot names no record.
    #[error("slot {slot} is empty")]
    SlotEmpty {
        /// The requested slot.
        slot: u16,
    },
    /// The slot already names a record.
    #[error("slot {slot} is in use")]
    SlotInUse {
        /// The requested slot.
        slot: u16,
    },
    /// Bytes offered as a record are not one, or the bytes a slot names are not.
    #[error("slot {slot}: not a record of this page's form")]
    BadRecord {
        /// The slot.
        slot: u16,
    },
    /// A patch would reach beyond the record, or change its length.
    #[error("slot {slot}: patch at {offset} does not fit the record")]
    BadPatch {
        /// The slot.
        slot: u16,
        /// Offset of the patch in the record.
        offset: u16,
    },
    /// A record starts inside another one, in the header, or in free space.
    #[error("slot {slot}: record at {offset} overlaps or lies outside the record area")]
    Misplaced {
        /// The slot.
        slot: u16,
        /// The offset in the slot.
        offset: u16,
    },
    /// The header's figures contradict each other or the records.
    #[error("header damaged: slots {slots}, free data {free_data}, free count {free_count}")]
    Header {
        /// `m_slotCnt`.
        slots: u16,
        /// `m_freeData`.
        free_data: u16,
        /// `m_freeCnt`.
        free_count: u16,
    },
}
