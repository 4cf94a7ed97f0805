CREATE DATABASE d ON PRIMARY (NAME = d1, FILENAME = 'd1.mdf', SIZE = 4MB), (NAME = d2, FILENAME = 'd2.ndf', SIZE = 1MB),
    FILEGROUP fg (NAME = f1, FILENAME = 'f1.ndf', SIZE = 1MB), (NAME = f2, FILENAME = 'f2.ndf', SIZE = 1MB)
    LOG ON (NAME = l, FILENAME = 'd.ldf', SIZE = 1MB);
GO
USE d;
CREATE TABLE t (id INT NOT NULL PRIMARY KEY, pad CHAR(2000) NOT NULL DEFAULT 'x') ON fg;
WITH d (n) AS (SELECT n FROM (VALUES (0), (1), (2), (3), (4), (5), (6), (7), (8), (9)) AS v (n))
INSERT INTO t (id) SELECT 100 * a.n + 10 * b.n + c.n FROM d AS a CROSS JOIN d AS b CROSS JOIN d AS c;
USE master;
GO
EXEC sp_detach_db 'd';
SELECT COUNT(*) AS n FROM sys.databases WHERE name = 'd';
GO
CREATE DATABASE d2 ON (FILENAME = 'd1.mdf') FOR ATTACH;
SELECT COUNT(*) AS n, MIN(id) AS lowest, MAX(id) AS highest FROM d2.dbo.t;
SELECT file_id, name, type_desc FROM d2.sys.database_files ORDER BY file_id;
SELECT name, type FROM d2.sys.filegroups ORDER BY data_space_id;
GO
CREATE DATABASE d3 ON (FILENAME = 'd1.mdf') FOR ATTACH;
GO
EXEC sp_detach_db 'd2';
CREATE DATABASE d ON (FILENAME = 'd1.mdf'), (FILENAME = 'f1.ndf'), (FILENAME = 'f2.ndf'), (FILENAME = 'd2.ndf'), (FILENAME = 'd.ldf') FOR ATTACH;
SELECT COUNT(*) AS n FROM d.dbo.t;
GO
EXEC sp_detach_db 'd';
CREATE DATABASE d ON (FILENAME = 'f1.ndf') FOR ATTACH;
