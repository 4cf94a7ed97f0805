//! The log chain of a database in the models FULL and BULK_LOGGED.
//!
//! # Rules
//! 1. Until the first full backup the log is let go as in SIMPLE. That backup begins the chain: from its
//!    first record on, the log is held (`furrow_txn::LogHolds`) until a log backup has it.
//! 2. A log backup takes the log from where the last one ended. Then the boot page names the new position,
//!    durably, before the log before it is let go: the boot page on the disk never names log that is gone.
//! 3. COPY_ONLY neither begins a chain nor moves the position.
//! 4. SIMPLE breaks the chain; the next full backup in another model begins one.
//! 5. While the log is held no file gets the number of one that was removed: a restore of the chain would
//!    apply records of the one to the other. The boot page has the largest such number. Proof:
//!    `the_number_of_a_file_is_not_used_again_while_log_backups_go_on`.
//! 6. The chain of a restored database begins behind the log that it was restored from. So does a recovery
//!    fork ([`furrow_format::Forks`]): no log backup has records of two of them.

use super::origin::Origin;
use super::source::{BackupFacts, BackupScope, BackupSource};
use crate::EngineError;
use crate::database::Database;
use furrow_format::boot::field;
use furrow_format::{BOOT_PAGE, Change, FileId, Forks, Lsn, OwnBoot, RecoveryModel};
use furrow_pool::LatchRank;
use furrow_txn::{Author, Mini};
use furrow_types::Guid;
use std::sync::Arc;

/// More than a change of the boot page writes to the log.
const BOOT_LOG_BYTES: u64 = 1024;

/// From where the next log backup needs the log, as a boot page says.
pub(crate) fn chain_of(boot: &OwnBoot) -> Option<Lsn> {
    let held = boot.recovery_model != RecoveryModel::Simple;
    Some(boot.log_backup_lsn).filter(|lsn| held && *lsn > Lsn::ZERO)
}

impl Database {
    /// Begins a backup of the log: 4208 in SIMPLE, 4214 before the first full backup, 3023 beside another.
    pub fn begin_log_backup(self: &Arc<Database>) -> Result<BackupSource, EngineError> {
        let _entered = self.shared.enter();
        self.can_be_backed_up()?;
        let recovery_model = self.options().recovery_model;
        if recovery_model == RecoveryModel::Simple {
            return Err(EngineError::refused(4208, &["BACKUP LOG".into()]));
        }
        let turn = self.files.begin_log_backup()?;
        let from = self.store.holds.log_backup();
        let from = from.ok_or_else(|| EngineError::refused(4214, &[]))?;
        let hold = self.store.holds.hold(|| from);
        let facts = BackupFacts {
            scope: BackupScope::Log,
            boot: self.boot_page()?,
            recovery_model,
            read_only: self.is_read_only(),
            checkpoint: self.store.log().checkpoint(),
            first_lsn: from,
            log_sector_bytes: self.store.log().sector_bytes(),
        };
        let origin = Origin::Open(Arc::clone(self));
        Ok(BackupSource::of_log(origin, facts, (hold, Some(turn))))
    }

    /// A full backup is whole, as the set `set`: it is the base of differential backups, and may begin the
    /// log chain.
    pub(super) fn note_full_backup(
        &self,
        facts: &BackupFacts,
        set: Guid,
    ) -> Result<(), EngineError> {
        if self.is_read_only() {
            return Ok(());
        }
        let begins = self.options().recovery_model != RecoveryModel::Simple
            && self.store.holds.log_backup().is_none();
        let chain = begins.then_some(facts.first_lsn);
        self.write_positions(Some((facts.checkpoint, set)), chain)?;
        if begins {
            self.store.holds.set_log_backup(chain);
        }
        Ok(())
    }

    /// A log backup is whole: the log up to `last` may go.
    pub(super) fn note_log_backup(&self, last: Lsn) -> Result<(), EngineError> {
        let next = Lsn(last.0 + 1);
        if !self.is_read_only() {
            self.write_positions(None, Some(next))?;
        }
        self.store.holds.set_log_backup(Some(next));
        Ok(())
    }

