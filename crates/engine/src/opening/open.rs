//! Opening a database: attach, and the start of an instance.
//!
//! 1. The primary file is opened, which locks it; header and boot page are proven to be ours. A page that
//!    was torn is read from the file's double-write file.
//! 2. `sysfiles1` at (1:32), which never changes after creation, has the path of the log. If the page is
//!    damaged, the log's row of `sysprufiles` has it. Analysis reads the log.
//!    Only when the file was found to belong to the log, torn pages are put back, as far as the log reaches.
//! 3. Redo of the primary file. Then `sysprufiles` is read page by page as far as it lies in files that are
//!    known; the files it names are opened and proven, then repaired and redone, until no more are found.
//! 4. Files that were being made or removed when the system stopped are cleared away.
//! 5. Space, catalog, undo, checkpoint.
//!
//! After a clean shutdown the log ends with its checkpoint: nothing is redone, and of each file only the
//! header and the allocation maps are read.

use super::create::space_options;
use super::rebuild::{find_log, new_log, prove_current, recorded_log};
use crate::backup::chain_of;
use crate::checking::Leftover;
use crate::database::{Database, Hooks, Parts, Registration, clear_flag, force_boot};
use crate::files::{
    AbsentEntry, Candidate, FileBook, FileEntry, FileStatus, Guarded, LogEntry, Made, Metered,
    PageReadError, ParsedFile, files_in_pool, read_boot, read_page,
};
use crate::keeper::Keeper;
use crate::shared::{Moved, Shared};
use furrow_format::{
    BOOT_PAGE, Boot, DatabaseId, FileHeader, FileHeaderError, FileId, Lsn, OwnBoot, PAGE_SIZE,
    PageId, PageNo, TxnId,
};
use furrow_io::mutation::{Mutation, mutated};
use furrow_io::time::Moment;
use furrow_io::{AlignedBuf, File, IoError, IoErrorKind};
use furrow_log::LogError;
use furrow_messages::{Arg, Message};
use furrow_observe::errorlog::Source;
use furrow_pool::{CheckpointOptions, LatchRank};
use furrow_recovery::{
    Analysis, LogSpan, RecoveryError, RedoStats, analyse, changed_by, checkpoint, redo_around, undo,
};
use furrow_space::{Space, SpaceConfig, SpaceError};
use furrow_tables::Catalog;
use furrow_tables::{DatabaseOptions, DatabaseState, EngineError, StateCell, Updateability};
use furrow_txn::Store;
use furrow_types::Guid;
use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What of a database the instance has to know before it is opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Sniffed {
    pub(crate) name: String,
    pub(crate) binding: Guid,
}

/// A primary file that was proven to be one.
pub(super) struct Primary {
    file: Candidate,
    header: FileHeader,
    boot: Boot,
    /// LSN of the boot page.
    boot_lsn: Lsn,
}

pub(super) fn open_primary(shared: &Shared, path: &Path) -> Result<Primary, EngineError> {
    let file = Candidate::open(&*shared.volume, path, FileId(1))?;
    Primary::proven(file)
}

impl Primary {
    fn proven(file: Candidate) -> Result<Primary, EngineError> {
        let header = file.header()?;
        let (boot, boot_lsn) = read_boot(&file, file.path())?;
        Ok(Primary {
            file,
            header,
            boot,
            boot_lsn,
        })
    }

    /// As it is with images of pages up to the end of the log alone.
    fn up_to(mut self, end: Lsn) -> Result<Primary, EngineError> {
        match self.file.believe_up_to(end) {
            true => Primary::proven(self.file),
            false => Ok(self),
        }
    }
}

/// Looks what database a primary file belongs to, without opening it for good.
pub(crate) fn sniff(shared: &Shared, path: &Path) -> Result<Sniffed, EngineError> {
    let primary = open_primary(shared, path)?;
    Ok(Sniffed {
        name: primary.boot.name,
        binding: primary.header.binding,
    })
}

/// Times of the phases, for message 3421.
#[derive(Debug, Default, Clone, Copy)]
struct Phases {
    analysis_ms: u64,
    redo_ms: u64,
    undo_ms: u64,
}

