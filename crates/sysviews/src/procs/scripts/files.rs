//! Files, databases and space: `sp_helpfile`, `sp_helpdb`, `sp_spaceused`, `sp_databases`.

use super::Script;

pub(super) static SCRIPTS: &[Script] = &[
    Script {
        name: "sp_helpfile",
        about: "Shows the files of the current database, or one of them.",
        text: HELP_FILE,
    },
    Script {
        name: "sp_helpdb",
        about: "Shows the databases, or one of them with its files.",
        text: HELP_DB,
    },
    Script {
        name: "sp_spaceused",
        about: "Shows the space that the current database or one of its tables takes.",
        text: SPACE_USED,
    },
    Script {
        name: "sp_databases",
        about: "Lists the databases with their sizes in KB.",
        text: DATABASES,
    },
];

const DATABASES: &str = "CREATE PROCEDURE sp_databases AS
SET NOCOUNT ON;
SELECT d.name AS DATABASE_NAME, CONVERT(int, SUM(CONVERT(bigint, f.size)) * 8) AS DATABASE_SIZE,
    CONVERT(varchar(254), NULL) AS REMARKS
FROM sys.databases d JOIN sys.master_files f ON f.database_id = d.database_id
WHERE d.state = 0 GROUP BY d.name ORDER BY d.name;
RETURN 0;";

const HELP_FILE: &str = "CREATE PROCEDURE sp_helpfile @filename sysname = NULL AS
SET NOCOUNT ON;
IF @filename IS NOT NULL AND NOT EXISTS (SELECT 1 FROM sys.database_files WHERE name = @filename)
BEGIN
    RAISERROR(15325, 16, 1, 'file', @filename);
    RETURN 1;
END
SELECT f.name, f.file_id AS fileid, f.physical_name AS filename, g.name AS filegroup,
    CONVERT(nvarchar(15), CONVERT(bigint, f.size) * 8) + N' KB' AS size,
    CASE f.max_size WHEN -1 THEN N'Unlimited'
        ELSE CONVERT(nvarchar(15), CONVERT(bigint, f.max_size) * 8) + N' KB' END AS maxsize,
    CASE f.is_percent_growth WHEN 1 THEN CONVERT(nvarchar(15), f.growth) + N'%'
        ELSE CONVERT(nvarchar(15), CONVERT(bigint, f.growth) * 8) + N' KB' END AS growth,
    CASE f.type WHEN 1 THEN 'log only' ELSE 'data only' END AS usage
FROM sys.database_files f LEFT JOIN sys.filegroups g ON g.data_space_id = f.data_space_id
WHERE @filename IS NULL OR f.name = @filename
ORDER BY f.file_id;
RETURN 0;";

const HELP_DB: &str = "CREATE PROCEDURE sp_helpdb @dbname sysname = NULL AS
SET NOCOUNT ON;
IF @dbname IS NOT NULL AND DB_ID(@dbname) IS NULL
BEGIN
    RAISERROR(15010, 16, 1, @dbname);
    RETURN 1;
END
SELECT d.name, STR(s.pages * 8 / 1024, 10, 2) + N' MB' AS db_size, SUSER_SNAME(d.owner_sid) AS owner,
    CONVERT(smallint, d.database_id) AS dbid, CONVERT(nvarchar(11), d.create_date) AS created,
    CONVERT(nvarchar(600), N'Status=' + d.state_desc
        + ISNULL(N', Updateability='
            + CONVERT(nvarchar(20), DATABASEPROPERTYEX(d.name, 'Updateability')), N'')
        + ISNULL(N', UserAccess=' + d.user_access_desc, N'')
        + ISNULL(N', Recovery=' + d.recovery_model_desc, N'')
        + N', Version=' + CONVERT(nvarchar(20), DATABASEPROPERTYEX(d.name, 'Version'))
        + ISNULL(N', Collation=' + d.collation_name + N', SQLSortOrder=52', N'')
        + CASE DATABASEPROPERTYEX(d.name, 'IsTornPageDetectionEnabled') WHEN '1'
            THEN N', IsTornPageDetectionEnabled' ELSE N'' END) AS status, d.compatibility_level
FROM sys.databases d JOIN (SELECT database_id, SUM(CONVERT(float, size)) AS pages FROM sys.master_files
    GROUP BY database_id) AS s ON s.database_id = d.database_id
WHERE @dbname IS NULL OR d.name = @dbname
ORDER BY d.name;
IF @dbname IS NOT NULL
BEGIN
    DECLARE @groups TABLE (id int, name sysname);
    DECLARE @text nvarchar(400) = N'SELECT data_space_id, name FROM ' + QUOTENAME(@dbname)
        + N'.sys.filegroups';
    IF EXISTS (SELECT 1 FROM sys.databases WHERE name = @dbname AND state = 0) INSERT @groups EXEC (@text);
    SELECT f.name, f.file_id AS fileid, f.physical_name AS filename, g.name AS filegroup,
        CONVERT(nvarchar(15), CONVERT(bigint, f.size) * 8) + N' KB' AS size,
        CASE f.max_size WHEN -1 THEN N'Unlimited'
            ELSE CONVERT(nvarchar(15), CONVERT(bigint, f.max_size) * 8) + N' KB' END AS maxsize,
        CASE f.is_percent_growth WHEN 1 THEN CONVERT(nvarchar(15), f.growth) + N'%'
            ELSE CONVERT(nvarchar(15), CONVERT(bigint, f.growth) * 8) + N' KB' END AS growth,
        CASE f.type WHEN 1 THEN 'log only' ELSE 'data only' END AS usage
    FROM sys.master_files f LEFT JOIN @groups g ON g.id = f.data_space_id
    WHERE f.database_id = DB_ID(@dbname) ORDER BY f.file_id;
