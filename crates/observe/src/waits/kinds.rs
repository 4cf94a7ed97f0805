//! The wait types: what a thread may wait for, as data.

use crate::table::{class_table, markdown};

/// The group a wait type is counted in by tuning tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[expect(missing_docs, reason = "the names say it")]
pub enum WaitCategory {
    BufferLatch,
    BufferIo,
    TranLogIo,
    Lock,
    Parallelism,
    Latch,
    Cpu,
    WorkerThread,
    OtherDiskIo,
    Backup,
    Checkpoint,
    Preemptive,
    Memory,
    Network,
    Dbcc,
    UserWait,
    Idle,
}

impl WaitCategory {
    /// The name as reports print it.
    pub fn name(self) -> &'static str {
        match self {
            WaitCategory::BufferLatch => "Buffer Latch",
            WaitCategory::BufferIo => "Buffer IO",
            WaitCategory::TranLogIo => "Tran Log IO",
            WaitCategory::Lock => "Lock",
            WaitCategory::Parallelism => "Parallelism",
            WaitCategory::Latch => "Latch",
            WaitCategory::Cpu => "CPU",
            WaitCategory::WorkerThread => "Worker Thread",
            WaitCategory::OtherDiskIo => "Other Disk IO",
            WaitCategory::Backup => "Backup",
            WaitCategory::Checkpoint => "Checkpoint",
            WaitCategory::Preemptive => "Preemptive",
            WaitCategory::Memory => "Memory",
            WaitCategory::Network => "Network",
            WaitCategory::Dbcc => "DBCC",
            WaitCategory::UserWait => "User Wait",
            WaitCategory::Idle => "Idle",
        }
    }
}

/// Category and whether a list of top waits leaves the type out.
type Extra = (WaitCategory, bool);

const PAGE: Extra = (WaitCategory::BufferLatch, false);
const PAGE_IO: Extra = (WaitCategory::BufferIo, false);
const LOG: Extra = (WaitCategory::TranLogIo, false);
const LOCK: Extra = (WaitCategory::Lock, false);
const LATCH: Extra = (WaitCategory::Latch, false);
const PARALLEL: Extra = (WaitCategory::Parallelism, false);
const DISK: Extra = (WaitCategory::OtherDiskIo, false);
const BACKUP: Extra = (WaitCategory::Backup, false);
const OS: Extra = (WaitCategory::Preemptive, false);
const OS_BENIGN: Extra = (WaitCategory::Preemptive, true);
const IDLE: Extra = (WaitCategory::Idle, true);
const MEMORY: Extra = (WaitCategory::Memory, false);
const DBCC: Extra = (WaitCategory::Dbcc, false);

