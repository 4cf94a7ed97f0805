//! FOR ATTACH READ_ONLY: a database from files that are never written.
//!
//! 1. The primary file is opened for reading. Its boot page says whether the version is one that is read,
//!    and, of a database of our own, whether it was shut down cleanly: nothing is recovered here.
//! 2. Further files: those that the user names, by what their headers say they are; then those that the
//!    catalog names and that lie where it says, or beside the primary file, or the other way round where the
//!    caller wants it so. No log is opened.
//! 3. The catalog is read past the pool, whatever the version, and kept in memory.
//! 4. The engine wants a log: it gets one in memory, into which nothing is ever written. The database takes
//!    no changes (3906), and has no threads of its own.
//!
//! Nothing is made beside the files: no double-write file, no lock. A page that is damaged is reported when
//! it is read (824), and keeps only that from being read which needs it.
//!
//! EMERGENCY opens a database of our own in the same way, whether it was shut down cleanly or not
//! ([`open_emergency`]).
//!
//! A file that was copied while its server ran, or taken from one that crashed, looks like any other. It
//! shows by pages that are newer than the last checkpoint that the boot page knows: a warning says so.

use super::computed;
use super::create::space_options;
use super::open::Sniffed;
use crate::database::{Database, Hooks, Parts, Registration};
use crate::files::{
    FileBook, FileEntry, LogEntry, RestingFiles, is_own_boot, parse_file, repair_path,
};
use crate::keeper::Keeper;
use crate::shared::Shared;
use furrow_check::Identity;
use furrow_datafile::{Database as MdfDatabase, MdfError, NEWEST_VERSION, OLDEST_VERSION, Pages};
use furrow_format::BOOT_PAGE;
use furrow_format::catalog::DatabaseFile;
use furrow_format::{Boot, DatabaseId, FileGrowth, FileId, Lsn};
use furrow_io::{Access, MemoryVolume, Open, Volume};
use furrow_log::Log;
use furrow_messages::{Arg, Message};
use furrow_observe::errorlog::Source;
use furrow_space::{FilegroupSpec, Space, SpaceConfig, SpaceOptions};
use furrow_tables::Catalog;
use furrow_tables::refuse;
use furrow_tables::{DatabaseOptions, DatabaseState, EngineError, StateCell, Updateability};
use furrow_txn::Store;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Most files that a database can have.
const MOST_FILES: usize = 32_767;

/// A primary file that was opened and proven to belong to a database that can be read as it is.
pub(crate) struct RestingPrimary {
    files: RestingFiles,
    boot: Boot,
    /// What of its files is not as it is on the disk, in sentences.
    notes: Vec<String>,
}

impl RestingPrimary {
    /// Other files are looked for beside this one first: it may be of a copy, whose original is still there.
    pub(crate) fn look_beside_first(&mut self) {
        self.files.beside_first = true;
    }

    /// What the instance has to know of its database.
    pub(crate) fn sniffed(&self) -> Sniffed {
        Sniffed {
            name: self.boot.name.clone(),
            binding: self.files.binding(),
        }
    }
}

/// Opens the primary file of a database at rest.
pub(crate) fn open_resting(shared: &Shared, primary: &Path) -> Result<RestingPrimary, EngineError> {
    open_as(shared, primary, Kind::Resting)
}

/// In which state files are opened for reading only.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Shut down cleanly, where the files show that.
    Resting,
    /// As they are.
    Emergency,
}

/// ALTER DATABASE ... SET EMERGENCY: opens a database of our own for reading only, without its log. Nothing
/// is recovered: what was not committed may be seen, and changes that only the log has are missing.
///
/// With an identity, a boot page and headers that are damaged are computed.
pub(crate) fn open_emergency(
    shared: &Arc<Shared>,
    (id, name): (DatabaseId, &str),
    primary: &Path,
    identity: Option<&Identity>,
) -> Result<Arc<Database>, EngineError> {
    let opened = match identity {
        Some(identity) => open_computed(shared, primary, identity)?,
        None => open_as(shared, primary, Kind::Emergency)?,
    };
    let opened = (opened, &[primary.to_path_buf()][..]);
    let database = attach_as(shared, (id, name), opened, (Kind::Emergency, identity))?;
    database.state.set(DatabaseState::Emergency);
    Ok(database)
}

