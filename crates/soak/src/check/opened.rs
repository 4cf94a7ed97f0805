//! Repaired files in an instance: the engine opens the database with a new log, and reads its tables.

use furrow_datafile::{Database as MdfDatabase, MemoryFiles, Pages};
use furrow_engine::{AttachOptions, EngineError, Instance, InstanceConfig, ScanSpec, Session};
use furrow_io::{Access, AlignedBuf, MemoryVolume, Open, Volume};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Where each data file is, by the catalog.
fn paths(files: &MemoryFiles) -> Result<Vec<(u16, PathBuf)>, String> {
    let pages = Pages::new(files);
    let database = MdfDatabase::open(&pages).map_err(|error| error.to_string())?;
    let data = database.files().iter().filter(|file| file.filetype == 0);
    Ok(data
        .map(|file| (file.fileid as u16, PathBuf::from(&file.pname)))
        .collect())
}

fn write(
    volume: &dyn Volume,
    path: &Path,
    files: &MemoryFiles,
    id: u16,
) -> Result<(), EngineError> {
    if let Some(directory) = path.parent().filter(|p| !p.as_os_str().is_empty())
        && !volume.exists(directory)?
    {
        volume.create_dir(directory)?;
    }
    let bytes = files.pages(furrow_format::FileId(id)).as_flattened();
    let file = volume.open(path, Open::Create, Access::Data)?;
    file.write_at(0, &AlignedBuf::copy_of(bytes))?;
    Ok(())
}

fn read_all(files: &MemoryFiles, paths: &[(u16, PathBuf)]) -> Result<(), EngineError> {
    let volume: Arc<dyn Volume> = Arc::new(MemoryVolume::new());
    for (id, path) in paths {
        write(&*volume, path, files, *id)?;
    }
    let config = InstanceConfig {
        pool_pages: 1024,
        readers: 1,
        double_write_pages: 64,
        background: false,
        ..InstanceConfig::default()
    };
    let instance = Instance::start(volume, config)?;
    let primary = paths.iter().find(|(id, _)| *id == 1);
    let primary = primary.map_or(Path::new(""), |(_, path)| path.as_path());
    let database = instance.attach_database(primary, &AttachOptions::default())?;
    let mut session = Session::new(&database)?;
    for table in session.tables() {
        session
            .scan(&table, &ScanSpec::default())?
            .for_each(|_| Ok(()))?;
    }
    drop((session, database));
    instance.shut_down()
}

/// Opens the files of a database of this engine that was closed, and reads each table to its end.
pub(super) fn open(files: &MemoryFiles) -> Result<(), String> {
    let paths = paths(files)?;
    read_all(files, &paths).map_err(|error| format!("the engine cannot use it: {error}"))
}
