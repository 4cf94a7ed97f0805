//! The statistics of one file.

use super::{Histogram, HistogramSnapshot};
use furrow_io::sync::Mutex;
use furrow_io::time::{Duration, Moment};
use furrow_messages::{Arg, Message};
use serde::{Deserialize, Serialize};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// What was done to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum IoKind {
    /// Bytes were read.
    Read,
    /// Bytes were written.
    Write,
    /// Written bytes were made durable.
    Sync,
}

/// An operation that takes longer than this is reported in the error log, message 833.
pub(crate) const LONG_IO_US: u64 = 15_000_000;
/// No file is reported more often than this.
const LONG_IO_EVERY: Duration = Duration::from_secs(300);

#[derive(Debug, Default)]
struct Cell {
    count: AtomicU64,
    bytes: AtomicU64,
    stall_us: AtomicU64,
    queued_us: AtomicU64,
    pending: AtomicU64,
    latency: Histogram,
}

impl Cell {
    fn record(&self, bytes: u64, stall_us: u64, queued_us: u64) {
        self.count.fetch_add(1, Relaxed);
        self.bytes.fetch_add(bytes, Relaxed);
        self.stall_us.fetch_add(stall_us, Relaxed);
        if queued_us > 0 {
            self.queued_us.fetch_add(queued_us, Relaxed);
        }
        self.latency.record(stall_us);
    }

    fn figures(&self) -> IoFigures {
        IoFigures {
            count: self.count.load(Relaxed),
            bytes: self.bytes.load(Relaxed),
            stall_us: self.stall_us.load(Relaxed),
            queued_us: self.queued_us.load(Relaxed),
            latency: self.latency.snapshot(),
        }
    }

    fn clear(&self) {
        for atomic in [&self.count, &self.bytes, &self.stall_us, &self.queued_us] {
            atomic.store(0, Relaxed);
        }
        self.latency.clear();
    }
}

#[derive(Debug, Default)]
struct LongIos {
    since_report: i64,
    offset: u64,
    reported_at: Option<Moment>,
}

/// The statistics of one file.
#[derive(Debug)]
pub struct FileStats {
    db: u16,
    file: u16,
    path: String,
    reads: Cell,
    writes: Cell,
    syncs: Cell,
    checkpoint_bytes: AtomicU64,
    size_bytes: AtomicU64,
    long: Mutex<LongIos>,
}

impl FileStats {
    /// All zero, of a file of a database.
    pub fn new(db: u16, file: u16, path: &str) -> FileStats {
        FileStats {
            db,
            file,
            path: path.to_owned(),
            reads: Cell::default(),
            writes: Cell::default(),
            syncs: Cell::default(),
            checkpoint_bytes: AtomicU64::new(0),
            size_bytes: AtomicU64::new(0),
            long: Mutex::new(LongIos::default()),
        }
    }

    /// The database.
    pub fn db(&self) -> u16 {
        self.db
    }

    /// The file's number in its database.
    pub fn file(&self) -> u16 {
        self.file
    }

    /// Where it lies.
    pub fn path(&self) -> &str {
        &self.path
    }

    fn cell(&self, kind: IoKind) -> &Cell {
        match kind {
            IoKind::Read => &self.reads,
            IoKind::Write => &self.writes,
            IoKind::Sync => &self.syncs,
        }
    }

    /// Adds an operation that ended. `queued_us` is the part of `stall_us` before the system got it.
    pub fn record(&self, kind: IoKind, offset: u64, bytes: u64, stall_us: u64, queued_us: u64) {
        self.cell(kind).record(bytes, stall_us, queued_us);
        if stall_us > LONG_IO_US {
            let mut long = self.long.lock();
            long.since_report += 1;
            long.offset = offset;
        }
    }

