CREATE DATABASE d ON PRIMARY (NAME = d1, FILENAME = 'd1.mdf', SIZE = 4MB),
    FILEGROUP fg (NAME = f1, FILENAME = 'f1.ndf', SIZE = 1MB)
    LOG ON (NAME = l, FILENAME = 'd.ldf', SIZE = 1MB);
GO
USE d;
CREATE TABLE t (id INT NOT NULL PRIMARY KEY, v INT NOT NULL) ON fg;
CREATE INDEX by_v ON t (v);
INSERT INTO t VALUES (1, 10), (2, 20), (3, 30);
GO
CREATE VIEW dbo.big AS SELECT id FROM dbo.t WHERE v > 15;
GO
USE master;
CREATE DATABASE s ON (NAME = d1, FILENAME = 'd1.ss'), (NAME = f1, FILENAME = 'f1.ss') AS SNAPSHOT OF d;
GO
-- The source changes, the snapshot does not.
UPDATE d.dbo.t SET v = 99 WHERE id = 2;
DELETE FROM d.dbo.t WHERE id = 1;
INSERT INTO d.dbo.t VALUES (4, 40);
SELECT id, v FROM d.dbo.t ORDER BY id;
SELECT id, v FROM s.dbo.t ORDER BY id;
SELECT id FROM s.dbo.big ORDER BY id;
GO
USE s;
SELECT DB_NAME() AS here, COUNT(*) AS n FROM t;
SELECT id FROM t WHERE v = 20;
SELECT name, type_desc FROM sys.objects WHERE is_ms_shipped = 0 AND schema_id = 1 ORDER BY name;
SELECT name, is_default FROM sys.filegroups ORDER BY data_space_id;
SELECT file_id, name, type_desc, is_sparse FROM sys.database_files ORDER BY file_id;
GO
INSERT INTO t VALUES (5, 50);
GO
CREATE TABLE u (a INT);
GO
DROP TABLE t;
GO
SELECT d.name, o.name AS source, d.is_read_only, d.state_desc, d.user_access_desc
FROM sys.databases AS d LEFT JOIN sys.databases AS o ON o.database_id = d.source_database_id
WHERE d.name IN ('d', 's') ORDER BY d.name;
SELECT DB_NAME(database_id) AS db, name, is_sparse FROM sys.master_files WHERE DB_NAME(database_id) IN ('d', 's')
ORDER BY db, file_id;
GO
DBCC CHECKDB (s) WITH NO_INFOMSGS;
DBCC CHECKDB (d) WITH NO_INFOMSGS;
GO
-- A second snapshot of the same database has the later state.
USE master;
CREATE DATABASE s2 ON (NAME = f1, FILENAME = 'f1.ss2'), (NAME = d1, FILENAME = 'd1.ss2') AS SNAPSHOT OF d;
DELETE FROM d.dbo.t;
SELECT COUNT(*) AS d FROM d.dbo.t;
SELECT COUNT(*) AS s FROM s.dbo.t;
SELECT id, v FROM s2.dbo.t ORDER BY id;
GO
DROP DATABASE s;
SELECT id, v FROM s2.dbo.t ORDER BY id;
GO
-- Copy back what was lost, then revert the rest.
INSERT INTO d.dbo.t SELECT id, v FROM s2.dbo.t WHERE id = 3;
SELECT id, v FROM d.dbo.t;
DROP TABLE d.dbo.t;
RESTORE DATABASE d FROM DATABASE_SNAPSHOT = 's2';
SELECT id, v FROM d.dbo.t ORDER BY id;
SELECT id, v FROM s2.dbo.t ORDER BY id;
DBCC CHECKDB (d) WITH NO_INFOMSGS;
GO
-- Changes after a revert, and another revert.
INSERT INTO d.dbo.t VALUES (7, 70);
SELECT COUNT(*) AS n FROM d.dbo.t;
SELECT COUNT(*) AS n FROM s2.dbo.t;
RESTORE DATABASE d FROM DATABASE_SNAPSHOT = 's2';
SELECT COUNT(*) AS n FROM d.dbo.t;
DROP DATABASE s2, d;
SELECT COUNT(*) AS n FROM sys.databases WHERE name IN ('d', 's', 's2');
GO
