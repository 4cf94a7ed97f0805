-- A variable that the statement assigns for each row: lists and subqueries read its present value.
CREATE TABLE n (a INT);
INSERT INTO n VALUES (1), (2), (3);
CREATE TABLE t (a INT PRIMARY KEY, b INT NULL);
INSERT INTO t (a) VALUES (1), (2), (3);
GO
-- A short list, and a long one.
DECLARE @x INT = 0;
SELECT @x = CASE WHEN a IN (@x + 1, -1) THEN a ELSE @x END FROM n;
SELECT @x;
SET @x = 0;
SELECT @x = CASE WHEN a IN (@x + 1, -1, -2, -3, -4, -5, -6, -7, -8, -9, -10, -11, -12, -13, -14, -15)
    THEN a ELSE @x END FROM n;
SELECT @x;
SET @x = 2;
SELECT @x = @x + a FROM n
WHERE a NOT IN (@x, -1, -2, -3, -4, -5, -6, -7, -8, -9, -10, -11, -12, -13, -14, -15);
SELECT @x;
GO
-- UPDATE and MERGE.
DECLARE @m INT = 0;
UPDATE t SET @m = b = CASE WHEN @m + 1 IN (a, -1, -2, -3, -4, -5, -6, -7, -8, -9, -10, -11, -12, -13, -14, -15)
    THEN a ELSE -a END;
SELECT a, b FROM t;
SET @m = 0;
UPDATE t SET @m = b = CASE WHEN a IN (@m + 1, -1, -2, -3, -4, -5, -6, -7, -8, -9, -10, -11, -12, -13, -14, -15)
    THEN a ELSE -a END;
SELECT a, b FROM t;
SET @m = 0;
UPDATE t SET @m = a, b = (SELECT @m) + 10;
SELECT a, b FROM t;
SET @m = 0;
MERGE t USING n ON t.a = n.a
WHEN MATCHED THEN UPDATE SET @m = t.a, b = (SELECT @m) + 20;
SELECT a, b FROM t;
GO
-- Subqueries without outer columns: of one value, of IN, of EXISTS, with a table, in a derived table, in a
-- common table expression, in another subquery.
DECLARE @x INT = 0;
SELECT @x = CASE WHEN a = (SELECT @x + 1) THEN a ELSE @x END FROM n;
SELECT @x;
SET @x = 0;
SELECT @x = CASE WHEN a IN (SELECT @x + 1) THEN a ELSE @x END FROM n;
SELECT @x;
SET @x = 0;
SELECT @x = CASE WHEN EXISTS (SELECT 1 FROM t WHERE t.a = @x + 1 AND @x < 2) THEN a ELSE -1 END FROM n;
SELECT @x;
SET @x = 0;
SELECT @x = (SELECT COUNT(*) FROM n AS i WHERE i.a <> @x) + @x FROM n;
SELECT @x;
SET @x = 0;
SELECT @x = next FROM (SELECT (SELECT @x + 1) AS next FROM n) AS d;
SELECT @x;
SET @x = 0;
WITH c AS (SELECT @x + 1 AS next)
SELECT @x = CASE WHEN a IN (SELECT next FROM c) THEN a ELSE @x END FROM n;
SELECT @x;
SET @x = 0;
SELECT @x = CASE WHEN a IN (SELECT d.a FROM n AS d WHERE EXISTS (SELECT 1 WHERE d.a = @x + 1)) THEN a ELSE -1 END
FROM n;
SELECT @x;
GO
-- Stored rows of a correlated subquery.
DECLARE @x INT = 0;
SELECT @x = (SELECT COUNT(*) FROM n AS i WHERE i.a = n.a AND i.a = @x + 1) + @x FROM n;
SELECT @x;
GO