/// A database on its way up.
pub(super) struct Opening<'a> {
    pub(super) shared: &'a Arc<Shared>,
    pub(super) name: String,
    moved: &'a Moved,
    binding: Guid,
    pub(super) store: Arc<Store>,
    pub(super) registration: Registration,
    pub(super) primary: Arc<dyn File>,
    pub(super) log_file: Arc<dyn File>,
    pub(super) analysis: Analysis,
    files: BTreeMap<u16, FileEntry>,
    log_entry: Option<LogEntry>,
    /// Files that the catalog names and that it is opened without.
    absent: Vec<ParsedFile>,
    /// Files that are to be cleared away: number and path.
    defunct: Vec<(FileId, PathBuf)>,
    redone: RedoStats,
    phases: Phases,
    /// The log, if it was created by this open.
    new_log: Option<Made<'a>>,
    /// By what other files prove then that they were let go together with the primary one: its header, and
    /// the boot page's LSN.
    at_rest: Option<(FileHeader, Lsn)>,
    /// What there is to say to who asked for the database.
    reported: Vec<Message>,
}

/// Opens and recovers the database with this primary file, under this name.
pub(crate) fn open(
    shared: &Arc<Shared>,
    id: DatabaseId,
    name: &str,
    path: &Path,
    moved: &Moved,
) -> Result<Arc<Database>, EngineError> {
    let begun = Moment::now();
    say(shared, &Message::new(17137, &[name.into()]));
    let leftover = crate::checking::finish_repair(shared, path, moved)?;
    let mut primary = open_primary(shared, path)?;
    primary.file = primary.file.guarded(|file| moved.guarded(file, 1))?;
    let lost = leftover != Leftover::Nothing;
    let mut opening = begin(shared, (id, name), moved, (primary, lost))?;
    if lost {
        opening.reported.push(log_rebuilt(name));
    }
    opening.redo_all()?;
    let database = opening.finish(begun)?;
    if let Leftover::NewLog(journal) = leftover {
        // The boot page has lost its flag: the journal is of another state now.
        shared.volume.remove(&journal)?;
    }
    Ok(database)
}

/// The message about a database whose log an EMERGENCY repair created.
fn log_rebuilt(name: &str) -> Message {
    let text = format!(
        "Warning: The log for database '{name}' has been rebuilt. Transactional consistency has been lost: \
         what was not committed may be seen, and what was may be missing. The RESTORE chain was broken: take \
         a full backup now."
    );
    Message::custom(0, 10, 1, &text)
}

fn say(shared: &Shared, message: &Message) {
    let session = furrow_observe::task::current().session_id();
    shared
        .error_log
        .write_message(Source::SystemSpid(session), message);
}

/// What is wrong with a log file, in SQL Server's words; `warn` gets what they leave out.
pub(super) fn log_error(
    path: &Path,
    e: RecoveryError,
    name: &str,
    warn: &dyn Fn(&str),
) -> EngineError {
    let shown = || Arg::from(path.display().to_string());
    match e {
        RecoveryError::NoCheckpoint(_)
        | RecoveryError::Log(LogError::Damaged(_) | LogError::Missing(_)) => {
            warn(&format!("{}: {e}.", path.display()));
            EngineError::refused(9004, &[name.into()])
        }
        RecoveryError::Log(LogError::NotALog(_)) => {
            EngineError::refused(5172, &[shown(), "PageAudit".into()])
        }
        RecoveryError::Log(LogError::WrongDatabase(_)) => EngineError::refused(5173, &[]),
        RecoveryError::Log(LogError::Truncated {
            expected, actual, ..
        }) => {
            let (expected, actual) = (expected / 1024, actual / 1024);
            EngineError::refused(5125, &[shown(), expected.into(), actual.into()])
        }
        other => other.into(),
    }
}

/// A sentence about a log that ends where the device cannot read.
pub(crate) fn unreadable_end(path: &Path, name: &str, span: &LogSpan) -> Option<String> {
    let at = span.unreadable_at?;
    Some(format!(
        "The log '{}' of database '{name}' ends with record {}: the device cannot read byte {at} behind it. \
         If that was not being written when the system stopped, committed transactions are lost.",
        path.display(),
        span.end
    ))
}

/// Takes a data file in that was proven to be the right one.
fn accept(
    shared: &Shared,
    name: &str,
    (id, file): (FileId, Candidate),
) -> Result<Guarded, EngineError> {
    let (data, torn) = file.accept(&*shared.volume)?;
    if torn > 0 {
        let text = format!("{torn} torn pages of file {id} of database '{name}' were put back.");
        shared.error_log.write(Source::Server, &text);
    }
    Ok(data)
}