    /// Starts timing an operation; it is pending until the timer is finished or dropped.
    pub fn begin(&self, kind: IoKind, offset: u64) -> IoTimer<'_> {
        self.cell(kind).pending.fetch_add(1, Relaxed);
        IoTimer {
            stats: self,
            kind,
            offset,
            since: Moment::now(),
            queued_us: 0,
        }
    }

    /// Operations under way.
    pub fn pending(&self, kind: IoKind) -> u64 {
        self.cell(kind).pending.load(Relaxed)
    }

    /// Operations that ended, and the microseconds they took, without the rest of a snapshot.
    pub fn total(&self, kind: IoKind) -> (u64, u64) {
        let cell = self.cell(kind);
        (cell.count.load(Relaxed), cell.stall_us.load(Relaxed))
    }

    /// Adds what a checkpoint wrote to the file; the writes themselves are recorded one by one.
    pub fn add_checkpoint_bytes(&self, bytes: u64) {
        self.checkpoint_bytes.fetch_add(bytes, Relaxed);
    }

    /// Sets the file's length.
    pub fn set_size_bytes(&self, bytes: u64) {
        self.size_bytes.store(bytes, Relaxed);
    }

    /// Its state now.
    pub fn snapshot(&self) -> FileSnapshot {
        FileSnapshot {
            db: self.db,
            file: self.file,
            path: self.path.clone(),
            size_bytes: self.size_bytes.load(Relaxed),
            reads: self.reads.figures(),
            writes: self.writes.figures(),
            syncs: self.syncs.figures(),
            checkpoint_bytes: self.checkpoint_bytes.load(Relaxed),
        }
    }

    /// Sets every figure to zero; operations in progress stay counted as pending.
    pub fn clear(&self) {
        self.reads.clear();
        self.writes.clear();
        self.syncs.clear();
        self.checkpoint_bytes.store(0, Relaxed);
    }

    /// Message 833, if operations took too long since the last report, and that is long enough ago.
    pub fn long_io_message(&self, now: Moment, database: &str) -> Option<Message> {
        let mut long = self.long.lock();
        let too_soon = long
            .reported_at
            .is_some_and(|reported| now.since(reported) < LONG_IO_EVERY);
        if long.since_report == 0 || too_soon {
            return None;
        }
        let occurrences = std::mem::take(&mut long.since_report);
        long.reported_at = Some(now);
        let args = [
            Arg::from(occurrences),
            Arg::from(LONG_IO_US / 1_000_000),
            Arg::from(self.path.as_str()),
            Arg::from(database),
            Arg::from(self.db),
            Arg::from(u32::from(self.file)),
            Arg::from(long.offset),
        ];
        Some(Message::new(833, &args))
    }
}

/// Times an operation on a file.
#[must_use = "an operation that is not finished is not counted"]
#[derive(Debug)]
pub struct IoTimer<'a> {
    stats: &'a FileStats,
    kind: IoKind,
    offset: u64,
    since: Moment,
    queued_us: u64,
}

impl IoTimer<'_> {
    /// The request goes to the system now: the time until here was spent in the queue.
    pub fn submitted(&mut self) {
        self.queued_us = self.since.elapsed_us();
    }

    /// The operation succeeded; returns its stall in microseconds.
    pub fn finish(self, bytes: u64) -> u64 {
        let stall_us = self.since.elapsed_us();
        self.stats
            .record(self.kind, self.offset, bytes, stall_us, self.queued_us);
        stall_us
    }
}

impl Drop for IoTimer<'_> {
    fn drop(&mut self) {
        self.stats.cell(self.kind).pending.fetch_sub(1, Relaxed);
    }
}

/// The figures of one kind of operation.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct IoFigures {
    /// Operations that ended.
    pub count: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Their time, from request to end.
    pub stall_us: u64,
    /// The part of it spent in the engine's queue.
    pub queued_us: u64,
    /// How their times were spread.
    pub latency: HistogramSnapshot,
}

impl IoFigures {
    /// Mean time of an operation; 0 without operations.
    pub fn mean_us(&self) -> f64 {
        if self.count == 0 {
            0.0
        } else {
            self.stall_us as f64 / self.count as f64
        }
    }

    /// Mean size of an operation; 0 without operations.
    pub fn mean_bytes(&self) -> f64 {
        if self.count == 0 {
            0.0
        } else {
            self.bytes as f64 / self.count as f64
        }
    }

    fn delta(old: &IoFigures, new: &IoFigures) -> IoFigures {
        if new.count < old.count || new.stall_us < old.stall_us {
            return new.clone();
        }
        IoFigures {
            count: new.count - old.count,
            bytes: new.bytes.saturating_sub(old.bytes),
            stall_us: new.stall_us - old.stall_us,
            queued_us: new.queued_us.saturating_sub(old.queued_us),
            latency: HistogramSnapshot::delta(&old.latency, &new.latency),
        }
    }
}

/// The statistics of a file at one moment, or between two.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileSnapshot {
    /// The database.
    pub db: u16,
    /// The file's number.
    pub file: u16,
    /// Where it lies.
    pub path: String,
    /// Its length.
    pub size_bytes: u64,
    /// Reads.
    pub reads: IoFigures,
    /// Writes.
    pub writes: IoFigures,
    /// Syncs.
    pub syncs: IoFigures,
    /// The part of the written bytes that checkpoints wrote.
    #[serde(default)]
    pub checkpoint_bytes: u64,
}

impl FileSnapshot {
    /// Stall of reads and writes together, as the view has it.
    pub fn io_stall_us(&self) -> u64 {
        self.reads.stall_us + self.writes.stall_us
    }

