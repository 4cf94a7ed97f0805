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
use super::places::TAKEN_STATE;
use super::restore::{Restoring, Settled, log_error};
use crate::database::Database;
use crate::files::{BadUndo, Made, UndoFile, open_error, put_back};
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

/// 3441: the files of a database in standby are as its recovery has left them, and cannot be put back.
fn not_put_back(listed: &Listed, what: &str) -> EngineError {
    let text = format!(
        "The standby file '{}' of database '{}' (database ID {}) cannot be put back: {what}. Put the file \
         back and repeat the statement, or restore the database from a full backup.",
        listed.link.undo.display(),
        listed.name,
        listed.id
    );
    EngineError::of(Message::custom(3441, 21, 1, &text))
}

impl Instance {
    /// The end of a restore WITH STANDBY: the database can be read until its next restore.
    pub fn stand_by(
        &self,
        restoring: Restoring,
        undo: &Path,
    ) -> Result<Arc<Database>, EngineError> {
        let _entered = self.shared.enter();
        // Whatever is refused from here on, it is RESTORING with all that was restored.
        let settled = self.settle(restoring)?;
        self.stand_by_settled(settled, undo)
    }

    /// Goes back to standby with a database whose next restore was refused.
    pub fn stand_again(
        &self,
        restoring: Restoring,
        undo: &Path,
    ) -> Result<Arc<Database>, EngineError> {
        let _entered = self.shared.enter();
        self.stand_by_settled(restoring.into_settled(), undo)
    }

    /// The undo file of a database that is in standby.
    pub fn standing(&self, name: &str) -> Option<PathBuf> {
        let listed = self.shared.list.lock().named(name).cloned()?;
        (listed.phase == Phase::Standby).then_some(listed.link.undo)
    }

    fn stand_by_settled(
        &self,
        mut settled: Settled,
        undo: &Path,
    ) -> Result<Arc<Database>, EngineError> {
        settled.listed.absent.refuse("RESTORE WITH STANDBY")?;
        if settled.listed.phase == Phase::Piece {
            let text =
                "'RESTORE WITH STANDBY of files of a database that is online' is not supported.";
            let message = Message::custom(40_514, 16, 1, text);
            return Err(EngineError::of(message));
        }
        if settled.listed.absent.point != Lsn::ZERO {
            let text = "'RESTORE WITH STANDBY after a recovery that did not come to its end' is not \
                        supported. Recover the database, or restore it from a full backup.";
            return Err(EngineError::of(Message::custom(40_514, 16, 1, text)));
        }
        self.reaches(&mut settled)?;
        let Settled {
            mut listed,
            files,
            hold,
            ..
        } = settled;
        drop(files);
        self.make_undo(undo, &mut listed)?;
        listed.phase = Phase::Standby;
        self.shared
            .list
            .lock()
            .change(|all| listed.clone().note_in(all))?;
        match self.open_standby(&listed) {
            Ok(database) => {
                let primary = listed.paths.first().cloned().unwrap_or_default();
                let kept = Some(Arc::clone(&database));
                self.enter(&listed, &primary, kept, DatabaseState::Online);
                drop(hold);
                Ok(database)
            }
            Err(error) => {
                let back = self.back_to_restoring(&listed)?;
                self.without_undo(back)?;
                Err(error)
            }
        }
    }

    /// Makes the undo file of a database that is RESTORING, durably. The list names it before it is there.
    /// What an earlier standby has left goes.
    fn make_undo(&self, undo: &Path, listed: &mut Listed) -> Result<(), EngineError> {
        debug_assert_eq!(listed.phase, Phase::Restoring, "it was settled");
        let binding = Guid(listed.binding);
        self.remove_undo(undo, binding)?;
        listed.link.undo = undo.to_path_buf();
        self.note_restoring(listed)?;
        let mut made = Made::new(&*self.shared.volume);
        let file = made.create(undo, Access::Data, TAKEN_STATE);
        let written = file.and_then(|file| Ok(UndoFile::write_header(&*file, binding)?));
        match written {
            Ok(()) => {
                made.keep();
                Ok(())
            }
            Err(error) => {
                drop(made);
                listed.link.undo = PathBuf::new();
                self.note_restoring(listed)?;
                Err(error)
            }
        }
    }

    /// Opens a database that is in standby, whose undo file may have to be put back first.
    pub(super) fn open_standby(&self, listed: &Listed) -> Result<Arc<Database>, EngineError> {
        let end = self.put_undo_back(listed)?;
        let binding = Guid(listed.binding);
        let undo = UndoFile::reuse(&*self.shared.volume, &listed.link.undo, binding)?;
        let primary = listed.paths.first().cloned().unwrap_or_default();
        let fork = Guid(random::guid_v4());
        let layout = listed.layout.iter();
        let moved = Moved {
            by_id: layout.map(|f| (f.id, f.path.clone())).collect(),
            forks: listed.link.forks.renewed(fork, end),
            home: primary.parent().map_or_else(PathBuf::new, PathBuf::from),
            undo: Some(Arc::clone(&undo)),
            ..Moved::default()
        };
        let id = DatabaseId(listed.id);
        let database = opening::open(&self.shared, id, &listed.name, &primary, &moved)?;
        undo.seal()?;
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
        let back = self.back_to_restoring(listed).inspect_err(|error| {
            // It is still in standby, and not open.
            let primary = listed.paths.first().cloned().unwrap_or_default();
            self.enter(listed, &primary, None, opening::state_after(error));
        })?;
        self.without_undo(back)
    }

    /// What the files held is put back. The undo file is not needed any more.
    fn back_to_restoring(&self, listed: &Listed) -> Result<Listed, EngineError> {
        self.put_undo_back(listed)?;
        let mut restoring = listed.clone();
        restoring.phase = Phase::Restoring;
        // It is used again: it may have been OFFLINE.
        restoring.offline = false;
        self.note_restoring(&restoring)?;
        Ok(restoring)
    }

    /// Removes the undo file of a database that is RESTORING, if it was being made or removed. One that
    /// cannot be removed is left behind: nothing needs it.
    pub(super) fn without_undo(&self, mut listed: Listed) -> Result<Listed, EngineError> {
        debug_assert_eq!(listed.phase, Phase::Restoring, "it needs no undo file");
        if let Err(error) = self.remove_listed_undo(&listed) {
            self.say_left(&listed.link.undo, &listed.name, &error);
        }
        if !listed.link.undo.as_os_str().is_empty() {
            listed.link.undo = PathBuf::new();
            self.note_restoring(&listed)?;
        }
        Ok(listed)
    }

    /// Puts the undo file back; where the log ends then. 3441 where there is none, or it is damaged.
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
        let binding = Guid(listed.binding);
        put_back(&**volume, &listed.link.undo, binding, &files).map_err(|e| match e {
            BadUndo::Io(e) => e.into(),
            BadUndo::Strange(what) => not_put_back(listed, what),
        })?;
        let log = files.iter().find(|(id, _)| *id == 2);
        let log = log.ok_or_else(|| EngineError::Damaged("a database without a log".into()))?;
        let reopened = LogImage::reopen(Arc::clone(&log.1), listed.binding);
        let (_, end) = reopened.map_err(|e| log_error(&listed.name, e))?;
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
