//! The engine as a subject: a database of several files in two volumes, tiny on purpose.

mod extra;
mod read;
mod session;
mod still;

pub use session::EngineSession;

use crate::model::State;
use crate::subject::{Failure, FullBackups, Layout, Store, Subject};
use furrow_check::{Options, check};
use furrow_datafile::DataFiles;
use furrow_engine::{
    AttachOptions, Database, DatabaseSpec, EngineError, FileGrowth, FileSpec, FileView, Instance,
    InstanceConfig, Timeout,
};
use furrow_format::{
    Bitmap, EXTENT_PAGES, ExtentNo, PAGE_SIZE, PageBuf, PageNo, dcm_page_of, extent_bit,
};
use furrow_io::{Access, Open, Volume, read_around, time};
use furrow_observe::traceflags::{Target, TraceFlag};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The engine.
#[derive(Debug, Clone)]
pub struct Engine {
    /// Where the two volumes of the database are.
    pub home: PathBuf,
}

impl Default for Engine {
    fn default() -> Engine {
        Engine {
            home: PathBuf::from("home"),
        }
    }
}

/// An open database in an instance of its own.
#[derive(Debug)]
pub struct EngineStore {
    instance: Arc<Instance>,
    db: Arc<Database>,
    volume: Arc<dyn Volume>,
    home: PathBuf,
    layout: Layout,
}

/// Errors of the layers below contain these texts, whatever wraps them.
const DEVICE_WORDS: [&str; 7] = [
    "perating system error",
    "' failed at byte ",
    "' failed: ",
    "is not usable after an earlier",
    "takes no changes",
    "cannot be made durable up to",
    "lost its power",
];

const FULL_WORDS: [&str; 2] = ["is full; no extent", "cannot be expanded"];

/// What an error of the engine means to the driver.
#[expect(clippy::needless_pass_by_value, reason = "for map_err")]
pub(crate) fn failure(error: EngineError) -> Failure {
    let text = error.to_string();
    match error.number() {
        1222 => Failure::Locked,
        1205 => Failure::Victim,
        2601 | 2627 | 2714 => Failure::Duplicate,
        208 | 3701 => Failure::Missing,
        1101 | 1105 | 9002 => Failure::Full(text),
        _ if FULL_WORDS.iter().any(|words| text.contains(words)) => Failure::Full(text),
        823 | 9001 | 926 | 942 | 945 | 3314 => Failure::Gone(text),
        _ if DEVICE_WORDS.iter().any(|words| text.contains(words)) => Failure::Gone(text),
        number => Failure::Wrong(format!("{number}: {text} ({error:?})")),
    }
}

fn wrong(error: &dyn std::fmt::Display) -> Failure {
    Failure::Wrong(error.to_string())
}

fn pages(kb: u64) -> FileGrowth {
    FileGrowth::Pages(u32::try_from(kb / 8).unwrap_or(8))
}

impl Engine {
    fn instance(&self, volume: Arc<dyn Volume>, layout: &Layout) -> Result<Arc<Instance>, Failure> {
        let config = InstanceConfig {
            pool_pages: layout.pool_pages,
            readers: 1,
            double_write_pages: layout.double_write_pages,
            background: layout.background,
            ..InstanceConfig::default()
        };
        Instance::start(volume, config).map_err(failure)
    }

    /// An instance that reopens its databases after a restart.
    pub(crate) fn lasting_instance(
        &self,
        volume: Arc<dyn Volume>,
        layout: &Layout,
    ) -> Result<Arc<Instance>, Failure> {
        let config = InstanceConfig {
            directory: Some(self.home.join("inst")),
            pool_pages: layout.pool_pages,
            readers: 1,
            double_write_pages: layout.double_write_pages,
            background: layout.background,
            ..InstanceConfig::default()
        };
        Instance::start(volume, config).map_err(failure)
    }

    /// A new database in an instance.
    pub(crate) fn create_in(
        &self,
        instance: Arc<Instance>,
        volume: Arc<dyn Volume>,
        layout: &Layout,
    ) -> Result<EngineStore, Failure> {
        for dir in ["v0", "v1"] {
            volume
                .create_dir(&self.home.join(dir))
                .map_err(|e| failure(e.into()))?;
        }
        let spec = self.spec(layout);
        let db = instance.create_database(&spec).map_err(failure)?;
        Ok(self.store(instance, db, volume, layout))
    }

