//! A snapshot is opened: from its sparse files before its source is, as a database after it.

use super::failure::Failure;
use crate::database::{Database, Hooks, Parts, Registration, SnapshotOf};
use crate::files::{FileBook, FileEntry, FileStatus, LogEntry, files_in_pool, open_error};
use crate::keeper::Keeper;
use crate::opening::space_options;
use crate::shared::{Listed, Shared};
use furrow_format::{BOOT_PAGE, Boot, DatabaseId, FileId, Lsn, UserAccess};
use furrow_io::{Access, File, IoErrorKind, MemoryVolume, Open, Volume};
use furrow_log::Log;
use furrow_messages::Message;
use furrow_observe::errorlog::Source;
use furrow_pool::{LatchRank, SnapshotFile, SnapshotGuard};
use furrow_pool::{SparseFault, SparseFile, SparseFiles, SparseHeader};
use furrow_space::{FilegroupSpec, Space, SpaceConfig, SpaceOptions};
use furrow_tables::{Catalog, DatabaseOptions, DatabaseState, EngineError, Updateability};
use furrow_txn::Store;
use furrow_types::Guid;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

/// A snapshot whose source can be opened now.
#[derive(Debug)]
pub(crate) struct Resumed {
    pub(crate) listed: Listed,
    pub(crate) guard: Arc<SnapshotGuard>,
    pub(crate) failure: Failure,
}

/// Why a snapshot cannot be resumed.
#[derive(Debug)]
pub(crate) enum NotResumed {
    /// Something still has a file of it open: the source must wait.
    Busy(EngineError),
    /// It is lost when its source is opened.
    Lost(EngineError),
}

impl From<EngineError> for NotResumed {
    fn from(error: EngineError) -> NotResumed {
        NotResumed::Lost(error)
    }
}

/// Registers a whole snapshot by its sparse files, before its source is opened.
pub(crate) fn resume(shared: &Shared, listed: &Listed) -> Result<Resumed, NotResumed> {
    let mut files = Vec::new();
    for plan in &listed.layout {
        let opened = shared.volume.open(&plan.path, Open::Existing, Access::Data);
        let file = opened.map_err(|e| match e.kind {
            IoErrorKind::InUse => NotResumed::Busy(open_error(&plan.path, &e)),
            _ => NotResumed::Lost(open_error(&plan.path, &e)),
        })?;
        let sparse = SparseFile::open(file, (listed.binding, FileId(plan.id)));
        files.push(sparse.map_err(|fault| unusable(&plan.path, &listed.name, fault))?);
    }
    let first = files.first().map(SparseFile::header);
    let together = |file: &SparseFile| {
        let of = |header: SparseHeader| (header.split, header.source);
        Some(of(file.header())) == first.map(of)
    };
    if !files.iter().all(together) {
        return Err(EngineError::refused(5173, &[]).into());
    }
    if files.is_empty() {
        return Err(EngineError::Damaged("a snapshot without files".into()).into());
    }
    let failure = Failure::new(&listed.name, &shared.error_log);
    let sparse = SparseFiles::new(files, Box::new(failure.clone()));
    let guard = shared
        .pool
        .resume_snapshot(DatabaseId(listed.link.database), sparse);
    Ok(Resumed {
        listed: listed.clone(),
        guard: Arc::new(guard),
        failure,
    })
}

pub(super) fn unusable(path: &Path, name: &str, fault: SparseFault) -> EngineError {
    let shown = path.display().to_string();
    match fault {
        SparseFault::Io(error) => error.into(),
        SparseFault::Suspect => EngineError::of(Message::new(3420, &[name.into()])),
        SparseFault::Damaged => {
            EngineError::refused(5172, &[shown.as_str().into(), "PageAudit".into()])
        }
    }
}

