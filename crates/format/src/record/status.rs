//! Status byte A: kind of record and which parts follow.

/// Kind of a record, bits 1-3 of status A.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RecordKind {
    /// 0: a row where it was inserted.
    Primary,
    /// 1: a heap row that moved; a stub elsewhere points here.
    Forwarded,
    /// 2: contains where a heap row moved.
    ForwardingStub,
    /// 3: a row of an index page.
    Index,
    /// 4: a piece of a large value.
    BlobFragment,
    /// 5: a deleted index row.
    GhostIndex,
    /// 6: a deleted row of a clustered leaf or heap.
    GhostData,
    /// 7: a deleted row that its versions still need.
    GhostVersion,
}

/// Status byte A.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Status(pub u8);

impl Status {
    /// Column count and null bitmap follow the fixed columns.
    pub const NULL_BITMAP: u8 = 0x10;
    /// Variable columns follow.
    pub const VARIABLE: u8 = 0x20;
    /// A version tag ends the record.
    pub const VERSION_TAG: u8 = 0x40;
    const KIND: u8 = 0x0E;

    /// The status of a record of this kind with these parts.
    pub const fn new(kind: RecordKind, parts: u8) -> Status {
        Status(kind.bits() | parts)
    }

    /// The kind.
    #[inline]
    pub const fn kind(self) -> RecordKind {
        match (self.0 & Self::KIND) >> 1 {
            0 => RecordKind::Primary,
            1 => RecordKind::Forwarded,
            2 => RecordKind::ForwardingStub,
            3 => RecordKind::Index,
            4 => RecordKind::BlobFragment,
            5 => RecordKind::GhostIndex,
            6 => RecordKind::GhostData,
            _ => RecordKind::GhostVersion,
        }
    }

    /// The same parts with another kind: how a row becomes a ghost and comes back.
    #[must_use]
    pub const fn with_kind(self, kind: RecordKind) -> Status {
        Status(self.0 & !Self::KIND | kind.bits())
    }

    /// Whether a part is present.
    #[inline]
    pub const fn has(self, part: u8) -> bool {
        self.0 & part != 0
    }

    /// Whether the record is deleted and waits to be removed.
    #[inline]
    pub const fn is_ghost(self) -> bool {
        self.0 & Self::KIND >= RecordKind::GhostIndex.bits()
    }
}

impl RecordKind {
    const fn bits(self) -> u8 {
        (self as u8) << 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn status_bytes_of_real_records_read_as_published() {
        for (byte, kind, null, variable, tag) in [
            (0x10, RecordKind::Primary, true, false, false),
            (0x30, RecordKind::Primary, true, true, false),
            (0x70, RecordKind::Primary, true, true, true),
            (0x04, RecordKind::ForwardingStub, false, false, false),
            (0x16, RecordKind::Index, true, false, false),
            (0x26, RecordKind::Index, false, true, false),
            (0x08, RecordKind::BlobFragment, false, false, false),
            (0x5A, RecordKind::GhostIndex, true, false, true),
            (0x3C, RecordKind::GhostData, true, true, false),
        ] {
            let status = Status(byte);
            assert_eq!(status.kind(), kind, "{byte:#x}");
            assert_eq!(status.has(Status::NULL_BITMAP), null, "{byte:#x}");
            assert_eq!(status.has(Status::VARIABLE), variable, "{byte:#x}");
            assert_eq!(status.has(Status::VERSION_TAG), tag, "{byte:#x}");
            assert_eq!(status.is_ghost(), byte & 0x0E >= 0x0A, "{byte:#x}");
            assert_eq!(Status::new(kind, byte & 0x70), status);
        }
        assert_eq!(Status(0x30).with_kind(RecordKind::GhostData), Status(0x3C));
        assert_eq!(Status(0x3C).with_kind(RecordKind::Primary), Status(0x30));
    }
}
