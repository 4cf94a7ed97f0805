-- Errors of CREATE VIEW and ALTER VIEW name the view.
CREATE TABLE t (id INT NOT NULL, v INT NOT NULL);
INSERT t VALUES (1, 2);
CREATE TABLE #t (id INT NOT NULL);
CREATE TABLE ##shared (id INT NOT NULL);
GO
CREATE VIEW e AS SELECT id, v AS id FROM t;
GO
CREATE VIEW e AS

SELECT id + 1 FROM t;
GO
CREATE VIEW e (a) AS SELECT id, v FROM t;
GO
CREATE VIEW e (a, b, c) AS SELECT id, v FROM t;
GO
CREATE VIEW dbo.e AS SELECT id FROM nosuch;
GO
CREATE VIEW e AS SELECT nosuch FROM t;
GO
CREATE VIEW e AS SELECT id FROM t WHERE v = @x;
GO
CREATE VIEW e AS SELECT id FROM t ORDER BY id;
GO
CREATE VIEW e AS SELECT FROM t;
GO
-- Temporary tables.
CREATE VIEW e AS SELECT id FROM #t;
GO
CREATE VIEW e AS SELECT t.id FROM t JOIN ##shared AS s ON s.id = t.id;
GO
CREATE VIEW e AS SELECT id FROM t WHERE id IN (SELECT id FROM #t);
GO
CREATE VIEW e AS SELECT id FROM #nosuch;
GO
-- Views that read themselves.
CREATE VIEW w AS SELECT id FROM t;
GO
CREATE VIEW above AS SELECT id FROM w;
GO
ALTER VIEW w AS SELECT * FROM w;
GO
ALTER VIEW w AS SELECT id FROM above;
GO
CREATE OR ALTER VIEW w AS SELECT id FROM t WHERE EXISTS (SELECT 1 FROM above);
GO
CREATE VIEW w AS SELECT id FROM w;
GO
SELECT a.id FROM w AS a JOIN w AS b ON b.id = a.id JOIN above ON above.id = a.id;
ALTER TABLE t ADD x INT NULL;
GO
-- A circle that arises because a name comes to mean another object: s.x in place of dbo.x.
CREATE SCHEMA s;
GO
CREATE TABLE x (id INT NOT NULL);
GO
CREATE VIEW s.v AS SELECT id FROM x;
GO
CREATE VIEW s.x AS SELECT id FROM v;
GO
PRINT 'the batch is not compiled';
SELECT id FROM s.x;
GO
SELECT id FROM s.v;
GO
INSERT s.v VALUES (1);
GO
EXEC sp_refreshview 's.v';
GO
-- Views in views, without a circle: 32 of them, and one more.
CREATE VIEW n1 AS SELECT id FROM t;
GO
DECLARE @n INT = 2, @create VARCHAR(100);
WHILE @n <= 33
BEGIN
    SET @create = CONCAT('CREATE VIEW n', @n, ' AS SELECT id FROM n', @n - 1);
    EXEC (@create);
    SET @n += 1;
END
GO
SELECT id FROM n32;
GO
SELECT id FROM n33;
GO
-- What is no view.
ALTER VIEW t AS SELECT 1 AS x;
GO
ALTER PROCEDURE t AS SELECT 1;
GO
CREATE OR ALTER VIEW t AS SELECT 1 AS x;
GO
CREATE PROCEDURE p AS SELECT 1;
GO
ALTER VIEW p AS SELECT 1 AS x;
GO
ALTER VIEW nosuch AS SELECT 1 AS x;
GO
