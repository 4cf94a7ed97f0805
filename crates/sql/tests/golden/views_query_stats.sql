DBCC FREEPROCCACHE WITH NO_INFOMSGS;
GO
CREATE TABLE #n (id int NOT NULL PRIMARY KEY);
INSERT #n SELECT value FROM GENERATE_SERIES(1, 20);
GO
SELECT id FROM #n WHERE id <= 7 /* marked */;
GO 3
PRINT 'a batch'; SELECT COUNT(*) AS marked FROM #n; SELECT TOP (4) id AS marked FROM #n ORDER BY id;
GO
SELECT id FROM #n WHERE id <= 9 /* marked */;
GO
SELECT s.execution_count, s.total_rows, s.last_rows, s.min_rows, s.max_rows, s.total_dop,
  SUBSTRING(t.text, s.statement_start_offset / 2 + 1, (CASE s.statement_end_offset WHEN -1 THEN DATALENGTH(t.text)
    ELSE s.statement_end_offset END - s.statement_start_offset) / 2 + 1) AS statement,
  IIF(s.total_worker_time >= s.max_worker_time AND s.max_worker_time >= s.min_worker_time, 1, 0) AS times_fit,
  IIF(s.total_elapsed_time >= s.last_elapsed_time, 1, 0) AS elapsed_fits,
  IIF(s.total_logical_reads > 0, 1, 0) AS has_read, IIF(s.last_execution_time >= s.creation_time, 1, 0) AS moments_fit
FROM sys.dm_exec_query_stats AS s CROSS APPLY sys.dm_exec_sql_text(s.sql_handle) AS t
WHERE t.text LIKE '%marked%' AND t.text NOT LIKE '%query_stats%' ORDER BY statement;
-- Two of them differ in a constant alone.
SELECT COUNT(*) AS texts, COUNT(DISTINCT query_hash) AS hashes FROM sys.dm_exec_query_stats AS s
CROSS APPLY sys.dm_exec_sql_text(s.sql_handle) AS t WHERE t.text LIKE 'SELECT id FROM #n%';
GO
DBCC FREEPROCCACHE WITH NO_INFOMSGS;
GO
SELECT COUNT(*) AS left_over FROM sys.dm_exec_query_stats AS s CROSS APPLY sys.dm_exec_sql_text(s.sql_handle) AS t
WHERE t.text LIKE '%marked%' AND t.text NOT LIKE '%query_stats%';
GO
