-- Types that cannot be, by what they are written for.
CREATE TABLE t (ok int, a varchar(9000));
GO
CREATE TABLE t (ok int, a nvarchar(4001));
GO
CREATE TABLE t (ok int, a decimal(40, 2));
GO
CREATE TABLE t (ok int, a decimal(5, 9));
GO
CREATE TABLE t (ok int, a nowhere);
GO
DECLARE @ok int, @a varchar(9000);
GO
DECLARE @a nvarchar(5000); SELECT 1;
GO
DECLARE @a decimal(39);
GO
DECLARE @a decimal(5, 9);
GO
DECLARE @ok int, @a nowhere; SELECT 1;
GO
CREATE PROC p @a nvarchar(5000) AS SELECT 1;
GO
-- A variable that is not declared: state 2 where its value is looked at, state 1 where it is set.
SELECT @a;
GO
PRINT @a;
GO
SET @a = 1;
GO
EXEC sp_help @a;
GO
-- A temporary table goes by its short name.
CREATE TABLE #dup (a int, b int, A int);
GO
-- What cannot be read within a module names it.
CREATE PROC p AS
SELECT 1 FROM;
GO
CREATE VIEW dbo.v AS
SELEC 1 AS a;
GO
SELECT 1
WITH c AS (SELECT 1 AS a) SELECT a FROM c;
GO
DROP INDEX nosuch;
GO
EXEC sp_detach_db master;
GO
EXEC sp_detach_db 'TempDB';
GO
-- The type of a parameter: the message names the procedure and the parameter's place.
CREATE PROC typed
    @ok int,
    @a nowhere AS SELECT 1;
GO
EXEC sp_executesql N'SELECT @a', N'@ok int, @a nowhere', 1, 2;
GO
