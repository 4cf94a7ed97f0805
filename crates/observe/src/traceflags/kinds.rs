//! The known trace flags, as data.

use super::TraceFlag;
use crate::table::markdown;

/// Where a trace flag may be set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// For the whole instance only; set for a session it does nothing.
    Global,
    /// For the instance or for one session.
    GlobalOrSession,
    /// For one session; set globally it holds for every session.
    Session,
}

impl Scope {
    /// The name as tables print it.
    pub fn name(self) -> &'static str {
        match self {
            Scope::Global => "global",
            Scope::GlobalOrSession => "global or session",
            Scope::Session => "session",
        }
    }
}

/// Whether a flag may stay on in production. An opinion, not a fact.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Safety {
    /// Harmless and useful: may stay on.
    LeaveOn,
    /// It changes how work is done: measure with and without it on the load in question.
    TestFirst,
    /// It prints or records: on while someone reads the output, off afterwards.
    WhileLooking,
    /// It removes a protection: for repair and tests only.
    Dangerous,
    /// It does nothing any more: the behaviour that it switched on is now the default.
    Obsolete,
}

impl Safety {
    /// The opinion as text.
    pub fn name(self) -> &'static str {
        match self {
            Safety::LeaveOn => "may stay on",
            Safety::TestFirst => "measure first",
            Safety::WhileLooking => "only while looking",
            Safety::Dangerous => "dangerous",
            Safety::Obsolete => "obsolete",
        }
    }
}

/// Whether Furrow acts on a trace flag. A tidy test compares this with the flags that the code queries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// The engine queries it.
    Acts,
    /// It can be set and is listed; nothing depends on it.
    Recorded,
}

/// The properties of a trace flag.
#[derive(Debug, Clone, Copy)]
pub struct FlagInfo {
    /// The flag.
    pub flag: TraceFlag,
    /// Where it may be set.
    pub scope: Scope,
    /// Whether SQL Server's manual lists it.
    pub documented: bool,
    /// Whether it can be set at start only.
    pub startup_only: bool,
    /// Whether Furrow acts on it.
    pub effect: Effect,
    /// Whether it may stay on.
    pub safety: Safety,
    /// What it does in SQL Server.
    pub text: &'static str,
}

