//! Choices of a database that the boot page keeps.

use crate::{PageBuf, stamp_checksum, stamp_nothing, stamp_torn_bits};

/// ANSI_WARNINGS and the like as ALTER DATABASE sets them, for sessions that set nothing themselves.
/// Connections begin with values of their own: except for ANSI_NULL_DEFAULT, these are only stored and shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct SessionDefaults(u16);

impl SessionDefaults {
    /// The options in the order of their bits.
    pub const NAMES: [&str; 9] = [
        "ANSI_NULL_DEFAULT",
        "ANSI_NULLS",
        "ANSI_PADDING",
        "ANSI_WARNINGS",
        "ARITHABORT",
        "CONCAT_NULL_YIELDS_NULL",
        "NUMERIC_ROUNDABORT",
        "QUOTED_IDENTIFIER",
        "CURSOR_CLOSE_ON_COMMIT",
    ];

    /// As the boot page has them.
    pub const fn bits(self) -> u16 {
        self.0
    }

    /// From the boot page.
    pub const fn from_bits(bits: u16) -> SessionDefaults {
        SessionDefaults(bits)
    }

    /// Whether the option of this name is ON; `false` if there is no such option.
    pub fn is_on(self, name: &str) -> bool {
        let place = Self::NAMES.iter().position(|n| *n == name);
        place.is_some_and(|at| self.0 & (1 << at) != 0)
    }

    /// Sets the option of this name; `false` if there is no such option.
    pub fn set(&mut self, name: &str, on: bool) -> bool {
        let Some(at) = Self::NAMES.iter().position(|n| *n == name) else {
            return false;
        };
        self.0 = match on {
            true => self.0 | 1 << at,
            false => self.0 & !(1 << at),
        };
        true
    }
}

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

/// Whether commits may be acknowledged before they are durable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum DelayedDurability {
    /// Never.
    #[default]
    Disabled,
    /// When the transaction requests it.
    Allowed,
    /// Always.
    Forced,
}

impl DelayedDurability {
    /// As `sys.databases` numbers it.
    pub const fn to_byte(self) -> u8 {
        match self {
            DelayedDurability::Disabled => 0,
            DelayedDurability::Allowed => 1,
            DelayedDurability::Forced => 2,
        }
    }

    /// From its number; anything unknown is `Disabled`, which loses nothing.
    pub const fn from_byte(byte: u8) -> DelayedDurability {
        match byte {
            1 => DelayedDurability::Allowed,
            2 => DelayedDurability::Forced,
            _ => DelayedDurability::Disabled,
        }
    }

    /// The text of `delayed_durability_desc`.
    pub const fn name(self) -> &'static str {
        match self {
            DelayedDurability::Disabled => "DISABLED",
            DelayedDurability::Allowed => "ALLOWED",
            DelayedDurability::Forced => "FORCED",
        }
    }
}

/// Which sessions may use a database.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum UserAccess {
    /// All.
    #[default]
    Multi,
    /// One at a time.
    Single,
    /// Its owners and those of the instance.
    Restricted,
}

impl UserAccess {
    /// As `sys.databases` numbers it.
    pub const fn to_byte(self) -> u8 {
        match self {
            UserAccess::Multi => 0,
            UserAccess::Single => 1,
            UserAccess::Restricted => 2,
        }
    }

    /// From its number; anything unknown is `Multi`.
    pub const fn from_byte(byte: u8) -> UserAccess {
        match byte {
            1 => UserAccess::Single,
            2 => UserAccess::Restricted,
            _ => UserAccess::Multi,
        }
    }

    /// The text of `user_access_desc`.
    pub const fn name(self) -> &'static str {
        match self {
            UserAccess::Multi => "MULTI_USER",
            UserAccess::Single => "SINGLE_USER",
            UserAccess::Restricted => "RESTRICTED_USER",
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

    /// The text of `page_verify_option_desc`.
    pub const fn name(self) -> &'static str {
        match self {
            PageVerify::None => "NONE",
            PageVerify::TornPageDetection => "TORN_PAGE_DETECTION",
            PageVerify::Checksum => "CHECKSUM",
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
