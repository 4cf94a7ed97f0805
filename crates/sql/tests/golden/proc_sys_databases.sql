CREATE DATABASE d ON (NAME = d, FILENAME = 'd.mdf', SIZE = 4MB) LOG ON (NAME = dl, FILENAME = 'd.ldf', SIZE = 1MB);
GO
CREATE TABLE #d (name sysname, size int, remarks varchar(254));
INSERT #d EXEC sp_databases;
SELECT name, size, remarks FROM #d WHERE name = 'd';
GO
EXEC sp_detach_db 'd';
GO
EXEC sp_attach_db 'again', 'd.mdf', 'd.ldf';
SELECT name, state_desc FROM sys.databases WHERE name IN ('d', 'again');
GO
EXEC sp_attach_db 'again', 'd.mdf';
GO
EXEC sp_attach_db 'other', 'nosuch.mdf';
GO
EXEC sp_attach_db 'other';
GO
USE again;
EXEC sp_detach_db 'again';
USE master;
DROP DATABASE again;
GO
EXEC sp_detach_db 'master';
GO
EXEC sp_detach_db 'TempDB';
SELECT DB_ID('tempdb') AS tempdb;
GO