    /// The recovery model has changed.
    pub(crate) fn follow_model(&self, model: RecoveryModel) -> Result<(), EngineError> {
        if model == RecoveryModel::Simple && self.store.holds.log_backup().is_some() {
            self.write_positions(None, Some(Lsn::ZERO))?;
            self.store.holds.set_log_backup(None);
        }
        Ok(())
    }

    /// A database was opened, with the last record `end`; `restored` are the forks of one whose restore ends.
    pub(crate) fn take_up_chain(
        &self,
        own: &OwnBoot,
        (restored, end): (Option<&Forks>, Lsn),
    ) -> Result<(), EngineError> {
        match restored {
            Some(forks) => self.begin_fork(own, (forks, end)),
            None => {
                debug_assert_eq!(self.store.holds.log_backup(), chain_of(own));
                Ok(())
            }
        }
    }

    /// A restore ends, with the last record `end` of what it restored: the chain goes on behind it, on the
    /// recovery fork that begins there.
    fn begin_fork(&self, own: &OwnBoot, (forks, end): (&Forks, Lsn)) -> Result<(), EngineError> {
        debug_assert!(forks.all().first().is_some_and(|f| f.first.0 == end.0 + 1));
        let chain = chain_of(own).map(|_| Lsn(end.0 + 1));
        self.write_boot(|change| {
            let (near, older) = forks.encode();
            change(&field::FORKS.change(&near));
            change(&field::OLDER_FORKS.change(&older));
            let lsn = chain.unwrap_or(Lsn::ZERO);
            change(&field::LOG_BACKUP_LSN.change(&lsn.to_bytes()));
        })?;
        self.store.holds.set_log_backup(chain);
        Ok(())
    }

    /// Writes positions to the boot page, durably.
    fn write_positions(
        &self,
        full: Option<(Lsn, Guid)>,
        log: Option<Lsn>,
    ) -> Result<(), EngineError> {
        self.write_boot(|change| {
            if let Some((lsn, set)) = full {
                change(&field::FULL_BACKUP_LSN.change(&lsn.to_bytes()));
                change(&field::DIFFERENTIAL_BASE.change(&set.0));
            }
            if let Some(log) = log {
                change(&field::LOG_BACKUP_LSN.change(&log.to_bytes()));
            }
        })
    }

    /// The largest number of a file that was removed and is not to be used again; 0 where there is none.
    pub(crate) fn removed_file(&self) -> Result<u16, EngineError> {
        if self.store.holds.log_backup().is_none() {
            return Ok(0);
        }
        let page = self.store.read(BOOT_PAGE, LatchRank::Boot)?;
        Ok(field::REMOVED_FILE.get_u16(&page))
    }

    /// A file is about to be removed: see rule 5.
    pub(crate) fn note_removed_file(&self, file: FileId) -> Result<(), EngineError> {
        if self.store.holds.log_backup().is_none() || file.0 <= self.removed_file()? {
            return Ok(());
        }
        self.write_boot(|change| change(&field::REMOVED_FILE.change(&file.0.to_le_bytes())))
    }

    /// Changes the boot page, durably.
    fn write_boot(
        &self,
        changes: impl FnOnce(&mut dyn FnMut(&Change<'_>)),
    ) -> Result<(), EngineError> {
        self.store.promise(BOOT_LOG_BYTES)?;
        self.store.log().give_back(BOOT_LOG_BYTES);
        let mut mini = Mini::new(&self.store);
        let page = mini.adopt(self.store.write(BOOT_PAGE, LatchRank::Boot)?);
        changes(&mut |change| mini.push(page, change));
        mini.commit(&Author::System)?;
        let pool = self.store.pool();
        pool.force_pages(self.store.db(), &[(BOOT_PAGE, 1)])?;
        Ok(())
    }
}
