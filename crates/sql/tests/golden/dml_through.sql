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
DELETE q OUTPUT deleted.id, deleted.b;
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
WITH c AS (SELECT id, a FROM t) DELETE FROM c OUTPUT deleted.*;
GO
-- A query beside the target that has the same table in it.
DELETE t FROM t JOIN (SELECT MAX(id) AS id FROM t) AS m ON m.id = t.id;
SELECT a, b FROM t ORDER BY id;
MERGE t USING (SELECT id, a FROM t) AS s ON s.id = t.id WHEN MATCHED THEN UPDATE SET b = 'merged';
SELECT a, b FROM t ORDER BY id;
GO
