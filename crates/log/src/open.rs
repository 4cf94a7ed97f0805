//! Creation and opening of a log.

use crate::LogError;
use crate::alarm::Alarm;
use crate::block::Block;
use crate::directory::{Directory, write_directory};
use crate::layout::{BLOCK_HEADER_BYTES, LOG_BUFFERS, SECTOR};
use crate::log::{BlockMeta, Log, LogConfig, LogCounters, Roll};
use crate::reader::{LogEnd, LogScan};
use crate::signal::Signal;
use crate::sync::atomic::{AtomicBool, AtomicI64, AtomicU32, AtomicU64};
use crate::sync::{Condvar, Mutex};
use crate::vlf::VlfTable;
use furrow_format::Lsn;
use furrow_io::mutation::{Mutation, mutated};
use furrow_io::{File, Fill};
use std::sync::{Arc, OnceLock};

/// First VLF sequence number of a new log.
const FIRST_VLF_SEQ: u32 = 32;

impl Log {
    /// Creates a log in an empty file: `bytes` long, zeroed, for the database with this binding GUID.
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
            growing: None,
            reached: Lsn::ZERO,
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

    /// Continues a log that was scanned to its end. Nothing before `oldest` is needed any more.
    pub fn resume(scan: LogScan, oldest: Lsn, config: LogConfig) -> Result<Arc<Log>, LogError> {
        let (file, mut directory, seqs, end) = scan.into_parts();
        // It goes on from here.
        (directory.growing, directory.reached) = (None, Lsn::ZERO);
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
            wake_writer: Signal::new(),
            counters: LogCounters::default(),
        };
        {
            let mut roll = log.roll.lock();
            log.open_next(&mut roll, BLOCK_HEADER_BYTES)?;
            log.publish_durable(&mut roll);
            debug_assert!(
                log.durable() <= log.tail(),
                "all that was found is durable, and nothing else"
            );
        }
        let log = Arc::new(log);
        if log.config.background {
            crate::writer::spawn(&log)?;
        }
        Ok(log)
    }
}
