SELECT COUNT(*) - COUNT(DISTINCT wait_type) AS twice
FROM sys.dm_os_wait_stats;
SELECT wait_type FROM sys.dm_os_wait_stats WHERE wait_type IN ('WRITELOG', 'PAGELATCH_EX', 'PAGEIOLATCH_SH', 'LCK_M_X',
    'ASYNC_IO_COMPLETION', 'WAITFOR', 'BACKUPIO') ORDER BY wait_type;
WAITFOR DELAY '00:00:00.020';
SELECT waiting_tasks_count, CASE WHEN wait_time_ms >= 20 THEN 'at least 20' ELSE 'less' END AS wait_time_ms,
    CASE WHEN max_wait_time_ms >= 20 THEN 'at least 20' ELSE 'less' END AS max_wait_time_ms
FROM sys.dm_exec_session_wait_stats WHERE session_id = @@SPID AND wait_type = 'WAITFOR';
DBCC SQLPERF ('sys.dm_os_wait_stats', CLEAR) WITH NO_INFOMSGS;
SELECT waiting_tasks_count, wait_time_ms FROM sys.dm_os_wait_stats WHERE wait_type = 'WAITFOR';
GO
SELECT latch_class FROM sys.dm_os_latch_stats WHERE latch_class IN ('BUFFER', 'FGCB_ADD_REMOVE') ORDER BY 1;
SELECT name, collisions, backoffs FROM sys.dm_os_spinlock_stats WHERE name = 'FGCB_PRP_FILL';
SELECT RTRIM(object_name) AS object_name, RTRIM(counter_name) AS counter_name, RTRIM(instance_name) AS instance_name,
    cntr_type, CASE WHEN counter_name LIKE 'Buffer%' THEN 'a share' WHEN counter_name LIKE 'Page life%' THEN 'seconds'
        WHEN cntr_value > 0 THEN 'counted' ELSE 'nothing' END AS value
FROM sys.dm_os_performance_counters
WHERE counter_name IN ('Page lookups/sec', 'Buffer cache hit ratio', 'Buffer cache hit ratio base', 'Batch Requests/sec',
    'SQL Compilations/sec', 'User Connections', 'Page life expectancy')
ORDER BY counter_name;
SELECT RTRIM(counter_name) AS counter_name, RTRIM(instance_name) AS instance_name, cntr_type
FROM sys.dm_os_performance_counters
WHERE counter_name IN ('Log Flushes/sec', 'Data File(s) Size (KB)') AND instance_name IN ('master', '_Total') AND cntr_value > 0
ORDER BY 1, 2;
SELECT SUM(CASE instance_name WHEN '_Total' THEN cntr_value ELSE -cntr_value END) AS difference
FROM sys.dm_os_performance_counters WHERE counter_name = 'Data File(s) Size (KB)';
SELECT CASE WHEN c.cntr_value = SUM(f.size) * 8 THEN 'as the file' ELSE 'another' END AS size
FROM sys.dm_os_performance_counters c CROSS JOIN sys.database_files f
WHERE c.counter_name = 'Data File(s) Size (KB)' AND c.instance_name = 'master' AND f.type = 0 GROUP BY c.cntr_value;
SELECT COUNT(*) AS waiting FROM sys.dm_os_waiting_tasks WHERE session_id = @@SPID;
GO
GO
-- Page latches by kind of page: waits, and how long the latches of PFS, GAM and SGAM pages were held.
SELECT c.name, TYPE_NAME(c.system_type_id) AS type, c.is_nullable FROM sys.all_columns c
WHERE c.object_id = OBJECT_ID('sys.dm_os_page_latch_stats') ORDER BY c.column_id;
SELECT COUNT(*) AS negative FROM sys.dm_os_page_latch_stats WHERE wait_time_us < max_wait_time_us
    OR waiting_requests_count + ISNULL(hold_count, 0) < 1;
CREATE TABLE dbo.latched (c char(8000) NOT NULL);
INSERT dbo.latched VALUES ('a'), ('b'), ('c');
SELECT page_kind, CASE WHEN SUM(hold_count) > 0 AND SUM(hold_time_ns) > 0 AND SUM(hold_time_square_sum_us2) > 0
    THEN 'held' ELSE 'never held' END AS held
FROM sys.dm_os_page_latch_stats WHERE database_id = DB_ID() AND page_kind IN ('PFS', 'GAM') GROUP BY page_kind ORDER BY page_kind;
DROP TABLE dbo.latched;
DBCC SQLPERF ('sys.dm_os_latch_stats', CLEAR) WITH NO_INFOMSGS;
SELECT COUNT(*) AS n FROM sys.dm_os_page_latch_stats WHERE database_id = DB_ID();