fn open_as(shared: &Shared, primary: &Path, kind: Kind) -> Result<RestingPrimary, EngineError> {
    // What an interrupted repair has left half is part of what EMERGENCY shows.
    if kind == Kind::Resting && shared.volume.exists(&repair_path(primary))? {
        let text = format!(
            "A repair of the database in '{}' was interrupted, and is finished first. Attach it without \
             READ_ONLY.",
            primary.display()
        );
        return Err(refuse(40517, 16, 1, &text));
    }
    let files = RestingFiles::open(&*shared.volume, primary)?;
    let boot = prove_boot(&files, primary, kind)?;
    let notes = Vec::new();
    Ok(RestingPrimary { files, boot, notes })
}

/// As it is on the disk but for header and boot page, which are computed where they cannot be used.
fn open_computed(
    shared: &Shared,
    primary: &Path,
    identity: &Identity,
) -> Result<RestingPrimary, EngineError> {
    let (files, notes) = computed::open_primary(shared, primary, identity)?;
    let boot = prove_boot(&files, primary, Kind::Emergency)?;
    Ok(RestingPrimary { files, boot, notes })
}

/// The boot page, if the database is one that can be read as it is.
fn prove_boot(files: &RestingFiles, primary: &Path, kind: Kind) -> Result<Boot, EngineError> {
    let pages = Pages::new(files);
    if let Some(Err(fault)) = pages.protection(BOOT_PAGE) {
        let page = BOOT_PAGE;
        return Err(files.error(&pages, MdfError::DamagedPage { page, fault }));
    }
    let stranger = || EngineError::refused(5171, &[primary.display().to_string().into()]);
    let page = pages.page(BOOT_PAGE).ok_or_else(stranger)?;
    let boot = Boot::decode(&page).map_err(|_| stranger())?;
    let args = |more: &[Arg]| {
        let mut args = vec![Arg::from(boot.name.as_str()), boot.version.into()];
        args.extend_from_slice(more);
        args
    };
    if boot.version < OLDEST_VERSION {
        return Err(EngineError::refused(946, &args(&[])));
    }
    if boot.version > NEWEST_VERSION {
        return Err(EngineError::refused(948, &args(&[NEWEST_VERSION.into()])));
    }
    if is_own_boot(&page) && !boot.own.clean_shutdown && kind == Kind::Resting {
        let text = format!(
            "Database '{}' was not shut down cleanly: its log has to be recovered first. Attach it without \
             READ_ONLY.",
            boot.name
        );
        return Err(refuse(40517, 16, 1, &text));
    }
    Ok(boot)
}

/// Finds and opens all files of the catalog, and gives the rows of all of them, the log's among them.
fn gather(
    shared: &Shared,
    files: &mut RestingFiles,
    home: &Path,
    (identity, notes): (Option<&Identity>, &mut Vec<String>),
) -> Result<Vec<DatabaseFile>, EngineError> {
    // Pages of the catalog itself may lie in files that are yet to be found.
    for _ in 0..MOST_FILES {
        let pages = Pages::new(&*files);
        let read = MdfDatabase::open(&pages).map(|database| {
            let missing = database.missing_files().first().copied().cloned();
            (database.files().to_vec(), missing)
        });
        let (missing, recorded) = match read {
            Ok((rows, None)) => return Ok(rows),
            Ok((_, Some(row))) => (FileId(row.fileid as u16), Some(PathBuf::from(&row.pname))),
            Err(MdfError::MissingFile { file, .. }) => (file, None),
            Err(error) => return Err(files.error(&pages, error)),
        };
        drop(pages);
        if files.find(&*shared.volume, missing, recorded.as_deref(), home)? {
            continue;
        }
        let added = match (identity, recorded.as_deref()) {
            (Some(identity), Some(path)) => {
                computed::add_file(shared, files, (missing, path), identity)?
            }
            _ => None,
        };
        match added {
            Some(more) => notes.extend(more),
            None => return Err(not_found(missing, recorded.as_deref())),
        }
    }
    Err(EngineError::Damaged(
        "the catalog names too many files".into(),
    ))
}

