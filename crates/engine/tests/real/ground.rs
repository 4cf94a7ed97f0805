//! Where the samples are, and an instance that attaches them.

#![expect(clippy::unwrap_used, reason = "helpers of tests are tests")]

use furrow_engine::{Database, Instance, InstanceConfig, ScanSpec, Session, Table};
use furrow_io::{Access, Fill, IoError, MemoryVolume, Open, SystemVolume, Volume};
use furrow_types::Value;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The data files of the truth table.
pub(crate) const FILES: [&str; 4] = [
    "mvcmusicstore-706.mdf",
    "northwnd-611-torn.mdf",
    "northwnd-655.mdf",
    "pubs-655.mdf",
];

pub(crate) fn directory() -> PathBuf {
    match std::env::var_os("FURROW_SAMPLES") {
        Some(directory) => PathBuf::from(directory),
        None => PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/samples"),
    }
}

/// The path of a sample; without it, a visible word and nothing.
pub(crate) fn sample(name: &str) -> Option<PathBuf> {
    let path = directory().join(name);
    if SystemVolume::new().exists(&path).unwrap() {
        return Some(path);
    }
    let named = std::env::var_os("FURROW_SAMPLES").is_some();
    assert!(
        !named,
        "FURROW_SAMPLES is set, but {} is not there",
        path.display()
    );
    // Past the capture of printed text: a skipped test must be seen.
    let _unseen = writeln!(
        std::io::stderr(),
        "skipped: samples absent ({})",
        path.display()
    );
    None
}

pub(crate) fn read(volume: &dyn Volume, path: &Path) -> Result<Vec<u8>, IoError> {
    let file = volume.open(path, Open::ReadOnly, Access::Data)?;
    let mut bytes = vec![0; file.len_bytes()? as usize];
    file.read_at(0, &mut bytes)?;
    Ok(bytes)
}

pub(crate) fn bytes(name: &str) -> Option<Vec<u8>> {
    Some(read(&SystemVolume::new(), &sample(name)?).unwrap())
}

pub(crate) fn config() -> InstanceConfig {
    InstanceConfig {
        pool_pages: 512,
        double_write_pages: 16,
        ..InstanceConfig::default()
    }
}

pub(crate) struct House {
    pub(crate) instance: Arc<Instance>,
    pub(crate) db: Arc<Database>,
}

/// A sample as it lies on disk, attached.
pub(crate) fn attached(name: &str) -> Option<House> {
    let path = sample(name)?;
    let instance = Instance::start(Arc::new(SystemVolume::new()), config()).unwrap();
    let db = instance.attach_read_only(None, &[path]).unwrap();
    Some(House { instance, db })
}

/// A volume in memory with files in directory `d`.
pub(crate) fn memory(files: &[(&str, &[u8])]) -> Arc<dyn Volume> {
    let volume = MemoryVolume::new();
    volume.create_dir(Path::new("d")).unwrap();
    for (name, bytes) in files {
        let path = Path::new("d").join(name);
        let file = volume.open(&path, Open::Create, Access::Data).unwrap();
        file.resize(bytes.len() as u64, Fill::Allocate).unwrap();
        file.write_at(0, bytes).unwrap();
    }
    Arc::new(volume)
}

impl House {
    /// An instance over a volume in memory.
    pub(crate) fn over(volume: &Arc<dyn Volume>) -> Arc<Instance> {
        Instance::start(Arc::clone(volume), config()).unwrap()
    }

    pub(crate) fn session(&self) -> Session {
        Session::new(&self.db).unwrap()
    }

    pub(crate) fn tables(&self) -> Vec<Arc<Table>> {
        self.db.catalog().tables()
    }

    pub(crate) fn table(&self, name: &str) -> Arc<Table> {
        self.session().table(name).unwrap()
    }

    /// All rows, in the order of a scan.
    pub(crate) fn rows(&self, table: &Arc<Table>, spec: &ScanSpec) -> Vec<Vec<Value>> {
        let mut session = self.session();
        let mut rows = Vec::new();
        let scan = session.scan(table, spec).unwrap();
        scan.for_each(|row| {
            rows.push(row.values()?);
            Ok(())
        })
        .unwrap();
        rows
    }

    /// A column's values, in the order of a scan.
    pub(crate) fn column(&self, table: &str, column: &str) -> Vec<Value> {
        let table = self.table(table);
        let at = table.column(column).unwrap();
        let rows = self.rows(&table, &ScanSpec::default());
        rows.into_iter()
            .map(|mut row| row.swap_remove(at))
            .collect()
    }
}
