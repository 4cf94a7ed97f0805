//! Messages of CREATE, ALTER, DROP and USE DATABASE. The text of 5065 is our own.

use super::{MessageInfo, messages};

pub(super) const ROWS: &[MessageInfo] = messages! {
    153 15 1 "Invalid usage of the option %.*ls in the %ls statement.";
    188 15 1 "Cannot specify a log file in a CREATE DATABASE statement without also specifying at least \
        one data file.";
    911 16 1 "Database '%.*ls' does not exist. Make sure that the name is entered correctly.";
    916 14 1 "The server principal \"%.*ls\" is not able to access the database \"%.*ls\" under the \
        current security context.";
    922 14 1 "Database '%.*ls' is being recovered. Waiting until recovery is finished.";
    924 14 1 "Database '%.*ls' is already open and can only have one user at a time.";
    926 14 1 "Database '%.*ls' cannot be opened. It has been marked SUSPECT by recovery. See the SQL \
        Server errorlog for more information.";
    927 14 2 "Database '%.*ls' cannot be opened. It is in the middle of a restore.";
    942 14 4 "Database '%.*ls' cannot be opened because it is offline.";
    945 14 2 "Database '%.*ls' cannot be opened due to inaccessible files or insufficient memory or disk \
        space. See the SQL Server errorlog for details.";
    946 14 1 "Cannot open database '%.*ls' version %d. Upgrade the database to the latest version.";
    948 20 1 "The database '%.*ls' cannot be opened because it is version %d. This server supports version \
        %d and earlier. A downgrade path is not supported.";
    1036 16 2 "File option %hs is required in this CREATE/ALTER DATABASE statement.";
    1801 16 3 "Database '%.*ls' already exists. Choose a different database name.";
    1802 16 4 "CREATE DATABASE failed. Some file names listed could not be created. Check related errors.";
    1803 17 1 "The CREATE DATABASE statement failed. The primary file must be at least %d MB to \
        accommodate a copy of the model database.";
    1807 17 3 "Could not obtain exclusive lock on database '%.*ls'. Retry the operation later.";
    1813 16 2 "Could not open new database '%.*ls'. CREATE DATABASE is aborted.";
    1815 16 1 "The %ls property cannot be used with database snapshot files.";
    1816 16 1 "Database snapshot on the system database %.*ls is not allowed.";
    1821 16 1 "Cannot create a database snapshot on another database snapshot.";
    1822 16 1 "The database must be online to have a database snapshot.";
    1823 16 1 "A database snapshot cannot be created because it failed to start.";
    1825 16 1 "Filegroups and collations cannot be specified for database snapshots.";
    1827 16 2 "CREATE DATABASE or ALTER DATABASE failed because the resulting cumulative database size \
        would exceed your licensed limit of %d MB per %S_MSG.";
    1828 16 5 "The logical file name \"%.*ls\" is already in use. Choose a different name.";
    1834 16 1 "The file '%ls' cannot be overwritten. It is being used by database '%.*ls'.";
    1842 16 1 "The file size, max size cannot be greater than 2147483647 in units of a page size. The \
        file growth cannot be greater than 2147483647 in units of both page size and percentage.";
    5004 16 1 "To use ALTER DATABASE, the database must be in a writable state in which a checkpoint can \
        be executed.";
    5009 16 1 "One or more files listed in the statement could not be found or could not be initialized.";
    5011 14 5 "User does not have permission to alter database '%.*ls', the database does not exist, or \
        the database is not in a state that allows access checks.";
    5012 16 1 "The name of the primary filegroup cannot be changed.";
    5013 16 1 "The master and model databases cannot have files added to them. ALTER DATABASE was \
        aborted.";
    5014 16 2 "The %S_MSG '%.*ls' does not exist in database '%.*ls'.";
    5015 16 1 "ALTER DATABASE failed. The total size specified must be 1 MB or greater.";
    5016 16 1 "Cannot change the name of the system database %.*ls.";
    5018 10 1 "The file \"%.*ls\" has been modified in the system catalog. The new path will be used the \
        next time the database is started.";
    5020 16 1 "The primary data or log file cannot be removed from a database.";
    5021 10 1 "The %S_MSG name '%.*ls' has been set.";
    5031 16 1 "Cannot remove the file '%.*ls' because it is the only file in the DEFAULT filegroup.";
    5033 16 1 "The maximum of %ld files per database has been exceeded.";
    5034 16 1 "The file %ls is currently being autogrown or modified by another process. Try the \
        operation again later.";
    5035 16 1 "Filegroup '%.*ls' already exists in this database. Specify a different name or remove the \
        conflicting filegroup if it is empty.";
    5038 16 1 "MODIFY FILE failed for file \"%.*ls\". At least one property per file must be specified.";
    5039 16 1 "MODIFY FILE failed. Specified size is less than or equal to current size.";
    5040 16 1 "MODIFY FILE failed. Size is greater than MAXSIZE.";
    5041 16 1 "MODIFY FILE failed. File '%.*ls' does not exist.";
    5042 16 1 "The %S_MSG '%.*ls' cannot be removed because it is not empty.";
    5044 10 1 "The %S_MSG '%.*ls' has been removed.";
    5045 16 1 "The %S_MSG already has the '%ls' property set.";
    5046 10 1 "The %S_MSG property '%ls' has been set.";
    5047 16 1 "Cannot change the READONLY property of the PRIMARY filegroup.";
    5048 16 1 "Cannot add, remove, or modify files in filegroup '%.*ls'. The filegroup is read-only.";
    5050 16 1 "Cannot change the properties of empty filegroup '%.*ls'. The filegroup must contain at \
        least one file.";
    5051 16 1 "Cannot have a filegroup with the name 'DEFAULT'.";
    5052 16 1 "%ls is not permitted while a database is in the %ls state.";
    5055 16 1 "Cannot add, remove, or modify file '%.*ls'. The file is read-only.";
    5056 16 1 "Cannot add, remove, or modify a file in filegroup '%.*ls' because the filegroup is not \
        online.";
    5057 16 1 "Cannot add, remove, or modify file '%.*ls' because it is offline.";
    5060 10 1 "Nonqualified transactions are being rolled back. Estimated rollback completion: %d%%.";
    5061 16 1 "ALTER DATABASE failed because a lock could not be placed on database '%.*ls'. Try again \
        later.";
    5063 16 1 "Database '%.*ls' is in warm standby. A warm-standby database is read-only.";
    5064 16 1 "Changes to the state or options of database '%.*ls' cannot be made at this time. The \
        database is in single-user mode, and a user is currently connected to it.";
    5065 16 1 "The file \"%ls\" cannot be added, removed or modified in filegroup \"%ls\": it does not \
        hold that kind of content.";
    5069 16 1 "ALTER DATABASE statement failed.";
    5070 16 2 "Database state cannot be changed while other users are using the database '%.*ls'";
    5077 16 1 "Cannot change the state of non-data files or files in the primary filegroup.";
    5087 16 1 "The file content type mismatches with the content type of the filegroup.";
    5093 16 1 "The operation cannot be performed on a database snapshot.";
    5094 16 1 "The operation cannot be performed on a database with database snapshots or active DBCC \
        replicas.";
    5103 16 1 "MAXSIZE cannot be less than SIZE for file '%ls'.";
    5105 16 2 "A file activation error occurred. The physical file name '%.*ls' may be incorrect. \
        Diagnose and correct additional errors, and retry the operation.";
    5110 16 2 "The file \"%.*ls\" is on a network path that is not supported for database files.";
    5118 16 1 "The file \"%ls\" is compressed but does not reside in a read-only database or filegroup. \
        The file must be decompressed.";
    5121 16 1 "The path specified by \"%.*ls\" is not in a valid directory.";
    5123 16 1 "CREATE FILE encountered operating system error %ls while attempting to open or create the \
        physical file '%.*ls'.";
    5127 16 1 "All files must be specified for database snapshot creation. Missing the file \"%ls\".";
    5128 17 1 "Write to sparse file '%ls' failed due to lack of disk space.";
    5133 16 1 "Directory lookup for the file \"%ls\" failed with the operating system error %ls.";
    5169 16 1 "FILEGROWTH cannot be greater than MAXSIZE for file '%.*ls'.";
    5170 16 4 "Cannot create file '%ls' because it already exists. Change the file path or the file name, \
        and retry the operation.";
    5174 16 1 "Each file size must be greater than or equal to 512 KB.";
    12106 16 1 "The path name '%ls' is already used by another database file. Change to another valid and \
        UNUSED name.";
};