    /// What happened from `earlier` to `later`; figures cleared in between stand as in `later`.
    pub fn delta(earlier: &FileSnapshot, later: &FileSnapshot) -> FileSnapshot {
        FileSnapshot {
            reads: IoFigures::delta(&earlier.reads, &later.reads),
            writes: IoFigures::delta(&earlier.writes, &later.writes),
            syncs: IoFigures::delta(&earlier.syncs, &later.syncs),
            checkpoint_bytes: match later.checkpoint_bytes.checked_sub(earlier.checkpoint_bytes) {
                Some(more) => more,
                None => later.checkpoint_bytes,
            },
            ..later.clone()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use furrow_io::time::sleep;

    #[test]
    fn operations_add_up_by_kind() {
        let stats = FileStats::new(5, 1, "a.mdf");
        stats.record(IoKind::Read, 0, 8192, 100, 10);
        stats.record(IoKind::Read, 8192, 65_536, 300, 0);
        stats.record(IoKind::Write, 0, 8192, 50, 0);
        stats.record(IoKind::Sync, 0, 0, 2000, 0);
        let now = stats.snapshot();
        assert_eq!(
            (now.reads.count, now.reads.bytes, now.reads.stall_us),
            (2, 73_728, 400)
        );
        assert_eq!((now.reads.queued_us, now.reads.latency.max_us), (10, 300));
        assert_eq!(
            (now.writes.count, now.syncs.count, now.io_stall_us()),
            (1, 1, 450)
        );
        assert_eq!(
            (now.reads.mean_us(), now.reads.mean_bytes()),
            (200.0, 36_864.0)
        );
        assert_eq!(IoFigures::default().mean_us(), 0.0);
    }

    #[test]
    fn a_timer_is_pending_until_it_ends_and_counts_only_when_finished() {
        let stats = FileStats::new(5, 1, "a.mdf");
        let mut timer = stats.begin(IoKind::Write, 0);
        let failed = stats.begin(IoKind::Write, 0);
        assert_eq!(stats.pending(IoKind::Write), 2);
        sleep(Duration::from_millis(1));
        timer.submitted();
        sleep(Duration::from_millis(1));
        assert!(timer.finish(8192) >= 2000);
        drop(failed);
        let now = stats.snapshot();
        assert_eq!((stats.pending(IoKind::Write), now.writes.count), (0, 1));
        assert!(now.writes.queued_us >= 1000 && now.writes.queued_us + 1000 <= now.writes.stall_us);
    }

    #[test]
    fn a_delta_covers_the_interval() {
        let stats = FileStats::new(5, 1, "a.mdf");
        stats.record(IoKind::Read, 0, 10, 5000, 0);
        let before = stats.snapshot();
        stats.record(IoKind::Read, 0, 20, 7, 0);
        stats.add_checkpoint_bytes(8192);
        let delta = FileSnapshot::delta(&before, &stats.snapshot());
        assert_eq!(
            (delta.reads.count, delta.reads.bytes, delta.reads.stall_us),
            (1, 20, 7)
        );
        assert_eq!(delta.reads.latency.percentile_us(0.99), 7);
        assert_eq!(delta.checkpoint_bytes, 8192);
        stats.clear();
        assert_eq!(stats.snapshot().checkpoint_bytes, 0);
        stats.record(IoKind::Read, 0, 30, 1, 0);
        assert_eq!(
            FileSnapshot::delta(&before, &stats.snapshot()).reads.bytes,
            30
        );
    }

    #[test]
    fn long_operations_are_reported_once_in_five_minutes() {
        let stats = FileStats::new(7, 2, "/data/x.ldf");
        let start = Moment::from_ns(0);
        stats.record(IoKind::Write, 512, 512, LONG_IO_US, 0);
        assert_eq!(
            stats.long_io_message(start, "x"),
            None,
            "15 seconds are not over 15 seconds"
        );
        stats.record(IoKind::Write, 512, 512, LONG_IO_US + 1, 0);
        stats.record(IoKind::Read, 0x2000, 512, LONG_IO_US * 2, 0);
        let message = stats.long_io_message(start, "x").unwrap();
        assert_eq!(
            message.text,
            "SQL Server has encountered 2 occurrence(s) of I/O requests taking longer than 15 seconds \
             to complete on file '/data/x.ldf' in database 'x' (7). The OS file handle is 0x2. \
             The offset of the latest long I/O is: 0x00000000002000"
        );
        stats.record(IoKind::Read, 0, 512, LONG_IO_US * 2, 0);
        assert_eq!(
            stats.long_io_message(start.after(Duration::from_secs(299)), "x"),
            None
        );
        assert!(
            stats
                .long_io_message(start.after(Duration::from_secs(300)), "x")
                .is_some()
        );
        assert_eq!(
            stats.long_io_message(start.after(Duration::from_secs(900)), "x"),
            None
        );
    }
}
