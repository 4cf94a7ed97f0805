//! Messages of pages, files and the log: damage, I/O errors, recovery, full disks.

use super::{MessageInfo, messages};

pub(super) const ROWS: &[MessageInfo] = messages! {
    605 21 3 "Attempt to fetch logical page %S_PGID in database %d failed. It belongs to allocation unit \
        %I64d not to %I64d.";
    823 24 2 "The operating system returned error %ls to SQL Server during a %S_MSG at offset %#016I64x \
        in file '%ls'. Additional messages in the SQL Server error log and system event log may provide \
        more detail. This is a severe system-level error condition that threatens database integrity and \
        must be corrected immediately. Complete a full database consistency check (DBCC CHECKDB). This \
        error can be caused by many factors; for more information, see SQL Server Books Online.";
    824 24 2 "SQL Server detected a logical consistency-based I/O error: %ls. It occurred during a %S_MSG \
        of page %S_PGID in database ID %d at offset %#016I64x in file '%ls'. Additional messages in the \
        SQL Server error log or system event log may provide more detail. This is a severe error \
        condition that threatens database integrity and must be corrected immediately. Complete a full \
        database consistency check (DBCC CHECKDB). This error can be caused by many factors; for more \
        information, see SQL Server Books Online.";
    825 10 2 "A read of the file '%ls' at offset %#016I64x succeeded after failing %d time(s) with error: \
        %ls. Additional messages in the SQL Server error log and system event log may provide more \
        detail. This error condition threatens database integrity and must be corrected. Complete a full \
        database consistency check (DBCC CHECKDB). This error can be caused by many factors; for more \
        information, see SQL Server Books Online.";
    829 21 1 "Database ID %d, Page %S_PGID is marked RestorePending, which may indicate disk corruption. \
        To recover from this state, perform a restore.";
    832 24 1 "A page that should have been constant has changed (expected checksum: %08x, actual \
        checksum: %08x, database %d, file '%ls', page %S_PGID). This usually indicates a memory failure \
        or other hardware or OS corruption.";
    833 10 2 "SQL Server has encountered %d occurrence(s) of I/O requests taking longer than %d seconds \
        to complete on file '%ls' in database '%ls' (%d). The OS file handle is 0x%p. The offset of the \
        latest long I/O is: %#016I64x";
    845 17 1 "Time-out occurred while waiting for buffer latch type %d for page %S_PGID, database ID %d.";
    1101 17 1 "Could not allocate a new page for database '%.*ls' because of insufficient disk space in \
        filegroup '%.*ls'. Create the necessary space by dropping objects in the filegroup, adding \
        additional files to the filegroup, or setting autogrowth on for existing files in the filegroup.";
    1105 17 2 "Could not allocate space for object '%.*ls'%.*ls in database '%.*ls' because the '%.*ls' \
        filegroup is full. Create disk space by deleting unneeded files, dropping objects in the \
        filegroup, adding additional files to the filegroup, or setting autogrowth on for existing files \
        in the filegroup.";
    1121 17 1 "Space allocator cannot allocate page in database %d.";
    3313 21 1 "During redoing of a logged operation in database '%.*ls' (page %S_PGID, if any), an error \
        occurred at log record ID %S_LSN. Typically, the specific failure is previously logged as an \
        error in the operating system error log. Restore the database from a full backup, or repair the \
        database.";
    3314 21 1 "During undoing of a logged operation in database '%.*ls' (page %S_PGID, if any), an error \
        occurred at log record ID %S_LSN. Typically, the specific failure is previously logged as an \
        error in the operating system error log. Restore the database or file from a backup, or repair \
        the database.";
    3401 10 1 "Errors occurred during recovery while rolling back a transaction. The transaction was \
        deferred. Restore the bad page or file, and re-run recovery.";
    3406 10 1 "%d transactions rolled forward in database '%.*ls' (%d). This is an informational message \
        only. No user action is required.";
    3407 10 1 "%d transactions rolled back in database '%.*ls' (%d). This is an informational message \
        only. No user action is required.";
    3408 10 1 "Recovery is complete. This is an informational message only. No user action is required.";
    3414 21 1 "An error occurred during recovery, preventing the database '%.*ls' (database ID %d) from \
        restarting. Diagnose the recovery errors and fix them, or restore from a known good backup. If \
        errors are not corrected or expected, contact Technical Support.";
    3420 21 1 "Database snapshot '%ls' has failed an IO operation and is marked suspect. It must be \
        dropped and recreated.";
    3421 10 1 "Recovery completed for database %ls (database ID %d) in %I64d second(s) (analysis %I64d \
        ms, redo %I64d ms, undo %I64d ms.) This is an informational message only. No user action is \
        required.";
    3450 10 1 "Recovery of database '%.*ls' (%d) is %d%% complete (approximately %d seconds remain). \
        Phase %d of 3. This is an informational message only. No user action is required.";
    3454 10 1 "Recovery is writing a checkpoint in database '%.*ls' (%d). This is an informational \
        message only. No user action is required.";
    3456 21 1 "Could not redo log record %S_LSN, for transaction ID %S_XID, on page %S_PGID, allocation \
        unit %I64d, database '%.*ls' (database ID %d). Page: LSN = %S_LSN, allocation unit = %I64d, type \
        = %ld. Log: OpCode = %ld, context %ld, PrevPageLSN: %S_LSN. Restore from a backup of the \
        database, or repair the database.";
    3505 14 4 "Only the owner of database \"%ls\" or someone with relevant permissions can run the \
        CHECKPOINT statement.";
    5108 10 1 "Log file '%.*ls' does not match the primary file. It may be from a different database or the \
        log may have been rebuilt previously.";
    5111 10 1 "File activation failure. The physical file name \"%.*ls\" may be incorrect.";
    5113 10 1 "The log cannot be rebuilt because there were open transactions/users when the database was \
        shutdown, no checkpoint occurred to the database, or the database was read-only. This error could \
        occur if the transaction log file was manually deleted or lost due to a hardware or environment \
        failure.";
    5120 16 101 "Unable to open the physical file \"%.*ls\". Operating system error %d: \"%ls\".";
    5125 24 1 "File '%ls' appears to have been truncated by the operating system. Expected size is %I64d \
        KB but actual size is %I64d KB.";
    5144 10 2 "Autogrow of file '%.*ls' in database '%.*ls' was cancelled by user or timed out after %d \
        milliseconds. Use ALTER DATABASE to set a smaller FILEGROWTH value for this file or to explicitly \
        set a new file size.";
    5145 10 2 "Autogrow of file '%.*ls' in database '%.*ls' took %d milliseconds. Consider using ALTER \
        DATABASE to set a smaller FILEGROWTH for this file.";
    5149 16 3 "MODIFY FILE encountered operating system error %ls while attempting to expand the physical \
        file '%ls'.";
    5159 24 1 "Operating system error %.*ls on file \"%.*ls\" during %ls.";
    5161 16 1 "An unexpected file id was encountered. File id %d was expected but %d was read from \
        \"%.*ls\". Verify that files are mapped correctly in sys.master_files. ALTER DATABASE can be used \
        to correct the mappings.";
    5171 16 1 "%.*ls is not a primary database file.";
    5172 16 15 "The header for file '%ls' is not a valid database file header. The %ls property is \
        incorrect.";
    5173 16 1 "One or more files do not match the primary file of the database. If you are attempting to \
        attach a database, retry the operation with the correct files. If this is an existing database, \
        the file may be corrupted and should be restored from a backup.";
    5178 16 1 "Cannot use file '%.*ls' because it was originally formatted with sector size %d and is now \
        on a volume with sector size %d. Move the file to a volume with a sector size that is the same as \
        or smaller than the original sector size.";
    5179 16 1 "Cannot use file '%.*ls', because it is on a volume with sector size %d. SQL Server \
        supports a maximum sector size of 4096 bytes. Move the file to a volume with a compatible sector \
        size.";
    5180 22 1 "Could not open File Control Bank (FCB) for invalid file ID %d in database '%.*ls'. Verify \
        the file location. Execute DBCC CHECKDB.";
    5182 10 1 "New log file '%.*ls' was created.";
    9002 17 4 "The transaction log for database '%ls' is full due to '%ls'.";
    9003 20 1 "The log scan number %S_LSN passed to log scan in database '%.*ls' is not valid. This error \
        may indicate data corruption or that the log file (.ldf) does not match the data file (.mdf). If \
        this error occurred during replication, re-create the publication. Otherwise, restore from backup \
        if the problem results in a failure during startup.";
    // States 4 to 12: a log block is not valid when its records are to be processed (documentation of 9004).
    9004 21 4 "An error occurred while processing the log for database '%.*ls'. If possible, restore from \
        backup. If a backup is not available, it might be necessary to rebuild the log.";
    9006 10 1 "Cannot shrink log file %d (%s) because total number of logical log files cannot be fewer \
        than %d.";
    9007 10 1 "Cannot shrink log file %d (%s) because requested size (%dKB) is larger than the start of \
        the last logical log file.";
    9008 10 1 "Cannot shrink log file %d (%s) because the logical log file located at the end of the file \
        is in use.";
    9009 10 1 "Cannot shrink log file %d (%s) because of minimum log space required.";
    9012 10 1 "There have been %d misaligned log IOs which required falling back to synchronous IO. The \
        current IO is on file %ls.";
    9017 10 1 "Database %ls has more than %d virtual log files which is excessive. Too many virtual log \
        files can cause long startup and backup times. Consider shrinking the log and using a different \
        growth increment to reduce the number of virtual log files.";
    17053 16 1 "%ls: Operating system error %ls encountered.";
    17137 10 1 "Starting up database '%s'.";
};
