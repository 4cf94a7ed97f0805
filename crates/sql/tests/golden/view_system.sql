-- What the engine has by itself is among all objects, not among those of users.
CREATE TABLE t (a int, b varchar(10));
GO
SELECT name, schema_id, type, is_ms_shipped FROM sys.all_objects WHERE name IN ('t', 'all_objects', 'dm_os_wait_stats',
    'TABLES', 'dm_db_log_info', 'sp_help', 'xp_readerrorlog') ORDER BY name;
SELECT COUNT(*) FROM sys.objects WHERE is_ms_shipped = 1;
SELECT (SELECT COUNT(*) FROM sys.all_objects) - (SELECT COUNT(*) FROM sys.objects)
     - (SELECT COUNT(*) FROM sys.system_objects) AS difference;
SELECT (SELECT COUNT(*) FROM sys.all_columns) - (SELECT COUNT(*) FROM sys.columns)
     - (SELECT COUNT(*) FROM sys.system_columns) AS difference;
SELECT COUNT(*) - COUNT(DISTINCT object_id) AS twice, MAX(object_id) AS highest FROM sys.system_objects;
GO
SELECT o.name, c.name, c.column_id, TYPE_NAME(c.system_type_id) AS type FROM sys.all_columns AS c
JOIN sys.all_objects AS o ON o.object_id = c.object_id
WHERE o.name IN ('t', 'dm_db_log_info') AND c.column_id < 4 ORDER BY o.name, c.column_id;
SELECT name FROM sys.system_views WHERE name LIKE 'dm[_]os[_]wait%' ORDER BY name;
SELECT OBJECT_NAME(OBJECT_ID('sys.objects')) AS name, OBJECT_SCHEMA_NAME(OBJECT_ID('sys.sp_who2')) AS sch,
    OBJECTPROPERTY(OBJECT_ID('sys.tables'), 'IsMSShipped') AS shipped,
    OBJECTPROPERTY(OBJECT_ID('t'), 'IsMSShipped') AS own, OBJECT_ID('sys.nosuch') AS nothing;
GO
-- Rows out of nothing, as scripts have always taken them.
SELECT COUNT(*) AS rows, MIN(number) AS least, MAX(number) AS most FROM master..spt_values WHERE type = 'P';
SELECT number, low, high, status, name FROM master.dbo.spt_values
WHERE type = 'P' AND number IN (0, 1, 7, 8, 2047) ORDER BY number;
SELECT COUNT(*) FROM (SELECT TOP (50000) ROW_NUMBER() OVER (ORDER BY (SELECT NULL)) AS n
    FROM sys.all_columns AS a CROSS JOIN sys.all_columns AS b) AS x;
GO
CREATE DATABASE other;
GO
USE other;
GO
SELECT TOP (1) number FROM spt_values;
GO
USE master;
GO
SELECT COUNT(*) FROM spt_values WHERE number < 10;
SELECT TOP (1) name FROM sys.sysobjects WHERE name = 't';
SELECT TOP (1) name FROM dbo.sysobjects WHERE name = 't';
GO
