-- A batch is compiled as a whole: what is wrong behind stops what is before. Tables are looked for late.
CREATE TABLE t (a INT);
INSERT INTO t VALUES (1);
GO
SELECT a FROM t;
SELECT nosuch FROM t;
GO
PRINT 'never printed';
DECLARE @x INT = 1;
IF @x = 2 SELECT t.b FROM t;
GO
BEGIN TRY
    SELECT nosuch FROM t;
END TRY
BEGIN CATCH
    PRINT 'not caught here';
END CATCH
GO
BEGIN TRY
    EXEC ('SELECT 1 AS before; SELECT nosuch FROM t;');
END TRY
BEGIN CATCH
    SELECT ERROR_NUMBER() AS number, ERROR_MESSAGE() AS said;
END CATCH
GO
SELECT a FROM t;
SELECT * FROM later;
SELECT 'not reached';
GO
CREATE TABLE made (m INT);
INSERT INTO made VALUES (5);
SELECT m FROM made;
SELECT nosuch FROM made;
SELECT 'not reached';
GO
SELECT 'before';
SELECT @undeclared;
GO
SELECT 'before';
SELECT a FRM t WHERE;
GO
INSERT INTO t VALUES (2);
INSERT INTO t VALUES (3, 4);
GO
SELECT COUNT(*) AS n FROM t;
CREATE TABLE #x (q INT);
SELECT COUNT(*) AS n FROM #x WHERE q > 0;
GO
CREATE PROCEDURE p AS
    SELECT 'first';
    SELECT nosuch FROM late;
GO
CREATE TABLE late (a INT);
GO
EXEC p;
PRINT 'the caller goes on';
GO
