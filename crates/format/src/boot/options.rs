//! Choices of a database that the boot page keeps.

use crate::{PageBuf, stamp_checksum, stamp_nothing, stamp_torn_bits};

/// What the log must keep.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum RecoveryModel {
    /// Everything until it is backed up.
    #[default]
    Full,
    /// As full, but bulk work is logged in brief.
    BulkLogged,
    /// What recovery needs.
    Simple,
}

impl RecoveryModel {
    /// As `sys.databases` numbers it.
    pub const fn to_byte(self) -> u8 {
        match self {
            RecoveryModel::Full => 1,
            RecoveryModel::BulkLogged => 2,
            RecoveryModel::Simple => 3,
        }
    }

    /// From its number; anything unknown is `Full`, which loses nothing.
    pub const fn from_byte(byte: u8) -> RecoveryModel {
        match byte {
            2 => RecoveryModel::BulkLogged,
            3 => RecoveryModel::Simple,
            _ => RecoveryModel::Full,
        }
    }
}

/// How pages are protected when they are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum PageVerify {
    /// Not at all.
    None,
    /// By torn bits.
    TornPageDetection,
    /// By a checksum.
    #[default]
    Checksum,
}

impl PageVerify {
    /// As `sys.databases` numbers it.
    pub const fn to_byte(self) -> u8 {
        match self {
            PageVerify::None => 0,
            PageVerify::TornPageDetection => 1,
            PageVerify::Checksum => 2,
        }
    }

    /// From its number; anything unknown is `Checksum`.
    pub const fn from_byte(byte: u8) -> PageVerify {
        match byte {
            0 => PageVerify::None,
            1 => PageVerify::TornPageDetection,
            _ => PageVerify::Checksum,
        }
    }

    /// Protects a copy of a page that is about to be written.
    pub fn stamp(self, page: &mut PageBuf) {
        match self {
            PageVerify::None => stamp_nothing(page),
            PageVerify::TornPageDetection => stamp_torn_bits(page),
            PageVerify::Checksum => stamp_checksum(page),
        }
    }
}
