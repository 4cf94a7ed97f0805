-- No database allows SNAPSHOT yet: it can be set, and is refused where rows are to be read.
CREATE TABLE t (id INT);
GO
SET TRANSACTION ISOLATION LEVEL SNAPSHOT;
SELECT 1 AS without_a_table;
GO
SELECT * FROM t;
GO
INSERT t VALUES (1);
GO
SELECT COUNT(*) AS views_are_read FROM sys.databases WHERE name = 'master';
GO
SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
SELECT COUNT(*) AS none FROM t;
GO
