//! A file whose reads, writes and syncs are counted: for the log, which the pool does not see.

use furrow_io::{File, Fill, IoError, ReadRun, WriteRun};
use furrow_observe::files::{FileStats, IoKind};
use std::path::Path;
use std::sync::Arc;

/// Counts what passes through. Adds to each operation what two readings of the clock cost.
#[derive(Debug)]
pub(crate) struct Metered {
    file: Arc<dyn File>,
    stats: Arc<FileStats>,
}

impl Metered {
    pub(crate) fn wrap(file: Arc<dyn File>, stats: Arc<FileStats>) -> Arc<dyn File> {
        if let Ok(len) = file.len_bytes() {
            stats.set_size_bytes(len);
        }
        Arc::new(Metered { file, stats })
    }

    fn count<T>(
        &self,
        kind: IoKind,
        (offset, bytes): (u64, u64),
        run: impl FnOnce(&dyn File) -> Result<T, IoError>,
    ) -> Result<T, IoError> {
        let timer = self.stats.begin(kind, offset);
        let done = run(&*self.file)?;
        timer.finish(bytes);
        Ok(done)
    }
}

fn place_of_write(runs: &[WriteRun<'_, '_>]) -> (u64, u64) {
    let offset = runs.first().map_or(0, |run| run.offset);
    (offset, runs.iter().map(WriteRun::len_bytes).sum())
}

impl File for Metered {
    fn read(&self, runs: &mut [ReadRun<'_, '_>]) -> Result<(), IoError> {
        let offset = runs.first().map_or(0, |run| run.offset);
        let bytes = runs.iter().map(ReadRun::len_bytes).sum();
        self.count(IoKind::Read, (offset, bytes), |file| file.read(runs))
    }

    fn write(&self, runs: &[WriteRun<'_, '_>]) -> Result<(), IoError> {
        self.count(IoKind::Write, place_of_write(runs), |file| file.write(runs))
    }

    fn write_durable(&self, runs: &[WriteRun<'_, '_>]) -> Result<(), IoError> {
        self.count(IoKind::Write, place_of_write(runs), |file| {
            file.write_durable(runs)
        })
    }

    fn sync(&self) -> Result<(), IoError> {
        self.count(IoKind::Sync, (0, 0), |file| file.sync())
    }

    fn resize(&self, bytes: u64, fill: Fill) -> Result<(), IoError> {
        self.file.resize(bytes, fill)?;
        self.stats.set_size_bytes(bytes);
        Ok(())
    }

    fn len_bytes(&self) -> Result<u64, IoError> {
        self.file.len_bytes()
    }

    fn path(&self) -> &Path {
        self.file.path()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use furrow_io::{Access, MemoryVolume, Open, Volume};

    #[test]
    fn what_passes_through_is_counted_by_kind() {
        let volume = MemoryVolume::new();
        let file = volume
            .open(Path::new("l.ldf"), Open::Create, Access::Log)
            .unwrap();
        let stats = Arc::new(FileStats::new(5, 2, "l.ldf"));
        let file = Metered::wrap(file, Arc::clone(&stats));
        file.resize(8192, Fill::Zero).unwrap();
        file.write_at(0, &[1; 512]).unwrap();
        file.write_durable_at(512, &[2; 1024]).unwrap();
        file.sync().unwrap();
        let mut bytes = [0; 600];
        file.read_at(0, &mut bytes).unwrap();
        assert_eq!((bytes[511], bytes[512]), (1, 2));
        assert!(file.read_at(8000, &mut bytes).is_err());
        let seen = stats.snapshot();
        assert_eq!((seen.writes.count, seen.writes.bytes), (2, 1536));
        assert_eq!((seen.reads.count, seen.reads.bytes), (1, 600));
        assert_eq!((seen.syncs.count, seen.size_bytes), (1, 8192));
    }
}
