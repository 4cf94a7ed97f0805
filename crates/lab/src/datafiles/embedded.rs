//! The built-in engine as a target: an instance in this process, nothing to set up.

use super::options::Layout;
use super::target::{Connection, Counters, DatabaseShape, Pulse, Target};
use furrow_engine::{
    ColumnSpec, Database, DatabaseSpec, EngineError, FileSpec, Instance, InstanceConfig, ScanSpec,
    Session, Table, TableSpec,
};
use furrow_io::Volume;
use furrow_observe::counters::Counter;
use furrow_observe::waits::WaitSnapshot;
use furrow_types::{DataType, TypeId};
use std::path::PathBuf;
use std::sync::Arc;

const PAGE_BYTES: u64 = 8192;
/// The table of the published script.
const TABLE: &str = "MyBigTable";
/// Pages in each half of a double-write file: a batch of write-back fits in.
const DOUBLE_WRITE_PAGES: u32 = 257;

/// The built-in engine.
#[derive(Debug, Default)]
pub struct Embedded {
    open: Option<Open>,
}

#[derive(Debug)]
struct Open {
    instance: Arc<Instance>,
    database: Arc<Database>,
    table: Arc<Table>,
}

impl Embedded {
    /// Not running yet: each run starts an instance of its own.
    pub fn new() -> Embedded {
        Embedded::default()
    }

    /// How an instance for a database of this shape is set up.
    pub(crate) fn config(shape: &DatabaseShape) -> Result<InstanceConfig, String> {
        Ok(InstanceConfig {
            directory: None,
            pool_pages: usize::try_from(shape.pool_bytes / PAGE_BYTES)
                .map_err(|e| e.to_string())?,
            // Otherwise each run would measure how the machine gives memory, too.
            prefault_pool: true,
            double_write_pages: DOUBLE_WRITE_PAGES,
            ..InstanceConfig::default()
        })
    }

    /// Makes a database and the table of a layout.
    pub(crate) fn create_as(
        &mut self,
        volume: &Arc<dyn Volume>,
        config: InstanceConfig,
        spec: &DatabaseSpec,
        layout: Layout,
    ) -> Result<(), String> {
        let instance = Instance::start(Arc::clone(volume), config).map_err(words)?;
        let database = instance.create_database(spec).map_err(words)?;
        let mut session = Session::new(&database).map_err(words)?;
        let table = session.create_table(&table(layout)).map_err(words)?;
        drop(session);
        self.open = Some(Open {
            instance,
            database,
            table,
        });
        Ok(())
    }

    /// What is open.
    pub(crate) fn parts(&self) -> Option<(&Arc<Instance>, &Arc<Database>)> {
        self.open
            .as_ref()
            .map(|open| (&open.instance, &open.database))
    }

    fn opened(&self) -> Result<&Open, String> {
        self.open
            .as_ref()
            .ok_or_else(|| "no database is open".to_string())
    }
}

#[expect(
    clippy::needless_pass_by_value,
    reason = "the shape that map_err takes"
)]
fn words(error: EngineError) -> String {
    error.to_string()
}

fn file(name: &str, path: &std::path::Path, bytes: u64) -> FileSpec {
    FileSpec::new(name, path).size_kb(bytes / 1024)
}

/// What CREATE DATABASE is asked for.
fn spec(shape: &DatabaseShape) -> Result<DatabaseSpec, String> {
    let mut data = shape.data.iter().enumerate().map(|(place, path)| {
        let name = format!("data{}", place + 1);
        file(&name, path, shape.file_bytes)
    });
    let primary = data.next().ok_or("a database needs a data file")?;
    let mut spec = DatabaseSpec::new(&shape.name, primary);
    spec.primary.extend(data);
    // Should they have to grow, they stay alike.
    spec.autogrow_all = true;
    Ok(spec.log(file("log", &shape.log, shape.log_bytes)))
}

/// The table of a layout; every column has a default, so that a row is inserted by DEFAULT VALUES.
fn table(layout: Layout) -> TableSpec {
    let bigint = DataType::simple(TypeId::BigInt);
    let table = TableSpec::new(TABLE);
    let table = match layout {
        Layout::Sequential => {
            let text = DataType::sized(TypeId::Char, 4100);
            table
                .column(ColumnSpec::new("c1", bigint).identity(1, 1))
                .column(ColumnSpec::new("c2", text).not_null().default_value("a"))
        }
        Layout::RandomKey => {
            use furrow_engine::DefaultValue::{CurrentTime, NewGuid};
            let column = |name: &str, data_type, default| ColumnSpec {
                default: Some(default),
                ..ColumnSpec::new(name, data_type).not_null()
            };
            let int = DataType::simple(TypeId::Int);
            let text = DataType::sized(TypeId::Char, 111);
            table
                .column(column(
                    "c1",
                    DataType::simple(TypeId::UniqueIdentifier),
                    NewGuid,
                ))
                .column(column(
                    "c2",
                    DataType::simple(TypeId::DateTime),
                    CurrentTime,
                ))
                .column(column("c3", text, "a".into()))
                .column(column("c4", int, 1.into()))
                .column(column("c5", int, 2.into()))
                .column(column("c6", bigint, 3_i64.into()))
        }
    };
    table.primary_key(["c1"])
}

impl Target for Embedded {
    fn name(&self) -> String {
        "embedded".to_string()
    }

    fn paths(&self, shape: &DatabaseShape) -> Vec<PathBuf> {
        let mut paths = Vec::new();
        for path in &shape.data {
            paths.push(path.clone());
            let mut guard = path.as_os_str().to_owned();
            guard.push(".dw");
            paths.push(guard.into());
        }
        paths.push(shape.log.clone());
        paths
    }

