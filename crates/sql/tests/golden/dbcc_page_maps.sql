-- masked
CREATE DATABASE d ON (NAME = d, FILENAME = 'd.mdf', SIZE = 4MB) LOG ON (NAME = dl, FILENAME = 'd.ldf', SIZE = 1MB);
GO
USE d;
CREATE TABLE t (a int NOT NULL);
INSERT t VALUES (1);
GO
CREATE TABLE #p (parent varchar(255), object varchar(255), field varchar(255), value varchar(8000));
INSERT #p EXEC ('DBCC PAGE (0, 1, 2, 3) WITH TABLERESULTS, NO_INFOMSGS');
SELECT parent, COUNT(*) AS ranges, COUNT(DISTINCT value) AS kinds FROM #p WHERE parent LIKE 'GAM%' GROUP BY parent;
DELETE #p;
INSERT #p EXEC ('DBCC PAGE (0, 1, 1, 3) WITH TABLERESULTS, NO_INFOMSGS');
SELECT TOP (2) field, value FROM #p WHERE parent LIKE 'PFS%';
DELETE #p;
INSERT #p EXEC ('DBCC PAGE (0, 1, 9, 3) WITH TABLERESULTS, NO_INFOMSGS');
SELECT field, value FROM #p WHERE field IN ('dbi_dbname', 'dbi_version', 'dbi_cmptlevel', 'm_type', 'm_pageId');
DELETE #p;
INSERT #p EXEC ('DBCC PAGE (0, 1, 0, 3) WITH TABLERESULTS, NO_INFOMSGS');
SELECT field, value FROM #p WHERE field IN ('LogicalName', 'FileIdProp', 'FileGroupId', 'Size', 'MaxSize', 'm_type');
DROP TABLE #p;
GO
DBCC TRACEON (3604) WITH NO_INFOMSGS;
DBCC PAGE (0, 1, 6, 3) WITH NO_INFOMSGS;
GO