pub(super) fn begin<'a>(
    shared: &'a Arc<Shared>,
    (id, name): (DatabaseId, &str),
    moved: &'a Moved,
    (mut primary, lost): (Primary, bool),
) -> Result<Opening<'a>, EngineError> {
    let begun = Moment::now();
    let binding = primary.header.binding;
    let recorded = recorded_log(shared, name, &primary.file)?;
    let about = (&*recorded, (&primary.boot, primary.boot_lsn), binding);
    let found = find_log(shared, (name, lost), moved, about)?;
    let path = &found.path;
    let stats = (shared.instruments.files).open(id.0, 2, &path.to_string_lossy());
    let log_file = Metered::wrap(moved.guarded(found.file, 2)?, stats);
    // Of a restored database the log may begin behind what its boot page names.
    let chain = chain_of(&primary.boot.own).filter(|_| !moved.is_restore() && found.made.is_none());
    let opened = (Arc::clone(&log_file), binding.0, shared.config.log);
    let analysis = match &found.made {
        Some(_) => new_log(opened, primary.boot_lsn)?,
        None => {
            let (file, binding, config) = opened;
            let analysis = analyse(file, binding, (config, chain.unwrap_or(Lsn::MAX)));
            let warn = |text: &str| shared.error_log.write(Source::Server, text);
            let analysis = analysis.map_err(|e| log_error(path, e, name, &warn))?;
            moved.prove_end(analysis.span.end)?;
            primary = primary.up_to(analysis.span.end)?;
            prove_current(
                path,
                &analysis.span,
                (name, &primary.header, primary.boot_lsn),
            )?;
            analysis
        }
    };
    let registration = Registration::new(shared, id, &analysis.log);
    let log = Arc::clone(&analysis.log);
    let (redo_point, next_txn) = (analysis.span.redo_point, analysis.next_txn);
    let store = Store::new(id, Arc::clone(&shared.pool), log, redo_point, next_txn)?;
    store.holds.set_log_backup(chain);
    for (&rowset, &rows) in analysis.counts.iter().flatten() {
        store.counts.set(rowset, rows);
    }
    let (primary_header, boot_lsn) = (primary.header, primary.boot_lsn);
    let primary = accept(shared, name, (FileId(1), primary.file))?;
    registration.add_file(FileId(1), &primary)?;
    let phases = Phases {
        analysis_ms: begun.elapsed_us() / 1000,
        ..Phases::default()
    };
    Ok(Opening {
        shared,
        name: name.to_owned(),
        moved,
        binding,
        store,
        registration,
        primary: primary.file,
        log_file,
        analysis,
        files: BTreeMap::new(),
        log_entry: None,
        absent: Vec::new(),
        defunct: Vec::new(),
        redone: RedoStats::default(),
        phases,
        at_rest: found.made.is_some().then_some((primary_header, boot_lsn)),
        new_log: found.made,
        reported: found.reported,
    })
}

/// Reads of a page that redo could not read, before it counts as lost.
const LOOKS: u32 = 2;

/// Bytes of a page that is made unreadable: no page of any number has them.
const SPOILED: u8 = 0xEE;

/// Makes a page of a file unreadable that does not have what the log says, so that neither recovery nor a
/// repair takes its rows for those of now. A page behind the end of the file stays as it is.
pub(crate) fn spoil(file: &dyn File, page: PageNo) -> Result<(), IoError> {
    let at = u64::from(page.0) * PAGE_SIZE as u64;
    if at < file.len_bytes()? {
        file.write_at(at, &AlignedBuf::copy_of(&[SPOILED; PAGE_SIZE]))?;
    }
    Ok(())
}

