//! File statistics: how many reads, writes and syncs each file had, and how long they took.
//!
//! The code that does I/O for a file holds its [`FileStats`] and reports each operation that ended: bytes,
//! *stall* (from the request to its end) and the part of it spent in the engine's own queue. Latencies go
//! into a histogram as well, so that percentiles of any interval can be computed.

mod histogram;
mod stats;
mod table;

pub use histogram::{Histogram, HistogramSnapshot};
pub use stats::{FileSnapshot, FileStats, IoFigures, IoKind, IoTimer};
pub use table::FileTable;
