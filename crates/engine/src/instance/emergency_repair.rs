//! REPAIR_ALLOW_DATA_LOSS of a database in EMERGENCY.
//!
//! # Steps
//! 1. The files are closed, and opened over a volume that keeps all changes in memory
//!    ([`crate::files::Staged`]). They are proven to be those of the database.
//! 2. The log is read to its end. If it has all that recovery needs, it stays:
//!    1. The images of torn pages are put back. A boot page or headers that cannot be used are computed from
//!       the other pages, as of the point where redo begins.
//!    2. The database is opened as any other, recovered, and shut down cleanly: in memory. If a page that
//!       redo could not read can be read then, the opening begins again, at most twice. A page that redo
//!       cannot read and that the log does not rebuild is left to the repair; so is one that is older than
//!       the log says.
//! 3. Else, if another log removes what is wrong ([`would_a_new_log_help`]) and a second look finds the same,
//!    the log is given up: the images of torn pages are put back.
//! 4. New contents of pages are computed as for any repair (`furrow_check::repair`), and the caller decides.
//! 5. What recovery and repair have changed, of the log too, is written by one journal
//!    (`crate::checking`). Where the log is given up, a copy of it is kept first. If the log is good by then,
//!    the repair ends; else opening the database makes a new one.
//! 6. The database is ONLINE.
//!
//! # Invariants
//! 1. *A log that recovery can read is never replaced.* A database that cannot be recovered with it is not
//!    repaired: 40517 says what to do. Proof: `a_good_log_is_never_replaced`.
//!    One whose changes do not fit into memory is not repaired either (701).
//! 2. *Before the journal is whole, nothing is changed*: whatever ends the repair, the database is in
//!    EMERGENCY again, with its user access, and its files are as they were. Proof:
//!    `a_repair_that_fails_leaves_everything_as_it_was`.

use super::Instance;
use super::kept_log::{LostLog, would_a_new_log_help};
use super::repair::{Order, not_reopened, open_all};
use crate::checking::{Locked, LogAfter, Paths};
use crate::database::Database;
use crate::files::{Outcome, Staged, put_images_back, repair_path};
use crate::opening::{self, LogLook, OwnFile};
use crate::shared::{Moved, SetAside, Shared};
use furrow_check::{Identity, Repaired};
use furrow_format::{FileId, PAGE_SIZE, PageId, PageNo, UserAccess};
use furrow_io::sync::Mutex;
use furrow_io::{Access, Open, Volume};
use furrow_messages::Message;
use furrow_recovery::LogSpan;
use furrow_tables::EngineError;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The number of the log.
const LOG: FileId = FileId(2);

/// A closed database whose files are changed in memory.
struct Work {
    identity: Identity,
    access: UserAccess,
    files: Vec<OwnFile>,
    staged: Arc<Staged>,
    shared: Arc<Shared>,
}

/// A database as it was recovered in memory.
struct Recovered {
    paths: Paths,
    log: PathBuf,
    /// Pages that were computed before the recovery, and sentences about them.
    computed: Vec<PageId>,
    notes: Vec<String>,
}

impl Work {
    /// Makes pages unreadable that do not have what the log says. `false` where a page is of none of these
    /// files.
    fn spoil(&self, pages: &[PageId], paths: &Paths) -> Result<bool, EngineError> {
        for page in pages {
            let Some(path) = paths.get(&page.file) else {
                return Ok(false);
            };
            let file = self.staged.open(path, Open::Existing, Access::Data)?;
            opening::spoil(&*file, page.page)?;
        }
        Ok(true)
    }

    /// Looks how far the log reaches, or the file at this path in its place.
    fn look_at_log(&self, at: Option<&Path>) -> Result<LogLook, EngineError> {
        opening::look_at_log(&self.shared, &self.files, (&self.identity, at))
    }

    /// Where the catalog on the disk says that the data files are.
    fn paths(&self) -> Paths {
        let files = self.files.iter();
        files.map(|own| (own.id, own.path.clone())).collect()
    }
}

/// How a repair ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    /// It is in its journal.
    Written,
    /// It was not agreed to.
    Refused,
}