class_table! {
    /// What a thread waits for.
    pub enum WaitType: Extra {
        PageLatchNl "PAGELATCH_NL" PAGE, "A null latch on a page in memory; never waited for.";
        PageLatchKp "PAGELATCH_KP" PAGE, "A keep latch on a page in memory: only destruction blocks it.";
        PageLatchSh "PAGELATCH_SH" PAGE, "A shared latch on a page in memory that another thread changes.";
        PageLatchUp "PAGELATCH_UP" PAGE, "An update latch on a page in memory: mostly allocation maps.";
        PageLatchEx "PAGELATCH_EX" PAGE,
            "An exclusive latch on a page in memory: hot pages, last-page inserts.";
        PageLatchDt "PAGELATCH_DT" PAGE, "A destroy latch on a page in memory: its frame is being taken.";
        PageIoLatchNl "PAGEIOLATCH_NL" PAGE_IO, "A null latch on a page in transfer; never waited for.";
        PageIoLatchKp "PAGEIOLATCH_KP" PAGE_IO, "A keep latch on a page that is being read or written.";
        PageIoLatchSh "PAGEIOLATCH_SH" PAGE_IO, "A page that is being read in, wanted for reading.";
        PageIoLatchUp "PAGEIOLATCH_UP" PAGE_IO,
            "An allocation page that is being read in, wanted for update.";
        PageIoLatchEx "PAGEIOLATCH_EX" PAGE_IO, "A page that is being read in, wanted for change.";
        PageIoLatchDt "PAGEIOLATCH_DT" PAGE_IO, "A page in transfer whose frame is to be taken.";
        LatchNl "LATCH_NL" LATCH, "A null latch that is not of a page; never waited for.";
        LatchKp "LATCH_KP" LATCH, "A keep latch that is not of a page.";
        LatchSh "LATCH_SH" LATCH, "A shared latch that is not of a page; the latch classes say which.";
        LatchUp "LATCH_UP" LATCH, "An update latch that is not of a page.";
        LatchEx "LATCH_EX" LATCH, "An exclusive latch that is not of a page; the latch classes say which.";
        LatchDt "LATCH_DT" LATCH, "A destroy latch that is not of a page.";
        LckMSchS "LCK_M_SCH_S" LOCK, "A schema-stability lock, while another session alters the object.";
        LckMSchM "LCK_M_SCH_M" LOCK, "A schema-modification lock, while another session uses the object.";
        LckMS "LCK_M_S" LOCK, "A shared lock.";
        LckMU "LCK_M_U" LOCK, "An update lock.";
        LckMX "LCK_M_X" LOCK, "An exclusive lock.";
        LckMIs "LCK_M_IS" LOCK, "An intent-shared lock.";
        LckMIu "LCK_M_IU" LOCK, "An intent-update lock.";
        LckMIx "LCK_M_IX" LOCK, "An intent-exclusive lock.";
        LckMSiu "LCK_M_SIU" LOCK, "A shared lock with intent to update.";
        LckMSix "LCK_M_SIX" LOCK, "A shared lock with intent to change.";
        LckMUix "LCK_M_UIX" LOCK, "An update lock with intent to change.";
        LckMBu "LCK_M_BU" LOCK, "A bulk-update lock.";
        LckMRsS "LCK_M_RS_S" LOCK, "A shared lock on a key and its range.";
        LckMRsU "LCK_M_RS_U" LOCK, "An update lock on a key, shared on its range.";
        LckMRinNl "LCK_M_RIn_NL" LOCK, "An insert lock on a range, none on its key.";
        LckMRinS "LCK_M_RIn_S" LOCK, "An insert lock on a range, shared on its key.";
        LckMRinU "LCK_M_RIn_U" LOCK, "An insert lock on a range, update on its key.";
        LckMRinX "LCK_M_RIn_X" LOCK, "An insert lock on a range, exclusive on its key.";
        LckMRxS "LCK_M_RX_S" LOCK, "An exclusive lock on a range, shared on its key.";
        LckMRxU "LCK_M_RX_U" LOCK, "An exclusive lock on a range, update on its key.";
        LckMRxX "LCK_M_RX_X" LOCK, "An exclusive lock on a range and its key.";
        WriteLog "WRITELOG" LOG, "A commit waits until its log block is durable.";
        LogBuffer "LOGBUFFER" LOG, "No log buffer has space for a record.";
        LogMgr "LOGMGR" LOG, "The log is being closed: writes under way have to end.";
        LogMgrFlush "LOGMGR_FLUSH" LOG, "A thread waits for a log flush that is not a commit's.";
        LogMgrReserveAppend "LOGMGR_RESERVE_APPEND" LOG,
            "The log is full: truncation or growth must come first.";
        LogMgrQueue "LOGMGR_QUEUE" IDLE, "The log writer waits for work.";
        LogRateGovernor "LOG_RATE_GOVERNOR" LOG, "The rate of log production is capped.";
        CxPacket "CXPACKET" PARALLEL, "The threads of a parallel scan wait for each other at an exchange.";
        CxConsumer "CXCONSUMER" (WaitCategory::Parallelism, true),
            "A thread of a parallel operation waits for rows.";
        CxSyncPort "CXSYNC_PORT" PARALLEL, "The threads of a parallel operation open or close an exchange.";
        CxSyncConsumer "CXSYNC_CONSUMER" PARALLEL,
            "A consumer waits until all consumers of its exchange have arrived.";
        ExecSync "EXECSYNC" PARALLEL, "A parallel operation waits for a step that only one thread may do.";
        SosSchedulerYield "SOS_SCHEDULER_YIELD" (WaitCategory::Cpu, false),
            "A thread used up its turn and let others run.";
        ThreadPool "THREADPOOL" (WaitCategory::WorkerThread, false), "A batch waits for its turn.";
        AsyncIoCompletion "ASYNC_IO_COMPLETION" DISK,
            "I/O other than of pages, such as creating files or copying a backup.";
        IoCompletion "IO_COMPLETION" DISK,
            "Other reads: the log in recovery, sort spills, maps read by a backup.";
        WriteCompletion "WRITE_COMPLETION" DISK,
            "A write that a thread waits for: file headers, bulk loads.";
        ReplicaWrites "REPLICA_WRITES" DISK,
            "The image of a page is written to the file of a database snapshot or of a consistency check.";
        BackupIo "BACKUPIO" DISK, "A backup or restore waits for its device.";
        BackupBuffer "BACKUPBUFFER" BACKUP, "A backup or restore waits for a free or a filled buffer.";
        BackupThrottle "BACKUPTHROTTLE" BACKUP,
            "A backup holds its reads back, for THROTTLE or to spare writers. SQL Server has no such wait.";
        BackupThread "BACKUPTHREAD" BACKUP, "The leader of a backup waits for its threads.";
        Backup "BACKUP" BACKUP, "A backup waits for its media to be mounted.";
        BackupOperator "BACKUP_OPERATOR" BACKUP, "A backup waits for the operator.";
        BackupClientLock "BACKUP_CLIENTLOCK" BACKUP, "Two backups of one database take turns.";
        BackupCreateSet "BACKUP_CREATESET" BACKUP, "A backup set is being begun on its media.";
        DiskIoSuspend "DISKIO_SUSPEND" BACKUP, "I/O is frozen for a snapshot of the volume.";
        PreemptiveOsWriteFile "PREEMPTIVE_OS_WRITEFILE" OS_BENIGN, "The system writes to a file.";
        PreemptiveOsWriteFileGather "PREEMPTIVE_OS_WRITEFILEGATHER" OS,
            "The system writes many buffers: files are zeroed.";
        PreemptiveOsFlushFileBuffers "PREEMPTIVE_OS_FLUSHFILEBUFFERS" OS_BENIGN,
            "The system makes a file durable.";
        PreemptiveOsCreateFile "PREEMPTIVE_OS_CREATEFILE" OS, "The system opens or creates a file.";
        PreemptiveOsGetDiskFreeSpace "PREEMPTIVE_OS_GETDISKFREESPACE" OS,
            "The system reads the free space of a volume.";
        PreemptiveOsFileOps "PREEMPTIVE_OS_FILEOPS" OS,
            "The system changes the size or the attributes of a file.";
        PreemptiveOsDeleteFile "PREEMPTIVE_OS_DELETEFILE" OS, "The system removes a file.";
        PreemptiveOsSetFileValidData "PREEMPTIVE_OS_SETFILEVALIDDATA" OS,
            "The system adds space to a file without zeroing it.";
        PreemptiveOsDeviceOps "PREEMPTIVE_OS_DEVICEOPS" OS, "The system reads properties of a device.";
        PreemptiveOsGenericOps "PREEMPTIVE_OS_GENERICOPS" OS_BENIGN, "Any other call of the system.";
        Chkpt "CHKPT" IDLE, "The checkpoint thread waits to be started.";
        CheckpointQueue "CHECKPOINT_QUEUE" IDLE, "The checkpoint thread waits for the next request.";
        DirtyPagePoll "DIRTY_PAGE_POLL" IDLE, "The background writer waits for the next look at dirty pages.";
        LazyWriterSleep "LAZYWRITER_SLEEP" IDLE, "The lazy writer waits for the next look at free frames.";
        SleepBPoolFlush "SLEEP_BPOOL_FLUSH" (WaitCategory::Checkpoint, false),
            "A checkpoint pauses, to leave I/O to other work.";
        SleepTask "SLEEP_TASK" IDLE, "A background task sleeps.";
        SleepDbStartup "SLEEP_DBSTARTUP" IDLE, "A session waits until the databases are started.";
        WaitFor "WAITFOR" (WaitCategory::UserWait, true), "The statement WAITFOR.";
        RequestForDeadlockSearch "REQUEST_FOR_DEADLOCK_SEARCH" IDLE,
            "The deadlock monitor waits for its next search.";
        OnDemandTaskQueue "ONDEMAND_TASK_QUEUE" IDLE, "The queue of low-priority background tasks is empty.";
        DispatcherQueueSemaphore "DISPATCHER_QUEUE_SEMAPHORE" IDLE,
            "A worker of the background pool waits for work.";
        SpServerDiagnosticsSleep "SP_SERVER_DIAGNOSTICS_SLEEP" IDLE,
            "The diagnostics procedure waits for its next turn.";
        SqlTraceIncrementalFlushSleep "SQLTRACE_INCREMENTAL_FLUSH_SLEEP" IDLE,
            "The trace writer waits for its next turn.";
        XeTimerEvent "XE_TIMER_EVENT" IDLE, "The event engine waits for its timer.";
        XeDispatcherWait "XE_DISPATCHER_WAIT" IDLE, "The event engine waits for events to pass on.";
        ResourceSemaphore "RESOURCE_SEMAPHORE" MEMORY, "A query waits for its memory grant.";
        CMemThread "CMEMTHREAD" MEMORY, "A shared allocator is busy.";
        AsyncNetworkIo "ASYNC_NETWORK_IO" (WaitCategory::Network, false),
            "The client reads its results too slowly.";
        OleDb "OLEDB" DBCC, "A consistency check passes its facts through a rowset.";
        DbccColumnTranslationCache "DBCC_COLUMN_TRANSLATION_CACHE" DBCC,
            "A consistency check waits for a column translation.";
        MsqlXp "MSQL_XP" (WaitCategory::Preemptive, false), "An extended procedure runs.";
    }
}

impl WaitType {
    /// The group that tuning tools count it in.
    pub fn category(self) -> WaitCategory {
        self.extra().0
    }

    /// Whether lists of top waits leave it out, because it delays no work.
    pub fn is_benign(self) -> bool {
        self.extra().1
    }
}

/// The reference page of all wait types.
pub fn render_markdown() -> String {
    let rows = WaitType::ALL.iter().map(|kind| {
        vec![
            format!("`{kind}`"),
            kind.category().name().to_owned(),
            if kind.is_benign() { "yes" } else { "" }.to_owned(),
            kind.text().to_owned(),
        ]
    });
    markdown(
        "Wait types",
        &["wait type", "category", "benign", "meaning"],
        rows,
    )
}
