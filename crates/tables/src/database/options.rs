//! Options of a database: stored on the boot page, read while the database is open.

use furrow_format::{DelayedDurability, OwnBoot, PageVerify, RecoveryModel};
use furrow_format::{SessionDefaults, UserAccess};
use furrow_io::sync::atomic::{AtomicU8, Ordering};

/// The compatibility level of new databases: that of the SQL Server version that this server reports.
const COMPATIBILITY_LEVEL: u16 = 130;

/// What a database's owner may choose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DatabaseOptions {
    /// What the log keeps. Until the first full backup, `Full` and `BulkLogged` are truncated like `Simple`.
    /// `BulkLogged` logs loads fully, as `Full` does.
    pub recovery_model: RecoveryModel,
    /// Time that a restart may take, in seconds; 0 leaves it to automatic checkpoints.
    pub target_recovery_s: u32,
    /// How pages are protected when they are written. Whatever it is, torn pages are put back.
    pub page_verify: PageVerify,
    /// Whether commits may return before they are durable.
    pub delayed_durability: DelayedDurability,
    /// Which sessions may use the database: changed by `Database::set_user_access` alone.
    pub user_access: UserAccess,
    /// Whether the first eight pages of a table or an index come from mixed extents.
    pub mixed_pages: bool,
    /// AUTO_CREATE_STATISTICS as it was set: stored and shown. There are no statistics yet.
    pub auto_create_statistics: bool,
    /// AUTO_UPDATE_STATISTICS, likewise.
    pub auto_update_statistics: bool,
    /// Defaults for sessions that do not set these options themselves.
    pub defaults: SessionDefaults,
    /// COMPATIBILITY_LEVEL: stored and shown. Nothing in this engine depends on it.
    pub compatibility_level: u16,
}

impl Default for DatabaseOptions {
    fn default() -> DatabaseOptions {
        DatabaseOptions {
            recovery_model: RecoveryModel::Simple,
            target_recovery_s: 60,
            page_verify: PageVerify::Checksum,
            delayed_durability: DelayedDurability::Disabled,
            user_access: UserAccess::Multi,
            mixed_pages: false,
            auto_create_statistics: false,
            auto_update_statistics: false,
            defaults: SessionDefaults::default(),
            compatibility_level: COMPATIBILITY_LEVEL,
        }
    }
}

impl DatabaseOptions {
    /// As the boot page has them.
    pub fn of(own: &OwnBoot) -> DatabaseOptions {
        DatabaseOptions {
            recovery_model: own.recovery_model,
            target_recovery_s: own.target_recovery_s,
            page_verify: own.page_verify,
            delayed_durability: own.delayed_durability,
            user_access: own.user_access,
            mixed_pages: own.mixed_pages,
            auto_create_statistics: own.auto_create_statistics,
            auto_update_statistics: own.auto_update_statistics,
            defaults: own.defaults,
            compatibility_level: match own.compatibility_level {
                0 => COMPATIBILITY_LEVEL,
                level => level,
            },
        }
    }
}

/// The option that every commit reads.
#[derive(Debug, Default)]
pub struct Durability(AtomicU8);

impl Durability {
    /// Of the option as it is on the boot page.
    pub fn new(of: DelayedDurability) -> Durability {
        Durability(AtomicU8::new(of.to_byte()))
    }

    /// The option.
    #[inline]
    pub fn get(&self) -> DelayedDurability {
        DelayedDurability::from_byte(self.0.load(Ordering::Relaxed))
    }

    /// Changes it.
    pub fn set(&self, to: DelayedDurability) {
        self.0.store(to.to_byte(), Ordering::Relaxed);
    }
}
