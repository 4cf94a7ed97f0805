//! The latch classes, as data.

use crate::table::{class_table, markdown};

class_table! {
    /// What kind of thing a latch guards.
    pub enum LatchClass: &'static str {
        Buffer "BUFFER" "pool", "All latches of pages together.";
        AccessMethodsDatasetParent "ACCESS_METHODS_DATASET_PARENT" "access",
            "The shared state of a parallel scan.";
        AccessMethodsScanRangeGenerator "ACCESS_METHODS_SCAN_RANGE_GENERATOR" "access",
            "The distribution of ranges to the threads of a parallel scan.";
        AccessMethodsHobtVirtualRoot "ACCESS_METHODS_HOBT_VIRTUAL_ROOT" "access",
            "The root of a B-tree while it changes.";
        AccessMethodsHobtCount "ACCESS_METHODS_HOBT_COUNT" "access",
            "Row and page counts of a heap or B-tree.";
        AllocCreateRingBuf "ALLOC_CREATE_RINGBUF" "space", "The creation of the ring of allocation events.";
        AllocExtentCache "ALLOC_EXTENT_CACHE" "space",
            "The extents in which a heap or B-tree has free pages.";
        AllocFreeSpaceCache "ALLOC_FREESPACE_CACHE" "space", "The pages of a heap with free space.";
        FgcbAddRemove "FGCB_ADD_REMOVE" "space",
            "The list of files of a filegroup: adding, removing, growing.";
        Fcb "FCB" "space", "The control block of a file.";
        FcbReplica "FCB_REPLICA" "space", "The control block of a snapshot's file.";
        FileManager "FILE_MANAGER" "space", "The list of files of a database.";
        DbccFileCheckObject "DBCC_FILE_CHECK_OBJECT" "check", "The state of a file under check.";
        DbccMultiObjectScanner "DBCC_MULTIOBJECT_SCANNER" "check",
            "The distribution of pages to the threads of a check.";
        DbccObjectMetadata "DBCC_OBJECT_METADATA" "check", "Metadata that the threads of a check share.";
        DbccCheckAggregate "DBCC_CHECK_AGGREGATE" "check", "The collection of a check's facts.";
        DbccCheckTableInit "DBCC_CHECK_TABLE_INIT" "check", "The start of a table's check.";
        DbccPfsStatus "DBCC_PFS_STATUS" "check", "A check's data about PFS pages.";
        DbccPerf "DBCC_PERF" "check", "The figures of a check's performance.";
        DbccBitmap "DBCC_BITMAP" "check", "A bit map that the threads of a check share.";
        LogManager "LOG_MANAGER" "log", "The log's list of virtual files: growth, reuse.";
        BackupFileHandle "BACKUP_FILE_HANDLE" "backup", "Files opened by a backup or restore.";
        BackupInstance "BACKUP_INSTANCE" "backup", "Figures of all backups of the instance.";
        BackupManager "BACKUP_MANAGER" "backup", "The list of backups under way.";
        BackupOperation "BACKUP_OPERATION" "backup", "The shared state of one backup or restore.";
        DatabaseCheckpoint "DATABASE_CHECKPOINT" "recovery", "Checkpoints of a database take turns.";
        RecoveryManager "RECOVERY_MANAGER" "recovery", "The state of a recovery under way.";
        TraceController "TRACE_CONTROLLER" "other", "The list of traces under way.";
        NestingTransactionFull "NESTING_TRANSACTION_FULL" "txn", "A transaction that several threads change.";
        NestingTransactionReadOnly "NESTING_TRANSACTION_READONLY" "txn",
            "A transaction in which several threads read.";
        VersioningState "VERSIONING_STATE" "txn", "The state of row versions of a database.";
        VersioningTransaction "VERSIONING_TRANSACTION" "txn", "A transaction that uses row versions.";
        VersioningTransactionList "VERSIONING_TRANSACTION_LIST" "txn",
            "The list of transactions that use row versions.";
    }
}

impl LatchClass {
    /// The part of the engine it belongs to.
    pub fn area(self) -> &'static str {
        self.extra()
    }
}

/// The reference page of all latch classes.
pub fn render_markdown() -> String {
    let rows = LatchClass::ALL.iter().map(|class| {
        vec![
            format!("`{class}`"),
            class.area().to_owned(),
            class.text().to_owned(),
        ]
    });
    markdown("Latch classes", &["latch class", "area", "guards"], rows)
}
