CREATE TABLE #t (id INT IDENTITY PRIMARY KEY, n INT);
INSERT #t (n) VALUES (1), (2);
SELECT * FROM #t;
SELECT x.id, #t.n FROM #t JOIN #t AS x ON x.id = #t.id;
UPDATE #t SET n = n + 1;
DELETE FROM #t WHERE n = 2;
SELECT n FROM #t;
CREATE TABLE #t (a INT);
CREATE INDEX ix ON #t (n);
TRUNCATE TABLE #t;
SELECT COUNT(*) AS n FROM #t;
GO
CREATE PROCEDURE uses AS
    INSERT #t (n) VALUES (77);
    CREATE TABLE #inner (x INT);
    INSERT #inner VALUES (1);
    SELECT COUNT(*) AS inner_rows FROM #inner;
GO
EXEC uses;
EXEC uses;
SELECT n FROM #t;
SELECT * FROM #inner;
GO
EXEC ('CREATE TABLE #gone (x INT)');
SELECT * FROM #gone;
GO
SELECT n AS copied, 'text' AS s INTO #c FROM #t;
SELECT * FROM #c;
USE tempdb;
SELECT COUNT(*) AS seen_from_everywhere FROM #c;
USE master;
DROP TABLE #c;
SELECT * FROM #c;
GO
BEGIN TRAN;
CREATE TABLE #r (x INT);
ROLLBACK;
SELECT * FROM #r;
GO
CREATE TABLE #r (x INT);
SELECT COUNT(*) AS made_again FROM #r;
CREATE TABLE ##g (x INT);
INSERT ##g VALUES (1);
SELECT * FROM ##g;
DROP TABLE ##g, #r, #t;
DROP TABLE #t;
GO