impl Instance {
    /// Repairs a database in EMERGENCY, which this session alone uses, and is not in.
    pub(super) fn repair_in_emergency(
        &self,
        database: Arc<Database>,
        order: Order<'_>,
    ) -> Result<Repaired, EngineError> {
        let _entered = self.shared.enter();
        let name = database.name().to_owned();
        let access = database.options().user_access;
        let own = |file: crate::files::FileEntry| OwnFile {
            id: file.id,
            path: file.file.path().to_path_buf(),
            guid: file.guid,
        };
        let files: Vec<OwnFile> = database.files.files().into_iter().map(own).collect();
        drop(database);
        self.close_listed(&self.shared.list.lock(), &name)?;
        if let Some(recovered) = self.finish_interrupted(&name, (access, &files))? {
            return self.repair_recovered(recovered, access, order);
        }
        let end = self.begin_repair(&name).and_then(|reserved| {
            let end = self.repair_closed(&name, (access, files), order);
            drop(reserved);
            end
        });
        let ended = end.and_then(|(end, repaired)| {
            let opened = match end {
                End::Written => self.reopen_database(&name).map(drop),
                End::Refused => return self.return_to_emergency(&name, access).map(|()| repaired),
            };
            opened.map_err(|why| not_reopened(why, &repaired))?;
            Ok(repaired)
        });
        if ended.is_err()
            && let Err(error) = self.return_to_emergency(&name, access)
        {
            // Why the repair failed counts for more.
            self.log_line(&format!(
                "Database '{name}' cannot be set to EMERGENCY again after its repair failed: {error}."
            ));
        }
        ended
    }

    /// Opens a database of which an interrupted repair is to be finished; `None` where there is none, or
    /// none that can be finished.
    fn finish_interrupted(
        &self,
        name: &str,
        (access, files): (UserAccess, &[OwnFile]),
    ) -> Result<Option<Arc<Database>>, EngineError> {
        let primary = files.iter().find(|own| own.id == FileId(1));
        let journal = primary.map(|own| repair_path(&own.path));
        let Some(journal) = journal.filter(|path| self.is_there(path)) else {
            return Ok(None);
        };
        match self.reopen_database(name) {
            Ok(recovered) => Ok(Some(recovered)),
            Err(why) if self.is_there(&journal) => {
                self.return_to_emergency(name, access)?;
                Err(why)
            }
            Err(_) => Ok(None),
        }
    }

    fn is_there(&self, path: &Path) -> bool {
        self.shared.volume.exists(path).unwrap_or(true)
    }

    fn repair_recovered(
        &self,
        recovered: Arc<Database>,
        access: UserAccess,
        order: Order<'_>,
    ) -> Result<Repaired, EngineError> {
        let name = recovered.name().to_owned();
        alone(&recovered, access)?;
        drop(recovered);
        self.repair_online(&name, order)
    }

    /// Computes the repair of a closed database, and writes its journal if it is agreed to.
    fn repair_closed(
        &self,
        name: &str,
        (access, files): (UserAccess, Vec<OwnFile>),
        order: Order<'_>,
    ) -> Result<(End, Repaired), EngineError> {
        let staged = Staged::over(&self.shared.volume);
        let work = Work {
            identity: self.identity_of(name),
            access,
            files,
            shared: self.shared.on(Arc::clone(&staged) as Arc<dyn Volume>),
            staged,
        };
        let done = self.repair_staged(&work, name, order);
        done.map_err(|why| match work.staged.is_full() {
            true => EngineError::refused(701, &["default".into()]),
            false => why,
        })
    }

    /// The same over the volume that keeps all changes in memory.
    fn repair_staged(
        &self,
        work: &Work,
        name: &str,
        order: Order<'_>,
    ) -> Result<(End, Repaired), EngineError> {
        opening::prove_own(&work.shared, &work.files, &work.identity)?;
        let helps =
            |why: &EngineError, log: &Path| would_a_new_log_help(why, &*self.shared.volume, log);
        let mut log = work.look_at_log(None)?;
        if log.span.as_ref().is_err_and(|why| helps(why, &log.path)) {
            // The device may have failed for a moment.
            log = work.look_at_log(None)?;
        }
        match log.span {
            Ok(span) => {
                let recovered = self.recover_staged(work, (&log.path, span));
                let recovered = recovered.map_err(|why| self.keeps_log(name, why, &log.path))?;
                self.repair_recovered_files(work, recovered, order)
            }
            Err(why) if !helps(&why, &log.path) => Err(why),
            Err(why) => {
                self.log_line(&format!(
                    "Database '{name}' cannot be opened with its log: {why}."
                ));
                let path = log.path;
                self.repair_without_log(work, LostLog { path, why }, order)
            }
        }
    }

