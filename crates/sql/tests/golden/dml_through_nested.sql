-- Changes through queries of queries, over temporary tables and table variables.
CREATE TABLE #g (id int IDENTITY PRIMARY KEY, n int, b varchar(10));
INSERT #g (n) VALUES (1), (1), (2), (2), (2), (3);
GO
-- The usual way to get rid of rows that are there more than once.
WITH d AS (SELECT n, ROW_NUMBER() OVER (PARTITION BY n ORDER BY id) rn FROM #g) DELETE FROM d WHERE rn > 1;
SELECT id, n FROM #g ORDER BY id;
WITH d AS (SELECT TOP (1) b, n FROM #g ORDER BY n DESC) UPDATE d SET b = 'most' OUTPUT inserted.*;
DELETE x FROM (SELECT TOP (1) * FROM #g WHERE n > 1 ORDER BY n) AS x;
WITH d AS (SELECT h.n FROM #g AS h) UPDATE d SET n = n * 10;
SELECT id, n, b FROM #g ORDER BY id;
GO
DECLARE @v TABLE (id int IDENTITY, n int);
INSERT @v (n) VALUES (7), (7), (8);
WITH d AS (SELECT n, ROW_NUMBER() OVER (PARTITION BY n ORDER BY id) AS rn FROM @v) DELETE d WHERE rn > 1;
DELETE x FROM (SELECT TOP (1) n FROM @v AS w ORDER BY n DESC) AS x;
SELECT id, n FROM @v;
GO
CREATE TABLE t (id int PRIMARY KEY, a int, b varchar(10));
INSERT t VALUES (1, 1, 'x'), (2, 1, 'x'), (3, 2, 'y'), (4, 2, 'y'), (5, 3, 'z');
GO
-- A query of a query.
WITH i AS (SELECT id AS k, a AS amount FROM t WHERE id > 1),
     o AS (SELECT amount AS x, k, amount + 1 AS y FROM i WHERE k < 5)
UPDATE o SET x = y * 10 OUTPUT deleted.x, inserted.x, inserted.k WHERE k > 2;
SELECT id, a, b FROM t ORDER BY id;
WITH i AS (SELECT id, a FROM t), o AS (SELECT id, a, ROW_NUMBER() OVER (PARTITION BY a ORDER BY id) AS n FROM i)
DELETE FROM o OUTPUT deleted.id WHERE n > 1;
DELETE d FROM (SELECT TOP (1) e.p FROM (SELECT id AS p, a FROM t) AS e ORDER BY e.p DESC) AS d;
SELECT id, a, b FROM t ORDER BY id;
GO
WITH i AS (SELECT id, a FROM t), o AS (SELECT id, a + 1 AS more FROM i) UPDATE o SET more = 1;
GO
WITH i AS (SELECT a, COUNT(*) AS n FROM t GROUP BY a), o AS (SELECT a FROM i) DELETE o;
GO
CREATE VIEW inner_view AS SELECT id AS k, a FROM t;
GO
CREATE VIEW outer_view AS WITH c AS (SELECT k, a AS v FROM inner_view) SELECT k, v FROM c WHERE k < 3;
GO
UPDATE outer_view SET v = v + 100;
SELECT id, a FROM t ORDER BY id;
DELETE outer_view OUTPUT deleted.k, deleted.v WHERE v = 101;
SELECT id, a FROM t ORDER BY id;
WITH s AS (SELECT name FROM sys.objects) DELETE s;
GO
