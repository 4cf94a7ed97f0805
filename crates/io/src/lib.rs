//! Files, clock, threads and random numbers.
//!
//! The only crate that touches the system's files, clock, threads and random numbers. Everything above it
//! works on two traits: a [`Volume`] is a namespace of files, a [`File`] is an array of bytes that is read
//! and written in batches of runs. Three volumes implement them:
//!
//! | volume | bytes live in | for |
//! |---|---|---|
//! | [`SystemVolume`] | directories of this machine, by direct I/O | the program |
//! | [`MemoryVolume`] | memory, no faults | tests of the layers above |
//! | [`SimVolume`] | memory, with power losses and faults | tests of recovery |
//!
//! # Invariants
//! 1. `open(.., Open::Create)`, `create_dir`, `remove` and `resize` are durable when they return: directory
//!    entry and length survive a power loss. File contents are durable only after `sync` (or, the bytes of
//!    that very call, after `write_durable`).
//! 2. A read past the end of a file is an error, never a short success.
//! 3. After a failed `sync` or `write_durable`, or a `resize` that failed for another reason than a full
//!    disk, a file is poisoned: every later write, resize and sync fails with [`IoErrorKind::Poisoned`], and
//!    nothing may be acknowledged on it until it is opened again. Reads still work.
//! 4. A file opened for writing is locked against other processes and against other handles of this one; a
//!    second opener gets [`IoErrorKind::InUse`].
//! 5. `open(.., Open::Existing)` makes data that a dead process left in the system's cache durable before the
//!    first byte is read: recovery reads only what is on the disk.
//! 6. Only regular files are opened. A directory, a named pipe, a socket or a device is refused at once,
//!    before it is opened ([`IoErrorKind::NotRegular`]); [`stream`] is for pipes and devices.
//!
//! Proofs, by the invariant's number: 1, 2:
//! `the_system_keeps_every_promise_with_each_engine_with_and_without_direct_io`,
//! `names_are_open_while_their_operation_runs_and_durable_after`. 3:
//! `a_failed_sync_poisons_the_handle_and_a_new_one_is_clean`. 4:
//! `a_second_process_gets_in_use_until_the_first_is_killed`. 5: `SystemFile::settle` in each such open;
//! `processes_killed_under_sixteen_writers_lose_nothing_and_tear_nothing` (soak). 6:
//! `a_named_pipe_a_device_a_socket_and_a_directory_are_refused_at_once`.
//!
//! # How a write becomes durable
//! 1. The caller collects runs: an offset in the file, and buffers that are written there in sequence.
//! 2. [`File::write`] passes them to the device, several at once where io_uring is available. There is no
//!    order within the batch or between batches.
//! 3. [`File::sync`] is the only barrier, for one file: all writes that returned before it was called are
//!    on the medium when it returns. A log takes [`File::write_durable`] instead, one block a call.
//!
//! # What can fail
//! Every operation returns [`IoError`]: the operation, the path, the offset, the system's reason. A batch
//! fails as a whole; some of its runs may have been written. A failed plain write does not poison the file,
//! nor does a resize that fails because the disk is full, which does not change the length.
//!
//! # Direct I/O
//! Runs are fast if their offset, length and memory are multiples of 4096 ([`AlignedBuf`] gives such memory).
//! All others work, by a copy or through the page cache. There is no read-ahead: a scan requests large runs.

mod align;
pub mod alignment;
mod around;
mod error;
pub mod heap;
mod holder;
pub mod host;
mod image;
mod limits;
pub mod memory;
mod mount;
pub mod mutation;
mod namespace;
mod new_file;
mod poison;
pub mod process;
pub mod random;
pub mod raw;
mod region;
mod schedule;
mod seam;
pub mod sim;
pub mod stream;
pub mod sync;
pub mod system;
mod terminal;
pub mod thread;
pub mod time;
pub mod weave;
mod whole;

pub use align::{AlignedBuf, DIRECT_ALIGN};
pub use around::read_around;
pub use error::{IoError, IoErrorKind, IoOp};
pub use holder::{Holder, holder_of};
pub use memory::MemoryVolume;
pub use new_file::{Existing, NewFile, remove_unpublished};
pub use region::{Region, locked_limit_bytes};
pub use seam::{Access, File, Fill, Open, ReadRun, Space, Volume, WriteRun};
pub use sim::SimVolume;
pub use system::{SystemOptions, SystemVolume};
pub use terminal::TerminalModes;
pub use whole::{copy_around, copy_file, read_all, read_file, write_file};
