//! The log of a database: its state.

use crate::alarm::Alarm;
use crate::block::Block;
use crate::directory::{Directory, write_directory};
use crate::layout::{BLOCK_HEADER_BYTES, BLOCK_MAX_BYTES, LOG_BUFFERS};
use crate::signal::Signal;
use crate::sync::atomic::{AtomicBool, AtomicI64, AtomicU32, AtomicU64, Ordering};
use crate::sync::{Condvar, Counter, Mutex, futex, pause};
use crate::vlf::{VlfRule, VlfTable};
use crate::{LogError, Vlf};
use furrow_format::Lsn;
use furrow_io::File;
use std::sync::{Arc, OnceLock};

/// How a log is created and run.
#[derive(Debug, Clone, Copy)]
pub struct LogConfig {
    /// Blocks are padded to this many bytes: a power of two from 512 to 4096. 4096 never makes a device
    /// rewrite half of a physical sector that holds records already acknowledged.
    pub sector_bytes: u32,
    /// How many log writes may be under way at once, at least 1.
    pub writes_in_flight: u32,
    /// How many VLFs a growth makes.
    pub vlf_rule: VlfRule,
    /// Whether a thread of the log writes full blocks while no session commits. Without it the appender that
    /// fills one block too many writes them: then one thread does the same steps in every run.
    pub background: bool,
    /// Whether no record is read after a restart (`tempdb`): [`Log::flush_to`] then writes nothing. Blocks
    /// are written only when the log buffers are nearly full, or when a rollback reads them.
    pub temporary: bool,
}

impl Default for LogConfig {
    fn default() -> LogConfig {
        LogConfig {
            sector_bytes: 4096,
            writes_in_flight: 2,
            vlf_rule: VlfRule::default(),
            background: true,
            temporary: false,
        }
    }
}

/// Counters of a log since it was opened.
#[derive(Debug, Default)]
pub struct LogCounters {
    /// Writes that made blocks durable.
    pub flushes: Counter,
    /// Bytes they wrote, padding included.
    pub bytes_flushed: Counter,
    /// Times a session waited for a flush.
    pub flush_waits: Counter,
    /// Microseconds of these waits.
    pub flush_wait_us: Counter,
    /// Microseconds that the writes took.
    pub write_us: Counter,
    /// Growths.
    pub growths: Counter,
    /// Times the file became smaller.
    pub shrinks: Counter,
    /// Times a part of it became free.
    pub truncations: Counter,
}

/// The state of a block besides its bytes.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct BlockMeta {
    pub(crate) prev: Lsn,
    pub(crate) file_offset: u64,
    /// Bytes in the file, padding included; 0 for a block that had no records.
    pub(crate) padded: usize,
    pub(crate) done: bool,
}

/// State that changes only when a block is closed, opened or written.
#[derive(Debug)]
pub(crate) struct Roll {
    pub(crate) vlfs: VlfTable,
    pub(crate) directory: Directory,
    pub(crate) metas: Vec<BlockMeta>,
    /// Offset in the current VLF where the next block goes, once the open one is closed.
    pub(crate) next_offset: u64,
    /// LSN of the last block that had records.
    pub(crate) last_base: Lsn,
    /// LSN of the last of them that is durable, as all before it.
    pub(crate) durable_base: Lsn,
    /// Whether the current block is closed and the next could not be opened yet.
    pub(crate) unopened: bool,
    /// First block that no leader has taken for writing.
    pub(crate) next_to_write: u64,
}

/// The log of a database.
///
/// Shared by all its sessions; see the crate's documentation for how blocks travel.
#[derive(Debug)]
pub struct Log {
    pub(crate) file: Arc<dyn File>,
    pub(crate) config: LogConfig,
    pub(crate) log_id: u64,
    pub(crate) incarnation: u32,
    pub(crate) blocks: Box<[Block]>,
    /// Number of the open block.
    pub(crate) current: AtomicU64,
    /// Blocks with smaller numbers are durable.
    pub(crate) durable_number: AtomicU64,
    /// Records with smaller LSNs are durable.
    pub(crate) durable_lsn: AtomicU64,
    pub(crate) in_flight: AtomicU32,
    pub(crate) roll: Mutex<Roll>,
    pub(crate) free_bytes: AtomicI64,
    pub(crate) promised_bytes: AtomicI64,
    /// Whether [`Log::is_short`] always returns `true`.
    pub(crate) sparing: AtomicBool,
    pub(crate) alarm: Alarm,
    pub(crate) space_freed: Condvar,
    pub(crate) space_lock: Mutex<()>,
    pub(crate) header_turn: Mutex<()>,
    /// Held while the file becomes longer or shorter.
    pub(crate) size_turn: Mutex<()>,
    pub(crate) failed: AtomicBool,
    pub(crate) failure: OnceLock<String>,
    pub(crate) wake_writer: Signal,
    /// Counters for the performance views.
    pub counters: LogCounters,
}

