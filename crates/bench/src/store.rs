//! The database under the load: one table, clustered on the key.

use crate::options::Options;
use furrow::{ColumnSpec, DataFile, Database, FileGrowth, Table, TableSpec, sql};
use furrow_io::time::Moment;
use furrow_io::{SystemVolume, Volume};
use serde_json::{Map, Value, json};
use std::path::{Path, PathBuf};
use std::sync::Arc;

const TABLE: &str = "t";
/// Files grow by this many pages: 256 MB.
const GROWTH: FileGrowth = FileGrowth::Pages(32_768);

fn primary(dir: &Path) -> PathBuf {
    dir.join("bench1.mdf")
}

/// Removes the database of an earlier run: only files with our names.
pub(crate) fn remove(dir: &Path) -> Result<(), furrow_io::IoError> {
    let volume = SystemVolume::new();
    if !volume.exists(dir)? {
        return Ok(());
    }
    for path in volume.list(dir)? {
        let name = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        if name.starts_with("bench") {
            volume.remove(&path)?;
        }
    }
    Ok(())
}

/// A fresh database with `size_mb` of data files, and its empty table.
pub(crate) fn create(
    options: &Options,
    size_mb: u64,
    payload: u64,
) -> Result<(Database, Arc<Table>), Box<dyn std::error::Error>> {
    if payload == 0 || payload > crate::rows::MAX_PAYLOAD {
        return Err(format!("--payload must be from 1 to {}", crate::rows::MAX_PAYLOAD).into());
    }
    let dir = options.dir();
    remove(&dir)?;
    SystemVolume::new().create_dir(&dir)?;
    let files = options.number("files", 1).clamp(1, 128);
    let mut create = Database::create("bench").pool_mb(options.number("pool", 1024));
    for n in 1..=files {
        let path = if n == 1 {
            primary(&dir)
        } else {
            dir.join(format!("bench{n}.ndf"))
        };
        create = create.file(
            DataFile::new(path)
                .size_mb((size_mb / files).max(8))
                .growth(GROWTH),
        );
    }
    let log = DataFile::new(dir.join("bench.ldf"))
        .size_mb(options.number("log", 512))
        .growth(GROWTH);
    if prefaults(options) {
        create = create.prefault_pool();
    }
    let database = create.log(log).open()?;
    let width = u16::try_from(payload)?;
    let table = database.session()?.create_table(
        &TableSpec::new(TABLE)
            .column(ColumnSpec::new("k", sql::BIGINT).not_null())
            .column(ColumnSpec::new("v", sql::varbinary(width)).not_null())
            .primary_key(["k"]),
    )?;
    Ok((database, table))
}

/// Whether the pool's memory is present before the clock starts, as in a server that has been running.
pub(crate) fn prefaults(options: &Options) -> bool {
    options.number("prefault", 1) != 0
}

/// The database that w2 has created, its table, and the milliseconds that opening it took.
pub(crate) fn open(
    options: &Options,
    pool_mb: u64,
    prefault: bool,
) -> Result<(Database, Arc<Table>, f64), Box<dyn std::error::Error>> {
    let mut set = furrow::Options {
        pool_mb: options.number("pool", pool_mb),
        ..furrow::Options::default()
    };
    set.config.prefault_pool = prefault;
    let begun = Moment::now();
    let database = Database::open_with(primary(&options.dir()), &set)?;
    let open_ms = begun.elapsed_us() as f64 / 1000.0;
    let table = database.session()?.table(TABLE)?;
    Ok((database, table, open_ms))
}

/// With `--waits 1`: waits of the database since it was opened, the longest first, in milliseconds.
pub(crate) fn add_waits(options: &Options, database: &Database, result: &mut Map<String, Value>) {
    if options.number("waits", 0) == 0 {
        return;
    }
    let ms = |us: u64| us as f64 / 1000.0;
    let rows = database.waits().into_iter().map(|row| {
        json!({"type": row.wait_type.name(), "count": row.count, "total_ms": ms(row.total_us),
               "max_ms": ms(row.max_us), "signal_ms": ms(row.signal_us)})
    });
    result.insert("waits".into(), rows.collect());
}

/// Bytes of pages in use, in all data files.
pub(crate) fn data_bytes(database: &Database) -> Result<u64, furrow::Error> {
    let files = database.files()?;
    let data = files.iter().filter(|file| file.filegroup > 0);
    Ok(data
        .map(|file| file.size_pages.saturating_sub(8 * file.free_extents) * 8192)
        .sum())
}
