-- Names of 128 characters are whole; files are called by as much of them as a file system takes.
DECLARE @name nvarchar(128) = REPLICATE(N'd', 128);
EXEC ('CREATE DATABASE [' + @name + ']');
SELECT LEN(name) AS database_name FROM sys.databases WHERE name = @name;
SELECT LEN(name) AS name, RIGHT(name, 5) AS ends FROM sys.master_files WHERE database_id = DB_ID(@name) ORDER BY file_id;
EXEC ('USE [' + @name + ']; CREATE TABLE t (a int); INSERT t VALUES (1); SELECT LEN(DB_NAME()) AS here FROM t');
EXEC ('DROP DATABASE [' + @name + ']');
GO
-- Two bytes a character.
DECLARE @name nvarchar(128) = REPLICATE(NCHAR(252), 127);
EXEC ('CREATE DATABASE [' + @name + 'a]');
EXEC ('CREATE DATABASE [' + @name + 'b]');
SELECT RIGHT(d.name, 1) AS ends, f.file_id, IIF(LEN(f.physical_name) < 140, 'cut', 'whole') AS path
FROM sys.databases AS d JOIN sys.master_files AS f ON f.database_id = d.database_id
WHERE LEN(d.name) = 128 ORDER BY d.name, f.file_id;
SELECT COUNT(DISTINCT physical_name) AS files FROM sys.master_files WHERE database_id > 4;
GO
DECLARE @name nvarchar(200) = REPLICATE(N'e', 129);
EXEC ('CREATE DATABASE [' + @name + ']');
GO
DECLARE @name nvarchar(200) = REPLICATE(N'f', 129);
EXEC ('CREATE DATABASE g ON (NAME = [' + @name + '], FILENAME = ''g.mdf'')');
GO
