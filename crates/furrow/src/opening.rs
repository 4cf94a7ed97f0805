//! Creates and opens databases.

use crate::builder::{Create, DataFile, Options};
use crate::database::Database;
use crate::home::Home;
use crate::{FileSpec, Result};
use furrow_engine::{AttachOptions, DatabaseSpec, EngineError, FilegroupSpec, Instance};
use furrow_io::{MemoryVolume, Volume};
use std::path::Path;
use std::sync::Arc;

impl Database {
    /// Begins the description of a new database; [`Create::open`] creates it.
    pub fn create(name: &str) -> Create {
        Create::new(name)
    }

    /// Opens the database with this primary file, and recovers it if it was not shut down cleanly.
    pub fn open(primary: impl AsRef<Path>) -> Result<Database> {
        Database::open_with(primary, &Options::default())
    }

    /// As [`Database::open`], with options.
    pub fn open_with(primary: impl AsRef<Path>, options: &Options) -> Result<Database> {
        let primary = primary.as_ref();
        let primary = std::path::absolute(primary).unwrap_or_else(|_| primary.to_path_buf());
        let instance = Instance::start(Arc::clone(&options.volume), options.instance_config())?;
        let database = instance.attach_database(&primary, &AttachOptions::default())?;
        Ok(Database {
            home: Arc::new(Home { instance, database }),
        })
    }

    pub(crate) fn make(spec: &DatabaseSpec, options: &Options) -> Result<Database> {
        let instance = Instance::start(Arc::clone(&options.volume), options.instance_config())?;
        let database = instance.create_database(spec)?;
        Ok(Database {
            home: Arc::new(Home { instance, database }),
        })
    }
}

impl Create {
    /// Creates the database and opens it. If that fails, no file of it is left.
    pub fn open(mut self) -> Result<Database> {
        let mut data = self.files.iter().map(DataFile::spec);
        let Some(primary) = data.next() else {
            return Err(EngineError::refused(1036, &["FILENAME".into()]).into());
        };
        let mut spec = DatabaseSpec::new(&self.name, primary);
        spec.primary.extend(data);
        for (name, files) in &self.groups {
            let files = files.iter().map(DataFile::spec).collect();
            spec.filegroups.push(FilegroupSpec::new(name, files));
        }
        spec.log = self.log.as_ref().map(|log| {
            let name = log
                .name
                .clone()
                .unwrap_or_else(|| format!("{}_log", self.name));
            FileSpec { name, ..log.spec() }
        });
        if self.in_memory {
            self.options.volume = memory_for(&spec)?;
        }
        Database::make(&spec, &self.options)
    }
}

/// A volume in memory with the directories of the files.
fn memory_for(spec: &DatabaseSpec) -> Result<Arc<dyn Volume>> {
    let volume = MemoryVolume::new();
    let grouped = spec.filegroups.iter().flat_map(|group| &group.files);
    for file in spec.primary.iter().chain(grouped).chain(&spec.log) {
        if let Some(dir) = file.path.parent() {
            volume.create_dir(dir).map_err(EngineError::from)?;
        }
    }
    Ok(Arc::new(volume))
}
