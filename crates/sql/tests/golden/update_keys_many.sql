-- The same with more rows than a page holds, in every order.
CREATE TABLE t (id INT NOT NULL PRIMARY KEY, filler CHAR(200) NOT NULL DEFAULT 'x', was INT NOT NULL);
CREATE UNIQUE INDEX ix ON t (was DESC) INCLUDE (filler);
GO
WITH n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < 1000)
INSERT t (id, was) SELECT i, i FROM n OPTION (MAXRECURSION 1000);
GO
UPDATE t SET id = 1001 - id;
SELECT COUNT(*) AS n, MIN(id) AS low, MAX(id) AS high, SUM(CASE WHEN id + was = 1001 THEN 1 END) AS right_ones FROM t;
UPDATE t SET id = id % 1000 + 1, was = (was + 500) % 1000;
SELECT COUNT(*) AS n, MIN(id) AS low, MAX(id) AS high, MIN(was) AS low, MAX(was) AS high FROM t;
UPDATE t SET id = id / 2;
SELECT COUNT(*) AS n, SUM(id) AS untouched FROM t;
GO
