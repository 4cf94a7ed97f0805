//! CREATE DATABASE.

use super::bootstrap;
use crate::database::{Database, Hooks, Parts, Registration};
use crate::files::{
    DatabasePlan, DatabaseSpec, FileBook, FileEntry, FilePlan, GroupEntry, Guarded, LogEntry, Made,
    Metered, check_free, double_write_path, repair_path,
};
use crate::keeper::Keeper;
use crate::shared::Shared;
use furrow_format::boot::{Boot, Forks, OwnBoot, WRITTEN_VERSION};
use furrow_format::{DatabaseId, FileHeader, FileId, Lsn, PAGE_SIZE, PageId};
use furrow_io::{Access, Fill, Volume, random};
use furrow_log::{Log, LogConfig};
use furrow_messages::Message;
use furrow_space::{Space, SpaceConfig, SpaceOptions, new_file_pages};
use furrow_tables::Catalog;
use furrow_tables::{DatabaseState, EngineError, StateCell, Updateability};
use furrow_txn::Store;
use furrow_types::{DateTime, Guid};
use std::collections::BTreeMap;
use std::sync::Arc;

/// State of 5170 in CREATE DATABASE.
const TAKEN_STATE: u8 = 4;
/// Latin1_General, case-insensitive, accent-sensitive: the collation that SQL Server's samples have.
const COLLATION: u32 = 872_468_488;
const COMPATIBILITY: u16 = 110;

/// A file of the plan, made.
struct MadeFile<'p> {
    plan: &'p FilePlan,
    guid: Guid,
    /// Of a data file.
    data: Option<Guarded>,
}

/// Checks every path before anything is made.
pub(crate) fn check_paths(volume: &dyn Volume, plan: &DatabasePlan) -> Result<(), EngineError> {
    for file in &plan.files {
        let checked = check_free(volume, &file.path, TAKEN_STATE).and_then(|()| {
            let guard = double_write_path(&file.path);
            if file.filegroup == 0 {
                Ok(())
            } else {
                check_free(volume, &guard, TAKEN_STATE)?;
                check_free(volume, &repair_path(&file.path), TAKEN_STATE)
            }
        });
        checked.map_err(|e| e.followed_by(Message::new(1802, &[])))?;
    }
    Ok(())
}

/// Makes the database; on an error nothing of it is left. The name is free, the paths are checked.
pub(crate) fn create(
    shared: &Arc<Shared>,
    id: DatabaseId,
    binding: Guid,
    spec: &DatabaseSpec,
    plan: &DatabasePlan,
) -> Result<Arc<Database>, EngineError> {
    let mut made = match spec.temporary {
        true => Made::temporary(&*shared.volume),
        false => Made::new(&*shared.volume),
    };
    let files = make_files(&mut made, plan, (binding, shared.file_fill()));
    let not_made = || Message::new(1802, &[]);
    let (files, log) = files.map_err(|e| e.of_expansion().followed_by(not_made()))?;
    let database = build(shared, (id, binding), (spec, plan), &files, log);
    // The log and the double-write files get their sizes there.
    let database = database.map_err(|e| match e.of_expansion() {
        e if e.has(5149) => e.followed_by(not_made()),
        e => e,
    })?;
    database.checkpoint()?;
    made.keep();
    Ok(database)
}

type LogFile = Arc<dyn furrow_io::File>;

fn make_files<'p>(
    made: &mut Made<'_>,
    plan: &'p DatabasePlan,
    (binding, fill): (Guid, Fill),
) -> Result<(Vec<MadeFile<'p>>, LogFile), EngineError> {
    let (mut files, mut log) = (Vec::new(), None);
    for file in &plan.files {
        let guid = Guid(random::guid_v4());
        let data = if file.filegroup == 0 {
            log = Some(made.create(&file.path, Access::Log, TAKEN_STATE)?);
            None
        } else {
            let data = made.data_file(&file.path, TAKEN_STATE)?;
            let header = header_of(file, binding, guid, Lsn::ZERO);
            let system = if file.id == 1 {
                &bootstrap::SYSTEM_PAGES[..]
            } else {
                &[]
            };
            new_file_pages(&*data.file, &header, system, fill)?;
            Some(data)
        };
        files.push(MadeFile {
            plan: file,
            guid,
            data,
        });
    }
    let log = log.ok_or_else(|| EngineError::Damaged("a plan without a log".into()))?;
    Ok((files, log))
}

