//! What the tests share: an instance, a database with a table, backups and restores of it.

use furrow_backup::media::Codec;
use furrow_backup::{
    BackupError, BackupReport, BackupRequest, Device, FilePages, Listener, MediaSet, Parts,
    RestoreReport, RestoreRequest, Throttle, backup_database, restore_database,
};
use furrow_check::{Options, check};
use furrow_datafile::DataFiles;
use furrow_engine::{
    ColumnSpec, Database, DatabaseSpec, FileSpec, FilegroupSpec, Instance, InstanceConfig,
    ScanSpec, Session, Table, TableSpec,
};
use furrow_io::random::{Rng, SeededRng};
use furrow_io::sim::{Crash, SimOptions};
use furrow_io::{MemoryVolume, SimVolume, Volume};
use furrow_types::{DataType, TypeId, Value};
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub struct World {
    pub volume: Arc<dyn Volume>,
    pub instance: Arc<Instance>,
    pub db: Arc<Database>,
}

/// Nobody hears.
pub struct Silent;

impl Listener for Silent {
    fn progress(&mut self, _: u64, _: u64) {}
    fn files_done(&mut self, _: u16, _: &[FilePages]) {}
}

pub fn config() -> InstanceConfig {
    InstanceConfig {
        directory: Some("inst".into()),
        pool_pages: 2048,
        double_write_pages: 64,
        ..InstanceConfig::default()
    }
}

pub fn world() -> World {
    world_with(FileSpec::new("log", "d/log.ldf").size_mb(2))
}

/// The same with another log.
pub fn world_with(log: FileSpec) -> World {
    world_on(Arc::new(MemoryVolume::new()), log)
}

/// The same on a volume.
pub fn world_on(volume: Arc<dyn Volume>, log: FileSpec) -> World {
    volume.create_dir(Path::new("d")).unwrap();
    let instance = Instance::start(Arc::clone(&volume), config()).unwrap();
    let more = FileSpec::new("more", "d/more.ndf").size_mb(2);
    let spec = DatabaseSpec::new("test", FileSpec::new("data", "d/data.mdf").size_mb(4))
        .log(log)
        .filegroup(FilegroupSpec::new("OTHER", vec![more]));
    let db = instance.create_database(&spec).unwrap();
    World {
        volume,
        instance,
        db,
    }
}

/// On a machine that can lose its power.
pub fn simulated() -> (SimVolume, World) {
    let volume = SimVolume::new(SimOptions::default());
    let log = FileSpec::new("log", "d/log.ldf").size_mb(2);
    let world = world_on(Arc::new(volume.clone()), log);
    (volume, world)
}

/// The machine has lost its power and what was not durable, and starts again with this database.
pub fn after_power_loss(volume: &SimVolume, world: World, name: &str) -> World {
    after_crash(volume, world, (&Crash::DropAll, name))
}

/// What a power loss leaves of what was not durable.
pub fn drawn_crash(rng: &mut SeededRng) -> Crash {
    let seed = rng.random();
    match rng.random_range(0..3) {
        0 => Crash::Random { seed },
        1 => Crash::Torn { seed },
        _ => Crash::Unreadable { seed },
    }
}

/// The same with this outcome.
pub fn after_crash(volume: &SimVolume, world: World, (crash, name): (&Crash, &str)) -> World {
    assert!(!volume.is_powered());
    world.instance.abandon();
    drop(world);
    volume.heal();
    volume.restart(crash);
    let instance = Instance::start(Arc::new(volume.clone()), config()).unwrap();
    let db = instance.database(name).unwrap();
    World {
        volume: Arc::new(volume.clone()),
        instance,
        db,
    }
}

pub fn request(stripes: usize) -> BackupRequest {
    let device = |n| Device::Disk(PathBuf::from(format!("d/b{n}.bak")));
    BackupRequest {
        devices: (0..stripes).map(device).collect(),
        codec: Codec::None,
        key: None,
        throttle: Throttle::default(),
        checksum: true,
        continue_after_error: false,
        buffer_count: None,
        transfer_bytes: 256 << 10,
        format: true,
        init: true,
        name: "a test".into(),
        description: String::new(),
        media_name: String::new(),
        media_description: String::new(),
        differential: false,
        copy_only: false,
        parts: Parts::default(),
        user: "sa".into(),
        server: "here".into(),
    }
}

pub fn numbers(error: &BackupError) -> Vec<u32> {
    error.messages().iter().map(|m| m.number).collect()
}

fn wanted((name, more): (&str, &[&str]), recovery: bool) -> RestoreRequest {
    let to = |file: &str, ext: &str| {
        let path = PathBuf::from(format!("d/{name}_{file}.{ext}"));
        (file.to_owned(), path)
    };
    let mut moves = vec![to("data", "mdf"), to("log", "ldf"), to("more", "ndf")];
    moves.extend(more.iter().map(|file| to(file, "ndf")));
    RestoreRequest {
        name: name.into(),
        moves,
        recovery,
        ..RestoreRequest::default()
    }
}

impl World {
    pub fn session(&self) -> Session {
        Session::new(&self.db).unwrap()
    }

    /// Ends the instance in order, lets somebody else have the files, and starts it again.
    pub fn restart_after(self, meanwhile: impl FnOnce(&dyn Volume)) -> World {
        let World {
            volume,
            instance,
            db,
        } = self;
        drop(db);
        instance.shut_down().unwrap();
        drop(instance);
        meanwhile(&*volume);
        let instance = Instance::start(Arc::clone(&volume), config()).unwrap();
        let db = instance.database("test").unwrap();
        World {
            volume,
            instance,
            db,
        }
    }

