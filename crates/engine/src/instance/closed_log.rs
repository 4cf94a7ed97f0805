//! The log of a database that cannot be opened: BACKUP LOG ... WITH NO_TRUNCATE.
//!
//! # Rules
//! 1. The log and the primary file must be readable: the primary file says where the log is, and from where
//!    it is to be backed up. No other data file is needed.
//! 2. The catalog is as of the end of the log ([`opening::open_log`]): a file that was added since the last
//!    log backup is named. It must be there: its first size is in its header alone.
//! 3. As long as the log is read, the database is neither opened, replaced nor removed. Nothing is noted
//!    in it: it is as it was.
//! 4. Of a data file that is lost the catalog has the size.

use super::Instance;
use crate::backup::{
    BackupFacts, BackupScope, BackupSource, ClosedDatabase, Origin, SourceFile, chain_of,
};
use crate::files::{FileStatus, ParsedFile, read_header};
use crate::opening::{ClosedLog, open_log};
use crate::shared::{Listed, Phase, Reserved};
use furrow_format::{DatabaseId, FileHeader, FileId, Lsn, PAGE_SIZE, RecoveryModel};
use furrow_io::{Access, Open};
use furrow_messages::Message;
use furrow_tables::{DatabaseState, EngineError};
use furrow_types::Guid;
use std::sync::Arc;

impl Instance {
    /// Begins a backup of the log of a database that could not be opened. 4208 and 4214 as of an open one;
    /// what is wrong with the log or the primary file, where they cannot be read.
    pub fn begin_closed_log_backup(&self, name: &str) -> Result<BackupSource, EngineError> {
        let _entered = self.shared.enter();
        let (listed, reserved) = self.reserve_closed(name)?;
        let primary = listed.paths.first().cloned().unwrap_or_default();
        let log = open_log(&self.shared, DatabaseId(listed.id), &listed.name, &primary)?;
        let recovery_model = log.boot.own.recovery_model;
        if recovery_model == RecoveryModel::Simple {
            return Err(EngineError::refused(4208, &["BACKUP LOG".into()]));
        }
        let from = chain_of(&log.boot.own);
        let first_lsn = from.ok_or_else(|| EngineError::refused(4214, &[]))?;
        let files = log.files.iter().filter(|f| f.status == FileStatus::Online);
        let files = files.map(|file| self.closed_file(file, &log, first_lsn));
        let files = files.collect::<Result<Vec<_>, _>>()?;
        let hold = log.store.holds.hold(|| first_lsn);
        let facts = BackupFacts {
            scope: BackupScope::Log,
            recovery_model,
            read_only: log.boot.own.read_only,
            checkpoint: log.store.log().checkpoint(),
            first_lsn,
            log_sector_bytes: log.store.log().sector_bytes(),
            boot: log.boot,
        };
        let closed = ClosedDatabase {
            name: listed.name,
            binding: Guid(listed.binding),
            volume: Arc::clone(&self.shared.volume),
            store: log.store,
            files,
            _registration: log.registration,
            _reserved: reserved,
        };
        let origin = Origin::Closed(Arc::new(closed));
        Ok(BackupSource::of_log(origin, facts, (hold, None)))
    }

    /// Keeps others from a database that is SUSPECT or RECOVERY_PENDING; 927 and the like of others.
    fn reserve_closed(&self, name: &str) -> Result<(Listed, Reserved), EngineError> {
        let mut list = self.shared.list.lock();
        let listed = self.listed(&list, name, || EngineError::refused(911, &[name.into()]))?;
        let pending = |state| {
            matches!(
                state,
                DatabaseState::Suspect | DatabaseState::RecoveryPending
            )
        };
        let target = self.restore_target(name);
        let closed = target.is_some_and(|t| t.database.is_none() && pending(t.state));
        if listed.phase != Phase::Whole || !closed {
            let text =
                "'BACKUP LOG WITH NO_TRUNCATE' of a database in this state is not supported.";
            return Err(EngineError::of(Message::custom(40_514, 16, 1, text)));
        }
        let reserved = Reserved::new(&self.shared, &mut list, listed.id);
        Ok((listed, reserved))
    }

    /// A file of the catalog, as far as it can be looked at.
    fn closed_file(
        &self,
        file: &ParsedFile,
        log: &ClosedLog,
        first_lsn: Lsn,
    ) -> Result<SourceFile, EngineError> {
        let plan = &file.plan;
        let (mut path, mut size) = (plan.path.clone(), u64::from(plan.size_pages));
        let mut header: Option<FileHeader> = None;
        match (plan.filegroup, plan.id) {
            (0, _) => {
                path.clone_from(&log.log_path);
                size = log.store.log().file().len_bytes()? / PAGE_SIZE as u64;
            }
            (_, 1) => header = Some(log.primary.clone()),
            _ => {
                let opened = self.shared.volume.open(&path, Open::ReadOnly, Access::Data);
                if let Ok(there) = opened {
                    size = size.max(there.len_bytes()? / PAGE_SIZE as u64);
                    header = read_header(&*there, &path, FileId(plan.id)).ok();
                }
                if header.is_none() && file.created >= first_lsn {
                    let text = format!(
                        "'BACKUP LOG WITH NO_TRUNCATE' without file '{}', which was added since the \
                         last log backup, is not supported.",
                        plan.name
                    );
                    return Err(EngineError::of(Message::custom(40_514, 16, 1, &text)));
                }
            }
        }
        let header = header.as_ref();
        let size = size.max(header.map_or(0, |h| u64::from(h.size_pages)));
        Ok(SourceFile {
            id: FileId(plan.id),
            filegroup: plan.filegroup,
            group_name: match plan.filegroup {
                0 => String::new(),
                1 => "PRIMARY".to_owned(),
                n => format!("filegroup {n}"),
            },
            name: plan.name.clone(),
            path,
            size_pages: u32::try_from(size).unwrap_or(u32::MAX),
            max_pages: plan.max_pages,
            guid: file.guid,
            read_only: false,
            created: header.map_or(file.created, |h| h.first_lsn),
            first_pages: header.map_or(0, |h| h.min_size_pages),
            online: true,
        })
    }
}
