DBCC FREESYSTEMCACHE ('ALL');
GO
DBCC FREESYSTEMCACHE ('SQL Plans') WITH MARK_IN_USE_FOR_REMOVAL, NO_INFOMSGS;
GO
-- The statements that ran before are forgotten with their figures.
CREATE TABLE t (a int);
GO
SELECT a FROM t;
GO
SELECT COUNT(*) AS kept FROM sys.dm_exec_query_stats AS q CROSS APPLY sys.dm_exec_sql_text(q.sql_handle) AS x
WHERE x.text LIKE 'SELECT a FROM t%';
GO
DBCC FREESYSTEMCACHE ('all') WITH NO_INFOMSGS;
GO
SELECT COUNT(*) AS kept FROM sys.dm_exec_query_stats AS q CROSS APPLY sys.dm_exec_sql_text(q.sql_handle) AS x
WHERE x.text LIKE 'SELECT a FROM t%';
GO
DBCC FREESYSTEMCACHE;
GO
DBCC FREESYSTEMCACHE ('TokenAndPermUserStore');
GO
DBCC FREESYSTEMCACHE (1);
GO
DBCC FREESYSTEMCACHE ('ALL') WITH TABLERESULTS;
GO
