//! What a database is to be made of, and how it is opened.

use crate::{Error, FileGrowth, FileSpec, Result, TraceFlag};
use furrow_disks::VolumeSpec;
use furrow_engine::InstanceConfig;
use furrow_io::{SystemVolume, Volume};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// SQL Server's default since 2016.
const DEFAULT_SIZE_MB: u64 = 8;

/// A file of a database to be: a path, and what is said of it.
#[derive(Debug, Clone)]
pub struct DataFile {
    pub(crate) path: PathBuf,
    pub(crate) name: Option<String>,
    pub(crate) size_mb: Option<u64>,
    pub(crate) max_mb: Option<u64>,
    pub(crate) growth: Option<FileGrowth>,
}

impl DataFile {
    /// A data file or log at `path`, of default size: 8 MB, or what it may grow to if that is less. It
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

    /// Its logical name; the path's stem unless said.
    #[must_use]
    pub fn name(mut self, name: &str) -> DataFile {
        self.name = Some(name.to_owned());
        self
    }

    /// Its size. Files of one size are filled evenly.
    #[must_use]
    pub fn size_mb(mut self, mb: u64) -> DataFile {
        self.size_mb = Some(mb);
        self
    }

    /// The size it may grow to.
    #[must_use]
    pub fn max_mb(mut self, mb: u64) -> DataFile {
        self.max_mb = Some(mb);
        self
    }

    /// How it grows.
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
        // The engine tells a path it cannot use by its own message.
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

/// How an engine is set up for one database.
#[derive(Debug, Clone)]
pub struct Options {
    /// Megabytes of buffer pool.
    pub pool_mb: u64,
    /// Where paths are looked up: the machine's own files, memory, or a model of a disk.
    pub volume: Arc<dyn Volume>,
    /// Everything else.
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
    /// The bytes stay where they are; each request takes the time of the model. Directories that are given
    /// in one call are arrays of their own.
    ///
    /// # Errors
    /// A text that describes no volume; a directory that is given twice.
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

/// A database to be made: [`Database::create`](crate::Database::create).
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

    /// One more data file of the primary filegroup; the first is the primary file.
    #[must_use]
    pub fn file(mut self, file: impl Into<DataFile>) -> Create {
        self.files.push(file.into());
        self
    }

    /// A filegroup of its own, for tables that are made `.on(name)` it.
    #[must_use]
    pub fn filegroup(mut self, name: &str, files: impl IntoIterator<Item = DataFile>) -> Create {
        self.groups
            .push((name.to_owned(), files.into_iter().collect()));
        self
    }

    /// The log; beside the primary file unless said. Its logical name is the database's with `_log`.
    #[must_use]
    pub fn log(mut self, file: impl Into<DataFile>) -> Create {
        self.log = Some(file.into());
        self
    }

    /// Megabytes of buffer pool; 64 unless said.
    #[must_use]
    pub fn pool_mb(mut self, mb: u64) -> Create {
        self.options.pool_mb = mb;
        self
    }

    /// Has the system give the pool's memory now, and not as pages are used first: for measurements, and
    /// where the first use of memory is slow.
    #[must_use]
    pub fn prefault_pool(mut self) -> Create {
        self.options.config.prefault_pool = true;
        self
    }

    /// Sets a trace flag from the start. This is how to set one that can be set at start only: 845 locks the
    /// buffer pool in memory.
    #[must_use]
    pub fn trace_flag(mut self, flag: TraceFlag) -> Create {
        self.options.config.trace_flags.push(flag);
        self
    }

    /// Takes 64 extents of a data file in a turn, and not 1, where new extents are spread over the files of
    /// a filegroup: SQL Server's start option -E.
    #[must_use]
    pub fn many_extents(mut self) -> Create {
        self.options.config.many_extents_a_turn = true;
        self
    }

    /// How the engine is set up.
    #[must_use]
    pub fn options(mut self, options: Options) -> Create {
        self.options = options;
        self
    }

    /// Keeps the files in memory: gone with the last handle.
    #[must_use]
    pub fn in_memory(mut self) -> Create {
        self.in_memory = true;
        self
    }
}
