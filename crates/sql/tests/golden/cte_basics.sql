-- Common table expressions: several, one in another, names of columns, with changes, errors.
CREATE TABLE t (id INT PRIMARY KEY, v INT);
INSERT INTO t VALUES (1, 10), (2, 20), (3, 30), (4, 40);
GO
WITH c AS (SELECT id, v FROM t WHERE v > 10) SELECT COUNT(*) AS n, SUM(v) AS s FROM c;
WITH c (a, b) AS (SELECT id, v FROM t), d AS (SELECT a FROM c WHERE b >= 30) SELECT c.a, c.b FROM c JOIN d ON d.a = c.a ORDER BY c.a;
WITH c AS (SELECT v FROM t) SELECT x.v, y.v FROM c x JOIN c y ON x.v * 2 = y.v ORDER BY x.v;
WITH t AS (SELECT 99 AS id) SELECT id FROM t;
WITH c AS (SELECT 1 AS n) INSERT INTO t SELECT n + 100, n FROM c;
WITH c AS (SELECT id FROM t WHERE id > 3) DELETE FROM t WHERE id IN (SELECT id FROM c);
SELECT id FROM t ORDER BY id;
GO
WITH c AS (SELECT id, v + 1 FROM t) SELECT * FROM c;
GO
WITH c (a) AS (SELECT id, v FROM t) SELECT * FROM c;
GO
WITH c (a, b, d) AS (SELECT id, v FROM t) SELECT * FROM c;
GO
WITH c AS (SELECT id FROM t ORDER BY id) SELECT * FROM c;
GO
WITH c AS (SELECT 1 AS a), c AS (SELECT 2 AS a) SELECT * FROM c;
GO
SELECT 1 WITH c AS (SELECT 1 AS a) SELECT * FROM c;
GO