/// Opens a snapshot whose source is open.
pub(crate) fn open(
    shared: &Arc<Shared>,
    (listed, source): (&Listed, &Database),
    guard: Arc<SnapshotGuard>,
    failure: &Failure,
) -> Result<Arc<Database>, EngineError> {
    let (id, name) = (DatabaseId(listed.id), listed.name.as_str());
    let starting = Message::new(17137, &[name.into()]);
    shared.error_log.write_message(Source::Server, &starting);
    prove_source(&guard, source, name)?;
    let binding = Guid(listed.binding);
    let log = MemoryVolume::new().open(Path::new("log"), Open::Create, Access::Log)?;
    let log = Log::create(log, 0, binding.0, shared.config.log)?;
    let registration = Registration::new(shared, id, &log);
    let tail = log.tail();
    let store = Store::new(id, Arc::clone(&shared.pool), log, tail, 1)?;
    let (entries, log_entry) = files_of(&guard, &registration, &store)?;
    let options = options_of(&store)?;
    let hooks = Arc::new(Hooks::default());
    let space = open_space(shared, &store, (name, &entries), &hooks)?;
    let catalog = Catalog::open(&store, &space)?;
    catalog.after_undo()?;
    let state = Arc::clone(failure.state());
    let keeper = Keeper::new(shared, name, &store, &state, log_entry);
    let database = Database::assemble(Parts {
        name: name.to_owned(),
        options,
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
        snapshot: Some(SnapshotOf { guard }),
    })?;
    database.load_groups()?;
    if database.state() == DatabaseState::Recovering {
        database.state.set(DatabaseState::Online);
    }
    // It may have failed meanwhile.
    let of = database.snapshot.as_ref();
    if let Some(error) = of.and_then(|of| of.guard.snapshot().failure()) {
        database.state.suspect(&error.to_string());
    }
    database.check()?;
    Ok(database)
}

/// Makes the files of a snapshot known to the pool, and finds them in its catalog.
fn files_of(
    guard: &SnapshotGuard,
    registration: &Registration,
    store: &Store,
) -> Result<(Vec<FileEntry>, LogEntry), EngineError> {
    let mut files: BTreeMap<FileId, Arc<dyn File>> = BTreeMap::new();
    for (id, _) in guard.snapshot().files() {
        let file = SnapshotFile::new(guard.snapshot(), id);
        let file: Arc<dyn File> = Arc::new(file.ok_or_else(|| bad("has no such file"))?);
        registration.add_resting_file(id, &file)?;
        files.insert(id, file);
    }
    let rows = files_in_pool(store, &|file| files.contains_key(&file))?;
    let (mut entries, mut log) = (Vec::new(), None);
    for row in &rows.files {
        match (row.plan.filegroup, files.get(&FileId(row.plan.id))) {
            (0, _) => log = Some(row.log_entry(row.plan.path.clone())),
            (_, Some(file)) if row.status == FileStatus::Online => {
                entries.push(row.entry(Arc::clone(file)));
            }
            _ => {}
        }
    }
    if entries.len() != files.len() {
        return Err(bad("does not have the files of its catalog"));
    }
    let log = log.ok_or_else(|| bad("has no log in its catalog"))?;
    Ok((entries, log))
}

/// The options of the source, but for who may enter.
fn options_of(store: &Store) -> Result<DatabaseOptions, EngineError> {
    let page = store.read(BOOT_PAGE, LatchRank::Boot)?;
    let boot = Boot::decode(&page).map_err(|e| EngineError::Damaged(e.to_string()))?;
    Ok(DatabaseOptions {
        user_access: UserAccess::Multi,
        ..DatabaseOptions::of(&boot.own)
    })
}

fn bad(what: &str) -> EngineError {
    EngineError::Damaged(format!("a snapshot {what}"))
}

/// An error where the source is not the database that the snapshot is of, or an old copy of it.
fn prove_source(guard: &SnapshotGuard, source: &Database, name: &str) -> Result<(), EngineError> {
    let snapshot = guard.snapshot();
    let behind = source.store.log().tail() < snapshot.split();
    let failed = snapshot.failure().is_some();
    let stranger = snapshot.source_binding() != Some(source.files.binding.0);
    if failed || behind || stranger || !guard.is_bound() {
        return Err(EngineError::of(Message::new(3420, &[name.into()])));
    }
    debug_assert!(snapshot.split() > Lsn::ZERO, "a whole snapshot has a split");
    Ok(())
}

fn open_space(
    shared: &Shared,
    store: &Arc<Store>,
    (name, entries): (&str, &[FileEntry]),
    hooks: &Arc<Hooks>,
) -> Result<Arc<Space>, EngineError> {
    let mut groups: Vec<u16> = entries.iter().map(|f| f.filegroup).collect();
    groups.sort_unstable();
    groups.dedup();
    // Names come from the catalog, which needs the space first.
    let group = |id: u16| FilegroupSpec {
        id,
        name: format!("filegroup {id}"),
        autogrow_all: false,
        is_default: id == 1,
    };
    let config = SpaceConfig {
        database: name.to_owned(),
        filegroups: groups.into_iter().map(group).collect(),
        files: entries.iter().map(|f| f.for_space(0)).collect(),
        options: SpaceOptions {
            at_rest: true,
            ..space_options(shared)
        },
        catalog: Some(Arc::clone(hooks) as _),
        trace: Some(Arc::clone(hooks) as _),
    };
    Ok(Space::open(Arc::clone(store), config)?)
}
