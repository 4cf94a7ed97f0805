//! Repair of a database with loss of data: computed on its closed files, written whole or not at all.
//!
//! # Steps
//! 1. The database is shut down cleanly: its files hold all of it, and its log is not needed. It is marked:
//!    others get 952 until it is open again, and its files are locked.
//! 2. `furrow_check::repair` computes new contents of pages, and checks the result.
//! 3. The caller hears what would be lost, and decides.
//! 4. The pages are written to a journal beside the primary file, durably; then to the data files, durably;
//!    then the journal is removed.
//! 5. The database is opened again.
//!
//! # Invariants
//! 1. *All pages of a repair are written, or none*, whatever moment a crash chooses: a journal that is whole
//!    is written to the files before they are opened, one that is not whole is removed. Proof:
//!    `a_journal_comes_back_whole_or_not_at_all`.
//! 2. *The log of before is not applied to pages of after*: at a clean shutdown there is nothing to redo.
//!
//! What a repair changes is not in the log: log that is applied to pages from before a repair would corrupt
//! them. So a repair ends the log chain and the base of differential backups: BACKUP LOG gives 4214, and
//! pages are not restored (4346), until there is a full backup. The caller says so.

use super::Instance;
use crate::checking::{Journal, Locked, LogAfter, Paths};
use crate::database::Database;
use crate::files::{open_error, put_images_back, repair_path};
use crate::shared::{Listed, Reserved};
use furrow_check::{CheckError, Identity, Listener, Options, Repaired, Scratch};
use furrow_datafile::DataFiles;
use furrow_format::FileId;
use furrow_io::{Access, File, Open};
use furrow_messages::Message;
use furrow_tables::{DatabaseState, EngineError};
use furrow_types::Guid;
use std::path::Path;
use std::sync::Arc;

/// How a repair checks: options, the scratch file, and who listens.
type How<'h> = (&'h Options, (Option<&'h Scratch>, Option<Listener<'h>>));

/// A repair as it is asked for: `agree` hears what was found and what is lost, and decides.
pub(super) struct Order<'o> {
    how: How<'o>,
    agree: &'o mut dyn FnMut(&Repaired) -> bool,
}

/// A repair that came to its end.
pub(super) struct Done {
    pub(super) repaired: Repaired,
    /// Whether it was agreed to, and is on the disk or in its journal.
    pub(super) written: bool,
}

/// What the list has of a database.
pub(super) fn identity_of(listed: &Listed) -> Identity {
    Identity {
        name: Some(listed.name.clone()),
        database_id: Some(listed.id),
        binding: Some(Guid(listed.binding)).filter(|guid| *guid != Guid::default()),
        has_log: false,
    }
}

impl Instance {
    /// Repairs a database that this session alone uses, and is not in. `agree` hears what was found and what
    /// is lost, before anything is written, and decides. Afterwards the database is open again.
    pub fn repair_database(
        &self,
        name: &str,
        options: &Options,
        agree: &mut dyn FnMut(&Repaired) -> bool,
    ) -> Result<Repaired, EngineError> {
        self.repair_database_within(name, (options, (None, None)), agree)
    }

    /// As [`Instance::repair_database`]; the listener can end it before `agree` is called, and facts that
    /// exceed the memory of the options go to a scratch file.
    pub fn repair_database_within(
        &self,
        name: &str,
        how: How<'_>,
        agree: &mut dyn FnMut(&Repaired) -> bool,
    ) -> Result<Repaired, EngineError> {
        let database = self.database(name)?;
        let order = Order { how, agree };
        if database.state() == DatabaseState::Emergency {
            return self.repair_in_emergency(database, order);
        }
        drop(database);
        self.repair_online(name, order)
    }

    /// Repairs a database that is ONLINE.
    pub(super) fn repair_online(
        &self,
        name: &str,
        order: Order<'_>,
    ) -> Result<Repaired, EngineError> {
        let database = self.database(name)?;
        if database.is_read_only() {
            return Err(EngineError::refused(3906, &[name.into()]));
        }
        let paths = Self::data_paths(&database)?;
        if !database.files.absent().is_empty() {
            let text = "'REPAIR_ALLOW_DATA_LOSS of a database with files that are not online' is not \
                supported. Restore the files first.";
            return Err(EngineError::of(Message::custom(40514, 16, 1, text)));
        }
        drop(database);
        let repairing = self.begin_repair(name)?;
        let done = self.repair_files(name, &paths, (order, LogAfter::Stays));
        drop(repairing);
        let opened = self.reopen_database(name);
        let done = done?;
        opened?;
        Ok(done.repaired)
    }