impl Opening<'_> {
    /// Redo of some files; nothing to do after a clean shutdown.
    fn redo(&mut self, wanted: &dyn Fn(FileId) -> bool) -> Result<(), EngineError> {
        if self.analysis.clean {
            return Ok(());
        }
        let span = (self.analysis.span.redo_point, self.analysis.span.end);
        let losers: HashSet<TxnId> = self.analysis.losers.iter().map(|l| l.id).collect();
        let log = Arc::clone(&self.log_file);
        let loses = |txn| losers.contains(&txn);
        let done = redo_around(&self.store, log, span, wanted, &loses);
        let path = self.log_file.path();
        let warn = |text: &str| self.shared.error_log.write(Source::Server, text);
        let (done, aside) = done.map_err(|e| log_error(path, e, &self.name, &warn))?;
        let left = self.moved.leave(aside, &|page| self.reads_again(page))?;
        // They may be readable by now; the changes that redo has skipped are lost all the same.
        for page in left {
            let file = self.file_of(page);
            file.map_or(Ok(()), |file| spoil(&**file, page.page))?;
        }
        self.redone.applied += done.applied;
        self.redone.skipped += done.skipped;
        self.redone.rebuilt += done.rebuilt;
        Ok(())
    }

    fn file_of(&self, page: PageId) -> Option<&Arc<dyn File>> {
        match page.file {
            FileId(1) => Some(&self.primary),
            other => self.files.get(&other.0).map(|entry| &entry.file),
        }
    }

    /// Whether a page can be read and is sound, though redo could not read it: the device may have failed
    /// for a moment. Where the system lacks something, that is not known.
    fn reads_again(&self, page: PageId) -> Result<bool, EngineError> {
        let Some(file) = self.file_of(page) else {
            return Ok(false);
        };
        for _ in 0..LOOKS {
            match read_page(&**file, page) {
                Ok(_) => return Ok(true),
                Err(PageReadError::Io(e))
                    if !(e.kind.is_medium() || e.kind == IoErrorKind::PastEnd) =>
                {
                    return Err(e.into());
                }
                Err(_) => {}
            }
        }
        Ok(false)
    }

    /// Redo of the primary file, then of each file that the catalog names, as they come in sight.
    fn redo_all(&mut self) -> Result<(), EngineError> {
        let begun = Moment::now();
        if let Some(text) = unreadable_end(self.log_file.path(), &self.name, &self.analysis.span) {
            self.shared.error_log.write(Source::Server, &text);
        }
        self.redo(&|file| file == FileId(1))?;
        let mut known = vec![FileId(1)];
        loop {
            let found = files_in_pool(&self.store, &|file| known.contains(&file))?;
            let fresh: Vec<&ParsedFile> = found
                .files
                .iter()
                .filter(|f| f.plan.filegroup != 0 && f.status == FileStatus::Online)
                .filter(|f| !known.contains(&FileId(f.plan.id)))
                .filter(|f| self.moved.absent_file(f.place()).is_none())
                .collect();
            if fresh.is_empty() {
                self.take_note(&found.files)?;
                if found.out_of_reach > 0 {
                    let text = "rows of sysprufiles lie in files that no row in reach names";
                    return Err(EngineError::Damaged(text.into()));
                }
                break;
            }
            let ids: Vec<FileId> = fresh.iter().map(|f| FileId(f.plan.id)).collect();
            // None of them is written before all were found right.
            let opened = fresh.iter().map(|row| self.open_secondary(row));
            let opened = opened.collect::<Result<Vec<Candidate>, _>>()?;
            for (row, file) in fresh.into_iter().zip(opened) {
                self.take_in(row, file)?;
            }
            let lost = ids.last().filter(|_| mutated(Mutation::RedoLosesFile));
            self.redo(&|file| ids.contains(&file) && Some(&file) != lost)?;
            known.extend(ids);
        }
        self.phases.redo_ms = begun.elapsed_us() / 1000;
        Ok(())
    }

    /// Opens a file that the catalog names, where it is found.
    fn open_secondary(&self, row: &ParsedFile) -> Result<Candidate, EngineError> {
        let path = self
            .moved
            .find(self.shared, (row.plan.id, &row.plan.path))?;
        let wrong = match self.open_proven(row, &path) {
            Ok(file) => return Ok(file),
            Err(wrong) => wrong,
        };
        match self.moved.elsewhere(self.shared, &path)? {
            Some(beside) => self.open_proven(row, &beside).map_err(|_| wrong),
            None => Err(wrong),
        }
    }

    /// Opens a file, and proves that it is the one that the catalog means.
    fn open_proven(&self, row: &ParsedFile, path: &Path) -> Result<Candidate, EngineError> {
        let id = FileId(row.plan.id);
        let file = Candidate::open(&*self.shared.volume, path, id)?;
        let mut file = file.guarded(|file| self.moved.guarded(file, id.0))?;
        file.believe_up_to(self.analysis.span.end);
        let header = file.header()?;
        let ours = header.binding == self.binding && header.file_guid == row.guid;
        // One that is older than the log's checkpoint lacks what recovery does not bring back; one that is
        // newer than the log has what recovery knows nothing of. Without the old log only the files
        // themselves show it.
        let rests = |(primary, boot_lsn): &(FileHeader, Lsn)| header.rests_with(primary, *boot_lsn);
        let together = self.at_rest.as_ref().is_none_or(rests);
        let span = &self.analysis.span;
        let current = !span.lies_behind(&header) && !span.ends_before(&header);
        if !ours || !together || !current {
            return Err(EngineError::refused(5173, &[]));
        }
        Ok(file)
    }

    fn take_in(&mut self, row: &ParsedFile, file: Candidate) -> Result<(), EngineError> {
        let id = FileId(row.plan.id);
        let data = accept(self.shared, &self.name, (id, file))?;
        self.registration.add_file(id, &data)?;
        self.files.insert(id.0, row.entry(data.file));
        Ok(())
    }

    /// The rows of the primary file, the log, and files to clear away.
    fn take_note(&mut self, rows: &[ParsedFile]) -> Result<(), EngineError> {
        for row in rows {
            let id = FileId(row.plan.id);
            if let Some(absent) = self.moved.absent_file(row.place())
                && row.status == FileStatus::Online
            {
                let mut row = row.clone();
                if let Some(absent) = absent {
                    row.plan.path.clone_from(&absent.plan.path);
                }
                self.absent.push(row);
            } else if row.plan.filegroup == 0 {
                self.log_entry = Some(row.log_entry(self.log_file.path().to_path_buf()));
            } else if row.status == FileStatus::Defunct {
                self.defunct.push((
                    id,
                    self.moved
                        .find(self.shared, (row.plan.id, &row.plan.path))?,
                ));
            }
        }
        if self.log_entry.is_none() {
            return Err(EngineError::Damaged("sysprufiles names no log".into()));
        }
        Ok(())
    }

    /// Redo of a restored log may have put back the binding of the database that was backed up: records of
    /// page 0 hold all of it.
    fn rebind(&self) -> Result<(), EngineError> {
        if !self.moved.is_restore() {
            return Ok(());
        }
        for file in self.store.pool().files_of(self.store.db()) {
            let id = PageId {
                file,
                page: PageNo(0),
            };
            let bad = |e: FileHeaderError| EngineError::Damaged(e.to_string());
            let page = self.store.read(id, LatchRank::FileHeader)?;
            if FileHeader::decode(&page).map_err(bad)?.binding == self.binding {
                continue;
            }
            drop(page);
            let mut page = self.store.write(id, LatchRank::FileHeader)?;
            page.begin_change();
            FileHeader::set_binding(&mut page, self.binding).map_err(bad)?;
        }
        Ok(())
    }

    /// Keeps a new log, and clears the flag of a clean shutdown where it is set.
    fn mark_in_use(&mut self, is_flagged: bool) -> Result<(), EngineError> {
        if let Some(new_log) = self.new_log.take() {
            // The boot page may lose its flag only once the new log can be opened, with all of the files.
            // From here on it may say that the log is needed: that stays, whatever fails.
            checkpoint(&self.store, CheckpointOptions::default())?;
            new_log.keep();
        }
        if is_flagged {
            // Before any other page is changed: see `rebuild`.
            clear_flag(&self.store)?;
            force_boot(&self.store)?;
        }
        Ok(())
    }

    /// Refuses a restore WITH RECOVERY that would have to roll changes of absent files back.
    fn leaves_nothing_to_undo(&self) -> Result<(), EngineError> {
        let absent: HashSet<FileId> = self.absent.iter().map(|f| FileId(f.plan.id)).collect();
        let first = self.analysis.losers.iter().map(|l| l.first).min();
        let Some(first) = first.filter(|_| !absent.is_empty()) else {
            return Ok(());
        };
        let losers: HashSet<TxnId> = self.analysis.losers.iter().map(|l| l.id).collect();
        let (log, end) = (Arc::clone(&self.log_file), self.analysis.span.end);
        let changed = changed_by(log, self.binding.0, (first, end), &losers)?;
        let Some(file) = changed.into_iter().find(|file| absent.contains(file)) else {
            return Ok(());
        };
        let name = self.absent.iter().find(|f| f.plan.id == file.0);
        let name = name.map_or("", |f| f.plan.name.as_str());
        let text = format!(
            "'RESTORE WITH PARTIAL, RECOVERY' is not supported here: a transaction that had not ended has \
             changed file '{name}', which is not restored. Restore log backups up to the end of the \
             transaction, or the filegroup of the file."
        );
        Err(EngineError::of(Message::custom(40_514, 16, 1, &text)))
    }

    fn finish(mut self, begun: Moment) -> Result<Arc<Database>, EngineError> {
        self.leaves_nothing_to_undo()?;
        self.rebind()?;
        let own = self.own_boot()?;
        // One that was made read-only and let go in peace is not written, be it only to say that it is open.
        let at_rest = own.clean_shutdown && self.analysis.clean && self.defunct.is_empty();
        // In standby nothing changes, whatever the boot page says.
        let read_only = own.read_only || self.moved.undo.is_some();
        // But where a restore ends, a recovery fork begins: the boot page gets it.
        let untouched = own.read_only && at_rest && !self.moved.is_restore();
        // Before anything is logged: a full log can grow, and what is not backed up stays in it.
        self.store.holds.set_log_backup(chain_of(&own));
        let state = Arc::new(StateCell::new(DatabaseState::Recovering));
        let log_entry = self.log_entry.clone();
        let log_entry = log_entry.ok_or_else(|| EngineError::Damaged("no log".into()))?;
        let keeper = Keeper::new(self.shared, &self.name, &self.store, &state, log_entry);
        self.store.set_relief(Arc::clone(&keeper) as _);
        self.mark_in_use(own.clean_shutdown && !untouched)?;
        let rows = files_in_pool(&self.store, &|file| {
            file == FileId(1) || self.files.contains_key(&file.0)
        })?;
        let one = rows.files.iter().find(|f| f.plan.id == 1);
        let one = one.ok_or_else(|| EngineError::Damaged("sysprufiles lacks file 1".into()))?;
        self.files.insert(1, one.entry(Arc::clone(&self.primary)));
        let hooks = Arc::new(Hooks::default());
        let space = self.open_space(&hooks)?;
        let catalog = Catalog::open(&self.store, &space)?;
        let undone = self.undo(&catalog)?;
        catalog.after_undo()?;
        let book = self.book();
        let database = Database::assemble(Parts {
            name: self.name,
            options: DatabaseOptions::of(&own),
            store: self.store,
            space,
            catalog,
            state,
            keeper,
            book,
            hooks,
            registration: self.registration,
            access: Updateability::of(read_only),
            layout: None,
            snapshot: None,
        })?;
        database.load_groups()?;
        database.take_up_chain(&own, (self.moved.restored(), self.analysis.span.end))?;
        if !untouched {
            // Files that go cannot be put back: they stay in standby.
            let defunct = match self.moved.undo {
                Some(_) => &[],
                None => &self.defunct[..],
            };
            if !self.analysis.clean {
                let args = [database.name.as_str().into(), database.id.0.into()];
                say(self.shared, &Message::new(3454, &args));
                database.catalog.counts_are_behind();
            }
            database.settle_opened(defunct, read_only)?;
        }
        self.reported.iter().for_each(|word| say(self.shared, word));
        *database.messages.lock() = self.reported;
        database.report_recovered(&self.analysis, undone, begun, self.phases);
        database.state.set(DatabaseState::Online);
        Ok(database)
    }

    /// The files, and those that the database is opened without.
    fn book(&mut self) -> FileBook {
        let files = std::mem::take(&mut self.files).into_values().collect();
        let book = FileBook::new(self.binding, files, BTreeMap::new());
        for file in std::mem::take(&mut self.absent) {
            let absent = self.moved.absent_file(file.place()).flatten();
            book.put_absent(AbsentEntry {
                restoring: absent.is_some_and(|a| a.restoring),
                plan: file.plan,
                guid: file.guid,
                created: file.created,
            });
        }
        book
    }

    /// Our part of the boot page as redo left it, which may be newer than what the file said at first.
    fn own_boot(&self) -> Result<OwnBoot, EngineError> {
        let page = self.store.read(BOOT_PAGE, LatchRank::Boot)?;
        let boot = Boot::decode(&page).map_err(|e| EngineError::Damaged(e.to_string()))?;
        Ok(boot.own)
    }

    fn undo(&mut self, catalog: &Catalog) -> Result<u64, EngineError> {
        let begun = Moment::now();
        let undone = undo(&self.store, &self.analysis, catalog)?.transactions;
        self.phases.undo_ms = begun.elapsed_us() / 1000;
        Ok(undone)
    }

    fn open_space(&self, hooks: &Arc<Hooks>) -> Result<Arc<Space>, EngineError> {
        let mut groups: Vec<u16> = self.files.values().map(|f| f.filegroup).collect();
        groups.extend(self.absent.iter().map(|f| f.plan.filegroup));
        groups.sort_unstable();
        groups.dedup();
        // Names and flags come from the catalog, which needs the space first.
        let group = |id: u16| furrow_space::FilegroupSpec {
            id,
            name: if id == 1 {
                "PRIMARY".into()
            } else {
                format!("filegroup {id}")
            },
            autogrow_all: false,
            is_default: id == 1,
        };
        let config = SpaceConfig {
            database: self.name.clone(),
            filegroups: groups.into_iter().map(group).collect(),
            files: self.files.values().map(|f| f.for_space(0)).collect(),
            options: space_options(self.shared),
            catalog: Some(Arc::clone(hooks) as _),
            trace: Some(Arc::clone(hooks) as _),
        };
        let space = Space::open(Arc::clone(&self.store), config).map_err(|e| self.truncated(e))?;
        for file in &self.absent {
            space.set_offline(file.plan.filegroup, true);
        }
        Ok(space)
    }

    /// 5125 in SQL Server's words: redo has made a header say more than there is of its file.
    fn truncated(&self, e: SpaceError) -> EngineError {
        match e {
            SpaceError::Truncated {
                file,
                expected_pages,
                actual_pages,
            } => {
                let path = self
                    .files
                    .get(&file.0)
                    .map(|f| f.path.display().to_string());
                let args = [
                    path.unwrap_or_default().into(),
                    (u64::from(expected_pages) * 8).into(),
                    (actual_pages * 8).into(),
                ];
                EngineError::refused(5125, &args)
            }
            other => other.into(),
        }
    }
}

