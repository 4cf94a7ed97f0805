-- ANSI_WARNINGS and the like, ON and OFF: what they change, what says how they are set, and how long that holds.
SELECT @@OPTIONS AS at_first;
GO
CREATE PROCEDURE shown AS
SELECT SESSIONPROPERTY('ANSI_NULLS') AS an, SESSIONPROPERTY('ANSI_PADDING') AS ap, SESSIONPROPERTY('ANSI_WARNINGS') AS aw,
    SESSIONPROPERTY('ARITHABORT') AS aa, SESSIONPROPERTY('CONCAT_NULL_YIELDS_NULL') AS cn,
    SESSIONPROPERTY('NUMERIC_ROUNDABORT') AS nr, SESSIONPROPERTY('QUOTED_IDENTIFIER') AS qi,
    SESSIONPROPERTY('NOCOUNT') AS nothing, @@OPTIONS AS bits;
SELECT quoted_identifier, arithabort, ansi_null_dflt_on, ansi_defaults, ansi_warnings, ansi_padding, ansi_nulls,
    concat_null_yields_null
FROM sys.dm_exec_sessions WHERE session_id = @@SPID;
GO
EXEC shown;
SET ANSI_WARNINGS, ANSI_PADDING, ARITHABORT, CONCAT_NULL_YIELDS_NULL OFF;
SET ANSI_NULLS, QUOTED_IDENTIFIER OFF;
SET NUMERIC_ROUNDABORT, ANSI_NULL_DFLT_OFF, CURSOR_CLOSE_ON_COMMIT, IMPLICIT_TRANSACTIONS ON;
SELECT @@OPTIONS AS bits;
SET IMPLICIT_TRANSACTIONS OFF;
EXEC shown;
DBCC USEROPTIONS WITH NO_INFOMSGS;
SET ANSI_DEFAULTS ON;
SET IMPLICIT_TRANSACTIONS OFF;
SET ARITHABORT, CONCAT_NULL_YIELDS_NULL ON;
SET NUMERIC_ROUNDABORT, CURSOR_CLOSE_ON_COMMIT OFF;
SELECT @@OPTIONS AS as_at_first, XACT_STATE() AS no_transaction;
GO
-- Strings are cut without a word, and NULLs that an aggregate leaves out are not spoken of.
CREATE TABLE t (id INT NOT NULL, v VARCHAR(3) NULL, c CHAR(2) NULL, n NVARCHAR(2) NULL, b VARBINARY(2) NULL, d DECIMAL(5, 1) NULL);
INSERT t (id, v) VALUES (1, 'abcd');
INSERT t (id, d) VALUES (1, 2.55);
SELECT MAX(v) AS m FROM t;
SET ANSI_WARNINGS OFF;
INSERT t VALUES (2, 'abcd', 'efg', N'hijk', 0x010203, 1), (3, 12345, 678, 91011, CAST('xyz' AS BINARY(3)), 2);
UPDATE t SET v = v + 'more', c = 'long' WHERE id = 2;
MERGE t USING (VALUES (4, 'merged')) AS s (id, v) ON t.id = s.id WHEN NOT MATCHED THEN INSERT (id, v) VALUES (s.id, s.v);
INSERT t (id, v) EXEC ('SELECT 5, ''executed''');
SELECT * FROM t ORDER BY id;
SELECT MAX(v) AS m FROM t;
INSERT t (id) VALUES (NULL);
SET ANSI_WARNINGS ON;
INSERT t (id, v) VALUES (6, 'abcd');
GO
-- Arithmetic that fails: an error of the statement, of the batch, or NULL.
SELECT 1 / 0 AS a;
PRINT 'goes on';
SET ARITHABORT OFF;
SELECT 1 / 0 AS a;
PRINT 'goes on';
SET ANSI_WARNINGS OFF;
SELECT 1 / 0 AS a, 2147483647 + id AS b, CAST(300 AS TINYINT) AS c, 1 % 0 AS d, 1.0 / 0 AS e FROM t WHERE id < 3;
SELECT SQRT(-1) AS f, -CAST(-32768 AS SMALLINT) AS g;
UPDATE t SET d = d / 0 WHERE id = 3;
UPDATE t SET id = id / 0 WHERE id = 3;
SELECT id, d FROM t WHERE id = 3;
SELECT SUM(2147483647 * id) AS s FROM t;
IF 1 / 0 = 1 PRINT 'wrong' ELSE PRINT 'unknown';
DECLARE @x INT = 1 / 0;
SELECT @x AS x;
SET ARITHIGNORE ON;
SELECT 1 / 0 AS quietly;
SET ARITHIGNORE OFF;
SET ARITHABORT ON;
BEGIN TRAN;
SELECT 1 / 0 AS a;
PRINT 'not reached';
GO
SELECT @@TRANCOUNT AS rolled_back;
SET ANSI_WARNINGS ON;
GO
-- NULL in what is joined.
SELECT 'a' + NULL + 'b' AS a, NULL + NULL AS b;
SET CONCAT_NULL_YIELDS_NULL OFF;
SELECT 'a' + NULL + 'b' AS a, N'x' + v AS b, v + v AS c, 1 + NULL AS d FROM t WHERE id = 1;
SET CONCAT_NULL_YIELDS_NULL ON;
GO
-- = NULL and <> NULL.
DECLARE @null INT, @two INT = 2;
SELECT COUNT(*) AS n FROM t WHERE c = NULL;
SET ANSI_NULLS OFF;
SELECT COUNT(*) AS n FROM t WHERE c = NULL;
SELECT COUNT(*) AS n FROM t WHERE NULL <> c;
SELECT COUNT(*) AS n FROM t WHERE d = @null;
SELECT COUNT(*) AS n FROM t WHERE id = @two AND NOT id = @null AND c IN ('lo', NULL);
SELECT COUNT(*) AS columns_stay_unknown FROM t WHERE c = n;
SET ANSI_NULLS ON;
GO
-- Digits that would be lost.
SET NUMERIC_ROUNDABORT ON;
DECLARE @a DECIMAL(5, 4) = 1.1234, @r DECIMAL(5, 2);
SELECT @r = @a + @a;
SELECT @r = 1.1200;
SELECT @r AS r;
INSERT t (id, d) VALUES (7, 1.55);
SET ANSI_WARNINGS, ARITHABORT OFF;
SELECT CAST(1.55 AS DECIMAL(3, 1)) AS r;
SET ANSI_WARNINGS, ARITHABORT ON;
SET NUMERIC_ROUNDABORT OFF;
SELECT CAST(1.55 AS DECIMAL(3, 1)) AS r;
GO
-- What a procedure sets is as it was when the procedure ends.
CREATE PROCEDURE lenient @v VARCHAR(20) AS
SET NOCOUNT, XACT_ABORT ON
SET ANSI_WARNINGS OFF
SET ARITHABORT OFF
SET CONCAT_NULL_YIELDS_NULL OFF
INSERT t (id, v) VALUES (10, @v)
SELECT v + NULL AS v, 1 / 0 AS d FROM t WHERE id = 10
EXEC inner_one
GO
CREATE PROCEDURE inner_one AS
SELECT @@OPTIONS AS of_the_caller
SET ANSI_WARNINGS ON
SELECT SESSIONPROPERTY('ANSI_WARNINGS') AS own
GO
EXEC lenient 'procedure';
SELECT @@OPTIONS AS as_at_first;
EXEC lenient 'procedure';
INSERT t (id, v) VALUES (11, 'procedure');
GO
-- Double quotes: by batch, and by module as it was made.
SET QUOTED_IDENTIFIER OFF;
SELECT "a string" AS a;
GO
CREATE PROCEDURE with_strings AS
SET QUOTED_IDENTIFIER ON
SELECT "a 'string'" AS a, SESSIONPROPERTY('QUOTED_IDENTIFIER') AS qi
EXEC ('SELECT "another" AS b')
GO
CREATE VIEW viewed AS SELECT "text" AS a
GO
SET QUOTED_IDENTIFIER ON;
GO
CREATE PROCEDURE with_names AS
SELECT "id" FROM "t" WHERE id = 2
GO
EXEC with_strings;
EXEC with_names;
SELECT a FROM viewed;
SET QUOTED_IDENTIFIER OFF;
GO
EXEC with_names;
SELECT a FROM viewed;
SET QUOTED_IDENTIFIER ON;
SELECT OBJECT_NAME(object_id) AS name, uses_ansi_nulls, uses_quoted_identifier FROM sys.sql_modules ORDER BY name;
GO
SET ANSI_NULLS OFF;
GO
ALTER PROCEDURE with_names AS
SET ANSI_NULLS ON
SELECT COUNT(*) AS n FROM t WHERE c = NULL
GO
SET ANSI_NULLS ON;
GO
EXEC with_names;
GO
-- Columns without a word on NULL.
SET ANSI_NULL_DFLT_ON OFF;
CREATE TABLE of_database (a INT);
SET ANSI_NULL_DFLT_ON ON;
CREATE TABLE nulls (a INT);
SET ANSI_NULL_DFLT_OFF ON;
CREATE TABLE no_nulls (a INT, b INT NULL);
SET ANSI_NULL_DFLT_ON ON;
ALTER DATABASE CURRENT SET ANSI_NULL_DEFAULT ON;
SET ANSI_NULL_DFLT_ON OFF;
CREATE TABLE of_database_2 (a INT);
SET ANSI_NULL_DFLT_ON ON;
SELECT OBJECT_NAME(object_id) AS name, name AS col, is_nullable FROM sys.columns
WHERE OBJECT_NAME(object_id) IN ('of_database', 'nulls', 'no_nulls', 'of_database_2') ORDER BY 1, 2;
GO
-- Databases keep what they are set to, and connections say themselves.
CREATE DATABASE d;
ALTER DATABASE d SET ANSI_NULLS ON, ANSI_PADDING ON, ANSI_WARNINGS ON, ARITHABORT ON, CONCAT_NULL_YIELDS_NULL ON,
    QUOTED_IDENTIFIER ON, NUMERIC_ROUNDABORT ON, CURSOR_CLOSE_ON_COMMIT ON;
