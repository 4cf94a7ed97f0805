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
use crate::files::{open_error, repair_path};
use crate::shared::{Listed, Reserved};
use furrow_check::{CheckError, Identity, Listener, Options, Repaired, Scratch};
use furrow_datafile::DataFiles;
use furrow_format::FileId;
use furrow_io::{Access, Fill, IoError, Open, Volume};
use furrow_messages::Message;
use furrow_tables::{DatabaseState, EngineError};
use furrow_types::Guid;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// How a repair checks: options, the scratch file, and who listens.
type How<'h> = (&'h Options, (Option<&'h Scratch>, Option<Listener<'h>>));

/// A repair as it is asked for: `agree` hears what was found and what is lost, and decides.
pub(super) struct Order<'o> {
    how: How<'o>,
    agree: &'o mut dyn FnMut(&Repaired) -> bool,
}

/// The number and state of the message that a repair was written.
const WRITTEN: (u32, u8) = (40517, 5);

/// Whether a repair that ended with this error is written: only opening the database afterwards has failed.
pub fn is_repair_written(error: &EngineError) -> bool {
    let messages = error.messages();
    let mut marks = messages.iter().map(|m| (m.number, m.state));
    marks.any(|mark| mark == WRITTEN)
}

/// The error of a database that cannot be opened after its repair.
pub(super) fn not_reopened(why: EngineError, repaired: &Repaired) -> EngineError {
    if repaired.pages.is_empty() && !repaired.new_log {
        return why;
    }
    let text = "The repair is written; what it loses was reported before. Take a full backup once the \
        database is open.";
    why.followed_by(Message::custom(WRITTEN.0, 16, WRITTEN.1, text))
}

/// What the list has of a database.
pub(super) fn identity_of(listed: &Listed) -> Identity {
    Identity {
        name: Some(listed.name.clone()),
        database_id: Some(listed.id),
        binding: Some(Guid(listed.binding)).filter(|guid| *guid != Guid::default()),
        has_log: false,
        redo: None,
    }
}

impl Instance {
    /// Repairs a database that this session alone uses, and is not in. `agree` hears what was found and what
    /// is lost, before anything is written, and decides. Afterwards the database is open again; where that
    /// alone fails, the error is one of [`is_repair_written`].
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
        let repaired = self.repair_files(name, &paths, order);
        drop(repairing);
        let opened = self.reopen_database(name);
        let (repaired, agreed) = repaired?;
        match opened {
            Err(why) if agreed => Err(not_reopened(why, &repaired)),
            opened => opened.map(|_| repaired),
        }
    }

    /// Where the data files are; 40514 where they are to be elsewhere when the database is next opened.
    pub(super) fn data_paths(database: &Database) -> Result<Paths, EngineError> {
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

    /// Repairs the files of a database that was shut down cleanly, if that is agreed to.
    fn repair_files(
        &self,
        name: &str,
        paths: &Paths,
        order: Order<'_>,
    ) -> Result<(Repaired, bool), EngineError> {
        let _entered = self.shared.enter();
        // Open, and so locked, until everything is written.
        let locked = open_all(&*self.shared.volume, paths)?;
        let identity = Identity {
            has_log: true,
            ..self.identity_of(name)
        };
        let (repaired, agreed) = self.compute_repair(&locked, (order, &identity), &mut |_| {})?;
        if agreed && !repaired.pages.is_empty() {
            self.write_repair(&repaired, &locked, LogAfter::Stays)?;
        }
        Ok((repaired, agreed))
    }

    /// Computes the repair of files that are open, and whether it is agreed to; `adjust` puts in what the
    /// caller knows of it beside.
    pub(super) fn compute_repair(
        &self,
        locked: &Locked,
        (order, identity): (Order<'_>, &Identity),
        adjust: &mut dyn FnMut(&mut Repaired),
    ) -> Result<(Repaired, bool), EngineError> {
        let Order {
            how: (options, with),
            agree,
        } = order;
        let options = Options {
            at_rest: true,
            ..*options
        };
        let undone = |error: &CheckError| {
            match error {
                CheckError::Cancelled => return EngineError::cancelled(),
                CheckError::Scratch(error) => return EngineError::Io(error.clone()),
                CheckError::ForeignFile { .. } => return EngineError::refused(5173, &[]),
                _ => {}
            }
            self.log_line(&format!(
                "The repair of database '{}' cannot be computed: {error}.",
                identity.name.as_deref().unwrap_or_default()
            ));
            EngineError::of(Message::new(8921, &[]))
        };
        let mut files = DataFiles::new();
        for (id, file) in locked {
            let known = files.add(Arc::clone(file));
            if known.map_err(|e| undone(&e.into()))? != *id {
                return Err(EngineError::refused(5173, &[]));
            }
        }
        let repaired = furrow_check::repair_known(&files, &options, with, identity);
        let mut repaired = repaired.map_err(|e| undone(&e))?;
        adjust(&mut repaired);
        let agreed = agree(&repaired);
        Ok((repaired, agreed))
    }

    /// What the list knows of a database whose boot page or headers are lost.
    pub(super) fn identity_of(&self, name: &str) -> Identity {
        let list = self.shared.list.lock();
        let lower = name.to_lowercase();
        let mut all = list.databases.iter();
        let listed = all.find(|listed| listed.name.to_lowercase() == lower);
        listed.map_or_else(Identity::default, identity_of)
    }

    /// Writes a repair to its journal, and from there to the files. Where a new log is made, opening the
    /// database does the latter. Until the journal is whole, an error leaves the files as they were.
    pub(super) fn write_repair(
        &self,
        repaired: &Repaired,
        locked: &Locked,
        log: LogAfter,
    ) -> Result<(), EngineError> {
        let volume = &*self.shared.volume;
        let primary = locked.get(&FileId(1)).map(|file| file.path());
        let path = repair_path(primary.unwrap_or(Path::new("")));
        let journal = Journal::of(repaired, locked, log)?;
        let lengths = locked.values().map(|file| Ok((file, file.len_bytes()?)));
        let lengths = lengths.collect::<Result<Vec<_>, IoError>>()?;
        if volume.exists(&path)? {
            volume.remove(&path)?;
        }
        let made = journal.make_room(locked).and_then(|()| {
            let file = volume.open(&path, Open::Create, Access::Data)?;
            journal.keep(&*file)
        });
        if let Err(error) = made {
            // Nothing of it is written: where it cannot be removed, the next open of the database does it.
            if volume.exists(&path).unwrap_or(false) {
                volume.remove(&path)?;
            }
            for (file, length) in lengths {
                if file.len_bytes()? != length {
                    file.resize(length, Fill::Allocate)?;
                }
            }
            return Err(error);
        }
        if !log.is_new() {
            // From here on a failure leaves the journal: opening the database finishes the repair.
            journal.write(locked)?;
            journal.forget_images(volume, locked)?;
            volume.remove(&path)?;
        }
        Ok(())
    }
}

/// Opens all files, which locks them.
pub(super) fn open_all(volume: &dyn Volume, paths: &Paths) -> Result<Locked, EngineError> {
    let open = |(id, path): (&FileId, &PathBuf)| {
        let file = volume.open(path, Open::Existing, Access::Data);
        Ok((*id, file.map_err(|e| open_error(path, &e))?))
    };
    paths.iter().map(open).collect()
}
