//! Files whose reads take no time, so that one thread reads them: a seed decides the order of the operations.

use furrow_datafile::{DataFiles, PageSource, SourceError, SourceFile};
use furrow_format::{FileId, PageBuf, PageNo};

/// Files on a simulated disk.
pub(super) struct Still(pub(super) DataFiles);

impl PageSource for Still {
    fn files(&self) -> Vec<SourceFile> {
        self.0.files()
    }

    fn read(&self, file: FileId, first: PageNo, into: &mut [PageBuf]) -> Result<(), SourceError> {
        self.0.read(file, first, into)
    }

    fn is_slow(&self) -> bool {
        false
    }
}
