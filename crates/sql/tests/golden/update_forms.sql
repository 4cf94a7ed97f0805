-- The forms of UPDATE.
CREATE TABLE t (id INT NOT NULL PRIMARY KEY, a INT NULL, b VARCHAR(10) NULL DEFAULT 'def', i INT IDENTITY);
CREATE TABLE s (id INT, a INT);
INSERT t (id, a, b) VALUES (1, 10, 'one'), (2, 20, 'two'), (3, 30, NULL), (4, 40, 'four');
INSERT s VALUES (1, 100), (2, 200), (2, 201), (9, 900);
GO
UPDATE t SET a = a + 1, b = UPPER(b) WHERE id < 3;
UPDATE t SET b = DEFAULT WHERE id = 3;
UPDATE t SET a += 5, b = NULL WHERE id = 4;
UPDATE TOP (1) t SET a = 0 WHERE id > 2;
SELECT * FROM t;
GO
-- Old values are seen throughout; variables too.
DECLARE @n INT = 0, @last INT;
UPDATE t SET id = a, a = id WHERE id = 1;
UPDATE t SET @n = a = @n + 1 WHERE id > 1;
SELECT @n AS n;
SELECT id, a FROM t;
UPDATE t SET @last = id, a = 0 WHERE id = 2;
SELECT @last AS last_one;
GO
-- FROM: each row changes once, whatever it is joined with.
UPDATE t SET a = s.a FROM s WHERE s.id = t.id AND s.id <> 2;
UPDATE x SET a = 1 FROM t AS x JOIN s ON s.id = x.id;
UPDATE t SET a = (SELECT MAX(a) FROM s WHERE s.id = t.id) FROM t WHERE t.id = 2;
UPDATE t SET a = v.n FROM t JOIN (VALUES (3, 33), (4, 44)) AS v (id, n) ON v.id = t.id;
WITH big AS (SELECT id FROM s GROUP BY id HAVING COUNT(*) > 1)
UPDATE t SET b = 'twice' FROM t JOIN big ON big.id = t.id;
SELECT id, a, b FROM t;
GO
UPDATE t SET a = 1, a = 2;
GO
UPDATE t SET nosuch = 1;
GO
UPDATE t SET i = 1;
GO
UPDATE t SET id = NULL WHERE id = 2;
UPDATE t SET b = 'much too long' WHERE id = 2;
UPDATE t SET a = 'x' WHERE id = 2;
GO
UPDATE nosuch SET a = 1;
GO
UPDATE t SET a = SUM(a);
GO
UPDATE x SET a = 1 FROM t AS y;
GO
UPDATE t SET a = 1 WHERE nosuch = 1;
GO
UPDATE t SET a = 1 OPTION (USE PLAN N'<x/>');
GO
