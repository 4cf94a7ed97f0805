//! Sessions and locks: `sp_who`, `sp_who2`, `sp_lock`.

use super::Script;

pub(super) static SCRIPTS: &[Script] = &[
    Script {
        name: "sp_who",
        about: "Shows the sessions: of a login, with a number, or those with a running batch ('active').",
        text: WHO,
    },
    Script {
        name: "sp_who2",
        about: "Shows the sessions with their cost.",
        text: WHO2,
    },
    Script {
        name: "sp_lock",
        about: "Shows the locks of all sessions, or of one or two.",
        text: LOCK,
    },
];

/// The meaning of `@loginame`: sets `@spid`, `@login` or `@active`.
macro_rules! whose {
    () => {
        "DECLARE @spid int, @login sysname, @active bit = 0;
IF @loginame IS NOT NULL
BEGIN
    IF LOWER(@loginame) = 'active' SET @active = 1;
    ELSE IF @loginame NOT LIKE '%[^0-9]%' SET @spid = CONVERT(int, @loginame);
    ELSE IF NOT EXISTS (SELECT 1 FROM sys.dm_exec_sessions WHERE login_name = @loginame)
    BEGIN
        RAISERROR(15007, 16, 1, @loginame);
        RETURN 1;
    END
    ELSE SET @login = @loginame;
END
"
    };
}

const WHO: &str = concat!(
    "CREATE PROCEDURE sp_who @loginame sysname = NULL AS
SET NOCOUNT ON;
",
    whose!(),
    "SELECT s.session_id AS spid, CONVERT(smallint, 0) AS ecid,
    CONVERT(nchar(30), CASE ISNULL(r.status, s.status) WHEN 'running' THEN 'runnable'
        ELSE ISNULL(r.status, s.status) END) AS status,
    CONVERT(nchar(128), s.login_name) AS loginame, CONVERT(nchar(128), ISNULL(s.host_name, '')) AS hostname,
    CONVERT(char(5), ISNULL(r.blocking_session_id, 0)) AS blk,
    CONVERT(nchar(128), DB_NAME(s.database_id)) AS dbname,
    CONVERT(nchar(16), ISNULL(r.command, 'AWAITING COMMAND')) AS cmd, ISNULL(r.request_id, 0) AS request_id
FROM sys.dm_exec_sessions s LEFT JOIN sys.dm_exec_requests r ON r.session_id = s.session_id
WHERE (@spid IS NULL OR s.session_id = @spid) AND (@login IS NULL OR s.login_name = @login)
    AND (@active = 0 OR r.command IS NOT NULL)
ORDER BY s.session_id;
RETURN 0;"
);

/// As in SQL Server, the columns are as wide as their contents.
const WHO2: &str = concat!(
    "CREATE PROCEDURE sp_who2 @loginame sysname = NULL AS
SET NOCOUNT ON;
",
    whose!(),
    "CREATE TABLE #who2 (spid smallint, status nvarchar(30), login nvarchar(128), host nvarchar(128),
    blk nvarchar(5), db nvarchar(128), command nvarchar(32), cpu nvarchar(30), io nvarchar(30),
    last nvarchar(30), program nvarchar(128));
INSERT #who2 SELECT s.session_id,
    CASE ISNULL(r.status, s.status) WHEN 'sleeping' THEN 'sleeping' WHEN 'running' THEN 'RUNNABLE'
        ELSE UPPER(r.status) END,
    s.login_name, ISNULL(s.host_name, '  .'),
    CASE ISNULL(r.blocking_session_id, 0) WHEN 0 THEN '  .'
        ELSE CONVERT(nvarchar(5), r.blocking_session_id) END,
    DB_NAME(s.database_id), ISNULL(r.command, 'AWAITING COMMAND'), CONVERT(nvarchar(30), s.cpu_time),
    CONVERT(nvarchar(30), s.reads + s.writes),
    SUBSTRING(CONVERT(varchar(30), s.last_request_start_time, 111), 6, 5) + ' '
        + CONVERT(varchar(30), s.last_request_start_time, 108),
    ISNULL(s.program_name, '')
