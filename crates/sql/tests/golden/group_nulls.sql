-- Who leaves a NULL out says so, once, behind the rows.
CREATE TABLE t (g int NOT NULL, n int NULL, s varchar(9) NULL);
INSERT t VALUES (1, 1, 'a'), (1, NULL, NULL), (2, 2, 'b');
SELECT COUNT(n) AS counted FROM t;
SELECT MIN(s) AS least FROM t;
SELECT g, SUM(n) AS sum, AVG(n) AS mean, MAX(s) AS most FROM t GROUP BY g ORDER BY g;
SELECT COUNT(DISTINCT s) AS different FROM t;
SELECT SUM(n) OVER (PARTITION BY g) AS sum FROM t ORDER BY g;
SELECT (SELECT MAX(n) FROM t) AS of_a_subquery;
GO
-- Nothing was left out, or nobody asks.
SELECT COUNT(*) AS rows, COUNT(g) AS groups, SUM(g) AS sum FROM t;
SELECT SUM(n) AS sum FROM t WHERE n IS NOT NULL;
SELECT STRING_AGG(s, ',') AS list FROM t;
SELECT 1 AS there WHERE EXISTS (SELECT SUM(n) FROM t);
SELECT * FROM (SELECT g, n, s FROM t) AS x PIVOT (SUM(n) FOR s IN ([a], [b])) AS p ORDER BY g;
SELECT n FROM t ORDER BY n;
GO
SET NOCOUNT ON;
DECLARE @sum int;
SELECT @sum = SUM(n) FROM t;
SET @sum = (SELECT SUM(n) FROM t);
IF (SELECT SUM(n) FROM t) = 3 PRINT 'behind the warning';
SET NOCOUNT OFF;
SELECT SUM(n) AS sum INTO #sums FROM t;
INSERT #sums SELECT SUM(n) FROM t WHERE g = 1;
UPDATE #sums SET sum = (SELECT MAX(n) FROM t);
GO
CREATE PROCEDURE p AS SELECT SUM(n) AS sum FROM t;
GO
EXEC p;
GO