impl Log {
    /// Largest record in bytes.
    pub(crate) const MAX_RECORD_BYTES: usize = BLOCK_MAX_BYTES - BLOCK_HEADER_BYTES;

    pub(crate) fn block(&self, number: u64) -> &Block {
        &self.blocks[(number % LOG_BUFFERS as u64) as usize]
    }

    /// Binding GUID of the database the log belongs to.
    pub fn binding(&self) -> [u8; 16] {
        self.roll.lock().directory.binding
    }

    /// All records with smaller LSNs are durable.
    pub fn durable(&self) -> Lsn {
        Lsn(self.durable_lsn.load(Ordering::Acquire))
    }

    /// A lower bound of every LSN assigned after this call.
    pub fn tail(&self) -> Lsn {
        let mut spins = 0;
        loop {
            let number = self.current.load(Ordering::Acquire);
            if let Some(lsn) = self.block(number).next_lsn(number) {
                return lsn;
            }
            pause(&mut spins);
        }
    }

    /// The VLFs in file order, with whether each holds part of the active log.
    pub fn vlfs(&self) -> Vec<(Vlf, bool)> {
        let roll = self.roll.lock();
        roll.vlfs
            .all()
            .iter()
            .map(|v| (*v, roll.vlfs.is_active(v)))
            .collect()
    }

    /// Where the last completed checkpoint begins.
    pub fn checkpoint(&self) -> Lsn {
        self.roll.lock().directory.checkpoint
    }

    /// Makes durable that recovery may read from the checkpoint that begins at `lsn`.
    pub fn note_checkpoint(&self, lsn: Lsn) -> Result<(), LogError> {
        debug_assert!(
            lsn < self.durable(),
            "the header names only what is durable"
        );
        self.rewrite_directory(|directory| {
            debug_assert!(
                directory.checkpoint <= lsn,
                "the header never names an older checkpoint"
            );
            directory.checkpoint = lsn;
            Ok(())
        })
    }

    /// Changes the header, durably; one at a time.
    pub(crate) fn rewrite_directory(
        &self,
        change: impl FnOnce(&mut Directory) -> Result<(), LogError>,
    ) -> Result<(), LogError> {
        self.check()?;
        let _turn = self.header_turn.lock();
        let mut directory = self.roll.lock().directory.clone();
        change(&mut directory)?;
        directory.version += 1;
        write_directory(&*self.file, &directory).inspect_err(|e| self.fail(e))?;
        self.roll.lock().directory = directory;
        Ok(())
    }

    /// Whether no record is read after a restart.
    pub fn is_temporary(&self) -> bool {
        self.config.temporary
    }

    /// Blocks are padded to this many bytes.
    pub fn sector_bytes(&self) -> u32 {
        self.config.sector_bytes
    }

    /// The file.
    pub fn file(&self) -> &Arc<dyn File> {
        &self.file
    }

    /// An error once a write of the log has failed.
    pub fn check(&self) -> Result<(), LogError> {
        if self.failed.load(Ordering::Acquire) {
            return Err(LogError::Poisoned(
                self.failure.get().cloned().unwrap_or_default(),
            ));
        }
        Ok(())
    }

    pub(crate) fn fail(&self, error: &LogError) {
        let _ = self.failure.set(error.to_string());
        self.failed.store(true, Ordering::Release);
        debug_assert!(self.check().is_err(), "a poisoned log takes nothing");
        for block in &self.blocks {
            block.event.fetch_add(1, Ordering::SeqCst);
            futex::wake_all(&block.event);
        }
        self.space_freed.notify_all();
    }

    /// Stops the background writer. Records appended and not flushed are lost, as in a crash.
    pub fn shut_down(&self) {
        self.wake_writer.stop();
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        self.shut_down();
    }
}