/// The header of a new data file.
pub(crate) fn header_of(plan: &FilePlan, binding: Guid, guid: Guid, created: Lsn) -> FileHeader {
    FileHeader {
        max_size_pages: plan.max_pages,
        growth: plan.growth,
        file_guid: guid,
        first_lsn: created,
        max_lsn: created,
        name: plan.name.clone(),
        ..FileHeader::new(binding, FileId(plan.id), plan.filegroup, plan.size_pages)
    }
}

fn build(
    shared: &Arc<Shared>,
    (id, binding): (DatabaseId, Guid),
    (spec, plan): (&DatabaseSpec, &DatabasePlan),
    files: &[MadeFile<'_>],
    log_file: LogFile,
) -> Result<Arc<Database>, EngineError> {
    let guids: Vec<Guid> = files.iter().map(|f| f.guid).collect();
    let log_entry = log_entry(plan, files)?;
    let stats = shared
        .instruments
        .files
        .open(id.0, 2, &log_entry.path.to_string_lossy());
    let bytes = u64::from(plan.files.get(1).map_or(64, |f| f.size_pages)) * PAGE_SIZE as u64;
    let log = Log::create(
        Metered::wrap(log_file, stats),
        bytes,
        binding.0,
        LogConfig {
            temporary: spec.temporary,
            ..shared.config.log
        },
    )?;
    let tail = log.tail();
    let registration = Registration::new(shared, id, &log);
    let store = Store::new(id, Arc::clone(&shared.pool), log, tail, 1)?;
    let state = Arc::new(StateCell::new(DatabaseState::Online));
    let keeper = Keeper::new(shared, &spec.name, &store, &state, log_entry.clone());
    store.set_relief(Arc::clone(&keeper) as _);
    for file in files {
        if let Some(data) = &file.data {
            registration.add_file(FileId(file.plan.id), data)?;
        }
    }
    let created = crate::shared::now();
    bootstrap::write_boot(&store, &boot_page(id, spec, binding, created))?;
    let hooks = Arc::new(Hooks::default());
    let space = open_space(shared, &store, spec, files, &hooks)?;
    let sizes = (created, spec.system_extents);
    bootstrap::write_base_tables(&store, &space, plan, sizes, &guids)?;
    let catalog = Catalog::open(&store, &space)?;
    catalog.after_undo()?;
    let entries = files.iter().filter_map(MadeFile::entry).collect();
    let book = FileBook::new(binding, entries, groups_of(plan));
    let database = Database::assemble(Parts {
        name: spec.name.clone(),
        options: spec.options,
        store,
        space,
        catalog,
        state,
        keeper,
        book,
        hooks,
        registration,
        access: Updateability::default(),
        layout: spec.temporary.then(|| plan.files.clone()),
        snapshot: None,
    })?;
    database.join_other_files(
        files
            .iter()
            .filter(|f| f.plan.id != 1)
            .filter_map(MadeFile::data),
    )?;
    database.write_group_flags()?;
    Ok(database)
}

fn groups_of(plan: &DatabasePlan) -> BTreeMap<u16, GroupEntry> {
    let group = |g: &(u16, String, bool, bool)| {
        let entry = GroupEntry {
            name: g.1.clone(),
            is_default: g.2,
            autogrow_all: g.3,
            read_only: false,
        };
        (g.0, entry)
    };
    plan.filegroups.iter().map(group).collect()
}

impl MadeFile<'_> {
    fn entry(&self) -> Option<FileEntry> {
        let data = self.data.as_ref()?;
        Some(FileEntry {
            id: FileId(self.plan.id),
            filegroup: self.plan.filegroup,
            name: self.plan.name.clone(),
            path: self.plan.path.clone(),
            max_pages: self.plan.max_pages,
            growth: self.plan.growth,
            guid: self.guid,
            file: Arc::clone(&data.file),
            next_path: None,
        })
    }

    fn data(&self) -> Option<furrow_space::DataFile> {
        self.entry()
            .map(|entry| entry.for_space(self.plan.size_pages))
    }
}