    /// The error of a database that cannot be recovered with its log, which is good; not so where that, or a
    /// data file, turns out to be an old copy (5173).
    fn keeps_log(&self, name: &str, why: EngineError, log: &Path) -> EngineError {
        if why.has(5173) || !would_a_new_log_help(&why, &*self.shared.volume, log) {
            return why;
        }
        let text = format!(
            "The log '{}' of database '{name}' is good, and is not replaced: the database cannot be \
             recovered with it, and nothing was changed. Restore the database from a backup. If the loss of \
             all transactions that only the log has is accepted, move the log to another directory, and \
             repeat the repair.",
            log.display()
        );
        why.followed_by(Message::custom(40517, 16, 3, &text))
    }

    /// Recovers a database with its log, in memory.
    fn recover_staged(
        &self,
        work: &Work,
        (log, span): (&Path, LogSpan),
    ) -> Result<Recovered, EngineError> {
        let identity = Identity {
            has_log: true,
            redo: Some((span.checkpoint, span.redo_point)),
            ..work.identity.clone()
        };
        let about = (&identity, log, span.end);
        let computed = opening::mend_foundation(&work.shared, &work.files, about)?;
        let name = identity.name.unwrap_or_default();
        let mut notes = computed.notes;
        notes.extend(opening::unreadable_end(log, &name, &span));
        let first = work.files.iter().find(|own| own.id == FileId(1));
        let primary = first.map_or(Path::new(""), |own| &own.path);
        let aside = Arc::new(Mutex::new(SetAside::default()));
        let moved = Moved {
            home: primary.parent().unwrap_or(Path::new("")).to_path_buf(),
            repair: Some(Arc::clone(&aside)),
            log_end: span.end,
            ..Moved::default()
        };
        let id = furrow_format::DatabaseId(identity.database_id.unwrap_or_default());
        let open = || opening::open(&work.shared, id, &name, primary, &moved);
        // Each turn spoils a page that could be read, or is one of the few after which one can be again.
        let database = loop {
            let failed = match open() {
                Ok(database) => break database,
                Err(failed) => failed,
            };
            let (pages, is_readable_again) = {
                let mut aside = aside.lock();
                let again = std::mem::take(&mut aside.is_readable_again);
                (std::mem::take(&mut aside.stale), again)
            };
            let is_new_turn = is_readable_again || !pages.is_empty();
            if !is_new_turn || !work.spoil(&pages, &work.paths())? {
                return Err(failed);
            }
        };
        let closed = self.closed_staged(work, &database);
        if closed.is_err() {
            database.abandon();
        }
        let (paths, log) = closed?;
        Ok(Recovered {
            paths,
            log,
            computed: computed.pages.keys().copied().collect(),
            notes,
        })
    }

    /// Shuts a database down that was recovered in memory; where its files are.
    fn closed_staged(
        &self,
        work: &Work,
        database: &Arc<Database>,
    ) -> Result<(Paths, PathBuf), EngineError> {
        if database.is_read_only() {
            let why = EngineError::refused(3906, &[database.name().into()]);
            let text = "A database that is READ_ONLY is not repaired with its log, and nothing was changed. \
                Copy what can be read, and restore the database from a backup.";
            return Err(why.followed_by(Message::custom(40517, 16, 6, text)));
        }
        let paths = Self::data_paths(database)?;
        let log = database.keeper.log_entry().path;
        database.set_user_access(work.access, 0)?;
        database.shut_down()?;
        Ok((paths, log))
    }

    /// The repair of files that were recovered with their log.
    fn repair_recovered_files(
        &self,
        work: &Work,
        recovered: Recovered,
        order: Order<'_>,
    ) -> Result<(End, Repaired), EngineError> {
        let identity = Identity {
            has_log: true,
            ..work.identity.clone()
        };
        let files = open_all(&*work.staged, &recovered.paths)?;
        let (repaired, agreed) = self.compute_repair(
            &files,
            (order, &identity),
            &mut |repaired: &mut Repaired| {
                repaired.notes.splice(0..0, recovered.notes.iter().cloned());
                // They are the repair's, whether they were written again or not.
                for id in &recovered.computed {
                    let path = recovered.paths.get(&id.file);
                    let block = path.and_then(|path| work.staged.block(path, id.page.0));
                    if let Some(block) = block {
                        repaired.pages.entry(*id).or_insert(block);
                    }
                }
            },
        )?;
        if !agreed {
            return Ok((End::Refused, repaired));
        }
        let after = match repaired.pages.is_empty() {
            true => LogAfter::Recovered,
            false => LogAfter::Stays,
        };
        let mut all = recovered.paths;
        all.insert(LOG, recovered.log);
        self.write_staged(work, (&repaired, &all), after)?;
        self.remove_files(&work.staged.removed());
        Ok((End::Written, repaired))
    }

