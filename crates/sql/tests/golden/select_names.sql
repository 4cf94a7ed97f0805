CREATE TABLE t (a DECIMAL(9,2), [order] INT, "select" INT);
SELECT c.name, c.precision, scale FROM sys.columns c WHERE c.object_id = OBJECT_ID('t') ORDER BY column_id;
DECLARE @x DOUBLE PRECISION = 1.5;
SELECT @x AS x;
INSERT t VALUES (1.005, 2, 3);
SELECT [order] + "select" AS [sum of both], t.a FROM dbo.t AS t;
GO
SELECT order FROM t;
GO
