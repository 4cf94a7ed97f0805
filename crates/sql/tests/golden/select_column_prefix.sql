-- A column's prefix has up to three parts where its source has no alias.
SELECT sys.databases.name FROM sys.databases WHERE sys.databases.database_id = 1;
SELECT master.sys.databases.name FROM sys.databases WHERE databases.database_id = 1;
SELECT master..databases.name, master.sys.databases.database_id FROM master.sys.databases WHERE database_id = 1;
SELECT sys.databases.name, sys.objects.name FROM sys.databases LEFT JOIN sys.objects ON sys.objects.object_id = 0 WHERE sys.databases.database_id = 1;
SELECT INFORMATION_SCHEMA.TABLES.TABLE_NAME FROM INFORMATION_SCHEMA.TABLES WHERE INFORMATION_SCHEMA.TABLES.TABLE_NAME = 't';
GO
CREATE DATABASE other;
GO
CREATE SCHEMA s1;
GO
CREATE TABLE t (a int);
CREATE TABLE s1.t (a int);
CREATE TABLE other.dbo.t (a int);
INSERT t VALUES (1);
INSERT s1.t VALUES (2);
INSERT other.dbo.t VALUES (3);
GO
CREATE VIEW s1.v AS SELECT a FROM s1.t;
GO
SELECT dbo.t.a, s1.t.a FROM t, s1.t;
SELECT master.dbo.t.a, other.dbo.t.a, other..t.a FROM dbo.t, other.dbo.t;
SELECT s1.t.*, master.dbo.t.* FROM s1.t CROSS JOIN dbo.t;
SELECT s1.v.a, master.s1.v.a FROM s1.v ORDER BY s1.v.a;
SELECT s1.t.a, COUNT(*) AS n FROM s1.t GROUP BY s1.t.a HAVING MAX(s1.t.a) > 0;
UPDATE s1.t SET a = s1.t.a + 10 WHERE master.s1.t.a = 2;
DELETE dbo.t WHERE dbo.t.a = 99;
CREATE TABLE #t (a int);
INSERT #t VALUES (4);
SELECT tempdb..#t.a, #t.a FROM #t;
GO
SELECT s1.t.a FROM dbo.t;
GO
SELECT other.dbo.t.a FROM dbo.t;
GO
SELECT dbo.t.a FROM dbo.t AS x;
GO
SELECT dbo.x.a FROM dbo.t AS x;
GO
SELECT s1.t.* FROM dbo.t;
GO
SELECT srv.master.dbo.t.a FROM dbo.t;
GO
SELECT t.a FROM dbo.t, s1.t;
GO
SELECT 1 FROM t, s1.t, s1.t;
GO
SELECT 1 FROM #t, #t;
GO
WITH c AS (SELECT 1 AS a) SELECT dbo.c.a FROM c;
