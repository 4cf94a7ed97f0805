-- masked
-- A backup does not take a file of a database, not even with FORMAT: open, offline or being restored.
CREATE DATABASE a ON (NAME = 'a', FILENAME = 'a.mdf') LOG ON (NAME = 'a_log', FILENAME = 'a.ldf');
CREATE DATABASE b ON (NAME = 'b', FILENAME = 'b.mdf') LOG ON (NAME = 'b_log', FILENAME = 'b.ldf');
CREATE DATABASE c ON (NAME = 'c', FILENAME = 'c.mdf') LOG ON (NAME = 'c_log', FILENAME = 'c.ldf');
BACKUP DATABASE c TO DISK = 'c.bak';
RESTORE DATABASE c FROM DISK = 'c.bak' WITH REPLACE, NORECOVERY;
ALTER DATABASE b SET OFFLINE;
GO
BACKUP DATABASE a TO DISK = 'a.mdf' WITH FORMAT;
GO
BACKUP DATABASE a TO DISK = 'b.mdf' WITH FORMAT;
GO
BACKUP DATABASE a TO DISK = 'b.ldf' WITH INIT, FORMAT;
GO
BACKUP DATABASE a TO DISK = 'a.bak', DISK = 'c.mdf' WITH FORMAT;
GO
ALTER DATABASE b SET ONLINE;
RESTORE DATABASE c WITH RECOVERY;
SELECT name, state_desc FROM sys.databases WHERE name IN ('a', 'b', 'c') ORDER BY name;
-- A backup is written over.
BACKUP DATABASE a TO DISK = 'c.bak' WITH FORMAT;
