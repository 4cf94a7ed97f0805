CREATE DATABASE used;
GO
USE used;
CREATE TABLE t (id int NOT NULL CONSTRAINT pk_t PRIMARY KEY, a int NOT NULL, b varchar(20) NULL);
CREATE INDEX by_a ON t (a);
CREATE INDEX by_b ON t (b);
GO
CREATE VIEW usage AS
SELECT OBJECT_NAME(u.object_id) AS [table], i.name AS [index], u.user_seeks, u.user_scans, u.user_lookups, u.user_updates,
  IIF(u.last_user_seek IS NULL, 0, 1) AS sought, IIF(u.last_user_update IS NULL, 0, 1) AS updated
FROM sys.dm_db_index_usage_stats AS u JOIN sys.indexes AS i ON i.object_id = u.object_id AND i.index_id = u.index_id
WHERE u.database_id = DB_ID();
GO
-- Nothing has been used yet.
SELECT * FROM usage;
INSERT t VALUES (1, 10, 'x'), (2, 20, 'y'), (3, 30, 'z');
INSERT t VALUES (4, 40, 'w');
SELECT * FROM usage ORDER BY [index];
GO
SELECT b FROM t WHERE id = 2;
SELECT b FROM t WHERE id = 3;
SELECT COUNT(*) FROM t;
SELECT b FROM t WHERE a = 20;
SELECT a FROM t WHERE a > 20;
UPDATE t SET a = 11 WHERE id = 1;
DELETE t WHERE id = 4;
SELECT * FROM usage ORDER BY [index];
GO
-- A subquery that is asked for every row counts once.
SELECT v.id, (SELECT t.b FROM t WHERE t.id = v.id) AS b FROM (VALUES (1), (2), (3)) AS v(id) ORDER BY v.id;
SELECT * FROM usage WHERE [index] = 'pk_t';
DROP INDEX by_a ON t;
CREATE INDEX by_a ON t (a);
SELECT * FROM usage ORDER BY [index];
DROP TABLE t;
SELECT * FROM usage;
GO
USE master;
DROP DATABASE used;
GO
