//! ALTER DATABASE SET: options change on the boot page, then in memory.

use super::Database;
use super::close::BOOT_LOG_BYTES;
use furrow_format::boot::{auto_statistics, field};
use furrow_format::{BOOT_PAGE, PageVerify, UserAccess};
use furrow_pool::LatchRank;
use furrow_tables::{DatabaseOptions, EngineError};
use furrow_txn::{Author, Mini};

impl Database {
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
        self.follow_model(options.recovery_model)?;
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
        if access == UserAccess::Single && !self.allow_one_session(users) {
            return Ok(false);
        }
        let options = DatabaseOptions {
            user_access: access,
            ..self.options()
        };
        if !self.is_read_only()
            && let Err(error) = self.write_options(options)
        {
            self.apply_user_access(before);
            return Err(error);
        }
        *self.options.write() = options;
        self.apply_user_access(access);
        Ok(true)
    }

    /// Brings what was read from the boot page into effect.
    pub(super) fn apply_options(&self) -> Result<(), EngineError> {
        let options = self.options();
        self.apply_user_access(options.user_access);
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