macro_rules! trace_flags {
    ($(
        $NAME:ident $number:literal $effect:ident $scope:ident $documented:literal $startup:literal
            $safety:ident, $text:literal;
    )+) => {
        impl TraceFlag {
            $( #[doc = $text] pub const $NAME: TraceFlag = TraceFlag($number); )+
        }

        /// The known flags, by number.
        pub const KNOWN: &[FlagInfo] = &[ $( FlagInfo {
            flag: TraceFlag($number),
            effect: Effect::$effect,
            scope: Scope::$scope,
            documented: $documented == 1,
            startup_only: $startup == 1,
            safety: Safety::$safety,
            text: $text,
        }, )+ ];
    };
}

// Columns: constant, number, whether Furrow acts on it, scope, documented, startup only, safety, text.
trace_flags! {
    TRUNCATION_NAMES_COLUMN 460 Recorded GlobalOrSession 1 0 LeaveOn,
        "Truncated strings raise message 2628, which names the column, not 8152.";
    MINIMAL_LOG_INDEXED 610 Recorded GlobalOrSession 1 0 TestFirst,
        "Bulk loads into indexed tables are minimally logged; the default since 2016.";
    NO_GHOST_CLEANUP 661 Acts Global 1 0 TestFirst,
        "Deleted records stay until an index is rebuilt: less work for deletes, more space.";
    NO_FAST_INSERT 692 Recorded GlobalOrSession 1 0 TestFirst,
        "Bulk batches fill existing extents rather than take whole new ones.";
    AUDIT_PAGES_ON_READ 806 Recorded Global 0 0 WhileLooking,
        "Every page read is audited like a consistency check does.";
    RING_OF_WRITES 818 Recorded Global 1 0 LeaveOn,
        "The last 2,048 writes are remembered, to detect lost writes and stale reads.";
    LARGE_PAGES 834 Recorded Global 1 1 TestFirst, "The buffer pool takes its memory in large pages.";
    LOCK_PAGES_STANDARD 845 Acts Global 1 1 TestFirst,
        "Older Standard editions may lock their pages in memory.";
    SKIP_UPGRADE_SCRIPTS 902 Recorded Global 1 1 Dangerous,
        "The scripts that upgrade system databases at start are skipped.";
    TEMPDB_RING 1106 Recorded Global 0 0 WhileLooking, "Space usage of tempdb is recorded in a ring.";
    GROW_ALL_FILES 1117 Recorded Global 1 0 Obsolete,
        "All files of a filegroup grow together; a filegroup option since 2016.";
    UNIFORM_EXTENTS 1118 Recorded Global 1 0 Obsolete, "No mixed extents; a database option since 2016.";
    PRINT_PROPORTIONAL_FILL 1165 Acts GlobalOrSession 0 0 WhileLooking,
        "Recalculations of skip targets are printed; with 3604 or 3605.";
    DEADLOCK_NODES 1204 Acts Global 1 0 LeaveOn, "Deadlocks are reported to the error log, by node.";
    DEADLOCK_DETAIL 1205 Recorded Global 0 0 WhileLooking, "More detail of deadlock searches.";
    NO_ESCALATION 1211 Acts GlobalOrSession 1 0 TestFirst, "Locks are never escalated; prevails over 1224.";
    DEADLOCK_LIST 1222 Acts Global 1 0 LeaveOn,
        "Deadlocks are reported to the error log, as a list of processes and resources.";
    NO_ESCALATION_BY_COUNT 1224 Acts GlobalOrSession 1 0 TestFirst,
        "Locks are escalated only when memory is short, not by count.";
    LOG_READER_ASYNC 1448 Recorded Global 1 0 TestFirst,
        "The replication log reader does not wait for the slowest replica.";
    LOG_OPERATIONS 1482 Recorded Global 0 0 WhileLooking,
        "Operations of the log are printed to the error log.";
    SORT_MEMORY 1504 Recorded Global 0 0 TestFirst,
        "Sorts of index builds may ask for more memory while they run.";
    LOG_SECTOR_4K 1800 Recorded Global 1 0 LeaveOn,
        "Log writes are padded to 4 KB, for replicas of unlike sector sizes.";
    ZERO_DATA_FILES 1806 Acts Global 0 0 TestFirst,
        "New space of data files is zeroed: no instant file initialisation.";
    NO_INDEX_USAGE 2330 Acts Global 0 1 TestFirst,
        "Usage and absence of indexes is not recorded; relieves spinlock OPT_IDX_STATS.";
    SQRT_STATISTICS 2371 Recorded GlobalOrSession 1 0 Obsolete,
        "Statistics of large tables are updated sooner; the default since 2016.";
    CHECK_SERIAL_INDEXES 2508 Recorded Global 0 0 TestFirst,
        "A table's check does not check nonclustered indexes in parallel.";
    CHECK_PRINT_FORWARDED 2509 Recorded Session 0 0 WhileLooking,
        "A table's check prints the number of forwarded records.";
    DBCC_HELP_ALL_OLD 2520 Recorded Session 0 0 WhileLooking,
        "DBCC HELP shows undocumented commands; older number.";
    CHECK_SERIAL 2528 Acts GlobalOrSession 1 0 TestFirst, "Consistency checks use one thread.";
    READ_INACTIVE_LOG 2537 Recorded Session 0 0 WhileLooking,
        "fn_dblog reads the inactive part of the log too.";
    CHECK_FILE_PER_DISK 2549 Recorded Global 1 0 TestFirst,
        "A check reads each file as if on a disk of its own.";
    CHECK_NO_DUMP 2558 Recorded Global 0 0 LeaveOn, "Failed checks send no report.";
    CHECK_ONE_BATCH 2562 Recorded Global 1 0 TestFirst,
        "A check takes all indexes in one batch: faster, with more tempdb.";
    CHECK_NO_PURITY 2566 Recorded Global 1 0 TestFirst, "Column values are checked only when asked for.";
    DBCC_HELP_ALL 2588 Recorded Session 0 0 WhileLooking, "DBCC HELP shows undocumented commands.";
    NO_BACKUP_HISTORY 3001 Recorded Global 0 0 TestFirst, "Backups leave no history.";
    PRINT_BACKUP_STEPS 3004 Acts Session 0 0 WhileLooking,
        "Steps of backup, restore and file creation are printed; with 3604 or 3605.";
    PRINT_BACKUP_DETAIL 3014 Acts Session 0 0 WhileLooking,
        "More detail of backup, restore and file creation is printed.";
    BACKUP_CHECKSUM 3023 Recorded GlobalOrSession 1 0 LeaveOn,
        "Backups verify and write checksums by default.";
    BACKUP_COMPRESS 3034 Recorded Global 0 0 TestFirst, "Backups are compressed by default.";
    BACKUP_NO_COMPRESS 3035 Recorded Global 0 0 TestFirst,
        "Backups are not compressed by default; prevails over 3034.";
    VDI_COMPRESS 3039 Recorded Global 0 0 TestFirst,
        "Backups through the device interface follow the default of compression.";
    BACKUP_NO_PREALLOCATION 3042 Recorded Global 1 0 TestFirst,
        "Compressed backup files grow as needed rather than be allocated beforehand.";
    BACKUP_URL_LOG 3051 Recorded Global 1 0 WhileLooking,
        "Backups to object storage write a log of their own.";
    TAPE_NO_COMPRESSION 3205 Recorded Global 1 0 TestFirst, "Tape drives do not compress.";
    BACKUP_POOL_COLLISIONS 3210 Recorded Global 0 0 WhileLooking,
        "Collisions in the backup's pool of asynchronous I/O are printed.";
    PRINT_BACKUP_STATISTICS 3212 Recorded Session 0 0 WhileLooking, "Statistics of backups are printed.";
    PRINT_BACKUP_BUFFERS 3213 Acts GlobalOrSession 0 0 WhileLooking,
        "The buffers that a backup or restore chose are printed; with 3604 or 3605.";
    PRINT_RESTORE_INTERNALS 3216 Recorded Session 0 0 WhileLooking,
        "Internal steps of a restore are printed.";
    REDO_NO_READ_AHEAD 3222 Recorded Global 0 0 TestFirst, "Recovery does not read ahead while it redoes.";
    QUIET_BACKUPS 3226 Acts Global 1 0 LeaveOn, "Successful backups write no line to the error log.";
    AUDIT_LOG_RECORDS 3422 Recorded Global 0 0 WhileLooking,
        "Log records are audited while recovery reads them.";
    TEMPDB_COMMIT_FIX 3427 Recorded Global 1 0 Obsolete,
        "Less work at the end of transactions that use tempdb.";
    LESS_FLUSH_CACHE 3449 Recorded Global 1 0 TestFirst,
        "Fewer sweeps of the whole cache where indirect checkpoints are on.";
    NO_PARALLEL_REDO 3459 Recorded Global 1 0 TestFirst, "Redo uses one thread.";
    TEMPDB_NO_INDIRECT 3468 Recorded Global 1 0 TestFirst, "No indirect checkpoints in tempdb.";
    PRINT_CHECKPOINTS 3502 Acts GlobalOrSession 0 0 WhileLooking,
        "Start and end of checkpoints are printed to the error log.";
    PRINT_CHECKPOINT_DETAIL 3504 Acts GlobalOrSession 0 0 WhileLooking,
        "What each checkpoint wrote is printed to the error log.";
    NO_AUTOMATIC_CHECKPOINT 3505 Acts Global 0 0 Dangerous,
        "No automatic checkpoints: the log grows and recovery takes long.";
    OUTPUT_TO_CLIENT 3604 Acts Session 1 0 WhileLooking, "Trace and DBCC output goes to the client.";
    OUTPUT_TO_ERROR_LOG 3605 Acts Session 1 0 WhileLooking, "Trace and DBCC output goes to the error log.";
    SKIP_RECOVERY 3607 Recorded Global 0 1 Dangerous, "No database is recovered at start.";
    RECOVER_MASTER_ONLY 3608 Recorded Global 1 1 Dangerous, "Only master is started at start.";
    NO_TEMPDB 3609 Recorded Global 0 1 Dangerous, "Tempdb is not created at start.";
    MASK_ERRORS 3625 Recorded Global 1 0 LeaveOn,
        "Parameters of messages are masked for users who are not administrators.";
    RELY_ON_FUA 3979 Recorded Global 1 0 TestFirst,
        "Linux: writes with force-unit-access replace flushes of the device.";
    PARTITION_BY_CPU 8048 Recorded Global 1 1 TestFirst,
        "Memory allocators are split by processor rather than by node.";
}

/// The properties of a flag.
pub fn info(flag: TraceFlag) -> Option<&'static FlagInfo> {
    KNOWN
        .binary_search_by_key(&flag, |info| info.flag)
        .ok()
        .and_then(|at| KNOWN.get(at))
}