fn log_entry(plan: &DatabasePlan, files: &[MadeFile<'_>]) -> Result<LogEntry, EngineError> {
    let log = plan.files.iter().zip(files).find(|(f, _)| f.filegroup == 0);
    let (log, made) = log.ok_or_else(|| EngineError::Damaged("a plan without a log".into()))?;
    Ok(LogEntry {
        name: log.name.clone(),
        path: log.path.clone(),
        max_pages: log.max_pages,
        growth: log.growth,
        guid: made.guid,
        recorded_pages: None,
        next_path: None,
    })
}

/// The space over the primary file alone: what the catalog takes lies there.
fn open_space(
    shared: &Arc<Shared>,
    store: &Arc<Store>,
    spec: &DatabaseSpec,
    files: &[MadeFile<'_>],
    hooks: &Arc<Hooks>,
) -> Result<Arc<Space>, EngineError> {
    let primary = files
        .iter()
        .filter(|f| f.plan.id == 1)
        .filter_map(MadeFile::data)
        .collect();
    let config = SpaceConfig {
        database: spec.name.clone(),
        filegroups: vec![furrow_space::FilegroupSpec {
            id: 1,
            name: "PRIMARY".into(),
            autogrow_all: spec.autogrow_all,
            is_default: true,
        }],
        files: primary,
        options: space_options(shared),
        catalog: Some(Arc::clone(hooks) as _),
        trace: Some(Arc::clone(hooks) as _),
    };
    Ok(Space::open(Arc::clone(store), config)?)
}

/// How space is handed out in this instance.
pub(crate) fn space_options(shared: &Shared) -> SpaceOptions {
    let many = shared.config.many_extents_a_turn;
    let extents_a_turn = if many { SpaceOptions::E_RUN } else { 1 };
    SpaceOptions {
        extents_a_turn,
        ..SpaceOptions::default()
    }
}

fn boot_page(id: DatabaseId, spec: &DatabaseSpec, binding: Guid, created: DateTime) -> Boot {
    Boot {
        version: WRITTEN_VERSION,
        create_version: WRITTEN_VERSION,
        status: 0,
        next_object_id: bootstrap::FIRST_OBJECT_ID,
        created,
        name: spec.name.clone(),
        database_id: id.0,
        compatibility: COMPATIBILITY,
        row_version: 2000,
        full_backup_lsn: Lsn::ZERO,
        checkpoint_lsn: Lsn::ZERO,
        collation: COLLATION,
        family: binding,
        forks: Forks::new(Guid(random::guid_v4())),
        differential_base: Guid::default(),
        catalog_page: PageId::NONE,
        next_unit: 0,
        own: OwnBoot {
            clean_shutdown: false,
            recovery_model: spec.options.recovery_model,
            page_verify: spec.options.page_verify,
            target_recovery_s: spec.options.target_recovery_s,
            log_incarnation: 1,
            log_backup_lsn: Lsn::ZERO,
            read_only: false,
            delayed_durability: spec.options.delayed_durability,
            user_access: spec.options.user_access,
            mixed_pages: spec.options.mixed_pages,
            auto_create_statistics: spec.options.auto_create_statistics,
            auto_update_statistics: spec.options.auto_update_statistics,
            defaults: spec.options.defaults,
            compatibility_level: spec.options.compatibility_level,
        },
    }
}