END
RETURN 0;";

/// Counts of the catalog are updated with each change, and sizes come from the pages themselves, so
/// `@updateusage` has nothing to correct. No storage is remote.
const SPACE_USED: &str = "CREATE PROCEDURE sp_spaceused @objname nvarchar(776) = NULL, \
    @updateusage varchar(5) = 'false', @mode varchar(11) = 'ALL', @oneresultset bit = 0 AS
SET NOCOUNT ON;
SET @updateusage = LOWER(@updateusage);
IF @updateusage NOT IN ('true', 'false')
BEGIN
    RAISERROR(15143, 16, 1, @updateusage);
    RETURN 1;
END
IF UPPER(@mode) NOT IN ('ALL', 'LOCAL_ONLY')
BEGIN
    RAISERROR(14822, 16, 1, @mode);
    RETURN 1;
END
IF @objname IS NOT NULL
BEGIN
    DECLARE @id int = OBJECT_ID(@objname);
    IF @id IS NULL
    BEGIN
        DECLARE @db sysname = DB_NAME();
        RAISERROR(15009, 16, 1, @objname, @db);
        RETURN 1;
    END
    DECLARE @rows bigint, @reserved bigint, @data bigint, @used bigint;
    SELECT @rows = SUM(CASE WHEN index_id < 2 THEN row_count ELSE 0 END),
        @reserved = SUM(reserved_page_count),
        @data = SUM(CASE WHEN index_id < 2 THEN in_row_data_page_count ELSE 0 END),
        @used = SUM(used_page_count)
    FROM sys.dm_db_partition_stats WHERE object_id = @id;
    SELECT OBJECT_NAME(@id) AS name, CONVERT(char(20), @rows) AS rows,
        CONVERT(varchar(15), @reserved * 8) + ' KB' AS reserved,
        CONVERT(varchar(15), @data * 8) + ' KB' AS data,
        CONVERT(varchar(15), (@used - @data) * 8) + ' KB' AS index_size,
        CONVERT(varchar(15), (@reserved - @used) * 8) + ' KB' AS unused;
    RETURN 0;
END
DECLARE @size bigint, @log bigint, @all bigint, @table bigint, @inuse bigint;
SELECT @size = SUM(CASE type WHEN 0 THEN CONVERT(bigint, size) ELSE 0 END),
    @log = SUM(CASE type WHEN 1 THEN CONVERT(bigint, size) ELSE 0 END) FROM sys.database_files;
SELECT @all = SUM(allocated_extent_page_count) FROM sys.dm_db_file_space_usage;
SELECT @table = SUM(CASE WHEN index_id < 2 THEN in_row_data_page_count ELSE 0 END),
    @inuse = SUM(used_page_count) FROM sys.dm_db_partition_stats;
IF @oneresultset = 1
BEGIN
    SELECT DB_NAME() AS database_name,
        LTRIM(STR((@size + @log) * 8 / 1024.0, 15, 2)) + ' MB' AS database_size,
        LTRIM(STR((@size - @all) * 8 / 1024.0, 15, 2)) + ' MB' AS [unallocated space],
        LTRIM(STR(@all * 8, 15, 0)) + ' KB' AS reserved,
        LTRIM(STR(ISNULL(@table, 0) * 8, 15, 0)) + ' KB' AS data,
        LTRIM(STR((ISNULL(@inuse, 0) - ISNULL(@table, 0)) * 8, 15, 0)) + ' KB' AS index_size,
        LTRIM(STR((@all - ISNULL(@inuse, 0)) * 8, 15, 0)) + ' KB' AS unused;
    RETURN 0;
END
SELECT DB_NAME() AS database_name, LTRIM(STR((@size + @log) * 8 / 1024.0, 15, 2)) + ' MB' AS database_size,
    LTRIM(STR((@size - @all) * 8 / 1024.0, 15, 2)) + ' MB' AS [unallocated space];
SELECT LTRIM(STR(@all * 8, 15, 0)) + ' KB' AS reserved,
    LTRIM(STR(ISNULL(@table, 0) * 8, 15, 0)) + ' KB' AS data,
    LTRIM(STR((ISNULL(@inuse, 0) - ISNULL(@table, 0)) * 8, 15, 0)) + ' KB' AS index_size,
    LTRIM(STR((@all - ISNULL(@inuse, 0)) * 8, 15, 0)) + ' KB' AS unused;
RETURN 0;";