    /// Removes files that recovery has removed. The repair is durable by now: one that cannot be removed is
    /// left, and named in the error log.
    fn remove_files(&self, paths: &[PathBuf]) {
        let volume = &*self.shared.volume;
        for path in paths {
            let is_there = volume.exists(path);
            let removed = is_there.and_then(|there| match there {
                true => volume.remove(path),
                false => Ok(()),
            });
            if let Err(error) = removed {
                let path = path.display();
                self.log_line(&format!(
                    "'{path}' is no file of a database any more, and cannot be removed: {error}."
                ));
            }
        }
    }

    /// The repair of a database whose log is given up.
    fn repair_without_log(
        &self,
        work: &Work,
        lost: LostLog,
        order: Order<'_>,
    ) -> Result<(End, Repaired), EngineError> {
        let paths = work.paths();
        refuse_damaged(&work.shared, &paths)?;
        let files = open_all(&*work.staged, &paths)?;
        for (id, file) in &files {
            let count = put_images_back(&*work.staged, &**file, *id)?;
            if count > 0 {
                let path = file.path().display();
                self.log_line(&format!(
                    "{count} torn pages of '{path}' are put back by the repair."
                ));
            }
        }
        let after = LogAfter::New(work.access);
        let (repaired, agreed) = self.compute_repair(
            &files,
            (order, &work.identity),
            &mut |repaired: &mut Repaired| repaired.new_log = true,
        )?;
        if !agreed {
            return Ok((End::Refused, repaired));
        }
        let kept = self.keep_log(lost, &paths, &|at| work.look_at_log(at))?;
        let written = self.write_staged(work, (&repaired, &paths), after);
        if let Err(error) = written {
            if let Some(kept) = kept {
                self.forget_copy(&kept, &paths);
            }
            return Err(error);
        }
        Ok((End::Written, repaired))
    }

    /// Writes what recovery and repair have changed to a journal, and from there to the files.
    fn write_staged(
        &self,
        work: &Work,
        (repaired, paths): (&Repaired, &Paths),
        log: LogAfter,
    ) -> Result<(), EngineError> {
        let mut all = Repaired {
            sizes: repaired.sizes.clone(),
            ..Repaired::default()
        };
        let mut locked = Locked::new();
        for (id, path) in paths {
            let lost = || EngineError::Damaged(format!("'{}' is not there", path.display()));
            let Outcome { file, len, blocks } = work.staged.take_outcome(path).ok_or_else(lost)?;
            if file.len_bytes()? < len {
                let pages = u32::try_from(len.div_ceil(PAGE_SIZE as u64)).unwrap_or(u32::MAX);
                let size = all.sizes.entry(*id).or_default();
                *size = pages.max(*size);
            }
            all.pages.extend(blocks.into_iter().map(|(number, block)| {
                let page = PageNo(number);
                (PageId { file: *id, page }, block)
            }));
            locked.insert(*id, file);
        }
        let computed = repaired.pages.iter();
        all.pages
            .extend(computed.map(|(id, page)| (*id, page.clone())));
        self.write_repair(&all, &locked, log)
    }
}

/// Gives a database that is ONLINE again its user access; 924 where others use it.
fn alone(database: &Database, access: UserAccess) -> Result<(), EngineError> {
    match database.set_user_access(access, 0)? {
        true => Ok(()),
        false => Err(EngineError::refused(924, &[database.name().into()])),
    }
}

/// 40514 for files without a log whose header or boot page can only be read as computed.
fn refuse_damaged(shared: &Shared, paths: &Paths) -> Result<(), EngineError> {
    let Some(damaged) = opening::first_damaged(shared, paths) else {
        return Ok(());
    };
    let text = format!(
        "'REPAIR_ALLOW_DATA_LOSS of a database without its log whose boot page or file header is damaged' \
         is not supported: '{}'. Copy what can be read, and restore the database from a backup.",
        damaged.display()
    );
    Err(EngineError::of(Message::custom(40514, 16, 1, &text)))
}