/// 5120 for a data file that lies neither where the catalog says nor beside the primary file, and what to
/// do.
fn not_found(file: FileId, recorded: Option<&Path>) -> EngineError {
    let name = recorded.map_or_else(|| format!("file {file}"), |p| p.display().to_string());
    let what = "no such file or directory";
    let args = [name.into(), 2.into(), what.into()];
    // A path of Windows is one name here.
    let last = recorded.and_then(|p| p.to_str()?.rsplit(['/', '\\']).next());
    let last = last.map_or_else(String::new, |last| format!(" ({last})"));
    let advice = format!(
        "File {file}{last} was not given and does not lie beside the primary file: copy it there, or name it \
         in the FOR ATTACH statement."
    );
    EngineError::refused(5120, &args).followed_by(Message::custom(40517, 16, 1, &advice))
}

fn file_entry(row: &DatabaseFile, files: &RestingFiles) -> Option<FileEntry> {
    let parsed = parse_file(row)?;
    let file = files.files.get(&parsed.plan.id)?;
    Some(parsed.entry(Arc::clone(&file.file)))
}

/// The log as the catalog has it: it is not opened.
fn log_entry(rows: &[DatabaseFile]) -> LogEntry {
    let row = rows.iter().find(|row| row.filetype == 1);
    let parsed = row.and_then(parse_file);
    parsed.map_or_else(
        || LogEntry {
            name: String::new(),
            path: PathBuf::new(),
            max_pages: None,
            growth: FileGrowth::None,
            guid: furrow_types::Guid::default(),
            recorded_pages: Some(0),
            next_path: None,
        },
        |file| LogEntry {
            recorded_pages: Some(file.plan.size_pages),
            ..file.log_entry(file.plan.path.clone())
        },
    )
}

/// Opens a database from files that are not changed: the primary one, which is open, and others that lie
/// elsewhere.
pub(crate) fn attach_resting(
    shared: &Arc<Shared>,
    id: DatabaseId,
    name: &str,
    opened: (RestingPrimary, &[PathBuf]),
) -> Result<Arc<Database>, EngineError> {
    attach_as(shared, (id, name), opened, (Kind::Resting, None))
}

fn attach_as(
    shared: &Arc<Shared>,
    (id, name): (DatabaseId, &str),
    (opened, paths): (RestingPrimary, &[PathBuf]),
    (kind, identity): (Kind, Option<&Identity>),
) -> Result<Arc<Database>, EngineError> {
    let primary = paths.first().map_or(Path::new(""), PathBuf::as_path);
    let say = |text: &str| shared.error_log.write(Source::Server, text);
    let starting = Message::new(17137, &[name.into()]);
    shared.error_log.write_message(Source::Server, &starting);
    let RestingPrimary {
        mut files,
        boot,
        mut notes,
    } = opened;
    for path in paths.iter().skip(1) {
        if !files.add(&*shared.volume, path)? {
            say(&format!(
                "File '{}' is a log: it is not read.",
                path.display()
            ));
        }
    }
    let home = primary.parent().unwrap_or(Path::new(""));
    let rows = gather(shared, &mut files, home, (identity, &mut notes))?;
    let known = |id: &&u16| rows.iter().any(|row| row.fileid == i32::from(**id));
    if !files.files.keys().all(|id| known(&id)) {
        return Err(EngineError::refused(5173, &[]));
    }
    if kind == Kind::Resting && !files.rest_together() {
        return Err(EngineError::refused(5173, &[]));
    }
    let (database, words, newest) = build(shared, id, name, &files, &rows, &boot)?;
    let how = match kind {
        Kind::Resting => "attached READ_ONLY",
        Kind::Emergency => "in EMERGENCY mode, and is not recovered",
    };
    say(&format!(
        "Database '{name}' (version {}) is {how}: its files are open for reading only, its log is not read, \
         and nothing is written.",
        boot.version
    ));
    let own = Pages::new(&files)
        .page(BOOT_PAGE)
        .is_some_and(|page| is_own_boot(&page));
    if !own && newest > boot.checkpoint_lsn {
        say(&format!(
            "Warning: database '{name}' was not shut down cleanly: it has pages newer ({}) than its last \
             checkpoint ({}). Its log is not read: what was not committed may be seen, and what was may be \
             missing.",
            newest, boot.checkpoint_lsn
        ));
    }
    for note in notes {
        let text = format!("Warning: database '{name}' is read with a computed page. {note}");
        say(&text);
        database
            .messages
            .lock()
            .push(Message::custom(0, 10, 1, &text));
    }
    words
        .iter()
        .for_each(|word| say(&format!("Database '{name}': {word}.")));
    Ok(database)
}

