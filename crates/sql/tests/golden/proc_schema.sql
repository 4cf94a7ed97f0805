-- Names in a module are looked up in its schema, then in dbo.
CREATE SCHEMA s1;
GO
CREATE TABLE dbo.t (a varchar(20));
CREATE TABLE s1.t (a varchar(20));
CREATE TABLE dbo.only_dbo (a int);
INSERT dbo.t VALUES ('dbo');
INSERT s1.t VALUES ('s1');
GO
CREATE PROC s1.p AS
INSERT t VALUES ('from s1.p');
INSERT only_dbo VALUES (1);
UPDATE t SET a = a + '!' WHERE a LIKE 'from%';
SELECT a FROM t;
MERGE t USING (VALUES ('merged')) AS s(a) ON t.a = s.a WHEN NOT MATCHED THEN INSERT VALUES (s.a);
DELETE t WHERE a = 's1';
INSERT only_dbo OUTPUT 'out' INTO t VALUES (2);
DELETE x FROM t AS x WHERE x.a = 'merged';
GO
EXEC s1.p;
SELECT a FROM dbo.t;
SELECT a FROM s1.t;
SELECT a FROM only_dbo;
GO
-- A procedure that is called without a schema.
CREATE PROC dbo.q AS SELECT 'dbo.q' AS q, a FROM t;
GO
CREATE PROC s1.q AS SELECT 's1.q' AS q, a FROM t;
GO
CREATE PROC dbo.r AS SELECT 'dbo.r' AS r, a FROM t;
GO
CREATE PROC s1.calls AS EXEC q; EXEC r; EXEC dbo.q; DECLARE @n sysname = 'q'; EXEC @n; SELECT a FROM t;
GO
EXEC s1.calls;
EXEC q;
GO
CREATE PROC s1.takes AS CREATE TABLE #r (q varchar(9), a varchar(20)); INSERT #r EXEC q; SELECT q, a FROM #r;
GO
EXEC s1.takes;
GO
-- A text has no schema.
CREATE PROC s1.texts AS EXEC ('SELECT a FROM t; EXEC q'); EXEC sp_executesql N'SELECT a FROM t'; SELECT a FROM t;
GO
EXEC s1.texts;
GO
-- A table that a procedure makes without a schema is made in dbo.
CREATE PROC s1.makes AS CREATE TABLE made (a int); INSERT made VALUES (1); SELECT 2 AS a INTO made_too;
GO
EXEC s1.makes;
SELECT SCHEMA_NAME(schema_id) AS s, name FROM sys.tables WHERE name LIKE 'made%' ORDER BY name;
GO
-- A table of the schema that comes later is found, and so is its loss.
CREATE PROC s1.late AS SELECT a FROM later;
GO
CREATE TABLE dbo.later (a varchar(9));
INSERT dbo.later VALUES ('dbo');
GO
EXEC s1.late;
CREATE TABLE s1.later (a varchar(9));
INSERT s1.later VALUES ('s1');
EXEC s1.late;
DROP TABLE s1.later;
EXEC s1.late;
GO
-- Views.
CREATE VIEW s1.v AS SELECT a FROM t;
GO
CREATE VIEW dbo.v AS SELECT a FROM t;
GO
CREATE VIEW s1.over_v AS SELECT v.a AS x, o.a AS y FROM v CROSS JOIN only_dbo AS o;
GO
SELECT a FROM s1.v;
SELECT a FROM v;
SELECT DISTINCT x FROM s1.over_v;
UPDATE s1.v SET a = 'through s1.v' WHERE a = 'out';
DELETE v;
SELECT a FROM dbo.t;
SELECT a FROM s1.t;
GO
CREATE PROC s1.reads AS SELECT a FROM v; SELECT COUNT(*) AS n FROM dbo.v; SELECT COUNT(*) AS n FROM sysobjects WHERE name = 'v';
GO
EXEC s1.reads;
GO
-- What is checked when the module is made.
CREATE TABLE s1.c (mine int);
CREATE TABLE dbo.c (yours int);
GO
CREATE PROC s1.good AS SELECT mine FROM c;
GO
CREATE PROC s1.bad AS SELECT yours FROM c;
GO
CREATE VIEW s1.bad_view AS SELECT yours FROM c;
GO
CREATE TABLE s1.n (id int IDENTITY, a int);
CREATE TABLE dbo.n (a int);
GO
CREATE PROC s1.numbers AS SET IDENTITY_INSERT n ON; INSERT n (id, a) VALUES (7, 1); SET IDENTITY_INSERT n OFF;
GO
EXEC s1.numbers;
SELECT id, a FROM s1.n;
GO
-- The same from another database.
CREATE DATABASE other;
GO
USE other;
GO
CREATE SCHEMA s1;
GO
CREATE TABLE t (a varchar(20));
CREATE TABLE s1.t (a varchar(20));
INSERT s1.t VALUES ('other.s1');
INSERT t VALUES ('other.dbo');
GO
CREATE PROC s1.p AS SELECT a FROM t;
GO
CREATE VIEW s1.v AS SELECT a FROM t;
GO
USE master;
EXEC other.s1.p;
SELECT a FROM other.s1.v;
UPDATE other.s1.v SET a = 'changed';
EXEC other.s1.p;
