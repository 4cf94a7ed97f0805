//! The log of a database: its state, creation and opening.

use crate::block::Block;
use crate::directory::{Directory, write_directory};
use crate::layout::{BLOCK_HEADER_BYTES, BLOCK_MAX_BYTES, SECTOR};
use crate::reader::LogEnd;
use crate::space::Alarm;
use crate::sync::atomic::{AtomicBool, AtomicI64, AtomicU32, AtomicU64, Ordering};
use crate::sync::{Condvar, Counter, Mutex, futex, pause};
use crate::vlf::{VlfRule, VlfTable};
use crate::{LogError, Vlf};
use furrow_format::Lsn;
use furrow_io::mutation::{Mutation, mutated};
use furrow_io::{File, Fill};
use std::sync::{Arc, OnceLock};

/// Log buffers in memory; each holds one block of at most 60 KB. The model checker has a few: it tries
/// every order of what happens to them.
pub const LOG_BUFFERS: usize = if cfg!(loom) { 4 } else { 64 };
/// First VLF sequence number of a new log.
const FIRST_VLF_SEQ: u32 = 32;

/// How a log is made and run.
#[derive(Debug, Clone, Copy)]
pub struct LogConfig {
    /// Blocks are padded to this many bytes: a power of two from 512 to 4096. 4096 never makes a device
    /// rewrite half of a physical sector that holds records already acknowledged.
    pub sector_bytes: u32,
    /// How many log writes may be under way at once, at least 1.
    pub writes_in_flight: u32,
    /// How many VLFs a growth makes.
    pub vlf_rule: VlfRule,
    /// Whether a thread of the log writes full blocks while nobody commits. Without it whoever fills one too
    /// many writes them: what one thread does is then the same every time.
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
    /// Times somebody waited for a flush.
    pub flush_waits: Counter,
    /// Microseconds that was waited.
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

/// What the log knows of a block besides its bytes.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct BlockMeta {
    pub(crate) prev: Lsn,
    pub(crate) file_offset: u64,
    /// Bytes in the file, padding included; 0 for a block that had no records.
    pub(crate) padded: usize,
    pub(crate) done: bool,
}

/// What changes only when a block is closed, opened or written.
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
    /// First block that nobody has taken for writing.
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
    /// Whether it is to be taken for short of space.
    pub(crate) sparing: AtomicBool,
    pub(crate) alarm: Alarm,
    pub(crate) space_freed: Condvar,
    pub(crate) space_lock: Mutex<()>,
    pub(crate) header_turn: Mutex<()>,
    /// Held while the file becomes longer or shorter.
    pub(crate) size_turn: Mutex<()>,
    pub(crate) failed: AtomicBool,
    pub(crate) failure: OnceLock<String>,
    pub(crate) wake_writer: crate::writer::Signal,
    /// Counters for the performance views.
    pub counters: LogCounters,
}

impl Log {
    /// Makes a log in an empty file: `bytes` long, zeroed, for the database with this binding GUID.
    pub fn create(
        file: Arc<dyn File>,
        bytes: u64,
        binding: [u8; 16],
        config: LogConfig,
    ) -> Result<Arc<Log>, LogError> {
        Log::create_from(file, bytes, binding, config, FIRST_VLF_SEQ)
    }

    /// As [`Log::create`], for a database whose pages have LSNs already: all of them lie before the virtual
    /// log file with the number `first_vlf`.
    pub fn create_from(
        file: Arc<dyn File>,
        bytes: u64,
        binding: [u8; 16],
        config: LogConfig,
        first_vlf: u32,
    ) -> Result<Arc<Log>, LogError> {
        let mut directory = Directory {
            version: 1,
            binding,
            sector: config.sector_bytes,
            checkpoint: Lsn::ZERO,
            runs: Vec::new(),
        };
        let room = bytes.max(crate::MIN_LOG_BYTES) - crate::FIRST_VLF_OFFSET;
        for size in config
            .vlf_rule
            .sizes(0, room / SECTOR as u64 * SECTOR as u64)
        {
            directory.push(size, 1)?;
        }
        file.resize(directory.file_bytes(), Fill::Zero)?;
        write_directory(&*file, &directory)?;
        let vlfs = VlfTable::new(&directory.vlfs(), first_vlf.max(FIRST_VLF_SEQ));
        let end = LogEnd {
            base: Lsn::ZERO,
            offset: 0,
            incarnation: 0,
        };
        Log::start(file, directory, vlfs, end, config)
    }

    /// Goes on with a log that was scanned to its end. Nothing before `oldest` is needed any more.
    pub fn resume(
        scan: crate::LogScan,
        oldest: Lsn,
        config: LogConfig,
    ) -> Result<Arc<Log>, LogError> {
        let (file, directory, seqs, end) = scan.into_parts();
        let config = LogConfig {
            sector_bytes: directory.sector,
            ..config
        };
        let current = end.base.vlf();
        let vlfs = VlfTable::restored(&directory.vlfs(), &seqs, oldest.vlf(), current)
            .ok_or(LogError::Missing(end.base))?;
        Log::start(file, directory, vlfs, end, config)
    }

    fn start(
        file: Arc<dyn File>,
        directory: Directory,
        vlfs: VlfTable,
        end: LogEnd,
        config: LogConfig,
    ) -> Result<Arc<Log>, LogError> {
        let log = Log {
            file,
            config,
            log_id: directory.log_id(),
            incarnation: end.incarnation + u32::from(!mutated(Mutation::SameIncarnation)),
            blocks: (0..LOG_BUFFERS).map(|_| Block::new()).collect(),
            current: AtomicU64::new(LOG_BUFFERS as u64),
            durable_number: AtomicU64::new(LOG_BUFFERS as u64 + 1),
            durable_lsn: AtomicU64::new(0),
            in_flight: AtomicU32::new(0),
            roll: Mutex::new(Roll {
                vlfs,
                directory,
                metas: vec![
                    BlockMeta {
                        done: true,
                        ..BlockMeta::default()
                    };
                    LOG_BUFFERS
                ],
                next_offset: end.offset,
                last_base: end.base,
                durable_base: end.base,
                unopened: true,
                next_to_write: LOG_BUFFERS as u64 + 1,
            }),
            free_bytes: AtomicI64::new(0),
            promised_bytes: AtomicI64::new(0),
            sparing: AtomicBool::new(false),
            alarm: Alarm::default(),
            space_freed: Condvar::new(),
            space_lock: Mutex::new(()),
            header_turn: Mutex::new(()),
            size_turn: Mutex::new(()),
            failed: AtomicBool::new(false),
            failure: OnceLock::new(),
            wake_writer: crate::writer::Signal::new(),
            counters: LogCounters::default(),
        };
        {
            let mut roll = log.roll.lock();
            log.open_next(&mut roll, BLOCK_HEADER_BYTES)?;
            log.publish_durable(&mut roll);
        }
        let log = Arc::new(log);
        if log.config.background {
            crate::writer::spawn(&log)?;
        }
        Ok(log)
    }

    /// Largest record in bytes.
    pub const MAX_RECORD_BYTES: usize = BLOCK_MAX_BYTES - BLOCK_HEADER_BYTES;

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
        self.rewrite_directory(|directory| {
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
