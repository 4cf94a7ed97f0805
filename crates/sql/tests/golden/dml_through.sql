CREATE TABLE t (id int IDENTITY PRIMARY KEY, a int, b varchar(10), CONSTRAINT small CHECK (a < 100));
INSERT t (a, b) VALUES (1, 'x'), (1, 'x'), (2, 'y'), (2, 'y'), (2, 'y'), (3, 'z');
GO
-- Rows that are there more than once.
WITH d AS (SELECT *, ROW_NUMBER() OVER (PARTITION BY a, b ORDER BY id) AS n FROM t)
DELETE FROM d WHERE n > 1;
SELECT id, a, b FROM t ORDER BY id;
GO
INSERT t (a, b) VALUES (1, 'x'), (3, 'z');
DELETE d FROM (SELECT a, ROW_NUMBER() OVER (PARTITION BY a ORDER BY id) AS n FROM t AS u) AS d WHERE d.n > 1;
SELECT id, a, b FROM t ORDER BY id;
GO
-- The oldest rows first.
WITH q AS (SELECT TOP (1) * FROM t WITH (ROWLOCK, READPAST) ORDER BY id)
DELETE FROM q OUTPUT deleted.*;
WITH q AS (SELECT TOP (1) id, a FROM t ORDER BY id DESC)
DELETE q OUTPUT deleted.id, deleted.a;
SELECT id, a, b FROM t ORDER BY id;
GO
INSERT t (a, b) VALUES (5, 'v'), (6, 'w');
WITH u AS (SELECT id, a AS amount, b, ROW_NUMBER() OVER (ORDER BY id DESC) AS n FROM t)
UPDATE u SET amount += 10, b = CONCAT(b, n) WHERE n < 3;
SELECT a, b FROM t ORDER BY id;
UPDATE x SET x.b = 'first' FROM (SELECT TOP (1) * FROM t ORDER BY a) AS x;
WITH u AS (SELECT a, n = ROW_NUMBER() OVER (ORDER BY id) FROM t)
UPDATE u SET a = u.n + s.more FROM u JOIN (VALUES (2, 40)) AS s(n, more) ON s.n = u.n;
SELECT a, b FROM t ORDER BY id;
GO
CREATE VIEW v AS SELECT id, a AS amount, a * 2 AS twice FROM t WHERE a > 10;
GO
UPDATE v SET amount = amount + 1;
DELETE v WHERE twice > 80;
SELECT a, b FROM t ORDER BY id;
GO
-- The rules of the table are kept.
UPDATE v SET amount = 1000;
GO
UPDATE v SET twice = 1;
GO
UPDATE v SET b = 'x';
GO
WITH c AS (SELECT a, COUNT(*) AS n FROM t GROUP BY a) DELETE FROM c;
GO
WITH c AS (SELECT DISTINCT a FROM t) UPDATE c SET a = 1;
GO
WITH c AS (SELECT COUNT(*) AS n FROM t) DELETE FROM c;
GO
WITH c AS (SELECT a FROM t UNION ALL SELECT a FROM t) DELETE FROM c;
GO
WITH c AS (SELECT x.a FROM t AS x JOIN t AS y ON x.id = y.id) DELETE FROM c;
GO
-- INSERTED and DELETED have the columns of the query, by its names.
CREATE TABLE w (a int, b int);
INSERT w VALUES (1, 100), (2, 200), (3, 300);
GO
WITH c AS (SELECT a AS b, b AS a FROM w WHERE a = 1)
UPDATE c SET a = 7 OUTPUT deleted.a, inserted.a, deleted.b, inserted.*;
SELECT a, b FROM w ORDER BY a;
WITH c AS (SELECT b AS x, a AS y, b AS again FROM w)
UPDATE c SET x = x + s.more OUTPUT deleted.x, inserted.again, s.more FROM c JOIN (VALUES (2, 11)) AS s(y, more) ON s.y = c.y;
WITH c AS (SELECT a AS x FROM w) DELETE c OUTPUT deleted.x, deleted.* WHERE x = 2;
DELETE d OUTPUT deleted.q + 1 AS q FROM (SELECT a FROM w) AS d(q) WHERE q = 1;
GO
CREATE VIEW named AS SELECT b AS amount, a * 2 AS twice FROM w;
GO
DECLARE @kept TABLE (was int, now int);
UPDATE named SET amount += 1 OUTPUT deleted.amount, inserted.amount INTO @kept OUTPUT inserted.amount WHERE twice = 6;
SELECT was, now FROM @kept;
GO
UPDATE named SET amount = 0 OUTPUT inserted.b;
GO
WITH c AS (SELECT id, a FROM t) DELETE FROM c OUTPUT deleted.b;
GO
UPDATE named SET amount = 0 OUTPUT deleted.twice;
GO
WITH d AS (SELECT a, ROW_NUMBER() OVER (ORDER BY a) AS n FROM w) DELETE FROM d OUTPUT deleted.* WHERE n > 1;
GO
SELECT a, b FROM w;
-- The query is met within another source before it is met as one.
INSERT w VALUES (4, 400);
WITH c AS (SELECT a, b FROM w) DELETE c OUTPUT deleted.a FROM (SELECT a FROM c) AS d JOIN c ON c.a = d.a WHERE d.a = 4;
WITH c AS (SELECT a, b FROM w)
UPDATE c SET b = 5 FROM (SELECT x.most FROM (SELECT MAX(c.a) AS most FROM c) AS x) AS d JOIN c ON c.a = d.most;
SELECT a, b FROM w;
GO
-- A query beside the target that has the same table in it.
DELETE t FROM t JOIN (SELECT MAX(id) AS id FROM t) AS m ON m.id = t.id;
SELECT a, b FROM t ORDER BY id;
MERGE t USING (SELECT id, a FROM t) AS s ON s.id = t.id WHEN MATCHED THEN UPDATE SET b = 'merged';
SELECT a, b FROM t ORDER BY id;
GO