/// The text of the error log about a flag that was turned on without an effect; `None` where it has one.
/// `global`: for the whole instance, not for one session.
pub fn effect_note(flag: TraceFlag, global: bool) -> Option<String> {
    let known = info(flag).filter(|info| info.effect == Effect::Acts);
    match known.map(|info| info.scope) {
        None if flag.number() == 0 => None,
        None => Some(format!(
            "Trace flag {flag} is set; Furrow does not act on it."
        )),
        Some(Scope::Global) if !global => Some(format!(
            "Trace flag {flag} is set for a session, where it has no effect. \
             DBCC TRACEON ({flag}, -1) sets it for the instance."
        )),
        Some(_) => None,
    }
}

/// The reference page of all known trace flags.
pub fn render_markdown() -> String {
    let yes = |is: bool| if is { "yes" } else { "" }.to_owned();
    let rows = KNOWN.iter().map(|info| {
        vec![
            info.flag.number().to_string(),
            yes(info.effect == Effect::Acts),
            info.scope.name().to_owned(),
            yes(info.documented),
            yes(info.startup_only),
            info.safety.name().to_owned(),
            info.text.to_owned(),
        ]
    });
    let head = [
        "flag",
        "Furrow acts on it",
        "scope",
        "documented",
        "startup only",
        "leave on?",
        "what it does in SQL Server",
    ];
    markdown("Trace flags", &head, rows)
}
