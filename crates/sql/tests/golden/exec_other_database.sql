-- System procedures run in the database that they are named with.
CREATE DATABASE other;
GO
CREATE TABLE other.dbo.here (a int);
INSERT other.dbo.here VALUES (1);
USE tempdb;
GO
EXEC other.sys.sp_executesql N'SELECT DB_NAME() AS db, a FROM here';
EXEC other.dbo.sp_executesql N'SELECT DB_NAME() AS db, @p AS p', N'@p int', 7;
EXEC other..sp_executesql N'SELECT DB_NAME() AS db';
EXEC master.dbo.sp_executesql N'SELECT DB_NAME() AS db';
EXEC master..sp_executesql N'SELECT DB_NAME() AS db';
EXEC dbo.sp_executesql N'SELECT DB_NAME() AS db';
EXEC sys.sp_executesql N'SELECT DB_NAME() AS db';
EXEC [other].[sys].[sp_executesql] @stmt = N'SELECT DB_NAME() AS db';
DECLARE @p nvarchar(100) = N'other.sys.sp_executesql', @out int;
EXEC @p N'SELECT @a = COUNT(*) FROM here', N'@a int OUTPUT', @out OUTPUT;
SELECT @out AS out_value, DB_NAME() AS db;
SET @p = QUOTENAME('other') + N'.sys.sp_executesql';
EXEC @p N'SELECT DB_NAME() AS db';
GO
-- The caller's database is the same afterwards, whatever happens.
EXEC other.sys.sp_executesql N'USE master; SELECT DB_NAME() AS db';
SELECT DB_NAME() AS db;
EXEC other.sys.sp_executesql N'SELECT 1/0';
SELECT DB_NAME() AS db;
BEGIN TRY
    EXEC other.sys.sp_executesql N'SELECT nothing FROM here';
END TRY
BEGIN CATCH
    SELECT ERROR_NUMBER() AS n, DB_NAME() AS db;
END CATCH;
EXEC other.sys.sp_executesql N'EXEC tempdb.sys.sp_executesql N''SELECT DB_NAME() AS db''; SELECT DB_NAME() AS db';
GO
EXEC nowhere.sys.sp_executesql N'SELECT 1';
GO
EXEC guest.sp_executesql N'SELECT 1';
GO
EXEC guest.sp_helptext 'x';
GO
-- Others of the system.
EXEC other.sys.sp_columns 'here';
EXEC other..sp_columns 'here';
EXEC other.dbo.sp_rename 'here', 'there';
SELECT a FROM other.dbo.there;
EXEC master..sp_columns 'here';
EXEC master.dbo.sp_helptext 'nothing';
GO
EXEC other..sp_helptext 'nothing';