    /// The process dies, somebody else has the files, and the instance starts again: `test` cannot be opened,
    /// and another database takes its place here.
    pub fn die_and_lose(self, meanwhile: impl FnOnce(&dyn Volume)) -> World {
        let World {
            volume,
            instance,
            db,
        } = self;
        instance.abandon();
        drop((db, instance));
        meanwhile(&*volume);
        let instance = Instance::start(Arc::clone(&volume), config()).unwrap();
        let spec = DatabaseSpec::new("spare", FileSpec::new("spare", "d/spare.mdf").size_mb(4));
        let log = FileSpec::new("spare_log", "d/spare.ldf").size_mb(1);
        let db = instance.create_database(&spec.log(log)).unwrap();
        World {
            volume,
            instance,
            db,
        }
    }

    /// Lets go of the database: another one takes its place here.
    pub fn let_go(&mut self) {
        let spec = DatabaseSpec::new("spare", FileSpec::new("spare", "d/spare.mdf").size_mb(4));
        let log = FileSpec::new("spare_log", "d/spare.ldf").size_mb(1);
        self.db = self.instance.create_database(&spec.log(log)).unwrap();
    }

    /// A table of ids and texts.
    pub fn table(&self, name: &str) -> Arc<Table> {
        let spec = TableSpec::new(name)
            .column(ColumnSpec::new("id", DataType::simple(TypeId::BigInt)).not_null())
            .column(ColumnSpec::new("v", DataType::sized(TypeId::VarChar, 8000)))
            .primary_key(["id"]);
        self.session().create_table(&spec).unwrap()
    }

    pub fn backup(&self, request: &BackupRequest) -> Result<BackupReport, BackupError> {
        backup_database(&self.db, request, &mut Silent)
    }

    pub fn media(&self, request: &BackupRequest) -> Result<MediaSet, BackupError> {
        let paths: Vec<PathBuf> = request.devices.iter().map(Device::path).collect();
        MediaSet::open(&*self.volume, &paths)
    }

    /// Restores as a new database of this name.
    pub fn restore(
        &self,
        request: &BackupRequest,
        name: &str,
    ) -> Result<RestoreReport, BackupError> {
        self.restore_finally(request, name, &[])
    }

    /// The same WITH NORECOVERY.
    pub fn restore_only(
        &self,
        request: &BackupRequest,
        name: &str,
    ) -> Result<RestoreReport, BackupError> {
        self.restore_with(request, name, &[])
    }

    /// Restores WITH NORECOVERY a backup that has these files, too.
    pub fn restore_with(
        &self,
        request: &BackupRequest,
        name: &str,
        more: &[&str],
    ) -> Result<RestoreReport, BackupError> {
        self.restored(request, (name, more), false)
    }

    /// The same WITH RECOVERY.
    pub fn restore_finally(
        &self,
        request: &BackupRequest,
        name: &str,
        more: &[&str],
    ) -> Result<RestoreReport, BackupError> {
        self.restored(request, (name, more), true)
    }

    fn restored(
        &self,
        request: &BackupRequest,
        (name, more): (&str, &[&str]),
        recovery: bool,
    ) -> Result<RestoreReport, BackupError> {
        let wanted = wanted((name, more), recovery);
        let media = self.media(request)?;
        restore_database(&self.instance, &media, &wanted, &mut Silent)
    }

    /// Restores from media that are open as a new database of this name.
    pub fn restore_from(&self, media: &MediaSet, name: &str) -> Result<RestoreReport, BackupError> {
        let wanted = wanted((name, &[]), true);
        restore_database(&self.instance, media, &wanted, &mut Silent)
    }

    /// Closes a restored database and checks its files.
    pub fn check(&self, name: &str) {
        self.check_also(name, &[]);
    }

    /// The same of a database with more files.
    pub fn check_also(&self, name: &str, more: &[&str]) {
        self.instance.detach_database(name).unwrap();
        let own = [format!("d/{name}_data.mdf"), format!("d/{name}_more.ndf")];
        let mut paths: Vec<PathBuf> = own.iter().map(PathBuf::from).collect();
        paths.extend(more.iter().map(PathBuf::from));
        let files = DataFiles::open(&*self.volume, &paths).unwrap();
        let report = check(&files, &Options::default(), None).unwrap();
        let reported: Vec<String> = report.findings.iter().map(|f| format!("{f:?}")).collect();
        assert!(report.is_clean(), "{}", reported.join("\n"));
    }
}

pub fn insert(session: &mut Session, table: &Arc<Table>, id: i64, text: &str) {
    let values = [Value::BigInt(id), Value::VarChar(text.to_owned())];
    session.insert(table, &values).unwrap();
}

/// The ids of a table, in order.
pub fn ids(db: &Arc<Database>, table: &str) -> Vec<i64> {
    let mut session = Session::new(db).unwrap();
    let table = session.table(table).unwrap();
    let mut ids = Vec::new();
    let scan = session.scan(&table, &ScanSpec::default()).unwrap();
    scan.for_each(|row| {
        ids.push(row.i64(0).unwrap());
        Ok(())
    })
    .unwrap();
    ids.sort_unstable();
    ids
}
