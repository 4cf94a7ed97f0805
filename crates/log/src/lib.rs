//! The transaction log: records, log blocks, group commit, virtual log files, reading.
//!
//! # How a record travels
//! 1. [`Log::append`] reserves space in the open block by one compare-and-swap, which also gives
//!    the record its [`Lsn`](furrow_format::Lsn), and copies the record in outside any lock.
//! 2. A full block is closed and the next opened; 64 buffers of 60 KB form a ring.
//! 3. [`Log::flush_to`] makes a record durable: the first session that finds a free write slot closes the
//!    open block, waits for the copies into it, seals it with a checksum, and writes all that is pending with
//!    one durable write. Other sessions wait on their block (WRITELOG). Two writes may be under way at once.
//! 4. Blocks lie in virtual log files (VLFs) used in a circle; [`Log::truncate_before`] frees the VLFs that
//!    are no longer needed, [`Log::grow`] adds some.
//!
//! # Invariants
//! 1. LSNs grow in the order of appending. A record never spans blocks, a block never spans VLFs.
//! 2. `durable()` moves only over blocks whose write, and that of all blocks before, has returned.
//! 3. A block is padded to the sector; no byte acknowledged as durable is ever written again before
//!    its VLF is reused.
//! 4. Blocks behind a hole left by a crash never come back: see `reader`.
//! 5. What was durable is never taken for the end of the log when it cannot be read: see `beyond`. Of a log
//!    that was restored this holds for its last block, too: the directory has its end.
//! 6. A temporary log ([`LogConfig::temporary`]) does not promise 2: its blocks are written without being
//!    made durable, and only if buffers run short, for a rollback, or before their VLF is reused.
//! 7. After a failed write the log is poisoned: nothing more is appended or acknowledged.
//!
//! Proofs, by the invariant's number: 1: assertions in `append` and `block`,
//! `records_come_back_in_order_with_their_lsns`. 2: assertions in `flush`,
//! `every_commit_of_many_threads_is_durable_when_it_returns`, loom (`modelled`). 3: an assertion in `flush`
//! (whole sectors). 4: `acknowledged_records_survive_two_power_losses_in_a_row`. 5:
//! `a_rotten_block_before_the_last_one_is_damage_wherever_it_lies`,
//! `the_end_of_a_log_that_was_restored_is_not_lost_unseen`. 6: the soak of tempdb. 7: `Log::check` at
//! each append that opens a block, and in each flush. Both ends of a block are asserted: `BlockHeader::seal`
//! reads back what it writes, and the reader takes no block whose checksum or records do not fit.
//!
//! # What can fail
//! [`LogError`]: the device (then the log is poisoned), no space, a record too large, a file that
//! is not this log.

mod alarm;
mod append;
mod beyond;
mod block;
mod directory;
mod error;
mod export;
mod flush;
mod image;
mod layout;
mod log;
mod lookup;
#[cfg(all(test, loom))]
mod modelled;
mod open;
mod reader;
mod record;
mod shrink;
mod signal;
mod space;
mod sync;
mod vlf;
mod writer;

pub use directory::{is_log, is_unfinished};
pub use error::{LogError, ReuseWait};
pub use export::{LogBlock, LogCursor};
pub use image::LogImage;
pub(crate) use layout::BLOCK_HEADER_BYTES;
pub use layout::FIRST_VLF_OFFSET;
pub use log::{Log, LogConfig, LogCounters};
pub use lookup::RecordReader;
pub use reader::LogScan;
pub use record::{OwnedRecord, Record, RecordKind};
pub use shrink::Kept;
pub use space::LogUsage;
pub use vlf::{Vlf, VlfRule};

/// Smallest log file in bytes.
pub const MIN_LOG_BYTES: u64 = 512 * 1024;
