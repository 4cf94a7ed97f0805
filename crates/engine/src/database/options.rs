//! What a database's owner may choose: kept on the boot page, asked for while it is open.

use super::close::BOOT_LOG_BYTES;
use super::{Database, EngineError};
use furrow_format::boot::{auto_statistics, field};
use furrow_format::{BOOT_PAGE, DelayedDurability, OwnBoot, PageVerify, RecoveryModel};
use furrow_format::{SessionDefaults, UserAccess};
use furrow_io::sync::atomic::{AtomicU8, Ordering};
use furrow_pool::LatchRank;
use furrow_txn::{Author, Mini};

/// The compatibility level that databases are made with: that of the product version that is told.
const COMPATIBILITY_LEVEL: u16 = 130;

/// What a database's owner may choose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DatabaseOptions {
    /// What the log keeps. Until log backups exist, `Full` and `BulkLogged` are truncated like `Simple`, as
    /// the product does before the first full backup.
    pub recovery_model: RecoveryModel,
    /// Time that a restart may take, in seconds; 0 leaves it to automatic checkpoints.
    pub target_recovery_s: u32,
    /// How pages are protected when they are written. Whatever it is, torn pages are put back.
    pub page_verify: PageVerify,
    /// Whether commits may return before they are durable.
    pub delayed_durability: DelayedDurability,
    /// Who may be in the database: changed by [`Database::set_user_access`] alone.
    pub user_access: UserAccess,
    /// Whether the first eight pages of a table or an index come from mixed extents.
    pub mixed_pages: bool,
    /// AUTO_CREATE_STATISTICS as it was set: kept and shown. There are no statistics yet.
    pub auto_create_statistics: bool,
    /// AUTO_UPDATE_STATISTICS, likewise.
    pub auto_update_statistics: bool,
    /// What sessions begin with that say nothing themselves.
    pub defaults: SessionDefaults,
    /// COMPATIBILITY_LEVEL: kept and shown. Nothing of this engine depends on it.
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
    pub(crate) fn of(own: &OwnBoot) -> DatabaseOptions {
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

/// The option that every commit asks for.
#[derive(Debug, Default)]
pub(crate) struct Durability(AtomicU8);

impl Durability {
    pub(crate) fn new(of: DelayedDurability) -> Durability {
        Durability(AtomicU8::new(of.to_byte()))
    }

    #[inline]
    pub(crate) fn get(&self) -> DelayedDurability {
        DelayedDurability::from_byte(self.0.load(Ordering::Relaxed))
    }

    fn set(&self, to: DelayedDurability) {
        self.0.store(to.to_byte(), Ordering::Relaxed);
    }
}

impl Database {
    /// Its options.
    pub fn options(&self) -> DatabaseOptions {
        *self.options.read()
    }

    /// ALTER DATABASE SET of what is on the boot page, user access left out: durable when it returns.
    pub fn set_options(&self, options: DatabaseOptions) -> Result<(), EngineError> {
        self.must_be_writable()?;
        let _turn = self.files.turn.lock();
        let options = DatabaseOptions {
            user_access: self.options().user_access,
            ..options
        };
        self.write_options(options)?;
        self.store_page_verify(options.page_verify)?;
        self.space.set_mixed_pages(options.mixed_pages);
        *self.options.write() = options;
        self.durability.set(options.delayed_durability);
        Ok(())
    }

    /// ALTER DATABASE SET SINGLE_USER, RESTRICTED_USER, MULTI_USER: `false` when more sessions than `users`
    /// are there and one only may be. Of a database that is read-only it lasts until it is closed.
    pub fn set_user_access(&self, access: UserAccess, users: u32) -> Result<bool, EngineError> {
        self.check()?;
        let _turn = self.files.turn.lock();
        let before = self.options().user_access;
        if access == UserAccess::Single && !self.single_door(users) {
            return Ok(false);
        }
        let options = DatabaseOptions {
            user_access: access,
            ..self.options()
        };
        if !self.is_read_only()
            && let Err(error) = self.write_options(options)
        {
            self.set_doors(before);
            return Err(error);
        }
        *self.options.write() = options;
        self.set_doors(access);
        Ok(true)
    }

    /// Brings what was read from the boot page into effect.
    pub(super) fn apply_options(&self) -> Result<(), EngineError> {
        let options = self.options();
        self.set_doors(options.user_access);
        self.space.set_mixed_pages(options.mixed_pages);
        self.store_page_verify(options.page_verify)
    }

    fn store_page_verify(&self, how: PageVerify) -> Result<(), EngineError> {
        Ok(self.shared.pool.set_page_verify(self.id, how)?)
    }

    fn write_options(&self, options: DatabaseOptions) -> Result<(), EngineError> {
        self.store.check()?;
        self.store.promise(BOOT_LOG_BYTES)?;
        self.store.log().give_back(BOOT_LOG_BYTES);
        let mut mini = Mini::new(&self.store);
        let page = mini.adopt(self.store.write(BOOT_PAGE, LatchRank::Boot)?);
        let byte = |byte: u8| [byte];
        let model = byte(options.recovery_model.to_byte());
        let verify = byte(options.page_verify.to_byte());
        let delayed = byte(options.delayed_durability.to_byte());
        let access = byte(options.user_access.to_byte());
        let mixed = byte(u8::from(options.mixed_pages));
        let (create, update) = (
            options.auto_create_statistics,
            options.auto_update_statistics,
        );
        let statistics = byte(auto_statistics(create, update));
        let defaults = options.defaults.bits().to_le_bytes();
        let level = options.compatibility_level.to_le_bytes();
        let target = options.target_recovery_s.to_le_bytes();
        mini.push(page, &field::RECOVERY_MODEL.change(&model));
        mini.push(page, &field::PAGE_VERIFY.change(&verify));
        mini.push(page, &field::TARGET_RECOVERY_S.change(&target));
        mini.push(page, &field::DELAYED_DURABILITY.change(&delayed));
        mini.push(page, &field::USER_ACCESS.change(&access));
        mini.push(page, &field::MIXED_PAGES.change(&mixed));
        mini.push(page, &field::AUTO_STATISTICS.change(&statistics));
        mini.push(page, &field::SESSION_DEFAULTS.change(&defaults));
        mini.push(page, &field::COMPATIBILITY_LEVEL.change(&level));
        mini.commit(&Author::System)?;
        self.store.log().flush_all()?;
        Ok(())
    }

    /// Makes every commit durable that returned before it was (`sp_flush_log`).
    pub fn flush_log(&self) -> Result<(), EngineError> {
        self.check()?;
        Ok(self.store.log().flush_all()?)
    }
}
