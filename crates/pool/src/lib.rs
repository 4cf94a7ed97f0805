//! Buffer pool: frames, latches, replacement, write-back.
//!
//! The pages that an instance uses, in memory that is allocated once, at start. All access to a page goes
//! through [`Pool::fetch`], which latches it; the latch is the permission to read ([`Sh`], [`Up`]) or change
//! ([`Ex`]) the page, and it pins the page in memory. Two kinds of work run in the background: read-ahead,
//! and writing changed pages.
//!
//! # Invariants
//! 1. *Log first.* A page is written only when the log is durable up to its `m_lsn`.
//! 2. *Nothing dirty is lost.* A frame is reused only when its page is neither dirty nor being written. A
//!    page that could not be written stays in memory, dirty, until its database is dropped.
//! 3. *Every page read is verified* (checksum or torn bits, own id) before a caller sees it. An error is
//!    returned at once to all threads that wait for the page; no read is retried silently.
//! 4. *No page is torn for good.* A page is written in place only after an image of it is durable in the
//!    double-write file, unless the log rebuilds it from nothing at or after the redo point. No image there
//!    is older than its page.
//! 5. *The redo point passes no change that may be lost*: [`Pool::oldest_rec_lsn`] counts pages that are
//!    dirty,
//!    being written, or written and not yet synced.
//! 6. *After a failed write or sync* of a file nothing more is written to it; every later checkpoint fails.
//! 7. Without threads of its own ([`PoolConfig::background`]) a pool is deterministic: equal calls have equal
//!    effects.
//! 8. *A log short of space is left alone* by threads that write pages only to free frames: see `spare`.
//! 9. The lazy writer is never blocked by a sleeping thread: it takes only latches that are free, and waits
//!    only for the log, which never needs the pool.
//!
//! Proofs, by the invariant's number: 1: `no_page_is_written_when_the_log_cannot_be_made_durable`. 2:
//! `a_failed_write_keeps_the_page_and_is_reported_to_every_checkpoint`, an assertion in `frame`. 3:
//! `check_read` after each read; `a_damaged_page_is_reported_and_its_frame_used_again`. 4:
//! `no_power_loss_costs_a_page`.
//! 5: `a_written_page_holds_redo_back_until_its_file_is_synced`; recovery asserts that the redo point never
//! moves back. 6: `a_failed_sync_holds_redo_back_for_good`. 7:
//! `a_pool_without_threads_makes_room_itself_and_does_the_same_every_time`. 8:
//! `a_log_short_of_space_is_made_durable_only_when_much_of_the_pool_waits_for_it`. 9:
//! `two_frames_are_enough_to_get_on`.
//!
//! # How a page is found
//! 1. The page table is walked without a lock; its answer is a hint.
//! 2. The frame's latch is entered by one compare-and-swap on a word that holds latch, pins and reference
//!    bit.
//! 3. While the latch is held, the frame cannot change its page: if it holds the right one, the search ends
//!    here.
//! 4. Otherwise the table is read under a mutex. A page that is there is waited for (PAGELATCH, or
//!    PAGEIOLATCH while it is being read). One that is not gets a free frame, latched EX, and is read in;
//!    other threads that need it sleep on that latch.
//!
//! Frames come from a free list that the lazy writer refills by turning a clock hand over all frames: a page
//! used since the last turn is skipped once, a clean one is removed, a dirty one is written first.
//!
//! # How a page is changed
//! 1. `begin_change` comes *before* the log record is appended: the page becomes dirty, and if it was clean,
//!    its frame stores the log's tail as its `rec_lsn`. So a thread that reads the log's tail and then looks
//!    for dirty pages misses none whose record lies before that tail.
//! 2. The record is appended, the bytes are changed.
//! 3. `finish_change` stamps the record's LSN into the page. If the record rebuilds the whole page, the frame
//!    stores that LSN as the page's *base*: until the page has been written once, recovery needs nothing of
//!    its content on the disk, and no image is written. So bulk loads avoid the double write.
//!
//! Redo that meets a damaged page skips the page's records up to one that rebuilds it (starting from
//! [`Pool::create`]'s zeros), and fails if there is none.
//!
//! A thread may mark a page and then use a copy of it without a latch. `begin_change` invalidates the mark,
//! and so does the removal of the page from its frame: see `watch`.
//!
//! # How a page is written
//! See `write`: copied under SH, checksummed in the copy, log made durable, image to the [`double_write`]
//! file, runs of neighbours in place. [`Pool::checkpoint_pages`] does it for all dirty pages of a database,
//! the files side by side, and syncs each; [`Pool::force_pages`] for chosen ones; [`Pool::write_oldest`] for
//! some; the lazy writer for those that it passes, and those given to [`Pool::write_soon`].
//!
//! # Snapshots
//! [`Pool::snapshot`] gives the pages of a database as they were at one LSN while others change them: see
//! `snapshot`.
//!
//! # What can fail
//! [`PoolError`]: a damaged page (824), refused I/O (823), no free frame within a bounded wait (802), a log
//! that cannot be made durable, a file or database that is not there. In debug builds a thread that would
//! wait for a latch against the latch order ([`LatchRank`]) panics. A thread must not latch one page twice.

mod bytes;
mod checkpoint;
mod config;
mod core;
mod descriptors;
pub mod double_write;
mod error;
mod fence;
mod fetch;
mod files;
mod force;
mod frame;
mod free;
mod free_list;
mod guard;
mod hand;
mod key;
mod latch;
mod lazy;
mod lazy_state;
mod loan;
mod memory;
mod mode;
mod near;
mod pace;
mod park;
mod pool;
mod prefetch;
mod rank;
mod read_queue;
mod snapshot;
mod snapshot_hooks;
mod spare;
mod table;
mod watch;
mod write;

pub use checkpoint::{CheckpointOptions, CheckpointStats};
pub use config::PoolConfig;
pub use descriptors::{BufferDescriptor, BufferHeader};
pub use error::{LogFailure, PoolError};
pub use fetch::thread_read_ahead;
pub use files::{PoolFile, WriteAhead};
pub use force::PageRun;
pub use guard::{PageGuard, PageRead, PageUpdate, PageWrite};
pub use key::PageKey;
pub use loan::FrameLoan;
pub use memory::Lines;
pub use mode::{Ex, LatchMode, Mode, Sh, Up};
pub use near::FrameHint;
pub use pool::{Locked, Pool, PoolStats};
pub use rank::{LATCH_RANKS, LatchRank, assert_no_latches};
pub use snapshot::{FailureSink, PageSnapshot, SnapshotFile, SnapshotFiles, SnapshotOptions};
pub use snapshot::{SparseFault, SparseFile, SparseFiles, SparseHeader, SparseState, SpillFiles};
pub use snapshot_hooks::SnapshotGuard;
pub use spare::padding_share;
pub use watch::PageMark;
