//! A file whose contents are not wanted after a restart: nothing is ever made durable.

use furrow_io::{File, Fill, IoError, ReadRun, WriteRun};
use std::path::Path;
use std::sync::Arc;

/// Passes reads and writes on, and leaves out every sync.
#[derive(Debug)]
pub(crate) struct Unsynced(Arc<dyn File>);

impl Unsynced {
    pub(crate) fn wrap(file: Arc<dyn File>) -> Arc<dyn File> {
        Arc::new(Unsynced(file))
    }
}

impl File for Unsynced {
    fn read(&self, runs: &mut [ReadRun<'_, '_>]) -> Result<(), IoError> {
        self.0.read(runs)
    }

    fn write(&self, runs: &[WriteRun<'_, '_>]) -> Result<(), IoError> {
        self.0.write(runs)
    }

    fn write_durable(&self, runs: &[WriteRun<'_, '_>]) -> Result<(), IoError> {
        self.0.write(runs)
    }

    fn sync(&self) -> Result<(), IoError> {
        Ok(())
    }

    fn resize(&self, bytes: u64, fill: Fill) -> Result<(), IoError> {
        self.0.resize(bytes, fill)
    }

    fn len_bytes(&self) -> Result<u64, IoError> {
        self.0.len_bytes()
    }

    fn path(&self) -> &Path {
        self.0.path()
    }
}