impl Database {
    /// Removes files that were being made or removed, and writes what the recovery has changed.
    fn settle_opened(
        &self,
        defunct: &[(FileId, PathBuf)],
        read_only: bool,
    ) -> Result<(), EngineError> {
        let paths = self.files.paths();
        crate::checking::remove_leftovers(&*self.shared.volume, &paths)?;
        self.clear_away(defunct)?;
        self.write_identity()?;
        match read_only {
            true => self.come_to_rest(true),
            false => {
                self.checkpoint_now(CheckpointOptions::default())?;
                self.release_tails();
                Ok(())
            }
        }
    }

    fn report_recovered(&self, analysis: &Analysis, undone: u64, begun: Moment, phases: Phases) {
        if analysis.clean {
            return;
        }
        let about = |number, count: u64| {
            Message::new(
                number,
                &[count.into(), self.name.as_str().into(), self.id.0.into()],
            )
        };
        say(&self.shared, &about(3406, analysis.committed));
        if undone > 0 {
            say(&self.shared, &about(3407, undone));
        }
        let args = [
            self.name.as_str().into(),
            self.id.0.into(),
            (begun.elapsed_us() / 1_000_000).into(),
            phases.analysis_ms.into(),
            phases.redo_ms.into(),
            phases.undo_ms.into(),
        ];
        say(&self.shared, &Message::new(3421, &args));
        say(&self.shared, &Message::new(3408, &[]));
    }
}

/// What state a database is in that could not be opened for this reason.
pub(crate) fn state_after(error: &EngineError) -> DatabaseState {
    let pending = [5120, 5105, 5133];
    let unreachable = match error {
        EngineError::Io(e) => matches!(e.kind, IoErrorKind::NotFound | IoErrorKind::InUse),
        other => pending.contains(&other.number()),
    };
    if unreachable {
        DatabaseState::RecoveryPending
    } else {
        DatabaseState::Suspect
    }
}

/// LSN at which a file that joins now comes to be.
pub(crate) fn birth(store: &Store) -> Lsn {
    store.log().tail()
}
