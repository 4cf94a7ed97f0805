//! How a pool is set up.

use crate::double_write::MAX_BATCH_PAGES;
use crate::error::PoolError;
use furrow_observe::Instruments;
use std::sync::Arc;
use std::time::Duration;

/// Fewest frames a pool works with.
const MIN_POOL_PAGES: usize = 16;

/// How a pool is created.
#[derive(Debug, Clone)]
pub struct PoolConfig {
    /// Frames; the memory is [`furrow_format::PAGE_SIZE`] times that, given at start.
    pub pages: usize,
    /// Whether the system is to give all that memory at start, and not as frames are used first.
    pub prefault: bool,
    /// Whether that memory is to be locked, so that the system never pages it out. Where the system refuses,
    /// the pool works without it; [`crate::Pool::locked`] reports that.
    pub lock_memory: bool,
    /// Longest write of neighbouring pages.
    pub write_run_pages: u32,
    /// Pages copied and handed to the system at once, in several runs.
    pub batch_pages: u32,
    /// Pages that each half of a double-write file may grow to; it begins small.
    pub double_write_pages: u32,
    /// Threads for read-ahead.
    pub readers: usize,
    /// Whether the pool has threads of its own: the lazy writer, readers, one writer for each file. Without
    /// them a thread that takes one of the last free frames writes pages out itself, files are written one
    /// after the other and nothing is read ahead: the work of one thread is then the same in every run.
    pub background: bool,
    /// Longest wait for a frame before a fetch fails.
    pub buffer_wait: Duration,
    /// Where pages, waits and stalls are counted.
    pub instruments: Arc<Instruments>,
}

impl Default for PoolConfig {
    fn default() -> PoolConfig {
        PoolConfig {
            pages: 8192,
            prefault: false,
            lock_memory: false,
            write_run_pages: 32,
            batch_pages: 256,
            double_write_pages: 1024,
            readers: 4,
            background: true,
            buffer_wait: Duration::from_secs(30),
            instruments: Arc::clone(Instruments::process()),
        }
    }
}

impl PoolConfig {
    /// The lazy writer works when fewer frames than this are free.
    pub(crate) fn low_water(&self) -> usize {
        (self.pages / 64).clamp(2, 1024)
    }

    /// The lazy writer rests when this many frames are free.
    pub(crate) fn high_water(&self) -> usize {
        self.low_water() * 2
    }

    pub(crate) fn check(&self) -> Result<(), PoolError> {
        let wrong = if self.pages < MIN_POOL_PAGES || self.pages >= u32::MAX as usize {
            "pages must be at least 16 and fit 32 bits"
        } else if self.write_run_pages == 0 || self.batch_pages == 0 {
            "write_run_pages and batch_pages must be at least 1"
        } else if self.batch_pages > MAX_BATCH_PAGES {
            "batch_pages must be at most 1016, the images of one double write"
        } else if self.double_write_pages <= self.batch_pages {
            "double_write_pages must be larger than batch_pages"
        } else {
            return Ok(());
        };
        Err(PoolError::BadConfig(wrong))
    }
}
