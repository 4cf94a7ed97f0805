//! Messages of DBCC: consistency checks, page dumps, shrinking, trace flags, open transactions.

use super::{MessageInfo, messages};

pub(super) const ROWS: &[MessageInfo] = messages! {
    2501 16 45 "Cannot find a table or object with the name \"%.*ls\". Check the system catalog.";
    2508 16 3 "The %.*ls count for object \"%.*ls\", index ID %d, partition ID %I64d, alloc unit ID %I64d \
        (type %.*ls) is incorrect. Run DBCC UPDATEUSAGE.";
    2511 16 1 "Table error: Object ID %d, index ID %d, partition ID %I64d, alloc unit ID %I64d (type \
        %.*ls). Keys out of order on page %S_PGID, slots %d and %d.";
    2512 16 1 "Table error: Object ID %d, index ID %d, partition ID %I64d, alloc unit ID %I64d (type \
        %.*ls). Duplicate keys on page %S_PGID slot %d and page %S_PGID slot %d.";
    2514 16 1 "A DBCC PAGE error has occurred: %ls.";
    2515 16 1 "The page %S_PGID, object ID %d, index ID %d, partition ID %I64d, allocation unit ID %I64d \
        (type %.*ls) has been modified, but is not marked as modified in the differential backup bitmap.";
    2520 16 5 "Could not find database '%.*ls'. The database either does not exist, or was dropped before \
        a statement tried to use it. Verify if the database exists by querying the sys.databases catalog \
        view.";
    2521 16 10 "Could not find database ID %d. The database ID either does not exist, or the database was \
        dropped before a statement tried to use it. Verify if the database ID exists by querying the \
        sys.databases catalog view.";
    2526 16 3 "Incorrect DBCC statement. Check the documentation for the correct DBCC syntax and options.";
    2527 16 1 "Unable to process index %.*ls of table %.*ls because filegroup %.*ls is offline.";
    2528 10 1 "DBCC execution completed. If DBCC printed error messages, contact your system \
        administrator.";
    2532 16 5 "One or more WITH options specified are not valid for this command.";
    2533 16 1 "Table error: page %S_PGID allocated to object ID %d, index ID %d, partition ID %I64d, \
        alloc unit ID %I64d (type %.*ls) was not seen. The page may be invalid or may have an incorrect \
        alloc unit ID in its header.";
    2534 16 1 "Table error: page %S_PGID, whose header indicates that it is allocated to object ID %d, \
        index ID %d, partition ID %I64d, alloc unit ID %I64d (type %.*ls), is allocated by another \
        object.";
    2536 10 1 "DBCC results for '%.*ls'.";
    2537 16 1 "Table error: Object ID %d, index ID %d, partition ID %I64d, alloc unit ID %I64d (type \
        %.*ls), page %S_PGID, row %d. Record check (%hs) failed. Values are %ld and %ld.";
    2538 10 1 "File %d. The number of extents = %I64d, used pages = %I64d, and reserved pages = %I64d.";
    2539 10 1 "The total number of extents = %I64d, used pages = %I64d, and reserved pages = %I64d in \
        this database.";
    2555 16 1 "Cannot move all contents of file \"%.*ls\" to other places to complete the emptyfile \
        operation.";
    2556 16 1 "There is insufficient space in the filegroup to complete the emptyfile operation.";
    2560 16 9 "Parameter %d is incorrect for this DBCC statement.";
    2561 16 1 "Parameter %d is incorrect for this statement.";
    2570 16 2 "Page %S_PGID, slot %d in object ID %d, index ID %d, partition ID %I64d, alloc unit ID \
        %I64d (type \"%.*ls\"). Column \"%.*ls\" value is out of range for data type \"%.*ls\". Update \
        column to a legal value.";
    2571 14 3 "User '%.*ls' does not have permission to run DBCC %.*ls.";
    2573 16 12 "Could not find table or object ID %d. Check system catalog.";
    2574 16 1 "Table error: Page %S_PGID is empty in object ID %d, index ID %d, partition ID %I64d, \
        alloc unit ID %I64d (type %.*ls). This is not permitted at level %d of the B-tree.";
    2575 16 1 "The Index Allocation Map (IAM) page %S_PGID is pointed to by the next pointer of IAM page \
        %S_PGID in object ID %d, index ID %d, partition ID %I64d, alloc unit ID %I64d (type %.*ls), but \
        it was not detected in the scan.";
    2576 16 1 "The Index Allocation Map (IAM) page %S_PGID is pointed to by the previous pointer of IAM \
        page %S_PGID in object ID %d, index ID %d, partition ID %I64d, alloc unit ID %I64d (type %.*ls), \
        but it was not detected in the scan.";
    2577 16 1 "Chain sequence numbers are out of order in the Index Allocation Map (IAM) chain for object \
        ID %d, index ID %d, partition ID %I64d, alloc unit ID %I64d (type %.*ls). Page %S_PGID with \
        sequence number %d points to page %S_PGID with sequence number %d.";
    2579 16 1 "Table error: Extent %S_PGID in object ID %d, index ID %d, partition ID %I64d, alloc unit \
        ID %I64d (type %.*ls) is beyond the range of this database.";
    2583 16 3 "An incorrect number of parameters was given to the DBCC statement.";
    2590 10 1 "User \"%.*ls\" is modifying bytes %d to %d of page %S_PGID in database \"%.*ls\".";
    2593 10 1 "There are %I64d rows in %I64d pages for object \"%.*ls\".";
    2597 10 1 "Ignoring trace flag %d. It is either an invalid trace flag or a trace flag that can only \
        be specified during server startup.";
    5201 10 1 "DBCC SHRINKDATABASE: File ID %d of database ID %d was skipped because the file does not have \
        enough free space to reclaim.";
    5230 16 1 "The check statement was aborted. DBCC CHECKCATALOG cannot be run on TEMPDB.";
    5232 10 1 "DBCC CHECKDB will not check SQL Server catalog or Service Broker consistency because a \
        database snapshot could not be created or because WITH TABLOCK was specified.";
    5235 10 1 "%lsDBCC %ls (%ls%ls%ls)%ls executed by %ls terminated abnormally due to error state %d. \
        Elapsed time: %d hours %d minutes %d seconds.";
    5239 16 1 "Unable to process object ID %ld (object '%.*ls') because this DBCC command does not \
        support objects of this type.";
    5240 10 1 "File ID %d of database ID %d cannot be shrunk as it is either being shrunk by another process \
        or is empty.";
    5241 10 1 "File ID %d of database ID %d cannot be shrunk as the target shrink size (%I64d KB) is greater \
        than the actual file size (%I64d KB).";
    5250 16 1 "Database error: %ls page %S_PGID for database '%.*ls' (database ID %d) is invalid. This \
        error cannot be repaired. You must restore from backup.";
    5253 16 1 "The check statement was aborted. DBCC CHECKALLOC cannot be run on TEMPDB.";
    5281 10 1 "Estimated TEMPDB space (in KB) needed for %s on database %s = %d.";
    7919 16 3 "Repair statement not processed. Database needs to be in single user mode.";
    7955 16 2 "Invalid SPID %d specified.";
    7960 16 1 "An invalid server process identifier (SPID) %d or batch ID %d was specified.";
    7966 10 1 "Warning: NO_INDEX option of %ls being used. Checks on non-system indexes will be skipped.";
    7968 10 1 "Transaction information for database '%.*ls'.";
    7969 10 1 "No active open transactions.";
    7970 10 1 "Oldest active transaction:";
    7971 10 1 "    SPID (server process ID): %d";
    7972 10 1 "    UID (user ID) : %d";
    7974 10 1 "    Name          : %.*ls";
    7975 10 1 "    LSN           : %ls";
    7977 10 1 "    Start time    : %.*ls";
    7978 10 1 "    SID           : %ls";
    7983 14 36 "User '%.*ls' does not have permission to run DBCC %ls for database '%.*ls'.";
    7989 10 3 "Checking identity information: current identity value '%.*hs'.";
    7997 16 1 "'%.*ls' does not contain an identity column.";
    7998 10 3 "Checking identity information: current identity value '%.*hs', current column value '%.*hs'.";
    8903 16 1 "Extent %S_PGID in database ID %d is allocated in both GAM %S_PGID and SGAM %S_PGID.";
    8904 16 1 "Extent %S_PGID in database ID %d is allocated by more than one allocation object.";
    8905 16 1 "Extent %S_PGID in database ID %d is marked allocated in the GAM, but no SGAM or IAM has \
        allocated it.";
    8906 16 1 "Page %S_PGID in database ID %d is allocated in the SGAM %S_PGID and PFS %S_PGID, but was \
        not allocated in any IAM. PFS flags '%hs'.";
    8909 16 1 "Table error: Object ID %d, index ID %d, partition ID %I64d, alloc unit ID %I64d (type \
        %.*ls), page ID %S_PGID contains an incorrect page ID in its page header. The PageId in the page \
        header = %S_PGID.";
    8910 16 1 "Page %S_PGID in database ID %d is allocated to both object ID %d, index ID %d, partition \
        ID %I64d, alloc unit ID %I64d (type %.*ls), and object ID %d, index ID %d, partition ID %I64d, \
        alloc unit ID %I64d (type %.*ls).";
    8912 10 1 "%.*ls fixed %d allocation errors and %d consistency errors in database '%ls'.";
    8914 10 1 "Incorrect PFS free space information for page %S_PGID in object ID %d, index ID %d, \
        partition ID %I64d, alloc unit ID %I64d (type %.*ls). Expected value %hs, actual value %hs.";
    8915 10 1 "           File %d (number of mixed extents = %I64d, mixed pages = %I64d).";
    8916 10 1 "    Object ID %ld, index ID %ld, partition ID %I64d, alloc unit ID %I64d (type %.*ls), \
        data extents %I64d, pages %I64d, mixed extent pages %I64d.";
    8917 10 1 "    Object ID %ld, index ID %ld, partition ID %I64d, alloc unit ID %I64d (type %.*ls), \
        index extents %I64d, pages %I64d, mixed extent pages %I64d.";
    8918 10 1 "       (number of mixed extents = %I64d, mixed pages = %I64d) in this database.";
    8919 16 1 "Object ID %d, index ID %d, partition ID %I64d, alloc unit ID %I64d (type %.*ls): The \
        record count in the header (%d) does not match the number of records (%d) found on page %S_PGID.";
    8920 16 1 "Cannot perform a %ls operation inside a user transaction. Terminate the transaction and \
        reissue the statement.";
    8921 16 1 "Check terminated. A failure was detected while collecting facts. Possibly tempdb out of \
        space or a system table is inconsistent. Check previous errors.";
    8927 16 1 "Object ID %d, index ID %d, partition ID %I64d, alloc unit ID %I64d (type %.*ls): The \
        ghosted record count in the header (%d) does not match the number of ghosted records (%d) found \
        on page %S_PGID.";
    8928 16 1 "Object ID %d, index ID %d, partition ID %I64d, alloc unit ID %I64d (type %.*ls): Page \
        %S_PGID could not be processed. See other errors for details.";
    8929 16 1 "Object ID %d, index ID %d, partition ID %I64d, alloc unit ID %I64d (type %.*ls): Errors \
        found in off-row data with ID %I64d owned by data record identified by %.*ls";
    8930 16 1 "Database error: Database %d has inconsistent metadata. This error cannot be repaired and \
        prevents further DBCC processing. Please restore from a backup.";
    8931 16 1 "Table error: Object ID %d, index ID %d, partition ID %I64d, alloc unit ID %I64d (type \
        %.*ls) B-tree level mismatch, page %S_PGID. Level %d does not match level %d from parent %S_PGID.";
    8933 16 1 "Table error: Object ID %d, index ID %d, partition ID %I64d, alloc unit ID %I64d (type \
        %.*ls). The low key value on page %S_PGID (level %d) is not >= the key value in the parent \
        %S_PGID slot %d.";
    8934 16 1 "Table error: Object ID %d, index ID %d, partition ID %I64d, alloc unit ID %I64d (type \
        %.*ls). The high key value on page %S_PGID (level %d) is not less than the low key value in \
        the parent %S_PGID, slot %d of the next page %S_PGID.";
    8935 16 1 "Table error: Object ID %d, index ID %d, partition ID %I64d, alloc unit ID %I64d (type \
        %.*ls). The previous link %S_PGID on page %S_PGID does not match the previous page %S_PGID that \
        the parent %S_PGID, slot %d expects for this page.";
    8936 16 1 "Table error: Object ID %d, index ID %d, partition ID %I64d, alloc unit ID %I64d (type \
        %.*ls). B-tree chain linkage mismatch. %S_PGID->next = %S_PGID, but %S_PGID->Prev = %S_PGID.";
    8937 16 1 "Table error: Object ID %d, index ID %d, partition ID %I64d, alloc unit ID %I64d (type \
        %.*ls). B-tree page %S_PGID has two parent nodes %S_PGID, slot %d and %S_PGID, slot %d.";
    8938 16 1 "Table error: Page %S_PGID, Object ID %d, index ID %d, partition ID %I64d, alloc unit ID \
        %I64d (type %.*ls). Unexpected page type %d.";
    8939 16 98 "Table error: Object ID %d, index ID %d, partition ID %I64d, alloc unit ID %I64d (type \
        %.*ls), page %S_PGID. Test (%hs) failed. Values are %ld and %ld.";
    8941 16 1 "Table error: Object ID %d, index ID %d, partition ID %I64d, alloc unit ID %I64d (type \
        %.*ls), page %S_PGID. Test (%hs) failed. Slot %d, offset 0x%x is invalid.";
    8942 16 1 "Table error: Object ID %d, index ID %d, partition ID %I64d, alloc unit ID %I64d (type \
        %.*ls), page %S_PGID. Test (%hs) failed. Slot %d, offset 0x%x overlaps with the prior row.";
    8943 16 1 "Table error: Object ID %d, index ID %d, partition ID %I64d, alloc unit ID %I64d (type \
        %.*ls), page %S_PGID. Test (%hs) failed. Slot %d, row extends into free space at 0x%x.";
    8944 16 1 "Table error: Object ID %d, index ID %d, partition ID %I64d, alloc unit ID %I64d (type \
        %.*ls), page %S_PGID, row %d. Test (%hs) failed. Values are %ld and %ld.";
    8946 16 12 "Table error: Allocation page %S_PGID has invalid %ls page header values. Type is %d. \
        Check type, alloc unit ID and page ID on the page.";
    8947 16 1 "Table error: Multiple IAM pages for object ID %d, index ID %d, partition ID %I64d, alloc \
        unit ID %I64d (type %.*ls) contain allocations for the same interval. IAM pages %S_PGID and \
        %S_PGID.";
    8948 16 1 "Database error: Page %S_PGID is marked with the wrong type in PFS page %S_PGID. PFS status \
        0x%x expected 0x%x.";
    8949 10 1 "%.*ls fixed %d allocation errors and %d consistency errors in table '%ls' (object ID %d).";
    8950 10 1 "%.*ls fixed %d allocation errors and %d consistency errors not associated with any single \
        object.";
    8951 16 1 "Table error: table '%ls' (ID %d). Data row does not have a matching index row in the index \
        '%ls' (ID %d). Possible missing or invalid keys for the index row matching:";
    8952 16 1 "Table error: table '%ls' (ID %d). Index row in index '%ls' (ID %d) does not match any data \
        row. Possible extra or invalid keys for:";
    8954 10 1 "%.*ls found %d allocation errors and %d consistency errors not associated with any single \
        object.";
    8955 16 1 "Data row (%d:%d:%d) identified by (%ls) with index values '%ls'.";
    8956 16 1 "Index row (%d:%d:%d) with values (%ls) pointing to the data row identified by (%ls).";
    8957 10 1 "%lsDBCC %ls (%ls%ls%ls)%ls executed by %ls found %d errors and repaired %d errors. Elapsed \
        time: %d hours %d minutes %d seconds. %.*ls";
    8958 10 1 "%ls is the minimum repair level for the errors found by DBCC %ls (%ls%ls%ls).";
    8961 16 1 "Table error: Object ID %d, index ID %d, partition ID %I64d, alloc unit ID %I64d (type \
        %.*ls). The off-row data node at page %S_PGID, slot %d, text ID %I64d does not match its \
        reference from page %S_PGID, slot %d.";
    8962 16 1 "Table error: Object ID %d, index ID %d, partition ID %I64d, alloc unit ID %I64d (type \
        %.*ls). The off-row data node at page %S_PGID, slot %d, text ID %I64d has incorrect node type \
        %d.";
    8963 16 1 "Table error: Object ID %d, index ID %d, partition ID %I64d, alloc unit ID %I64d (type \
        %.*ls). The off-row data node at page %S_PGID, slot %d, text ID %I64d has type %d. It cannot \
        be placed on a page of type %d.";
    8964 16 1 "Table error: Object ID %d, index ID %d, partition ID %I64d, alloc unit ID %I64d (type \
        %.*ls). The off-row data node at page %S_PGID, slot %d, text ID %I64d is not referenced.";
    8965 16 1 "Table error: Object ID %d, index ID %d, partition ID %I64d, alloc unit ID %I64d (type \
        %.*ls). The off-row data node at page %S_PGID, slot %d, text ID %I64d is referenced by page \
        %S_PGID, slot %d, but was not seen in the scan.";
    8966 22 1 "Unable to read and latch page %S_PGID with latch type %ls. %ls failed.";
    8968 16 1 "Table error: %ls page %S_PGID (object ID %d, index ID %d, partition ID %I64d, alloc unit \
        ID %I64d (type %.*ls)) is out of the range of this database.";
    8969 16 1 "Table error: IAM chain linkage error: Object ID %d, index ID %d, partition ID %I64d, alloc \
        unit ID %I64d (type %.*ls). The next page for IAM page %S_PGID is %S_PGID, but the previous link \
        for page %S_PGID is %S_PGID.";
    8970 16 1 "Row error: Object ID %d, index ID %d, partition ID %I64d, alloc unit ID %I64d (type \
        %.*ls), page ID %S_PGID, row ID %d. Column '%.*ls' was created NOT NULL, but is NULL in the \
        row.";
    8971 16 1 "Forwarded row mismatch: Object ID %d, index ID %d, partition ID %I64d, alloc unit ID \
        %I64d (type %.*ls). Forwarding row page %S_PGID, slot %d points to page %S_PGID, slot %d; the \
        forwarded row points back to page %S_PGID, slot %d.";
    8974 16 1 "Table error: Object ID %d, index ID %d, partition ID %I64d, alloc unit ID %I64d (type \
        %.*ls). The off-row data node at page %S_PGID, slot %d, text ID %I64d is pointed to by page \
        %S_PGID, slot %d and by page %S_PGID, slot %d.";
    8976 16 1 "Table error: Object ID %d, index ID %d, partition ID %I64d, alloc unit ID %I64d (type \
        %.*ls). Page %S_PGID was not seen in the scan although its parent %S_PGID and previous %S_PGID \
        refer to it. Check any previous errors.";
    8977 16 1 "Table error: Object ID %d, index ID %d, partition ID %I64d, alloc unit ID %I64d (type \
        %.*ls). Parent node for page %S_PGID was not encountered.";
    8978 16 1 "Table error: Object ID %d, index ID %d, partition ID %I64d, alloc unit ID %I64d (type \
        %.*ls). Page %S_PGID is missing a reference from previous page %S_PGID. Possible chain linkage \
        problem.";
    8979 16 1 "Table error: Object ID %d, index ID %d, partition ID %I64d, alloc unit ID %I64d (type \
        %.*ls). Page %S_PGID is missing references from parent (unknown) and previous (page %S_PGID) \
        nodes. Possible bad root entry in system catalog.";
    8980 16 1 "Table error: Object ID %d, index ID %d, partition ID %I64d, alloc unit ID %I64d (type \
        %.*ls). Index node page %S_PGID, slot %d refers to child page %S_PGID and previous child %S_PGID, \
        but they were not encountered.";
    8981 16 1 "Table error: Object ID %d, index ID %d, partition ID %I64d, alloc unit ID %I64d (type \
        %.*ls). The next pointer of %S_PGID refers to page %S_PGID. Neither %S_PGID nor its parent were \
        encountered. Possible bad chain linkage.";
    8985 16 1 "Could not locate file '%.*ls' for database '%.*ls' in sys.database_files. The file either \
        does not exist, or was dropped.";
    8986 16 1 "Too many errors found (%d) for object ID %d. To see all error messages rerun the statement \
        using \"WITH ALL_ERRORMSGS\".";
    8987 16 3 "No help available for DBCC statement '%.*ls'.";
    8989 10 1 "%.*ls found %d allocation errors and %d consistency errors in database '%ls'.";
    8990 10 1 "%.*ls found %d allocation errors and %d consistency errors in table '%ls' (object ID %d).";
    8992 16 1 "Check Catalog Msg %d, State %d: %.*ls";
    8993 16 1 "Object ID %d, forwarding row page %S_PGID, slot %d points to page %S_PGID, slot %d. Did \
        not encounter forwarded row. Possible allocation error.";
    8994 16 1 "Object ID %d, forwarded row page %S_PGID, slot %d should be pointed to by forwarding \
        row page %S_PGID, slot %d. Did not encounter forwarding row. Possible allocation error.";
    8996 16 1 "IAM page %S_PGID for object ID %d, index ID %d, partition ID %I64d, alloc unit ID %I64d \
        (type %.*ls) controls pages in filegroup %d, that should be in filegroup %d.";
    8998 16 1 "Page errors on the GAM, SGAM, or PFS pages prevent allocation integrity checks in database \
        ID %d pages from %S_PGID to %S_PGID. See other errors for cause.";
    17573 10 1 "CHECKDB for database '%ls' finished without errors on %ls (local time). This is an \
        informational message only; no user action is required.";
};
