-- Who sees which temporary table.
CREATE TABLE #t (id INT);
INSERT #t VALUES (1);
GO
:connect other
SELECT * FROM #t;
GO
CREATE TABLE #t (name VARCHAR(5));
INSERT #t VALUES ('mine');
SELECT * FROM #t;
CREATE TABLE ##shared (id INT);
INSERT ##shared VALUES (42);
GO
:connect main
SELECT * FROM #t;
SELECT * FROM ##shared;
GO
CREATE PROCEDURE makes AS
    CREATE TABLE #inner (id INT); INSERT #inner VALUES (5); INSERT #t VALUES (2); SELECT COUNT(*) AS one FROM #inner;
GO
CREATE PROCEDURE hides AS
    CREATE TABLE #t (id INT); INSERT #t VALUES (99); SELECT id AS hidden FROM #t;
GO
EXEC makes;
SELECT id FROM #t ORDER BY id;
EXEC hides;
SELECT id FROM #t ORDER BY id;
SELECT * FROM #inner;
GO
CREATE TABLE #t (again INT);
GO
DROP TABLE #t;
SELECT * FROM #t;
GO
DROP TABLE #t;
GO
DROP TABLE IF EXISTS #t;
CREATE TABLE #k (id INT NOT NULL CONSTRAINT pk_k PRIMARY KEY, c CHAR(1) NULL);
CREATE INDEX ix ON #k (c);
INSERT #k VALUES (1, 'a'), (1, 'b');
INSERT #k VALUES (NULL, 'a');
ALTER TABLE #k ADD d INT NULL;
UPDATE #k SET d = 1;
SELECT * FROM #k;
SELECT name FROM tempdb.sys.indexes WHERE object_id = OBJECT_ID('tempdb..#k') ORDER BY index_id;
GO
BEGIN TRAN;
CREATE TABLE #r (id INT);
ROLLBACK;
SELECT * FROM #r;
GO
:close other
SELECT * FROM ##shared;
GO
