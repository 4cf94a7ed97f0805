//! RESTORE ... WITH STANDBY: a database that can be read between two restores of its log.
//!
//! 1. [`Instance::stand_by`] settles the restore and notes in the list that the database is in standby, with
//!    the path of its undo file. Then the database is recovered as at the end of a restore, but every file
//!    saves what it held in the undo file before it is written ([`crate::files::UndoFile`]). It is read-only.
//! 2. The next RESTORE ends that ([`Instance::end_standby`]): sessions must have left (3101), and the undo
//!    file is put back. The database is RESTORING, as the last restore has left it.
//! 3. A start does both: the undo file is put back, and the database is recovered once more.
//!
//! The recovery fork of such a recovery is in the files alone: it is put back with them.

use super::Instance;
use super::restore::{Restoring, TAKEN_STATE};
use crate::database::Database;
use crate::files::{UndoFile, open_error, put_back, remove_any, remove_own};
use crate::opening;
use crate::shared::{Listed, Moved, Phase};
use furrow_format::{DatabaseId, Lsn};
use furrow_io::sync::atomic::Ordering;
use furrow_io::{Access, File, Open, random};
use furrow_log::LogImage;
use furrow_messages::Message;
use furrow_tables::{DatabaseState, EngineError};
use furrow_types::Guid;
use std::path::{Path, PathBuf};
use std::sync::Arc;

impl Instance {
    /// The end of a restore WITH STANDBY: the database can be read until its next restore.
    pub fn stand_by(
        &self,
        restoring: Restoring,
        undo: &Path,
    ) -> Result<Arc<Database>, EngineError> {
        let _entered = self.shared.enter();
        restoring.listed.absent.refuse("RESTORE WITH STANDBY")?;
        if restoring.listed.phase == Phase::Piece {
            let text =
                "'RESTORE WITH STANDBY of files of a database that is online' is not supported.";
            let message = Message::custom(40_514, 16, 1, text);
            return Err(EngineError::of(message));
        }
        // One that an earlier standby has left is made again; anything else stays.
        if !remove_own(&*self.shared.volume, undo, Guid(restoring.listed.binding))? {
            let args = [undo.display().to_string().into()];
            return Err(EngineError::of(
                Message::new(5170, &args).with_state(TAKEN_STATE),
            ));
        }
        let settled = self.settle(restoring)?;
        self.reaches(&settled)?;
        let mut listed = settled.listed.clone();
        drop(settled);
        listed.phase = Phase::Standby;
        listed.link.undo = undo.to_path_buf();
        self.shared
            .list
            .lock()
            .change(|all| listed.clone().note_in(all))?;
        match self.open_standby(&listed) {
            Ok(database) => {
                let primary = listed.paths.first().cloned().unwrap_or_default();
                let kept = Some(Arc::clone(&database));
                self.enter(&listed, &primary, kept, DatabaseState::Online);
                Ok(database)
            }
            Err(error) => {
                self.back_to_restoring(&listed)?;
                Err(error)
            }
        }
    }

    /// Opens a database that is in standby, whose undo file may have to be put back first.
    pub(super) fn open_standby(&self, listed: &Listed) -> Result<Arc<Database>, EngineError> {
        let end = self.put_undo_back(listed)?;
        let binding = Guid(listed.binding);
        let undo = UndoFile::create(&*self.shared.volume, &listed.link.undo, binding)?;
        let primary = listed.paths.first().cloned().unwrap_or_default();
        let fork = Guid(random::guid_v4());
        let layout = listed.layout.iter();
        let moved = Moved {
            by_id: layout.map(|f| (f.id, f.path.clone())).collect(),
            forks: listed.link.forks.renewed(fork, end),
            home: primary.parent().map_or_else(PathBuf::new, PathBuf::from),
            undo: Some(undo),
            ..Moved::default()
        };
        let id = DatabaseId(listed.id);
        let database = opening::open(&self.shared, id, &listed.name, &primary, &moved)?;
        database.standby.store(true, Ordering::Release);
        Ok(database)
    }

    /// Ends the standby of a database: it is RESTORING. 3101 while it is in use.
    pub(super) fn end_standby(&self, listed: &Listed) -> Result<Listed, EngineError> {
        let open = {
            let databases = self.databases.read();
            let entry = databases.get(&listed.name.to_lowercase());
            entry.and_then(|e| e.database.clone())
        };
        if let Some(open) = open {
            open.refuse_entry_unless_used()
                .map_err(|_| EngineError::refused(3101, &[]))?;
            open.abandon();
        }
        self.forget(&listed.name);
        self.back_to_restoring(listed)
    }

    fn back_to_restoring(&self, listed: &Listed) -> Result<Listed, EngineError> {
        self.put_undo_back(listed)?;
        let mut restoring = listed.clone();
        restoring.phase = Phase::Restoring;
        let undo = std::mem::take(&mut restoring.link.undo);
        self.note_restoring(&restoring)?;
        remove_any(&*self.shared.volume, &undo)?;
        Ok(restoring)
    }

    /// Puts the undo file back, if there is one; where the log ends then.
    fn put_undo_back(&self, listed: &Listed) -> Result<Lsn, EngineError> {
        let volume = &self.shared.volume;
        let mut files: Vec<(u16, Arc<dyn File>)> = Vec::new();
        for plan in &listed.layout {
            let access = match plan.filegroup {
                0 => Access::Log,
                _ => Access::Data,
            };
            let file = volume.open(&plan.path, Open::Existing, access);
            files.push((plan.id, file.map_err(|e| open_error(&plan.path, &e))?));
        }
        put_back(&**volume, &listed.link.undo, Guid(listed.binding), &files)?;
        let log = files.iter().find(|(id, _)| *id == 2);
        let log = log.ok_or_else(|| EngineError::Damaged("a database without a log".into()))?;
        let (_, end) = LogImage::reopen(Arc::clone(&log.1), listed.binding)?;
        drop(files);
        // Images of pages beside the files are of what was put back.
        for plan in listed.layout.iter().filter(|plan| plan.filegroup != 0) {
            let images = crate::files::double_write_path(&plan.path);
            if volume.exists(&images)? {
                volume.remove(&images)?;
            }
        }
        Ok(end)
    }
}