ALTER DATABASE d SET NUMERIC_ROUNDABORT OFF;
ALTER DATABASE d SET COMPATIBILITY_LEVEL = 150;
ALTER DATABASE d SET COMPATIBILITY_LEVEL = 99;
SELECT name, compatibility_level, is_ansi_null_default_on AS nd, is_ansi_nulls_on AS an, is_ansi_padding_on AS ap,
    is_ansi_warnings_on AS aw, is_arithabort_on AS aa, is_concat_null_yields_null_on AS cn, is_numeric_roundabort_on AS nr,
    is_quoted_identifier_on AS qi, is_cursor_close_on_commit_on AS cc
FROM sys.databases WHERE name IN ('d', DB_NAME());
SELECT DATABASEPROPERTYEX('d', 'IsAnsiWarningsEnabled') AS aw, DATABASEPROPERTYEX('d', 'IsNumericRoundAbortEnabled') AS nr;
GO
-- Columns that would lose trailing blanks are refused, before anything runs.
SET ANSI_PADDING OFF;
CREATE TABLE no_strings (a INT, n NVARCHAR(10));
GO
PRINT 'not reached';
CREATE TABLE strings (v VARCHAR(10));
GO
DECLARE @strings TABLE (v VARBINARY(10));
GO
ALTER TABLE no_strings ADD v2 VARCHAR(10);
GO
SET ANSI_PADDING ON;
GO
-- What can't be set is refused before anything runs, and NOEXEC runs nothing.
CREATE PROCEDURE never_made AS
PRINT 'begun'
SET SHOWPLAN_ALL ON
GO
PRINT 'not reached';
SET FMTONLY ON;
GO
SET NOEXEC ON;
PRINT 'not run';
IF 1 = 1 DROP TABLE t;
GO
DELETE t;
GO
SET NOEXEC OFF;
SELECT COUNT(*) AS still_there FROM t;
GO