    fn extra_bytes_per_file(&self) -> u64 {
        2 * u64::from(DOUBLE_WRITE_PAGES) * PAGE_BYTES
    }

    fn create(&mut self, volume: &Arc<dyn Volume>, shape: &DatabaseShape) -> Result<(), String> {
        self.create_as(
            volume,
            Embedded::config(shape)?,
            &spec(shape)?,
            shape.layout,
        )
    }

    fn connect(&self, _place: u32) -> Result<Box<dyn Connection>, String> {
        let open = self.opened()?;
        let session = Session::new(&open.database).map_err(words)?;
        Ok(Box::new(Worker {
            session,
            table: Arc::clone(&open.table),
        }))
    }

    fn counters(&self) -> Counters {
        let Ok(open) = self.opened() else {
            return Counters::default();
        };
        let instruments = open.instance.instruments();
        Counters {
            waits: Some(instruments.waits.snapshot()),
            latches: instruments.latches.snapshot(),
            spinlocks: instruments.spinlocks.snapshot(),
            files: instruments.files.snapshot(),
        }
    }

    fn pulse(&self) -> Pulse {
        let Ok(open) = self.opened() else {
            return Pulse::default();
        };
        let counters = open.instance.instruments().counters.total();
        let count = |counter| u64::try_from(counters.value(counter)).unwrap_or(0);
        let files = open.instance.instruments().files.snapshot();
        let data = files
            .iter()
            .filter(|f| f.path.ends_with("df") && !f.path.ends_with(".ldf"));
        Pulse {
            checkpoints: open.database.checkpoints(),
            checkpoint_pages: count(Counter::CheckpointPages)
                + count(Counter::BackgroundWriterPages),
            lazy_pages: count(Counter::LazyWrites),
            sizes: data.map(|file| file.size_bytes).collect(),
            free_extents: open
                .database
                .free_extents()
                .into_iter()
                .map(|(file, free)| (u32::from(file.0), free))
                .collect(),
        }
    }

    fn count_rows(&self) -> Result<u64, String> {
        let open = self.opened()?;
        let mut session = Session::new(&open.database).map_err(words)?;
        let mut rows = 0;
        let scan = session
            .scan(&open.table, &ScanSpec::default())
            .map_err(words)?;
        let counted = scan.for_each(|_| {
            rows += 1;
            Ok(())
        });
        counted.map_err(words)?;
        Ok(rows)
    }

    /// The database is let go of, not shut down: its files are about to be removed.
    fn close(&mut self) -> Result<(), String> {
        if let Some(open) = self.open.take() {
            open.instance.abandon();
        }
        Ok(())
    }
}

struct Worker {
    session: Session,
    table: Arc<Table>,
}

impl Connection for Worker {
    fn insert(&mut self, rows: u64) -> Result<(), String> {
        let Worker { session, table } = self;
        let row = |session: &mut Session| session.insert_columns(table, &[], &[]).map_err(words);
        if rows == 1 {
            return row(session).map(|_| ());
        }
        session.begin().map_err(words)?;
        for _ in 0..rows {
            row(session)?;
        }
        session.commit().map_err(words)
    }

    fn waits(&self) -> Option<WaitSnapshot> {
        Some(self.session.task().waits().snapshot())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use furrow_io::MemoryVolume;
    use std::path::Path;

    fn shape(layout: Layout) -> DatabaseShape {
        let path = |name: &str| PathBuf::from(format!("/v/{name}"));
        DatabaseShape {
            name: "lab_x".to_string(),
            data: vec![path("data1.mdf"), path("data2.ndf")],
            file_bytes: 8 << 20,
            log: path("log.ldf"),
            log_bytes: 2 << 20,
            pool_bytes: 4 << 20,
            layout,
        }
    }

    #[test]
    fn rows_of_both_layouts_are_inserted_counted_and_spread_over_the_files() {
        for layout in [Layout::Sequential, Layout::RandomKey] {
            let volume: Arc<dyn Volume> = Arc::new(MemoryVolume::new());
            volume.create_dir(Path::new("/v")).unwrap();
            let mut target = Embedded::new();
            let shape = shape(layout);
            target.create(&volume, &shape).unwrap();
            let mut made = volume.list(Path::new("/v")).unwrap();
            let mut told = target.paths(&shape);
            made.sort();
            told.sort();
            assert_eq!(made, told, "every file is claimed, and no other");
            let mut session = target.connect(0).unwrap();
            session.insert(1).unwrap();
            session.insert(199).unwrap();
            assert_eq!(target.count_rows().unwrap(), 200);
            let counters = target.counters();
            assert!(
                counters
                    .files
                    .iter()
                    .any(|file| file.path.ends_with("log.ldf"))
            );
            drop(session);
            target.close().unwrap();
            target.close().unwrap();
        }
    }

    #[test]
    fn a_row_of_the_published_table_takes_a_page_and_one_of_the_other_160_bytes() {
        let volume: Arc<dyn Volume> = Arc::new(MemoryVolume::new());
        volume.create_dir(Path::new("/v")).unwrap();
        let mut target = Embedded::new();
        target.create(&volume, &shape(Layout::Sequential)).unwrap();
        let free = |target: &Embedded| -> u64 {
            let database = &target.open.as_ref().unwrap().database;
            database.free_extents().iter().map(|(_, free)| free).sum()
        };
        let before = free(&target);
        target.connect(0).unwrap().insert(400).unwrap();
        let pages = 8 * (before - free(&target));
        assert!((400..=430).contains(&pages), "{pages} pages for 400 rows");
        target.close().unwrap();
    }
}
