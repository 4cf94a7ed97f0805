//! Specifications of new databases, and options of the engine.

use crate::{Error, FileGrowth, FileSpec, Result, TraceFlag};
use furrow_disks::VolumeSpec;
use furrow_engine::InstanceConfig;
use furrow_io::{SystemVolume, Volume};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Default size of a file, as in SQL Server since 2016.
const DEFAULT_SIZE_MB: u64 = 8;

/// A file of a new database: its path and properties.
#[derive(Debug, Clone)]
pub struct DataFile {
    pub(crate) path: PathBuf,
    pub(crate) name: Option<String>,
    pub(crate) size_mb: Option<u64>,
    pub(crate) max_mb: Option<u64>,
    pub(crate) growth: Option<FileGrowth>,
}

impl DataFile {
    /// A data file or log at `path` with the default size: 8 MB, or its maximum size if that is less. It
    /// grows by 64 MB.
    pub fn new(path: impl Into<PathBuf>) -> DataFile {
        DataFile {
            path: path.into(),
            name: None,
            size_mb: None,
            max_mb: None,
            growth: None,
        }
    }

    /// Sets its logical name; the default is the path's stem.
    #[must_use]
    pub fn name(mut self, name: &str) -> DataFile {
        self.name = Some(name.to_owned());
        self
    }

    /// Sets its size. Files of one size are filled evenly.
    #[must_use]
    pub fn size_mb(mut self, mb: u64) -> DataFile {
        self.size_mb = Some(mb);
        self
    }

    /// Sets its maximum size.
    #[must_use]
    pub fn max_mb(mut self, mb: u64) -> DataFile {
        self.max_mb = Some(mb);
        self
    }

    /// Sets how it grows.
    #[must_use]
    pub fn growth(mut self, growth: FileGrowth) -> DataFile {
        self.growth = Some(growth);
        self
    }

    pub(crate) fn spec(&self) -> FileSpec {
        let stem = self
            .path
            .file_stem()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        // If the path cannot be used, the engine reports it with its own message.
        let path = std::path::absolute(&self.path).unwrap_or_else(|_| self.path.clone());
        let mut spec = FileSpec::new(self.name.clone().unwrap_or(stem), path);
        let default = || DEFAULT_SIZE_MB.min(self.max_mb.unwrap_or(u64::MAX));
        let size_mb = self.size_mb.unwrap_or_else(default);
        spec.size_kb = Some(size_mb.saturating_mul(1024));
        spec.max_size_kb = self.max_mb.map(|mb| mb.saturating_mul(1024));
        spec.growth = self.growth;
        spec
    }
}

macro_rules! from_path {
    ($($source:ty),*) => {
        $(impl From<$source> for DataFile {
            fn from(path: $source) -> DataFile {
                DataFile::new(path)
            }
        })*
    };
}

from_path!(&str, String, &Path, PathBuf, &PathBuf);

/// Options of an engine for one database.
#[derive(Debug, Clone)]
pub struct Options {
    /// Size of the buffer pool in megabytes.
    pub pool_mb: u64,
    /// The volume of all paths: the machine's own files, memory, or a model of a disk.
    pub volume: Arc<dyn Volume>,
    /// All other options.
    pub config: InstanceConfig,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            pool_mb: 64,
            volume: Arc::new(SystemVolume::new()),
            config: InstanceConfig::default(),
        }
    }
}

impl Options {
    /// Gives the files in and below a directory the speed of other drives, by a text such as
    /// `DIR,read=100MB/s,latency=2ms` or `DIR,model=raid10:4x15k,stripe=64K`.
    ///
    /// The files stay where they are; each request takes the time of the model. Directories that are given
    /// in one call are separate arrays.
    ///
    /// # Errors
    /// A text that describes no volume, or a directory that is given twice.
    pub fn with_drives(mut self, texts: &[&str]) -> Result<Options> {
        let refuse = |e: String| Error::custom(5105, 2, &e);
        let specs: std::result::Result<Vec<VolumeSpec>, _> =
            texts.iter().map(|text| text.parse()).collect();
        let specs = specs.map_err(|e| refuse(e.to_string()))?;
        self.volume = furrow_disks::volume::with_models(self.volume, &specs)
            .map_err(|e| refuse(e.to_string()))?;
        Ok(self)
    }

    pub(crate) fn instance_config(&self) -> InstanceConfig {
        let pages = usize::try_from(self.pool_mb.saturating_mul(128)).unwrap_or(usize::MAX);
        InstanceConfig {
            pool_pages: pages.max(64),
            ..self.config.clone()
        }
    }
}

/// A new database: [`Database::create`](crate::Database::create).
#[derive(Debug, Clone)]
pub struct Create {
    pub(crate) name: String,
    pub(crate) files: Vec<DataFile>,
    pub(crate) groups: Vec<(String, Vec<DataFile>)>,
    pub(crate) log: Option<DataFile>,
    pub(crate) options: Options,
    pub(crate) in_memory: bool,
}

impl Create {
    pub(crate) fn new(name: &str) -> Create {
        Create {
            name: name.to_owned(),
            files: Vec::new(),
            groups: Vec::new(),
            log: None,
            options: Options::default(),
            in_memory: false,
        }
    }

    /// Adds a data file to the primary filegroup; the first one is the primary file.
    #[must_use]
    pub fn file(mut self, file: impl Into<DataFile>) -> Create {
        self.files.push(file.into());
        self
    }

    /// Adds a filegroup, for tables that are created `.on(name)`.
    #[must_use]
    pub fn filegroup(mut self, name: &str, files: impl IntoIterator<Item = DataFile>) -> Create {
        self.groups
            .push((name.to_owned(), files.into_iter().collect()));
        self
    }

    /// Sets the log; by default it is beside the primary file. Its logical name is the database's with
    /// `_log`.
    #[must_use]
    pub fn log(mut self, file: impl Into<DataFile>) -> Create {
        self.log = Some(file.into());
        self
    }

    /// Sets the size of the buffer pool in megabytes; the default is 64.
    #[must_use]
    pub fn pool_mb(mut self, mb: u64) -> Create {
        self.options.pool_mb = mb;
        self
    }

    /// Makes the system provide the pool's memory at the start, not when pages are first used: for
    /// measurements, and for machines on which the first use of memory is slow.
    #[must_use]
    pub fn prefault_pool(mut self) -> Create {
        self.options.config.prefault_pool = true;
        self
    }

    /// Sets a trace flag at the start, the only time for some of them: 845 locks the buffer pool in memory.
    #[must_use]
    pub fn trace_flag(mut self, flag: TraceFlag) -> Create {
        self.options.config.trace_flags.push(flag);
        self
    }

    /// Allocates 64 extents in a data file, instead of one, before allocation moves to the next file of the
    /// filegroup: SQL Server's start option -E.
    #[must_use]
    pub fn many_extents(mut self) -> Create {
        self.options.config.many_extents_a_turn = true;
        self
    }

    /// Sets the options of the engine.
    #[must_use]
    pub fn options(mut self, options: Options) -> Create {
        self.options = options;
        self
    }

    /// Keeps the files in memory; they are lost with the last handle.
    #[must_use]
    pub fn in_memory(mut self) -> Create {
        self.in_memory = true;
        self
    }
}