    /// A database of such an instance as a store.
    pub(crate) fn store(
        &self,
        instance: Arc<Instance>,
        db: Arc<Database>,
        volume: Arc<dyn Volume>,
        layout: &Layout,
    ) -> EngineStore {
        EngineStore {
            instance,
            db,
            volume,
            home: self.home.clone(),
            layout: *layout,
        }
    }
}

impl Engine {
    fn spec(&self, layout: &Layout) -> DatabaseSpec {
        let file = |name: &str, number, kb| {
            let ending = if number == 0 { "mdf" } else { "ndf" };
            let path = in_volume(&self.home, number, &format!("{name}.{ending}"));
            FileSpec::new(name, path)
                .size_kb(kb)
                .growth(pages(layout.growth_kb))
        };
        let log = FileSpec::new("log", in_volume(&self.home, 1, "log.ldf")).size_kb(layout.log_kb);
        let log = if layout.log_grows {
            log.growth(pages(512))
        } else {
            log.no_growth()
        };
        let mut spec = DatabaseSpec::new("soak", file("primary", 0, 2048)).log(log);
        for number in 1..layout.files {
            spec = spec.file(file(&format!("data{number}"), number, layout.file_kb));
        }
        spec.autogrow_all = layout.grow_all;
        spec.options.mixed_pages = layout.mixed_pages;
        spec
    }
}

fn in_volume(home: &Path, number: u16, name: &str) -> PathBuf {
    home.join(format!("v{}", number % 2)).join(name)
}

impl Subject for Engine {
    type Store = EngineStore;

    fn create(&self, volume: Arc<dyn Volume>, layout: &Layout) -> Result<EngineStore, Failure> {
        let instance = self.instance(Arc::clone(&volume), layout)?;
        self.create_in(instance, volume, layout)
    }

    fn open(&self, volume: Arc<dyn Volume>, layout: &Layout) -> Result<EngineStore, Failure> {
        let instance = self.instance(Arc::clone(&volume), layout)?;
        let primary = in_volume(&self.home, 0, "primary.mdf");
        let db = instance.attach_database(&primary, &AttachOptions::default());
        let db = db.map_err(failure)?;
        Ok(self.store(instance, db, volume, layout))
    }
}

impl EngineStore {
    /// The database.
    pub(crate) fn database(&self) -> &Arc<Database> {
        &self.db
    }

    /// Checks the files as they are after a checkpoint.
    fn audit_files(&self) -> Result<(), Failure> {
        self.checkpoint()?;
        let mut views = self.db.file_list().map_err(failure)?;
        views.retain(|file| file.filegroup != 0);
        let mut files = DataFiles::new();
        for view in &views {
            let file = self.volume.open(&view.path, Open::ReadOnly, Access::Data);
            let file = file.map_err(|e| failure(e.into()))?;
            let id = files.add(file).map_err(|e| wrong(&e))?;
            files.limit(id, view.size_pages as u32);
        }
        let options = Options {
            workers: 1,
            // The catalog has those of the last orderly end; the figures in memory are compared by `compare`.
            counts: false,
            at_rest: true,
            ..Options::default()
        };
        let report = check(&still::Still(files), &options, None).map_err(|e| wrong(&e))?;
        if !report.is_clean() {
            let lines: Vec<String> = report.findings.iter().map(ToString::to_string).collect();
            return Err(Failure::Wrong(lines.join("\n")));
        }
        let waiting = self.db.catalog().units_to_drop().map_err(failure)?;
        if !waiting.is_empty() {
            return Err(Failure::Wrong(format!("not freed: {waiting:?}")));
        }
        // A full backup is a base: the maps have only what has changed since.
        if self.layout.full_backups == FullBackups::Never {
            views.iter().try_for_each(|view| self.audit_changed(view))?;
        }
        for file in views {
            let free = report.free_extents.get(&file.id.0).copied().unwrap_or(0);
            if free != file.free_extents {
                let (name, counted) = (file.name, file.free_extents);
                let text = format!("file {name} has {free} free extents, {counted} are counted");
                return Err(Failure::Wrong(text));
            }
        }
        Ok(())
    }
}

