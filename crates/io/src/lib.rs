//! Where bytes live.
//!
//! The only crate that touches the system's files, clock, threads and random numbers. Everything above
//! it works on two traits: a [`Volume`] is a namespace of files (directories of the system, memory, a
//! simulated disk), a [`File`] is an array of bytes that is read and written in batches of runs.
//!
//! # Invariants
//! 1. `open(.., Open::Create)`, `remove` and `resize` are durable when they return: the directory entry and the
//!    length survive a power loss. File contents are durable only after `sync` (or `write_durable`).
//! 2. A read past the end of a file is an error, never a short success.
//! 3. After a failed `sync` or `write_durable` a file is poisoned: every later write and sync fails with
//!    [`IoErrorKind::Poisoned`]; nothing may be acknowledged on it until it is opened anew.
//! 4. A file opened for writing is locked against other processes; a second opener gets [`IoErrorKind::InUse`].
//!
//! # What can fail
//! Every operation returns [`IoError`], which names the operation, the path, the offset and the system's reason.

mod align;
mod error;
pub mod host;
mod image;
pub mod memory;
mod namespace;
mod poison;
pub mod process;
pub mod random;
mod seam;
pub mod sim;
pub mod system;
pub mod thread;
pub mod time;

pub use align::{AlignedBuf, DIRECT_ALIGN};
pub use error::{IoError, IoErrorKind, IoOp};
pub use memory::MemoryVolume;
pub use seam::{Access, File, Fill, Open, ReadRun, Space, Volume, WriteRun};
pub use sim::SimVolume;
pub use system::{SystemOptions, SystemVolume};
