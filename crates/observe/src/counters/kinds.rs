//! The performance counters, as data.

use super::object::{CounterKind, Object};
use crate::table::{class_table, markdown};

type Extra = (Object, CounterKind);

use CounterKind::{Average, Base, Gauge, PerSecond, Ratio, Share};
use Object::{
    AccessMethods as AM, BufferManager as BM, Databases as DB, GeneralStatistics as GS,
    Latches as LA, Locks as LO, SqlStatistics as SQ,
};

class_table! {
    /// A performance counter.
    pub enum Counter: Extra {
        BufferCacheHitRatio "Buffer cache hit ratio" (BM, Ratio),
            "Page lookups that found the page in memory.";
        BufferCacheHitRatioBase "Buffer cache hit ratio base" (BM, Base), "Page lookups, for the ratio.";
        PageLookups "Page lookups/sec" (BM, PerSecond), "Requests to find a page in the pool.";
        PageReads "Page reads/sec" (BM, PerSecond), "Pages read from files.";
        PageWrites "Page writes/sec" (BM, PerSecond), "Pages written to files.";
        ReadaheadPages "Readahead pages/sec" (BM, PerSecond), "Pages read before a thread requested them.";
        LazyWrites "Lazy writes/sec" (BM, PerSecond), "Pages written to free their frames.";
        CheckpointPages "Checkpoint pages/sec" (BM, PerSecond), "Pages written by checkpoints.";
        BackgroundWriterPages "Background writer pages/sec" (BM, PerSecond),
            "Pages written to keep recovery short.";
        FreeListStalls "Free list stalls/sec" (BM, PerSecond), "Requests that waited for a free frame.";
        PageLifeExpectancy "Page life expectancy" (BM, Gauge),
            "Seconds that an unused page stays in the pool: one turn of its clock hand.";
        DatabasePages "Database pages" (BM, Gauge), "Pages in the pool.";
        TargetPages "Target pages" (BM, Gauge), "Pages that the pool may hold.";
        DataFileSizeKb "Data File(s) Size (KB)" (DB, Gauge), "Size of all data files.";
        LogFileSizeKb "Log File(s) Size (KB)" (DB, Gauge), "Size of all log files.";
        LogFileUsedSizeKb "Log File(s) Used Size (KB)" (DB, Gauge), "The part of the log that is in use.";
        PercentLogUsed "Percent Log Used" (DB, Share), "The part of the log that is in use, in percent.";
        LogFlushes "Log Flushes/sec" (DB, PerSecond), "Log writes.";
        LogBytesFlushed "Log Bytes Flushed/sec" (DB, PerSecond), "Bytes of log written.";
        LogFlushWaits "Log Flush Waits/sec" (DB, PerSecond), "Commits that waited for a log write.";
        LogFlushWaitTime "Log Flush Wait Time" (DB, PerSecond), "Milliseconds that commits waited.";
        LogFlushWriteTimeMs "Log Flush Write Time (ms)" (DB, PerSecond), "Milliseconds that log writes took.";
        LogGrowths "Log Growths" (DB, Gauge), "How often the log grew.";
        LogShrinks "Log Shrinks" (DB, Gauge), "How often the log shrank.";
        LogTruncations "Log Truncations" (DB, Gauge), "How often part of the log became free.";
        Transactions "Transactions/sec" (DB, PerSecond), "Transactions begun.";
        WriteTransactions "Write Transactions/sec" (DB, PerSecond),
            "Transactions that changed something and committed.";
        ActiveTransactions "Active Transactions" (DB, Gauge), "Transactions under way.";
        BulkCopyRows "Bulk Copy Rows/sec" (DB, PerSecond), "Rows loaded in bulk.";
        ShrinkDataMovementBytes "Shrink Data Movement Bytes/sec" (DB, PerSecond),
            "Bytes moved to shrink files.";
        ExtentsAllocated "Extents Allocated/sec" (AM, PerSecond), "Extents allocated to objects.";
        ExtentDeallocations "Extent Deallocations/sec" (AM, PerSecond), "Extents freed.";
        PagesAllocated "Pages Allocated/sec" (AM, PerSecond), "Pages allocated to objects.";
        MixedPageAllocations "Mixed page allocations/sec" (AM, PerSecond),
            "Pages allocated in mixed extents.";
        PageSplits "Page Splits/sec" (AM, PerSecond), "Pages split, the last page of an ascending key too.";
        FreeSpaceScans "FreeSpace Scans/sec" (AM, PerSecond), "Searches of a heap's pages for free space.";
        FreeSpacePageFetches "FreeSpace Page Fetches/sec" (AM, PerSecond),
            "Pages read in those searches.";
        ForwardedRecords "Forwarded Records/sec" (AM, PerSecond), "Rows found through a forwarding stub.";
        FullScans "Full Scans/sec" (AM, PerSecond), "Scans of whole tables or indexes.";
        IndexSearches "Index Searches/sec" (AM, PerSecond), "Descents of B-trees.";
        TableLockEscalations "Table Lock Escalations/sec" (AM, PerSecond),
            "Row or page locks replaced by a table lock.";
        WorktablesCreated "Worktables Created/sec" (AM, PerSecond),
            "Tables created for the engine's own use.";
        LatchWaits "Latch Waits/sec" (LA, PerSecond), "Latch requests that waited.";
        AverageLatchWaitTime "Average Latch Wait Time (ms)" (LA, Average), "Mean time of those waits.";
        AverageLatchWaitTimeBase "Average Latch Wait Time Base" (LA, Base),
            "Number of those waits, for the mean.";
        TotalLatchWaitTime "Total Latch Wait Time (ms)" (LA, PerSecond), "Time of those waits.";
        LockRequests "Lock Requests/sec" (LO, PerSecond), "Locks requested.";
        LockWaits "Lock Waits/sec" (LO, PerSecond), "Locks that were waited for.";
        LockWaitTime "Lock Wait Time (ms)" (LO, PerSecond), "Time of those waits.";
        Deadlocks "Number of Deadlocks/sec" (LO, PerSecond), "Requests that ended in a deadlock.";
        LockTimeouts "Lock Timeouts/sec" (LO, PerSecond), "Requests that timed out.";
        BatchRequests "Batch Requests/sec" (SQ, PerSecond), "Batches received.";
        SqlCompilations "SQL Compilations/sec" (SQ, PerSecond), "Plans created.";
        UserConnections "User Connections" (GS, Gauge), "Sessions of users.";
        TempTablesCreationRate "Temp Tables Creation Rate" (GS, PerSecond), "Temporary tables created.";
    }
}

impl Counter {
    /// The group it is listed in.
    pub fn object(self) -> Object {
        self.extra().0
    }

    /// Whether it counts time: then it is added to in microseconds and read in milliseconds, so that
    /// many short waits add up to something.
    pub(crate) fn is_time(self) -> bool {
        matches!(
            self,
            Counter::LogFlushWaitTime
                | Counter::LogFlushWriteTimeMs
                | Counter::AverageLatchWaitTime
                | Counter::TotalLatchWaitTime
                | Counter::LockWaitTime
        )
    }

    /// How its value is to be read.
    pub fn kind(self) -> CounterKind {
        self.extra().1
    }
}

/// The reference page of all performance counters: those that are counted, and those read from the waits.
pub fn render_markdown() -> String {
    let rows = Counter::ALL.iter().map(|counter| {
        vec![
            counter.object().name().to_owned(),
            counter.name().to_owned(),
            counter.kind().cntr_type().to_string(),
            counter.text().to_owned(),
        ]
    });
    markdown(
        "Performance counters",
        &["object", "counter", "type", "meaning"],
        rows.chain(super::waits::described()),
    )
}
