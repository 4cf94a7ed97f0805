-- masked
-- Each variable names its own database, also in statements that follow each other.
CREATE DATABASE d1;
CREATE DATABASE d2;
GO
CREATE TABLE d1.dbo.t (a int);
CREATE TABLE d2.dbo.t (a int);
INSERT d1.dbo.t VALUES (1);
INSERT d2.dbo.t VALUES (2);
GO
DECLARE @a sysname = 'd1', @b sysname = 'd2', @x varchar(50) = 'one.bak', @y varchar(50) = 'two.bak';
BACKUP DATABASE @a TO DISK = @x;
BACKUP DATABASE @b TO DISK = @y;
GO
DELETE d1.dbo.t;
DELETE d2.dbo.t;
GO
DECLARE @a sysname = 'd1', @b sysname = 'd2', @x varchar(50) = 'one.bak', @y varchar(50) = 'two.bak';
RESTORE DATABASE @a FROM DISK = @x WITH REPLACE;
RESTORE DATABASE @b FROM DISK = @y WITH REPLACE;
GO
SELECT a FROM d1.dbo.t;
SELECT a FROM d2.dbo.t;
SELECT database_name FROM msdb.dbo.backupset ORDER BY backup_set_id;
GO
