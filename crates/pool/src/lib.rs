//! Buffer pool: frames, latches, replacement, write-back.

mod bytes;
mod checkpoint;
mod core;
mod descriptors;
pub mod double_write;
mod error;
mod fetch;
mod files;
mod frame;
mod free;
mod guard;
mod key;
mod latch;
mod lazy;
mod memory;
mod mode;
mod pace;
mod park;
mod pool;
mod prefetch;
mod rank;
mod table;
mod write;

pub use checkpoint::{CheckpointOptions, CheckpointStats};
pub use descriptors::{BufferDescriptor, BufferHeader};
pub use error::{LogFailure, PoolError};
pub use files::{PoolFile, WriteAhead};
pub use guard::{PageGuard, PageRead, PageUpdate, PageWrite};
pub use key::PageKey;
pub use mode::{Ex, LatchMode, Mode, Sh, Up};
pub use pool::{MIN_POOL_PAGES, Pool, PoolConfig, PoolStats};
pub use rank::{LatchRank, assert_no_latches};
