-- The day of creation is left out.
CREATE DATABASE d ON PRIMARY (NAME = d1, FILENAME = 'd1.mdf', SIZE = 5MB), FILEGROUP [more room] (NAME = d2, FILENAME = 'd2.ndf',
    SIZE = 5MB) LOG ON (NAME = dl, FILENAME = 'd.ldf', SIZE = 2MB);
ALTER DATABASE d SET RECOVERY SIMPLE;
GO
ALTER DATABASE d SET READ_ONLY;
CREATE TABLE #d (name sysname, db_size nvarchar(13), owner sysname, dbid smallint, created nvarchar(11), status nvarchar(600),
    compatibility_level tinyint);
INSERT #d EXEC sp_helpdb;
SELECT name, db_size, owner, dbid, status, compatibility_level FROM #d WHERE name = 'd';
GO
