//! The spinlock classes, as data.

use crate::table::{class_table, markdown};

class_table! {
    /// What kind of thing a spinlock guards.
    pub enum SpinClass: &'static str {
        FgcbPrpFill "FGCB_PRP_FILL" "space", "The skip targets of a filegroup's files.";
        BufHash "BUF_HASH" "pool", "A bucket of the table from pages to frames.";
        BufLink "BUF_LINK" "pool", "A list of frames.";
        BufWriteLog "BUF_WRITE_LOG" "pool", "The state of a page's last writes.";
        LogCacheAccess "LOGCACHE_ACCESS" "log", "The reservation of space in the log buffer.";
        LogFlushQ "LOGFLUSHQ" "log", "The queue of threads that wait for a log flush.";
        LogLc "LOGLC" "log", "The log's buffers.";
        LogLfm "LOGLFM" "log", "The log's list of virtual files.";
        LogConsolidation "LOG_CONSOLIDATION" "log", "The combination of several threads' log reservations.";
        GroupCommitFeedbackLoop "GROUP_COMMIT_FEEDBACK_LOOP" "log",
            "The measurement that controls group commit.";
        LockHash "LOCK_HASH" "txn", "A bucket of the lock table.";
        DbTable "DBTABLE" "engine", "The control block of a database.";
        DpList "DP_LIST" "pool", "The list of dirty pages of a database.";
        ExtCache "EXT_CACHE" "space", "The extents in which a heap or B-tree has free pages.";
        ExtentActivation "EXTENT_ACTIVATION" "space", "The activation of an extent.";
        FreeSpaceCacheEntry "FREE_SPACE_CACHE_ENTRY" "space", "The known free space of a heap.";
        AllocCachesHash "ALLOC_CACHES_HASH" "space", "The table of allocation caches.";
        Backup "BACKUP" "backup", "A backup's state.";
        BackupCtx "BACKUP_CTX" "backup", "The context of a backup.";
        BackupCopyContext "BACKUP_COPY_CONTEXT" "backup", "The context of one copying thread.";
        DbccCheck "DBCC_CHECK" "check", "The state of a consistency check.";
        CheckAggregateState "CHECK_AGGREGATE_STATE" "check", "The collection of a check's facts.";
        ReadAhead "READ_AHEAD" "pool", "The state of a scan's read-ahead.";
        IoReq "IOREQ" "pool", "The list of I/O requests under way.";
        SosScheduler "SOS_SCHEDULER" "engine", "The run queue of a scheduler.";
        SosWaitStats "SOS_WAIT_STATS" "engine", "The wait statistics.";
        GlobalTraceFlags "GLOBAL_TRACE_FLAGS" "engine", "The set of global trace flags.";
        GhostFree "GHOST_FREE" "access", "The list of pages with ghost records.";
        GhostHash "GHOST_HASH" "access", "The table of pages with ghost records.";
        OptIdxStats "OPT_IDX_STATS" "engine", "Usage statistics of indexes; trace flag 2330 stops them.";
        OptIdxMissKey "OPT_IDX_MISS_KEY" "engine", "Data about missing indexes.";
        Sublatch "SUBLATCH" "pool", "A latch split over processors.";
        XdesMgr "XDESMGR" "txn", "The table of live transactions.";
    }
}

impl SpinClass {
    /// The part of the engine it belongs to.
    pub fn area(self) -> &'static str {
        self.extra()
    }
}

/// The reference page of all spinlock classes.
pub fn render_markdown() -> String {
    let rows = SpinClass::ALL.iter().map(|class| {
        vec![
            format!("`{class}`"),
            class.area().to_owned(),
            class.text().to_owned(),
        ]
    });
    markdown(
        "Spinlock classes",
        &["spinlock class", "area", "guards"],
        rows,
    )
}