    /// Where the data files are; 40514 where they are to be elsewhere when the database is next opened.
    fn data_paths(database: &Database) -> Result<Paths, EngineError> {
        database.check()?;
        let (files, log) = (database.files.files(), database.keeper.log_entry());
        if log.next_path.is_some() || files.iter().any(|file| file.next_path.is_some()) {
            let what = "REPAIR_ALLOW_DATA_LOSS between MODIFY FILE (FILENAME) and the next opening";
            let text = format!("'{what}' is not supported in this version of Furrow.");
            return Err(EngineError::of(Message::custom(40514, 16, 1, &text)));
        }
        Ok(files.into_iter().map(|file| (file.id, file.path)).collect())
    }

    /// Closes a database, and keeps all others from its files.
    pub(super) fn begin_repair(&self, name: &str) -> Result<Reserved, EngineError> {
        let _entered = self.shared.enter();
        let mut list = self.shared.list.lock();
        let id = self.close_listed(&list, name)?.id;
        Ok(Reserved::new(&self.shared, &mut list, id))
    }

    pub(super) fn repair_files(
        &self,
        name: &str,
        paths: &Paths,
        (order, log): (Order<'_>, LogAfter),
    ) -> Result<Done, EngineError> {
        let Order {
            how: (options, with),
            agree,
        } = order;
        let options = Options {
            at_rest: true,
            ..*options
        };
        let _entered = self.shared.enter();
        let volume = &*self.shared.volume;
        let undone = |error: &CheckError| {
            match error {
                CheckError::Cancelled => return EngineError::cancelled(),
                CheckError::Scratch(error) => return EngineError::Io(error.clone()),
                _ => {}
            }
            self.log_line(&format!(
                "The repair of database '{name}' cannot be computed: {error}."
            ));
            EngineError::of(Message::new(8921, &[]))
        };
        // Open, and so locked, until everything is written.
        let mut locked = Locked::new();
        let mut files = DataFiles::new();
        for (id, path) in paths {
            let file = volume.open(path, Open::Existing, Access::Data);
            let file = file.map_err(|e| open_error(path, &e))?;
            if log != LogAfter::Stays {
                self.put_images_back(&*file, *id)?;
            }
            let known = files.add(Arc::clone(&file));
            if known.map_err(|e| undone(&e.into()))? != *id {
                return Err(EngineError::refused(5173, &[]));
            }
            locked.insert(*id, file);
        }
        let identity = Identity {
            has_log: log == LogAfter::Stays,
            ..self.identity_of(name)
        };
        let repaired = furrow_check::repair_known(&files, &options, with, &identity);
        let repaired = repaired.map_err(|e| undone(&e))?;
        drop(files);
        let is_needed = log != LogAfter::Stays || !repaired.pages.is_empty();
        if !agree(&repaired) || !is_needed {
            let written = false;
            return Ok(Done { repaired, written });
        }
        self.write_repair(&repaired, &locked, log)?;
        let written = true;
        Ok(Done { repaired, written })
    }

    /// What the list knows of a database whose boot page or headers are lost.
    fn identity_of(&self, name: &str) -> Identity {
        let list = self.shared.list.lock();
        let lower = name.to_lowercase();
        let mut all = list.databases.iter();
        let listed = all.find(|listed| listed.name.to_lowercase() == lower);
        listed.map_or_else(Identity::default, identity_of)
    }

    /// Puts back the pages that were being written when the log was lost: they would count as damaged.
    pub(super) fn put_images_back(&self, file: &dyn File, id: FileId) -> Result<(), EngineError> {
        let count = put_images_back(&*self.shared.volume, file, id)?;
        if count > 0 {
            let path = file.path().display();
            self.log_line(&format!("{count} torn pages of '{path}' were put back."));
        }
        Ok(())
    }

    /// Writes a repair to its journal, and from there to the files. Where a new log is made, opening the
    /// database does the latter.
    fn write_repair(
        &self,
        repaired: &Repaired,
        locked: &Locked,
        log: LogAfter,
    ) -> Result<(), EngineError> {
        let volume = &*self.shared.volume;
        let primary = locked.get(&FileId(1)).map(|file| file.path());
        let path = repair_path(primary.unwrap_or(Path::new("")));
        let journal = Journal::of(repaired, locked, log)?;
        journal.make_room(locked)?;
        if volume.exists(&path)? {
            volume.remove(&path)?;
        }
        let made = volume.open(&path, Open::Create, Access::Data);
        let made = made.map_err(EngineError::from);
        let kept = made.and_then(|file| journal.keep(&*file));
        if let Err(error) = kept {
            // Nothing of it is written: where it cannot be removed, the next open of the database does it.
            if volume.exists(&path).unwrap_or(false) {
                volume.remove(&path)?;
            }
            return Err(error);
        }
        if log == LogAfter::Stays {
            // From here on a failure leaves the journal: opening the database finishes the repair.
            journal.write(locked)?;
            volume.remove(&path)?;
        }
        Ok(())
    }
}