/// A database, what of its catalog could not be read, and the LSN of the newest page read.
type Built = (Arc<Database>, Vec<String>, Lsn);

fn build(
    shared: &Arc<Shared>,
    id: DatabaseId,
    name: &str,
    files: &RestingFiles,
    rows: &[DatabaseFile],
    boot: &Boot,
) -> Result<Built, EngineError> {
    let binding = files.binding();
    let log = MemoryVolume::new().open(Path::new("log"), Open::Create, Access::Log)?;
    let log = Log::create(log, 0, binding.0, shared.config.log)?;
    let tail = log.tail();
    let registration = Registration::new(shared, id, &log);
    let store = Store::new(id, Arc::clone(&shared.pool), log, tail, 1)?;
    let entries: Vec<FileEntry> = rows
        .iter()
        .filter_map(|row| file_entry(row, files))
        .collect();
    for entry in &entries {
        registration.add_resting_file(entry.id, &entry.file)?;
    }
    let hooks = Arc::new(Hooks::default());
    let mut groups: Vec<u16> = entries.iter().map(|f| f.filegroup).collect();
    groups.sort_unstable();
    groups.dedup();
    let config = SpaceConfig {
        database: name.to_owned(),
        filegroups: groups.into_iter().map(group).collect(),
        files: entries.iter().map(|f| f.for_space(0)).collect(),
        options: SpaceOptions {
            at_rest: true,
            ..space_options(shared)
        },
        catalog: Some(Arc::clone(&hooks) as _),
        trace: Some(Arc::clone(&hooks) as _),
    };
    let space = Space::open(Arc::clone(&store), config)?;
    let state = Arc::new(StateCell::new(DatabaseState::Recovering));
    let keeper = Keeper::new(shared, name, &store, &state, log_entry(rows));
    let pages = Pages::new(files);
    let mdf = MdfDatabase::open(&pages).map_err(|e| files.error(&pages, e))?;
    let catalog = Catalog::open_resting(&store, &space, &mdf);
    let (catalog, words) = catalog.map_err(|e| files.error(&pages, e))?;
    let own = boot.own;
    let database = Database::assemble(Parts {
        name: name.to_owned(),
        options: DatabaseOptions::of(&own),
        store,
        space,
        catalog,
        state,
        keeper,
        book: FileBook::new(binding, entries, BTreeMap::new()),
        hooks,
        registration,
        access: Updateability::attached(),
        layout: None,
        snapshot: None,
    })?;
    database.load_groups()?;
    database.state.set(DatabaseState::Online);
    Ok((database, words, pages.newest()))
}

/// A filegroup before the catalog has named it.
fn group(id: u16) -> FilegroupSpec {
    FilegroupSpec {
        id,
        name: format!("filegroup {id}"),
        autogrow_all: false,
        is_default: id == 1,
    }
}