impl EngineStore {
    /// Every page that holds something has been changed since the database was created: its extent's bit in
    /// the changed-extent map is set.
    fn audit_changed(&self, view: &FileView) -> Result<(), Failure> {
        let file = self.volume.open(&view.path, Open::ReadOnly, Access::Data);
        let file = file.map_err(|e| failure(e.into()))?;
        let mut bytes = vec![0; view.size_pages as usize * PAGE_SIZE];
        // What a power loss made unreadable stays zero here: nothing has been written there since.
        read_around(&*file, 0, &mut bytes).map_err(|e| failure(e.into()))?;
        match unmarked(bytes.as_chunks().0, &|_, page| {
            page.iter().any(|&byte| byte != 0)
        }) {
            None => Ok(()),
            Some(page) => Err(Failure::Wrong(format!(
                "page {page} of file {} has changed, the changed-extent map does not say so",
                view.name
            ))),
        }
    }
}

/// The first page of a file that has changed, by `changed`, and whose extent's bit is not set.
pub(crate) fn unmarked(
    pages: &[PageBuf],
    changed: &dyn Fn(PageNo, &PageBuf) -> bool,
) -> Option<PageNo> {
    let numbered = (0..).map(PageNo).zip(pages);
    let mut changed = numbered.filter(|(number, page)| changed(*number, page));
    let missing = changed.find(|(number, _)| {
        let map = pages
            .get(dcm_page_of(*number).0 as usize)
            .and_then(Bitmap::new);
        let bit = extent_bit(ExtentNo(number.0 / EXTENT_PAGES));
        !map.is_some_and(|map| map.get(u32::from(bit)))
    });
    missing.map(|(number, _)| number)
}

impl Store for EngineStore {
    type Session = EngineSession;

    fn session(&self) -> Result<EngineSession, Failure> {
        let mut session = furrow_engine::Session::new(&self.db).map_err(failure)?;
        if !self.layout.waits_for_locks {
            session.set_lock_timeout(Timeout::NoWait);
        }
        Ok(EngineSession::new(session))
    }

    fn checkpoint(&self) -> Result<(), Failure> {
        self.db.checkpoint().map(|_| ()).map_err(failure)
    }

    fn clean(&self) -> Result<(), Failure> {
        self.db.purge_ghosts().map(|_| ()).map_err(failure)
    }

    fn add_file(&self, number: u16) -> Result<(), Failure> {
        let path = in_volume(&self.home, number, &format!("extra{number}.ndf"));
        let file = FileSpec::new(format!("extra{number}"), path)
            .size_kb(self.layout.file_kb)
            .growth(pages(self.layout.growth_kb));
        self.db.add_file(&file, None).map(|_| ()).map_err(failure)
    }

    fn read_all(&self) -> Result<State, Failure> {
        self.read_state()
    }

    fn audit(&self) -> Result<(), Failure> {
        if !self.layout.background {
            return self.audit_files();
        }
        // No page may change while the files are read one after the other, so the cleaner is stopped. A turn
        // of it that had begun may still be running, so a difference counts only when it stays.
        let flags = &self.instance.instruments().trace_flags;
        let rest = [i64::from(TraceFlag::NO_GHOST_CLEANUP.number())];
        flags
            .turn_on(&rest, Target::Global)
            .map_err(|e| wrong(&e))?;
        let mut outcome = self.audit_files();
        for _ in 0..4 {
            if outcome.is_ok() {
                break;
            }
            time::sleep(time::Duration::from_millis(100));
            outcome = self.audit_files();
        }
        flags
            .turn_off(&rest, Target::Global)
            .map_err(|e| wrong(&e))?;
        outcome
    }

    fn abandon(self) {
        self.instance.abandon();
    }

    fn close(self) -> Result<(), Failure> {
        let EngineStore { instance, db, .. } = self;
        drop(db);
        instance.shut_down().map_err(failure)
    }
}