FROM sys.dm_exec_sessions s LEFT JOIN sys.dm_exec_requests r ON r.session_id = s.session_id
WHERE (@spid IS NULL OR s.session_id = @spid) AND (@login IS NULL OR s.login_name = @login)
    AND (@active = 0 OR r.command IS NOT NULL);
DECLARE @w1 varchar(5), @w2 varchar(5), @w3 varchar(5), @w4 varchar(5), @w5 varchar(5), @w6 varchar(5),
    @w7 varchar(5), @w8 varchar(5), @text nvarchar(4000);
SELECT @w1 = ISNULL(MAX(LEN(status)), 5), @w2 = ISNULL(MAX(LEN(login)), 5), @w3 = ISNULL(MAX(LEN(host)), 5),
    @w4 = ISNULL(MAX(LEN(db)), 6), @w5 = ISNULL(MAX(LEN(command)), 16), @w6 = ISNULL(MAX(LEN(cpu)), 7),
    @w7 = ISNULL(MAX(LEN(io)), 6), @w8 = ISNULL(MAX(LEN(program)), 10) FROM #who2;
SET @text = N'SELECT CONVERT(char(5), spid) AS SPID, CONVERT(nchar(' + @w1 + N'), status) AS Status,
    CONVERT(nchar(' + @w2 + N'), login) AS Login, CONVERT(nchar(' + @w3 + N'), host) AS HostName,
    CONVERT(char(5), blk) AS BlkBy, CONVERT(nchar(' + @w4 + N'), db) AS DBName,
    CONVERT(nchar(' + @w5 + N'), command) AS Command, CONVERT(nchar(' + @w6 + N'), cpu) AS CPUTime,
    CONVERT(nchar(' + @w7 + N'), io) AS DiskIO, CONVERT(nchar(14), last) AS LastBatch,
    CONVERT(nchar(' + CASE @w8 WHEN '0' THEN '1' ELSE @w8 END + N'), program) AS ProgramName,
    CONVERT(char(5), spid) AS SPID, CONVERT(char(5), 0) AS REQUESTID FROM #who2 AS w ORDER BY w.spid';
EXEC (@text);
DROP TABLE #who2;
RETURN 0;"
);

const LOCK: &str = "CREATE PROCEDURE sp_lock @spid1 int = NULL, @spid2 int = NULL AS
SET NOCOUNT ON;
SELECT CONVERT(smallint, l.request_session_id) AS spid, CONVERT(smallint, l.resource_database_id) AS dbid,
    CONVERT(int, CASE l.resource_type WHEN 'OBJECT' THEN l.resource_associated_entity_id
        ELSE ISNULL(p.object_id, 0) END) AS ObjId,
    CONVERT(smallint, ISNULL(p.index_id, 0)) AS IndId,
    CONVERT(nchar(4), CASE l.resource_type WHEN 'OBJECT' THEN 'TAB' WHEN 'DATABASE' THEN 'DB'
        WHEN 'FILE' THEN 'FIL' WHEN 'PAGE' THEN 'PAG' WHEN 'EXTENT' THEN 'EXT' WHEN 'HOBT' THEN 'HBT'
        WHEN 'ALLOCATION_UNIT' THEN 'AU'
        WHEN 'APPLICATION' THEN 'APP' WHEN 'METADATA' THEN 'MD' ELSE l.resource_type END) AS Type,
    CONVERT(nchar(32), l.resource_description) AS Resource, CONVERT(nvarchar(8), l.request_mode) AS Mode,
    CONVERT(nvarchar(5), CASE l.request_status WHEN 'CONVERT' THEN 'CNVRT'
        ELSE l.request_status END) AS Status
FROM sys.dm_tran_locks l LEFT JOIN sys.partitions p
    ON p.hobt_id = l.resource_associated_entity_id AND l.resource_database_id = DB_ID()
WHERE @spid1 IS NULL OR l.request_session_id IN (@spid1, @spid2)
ORDER BY l.request_session_id, l.resource_database_id, ObjId, IndId, Type;
RETURN 0;";
