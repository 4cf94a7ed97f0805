CREATE DATABASE d ON PRIMARY (NAME = d1, FILENAME = 'd1.mdf', SIZE = 5MB, FILEGROWTH = 10%), (NAME = d2, FILENAME = 'd2.ndf', SIZE = 5MB, MAXSIZE = 20MB, FILEGROWTH = 1MB) LOG ON (NAME = dl, FILENAME = 'd.ldf', SIZE = 2MB);
GO
USE d;
GO
EXEC sp_helpfile;
EXEC sp_helpfile 'd2';
EXEC sp_helpfile 'none';
GO
CREATE TABLE t (a INT, b CHAR(100) DEFAULT 'b', c INT NOT NULL, CONSTRAINT pk PRIMARY KEY (a, c));
CREATE UNIQUE INDEX ux ON t (c DESC) INCLUDE (b);
INSERT t (a, c) VALUES (1, 1), (2, 2), (3, 3);
EXEC sp_spaceused 't';
EXEC sp_spaceused;
EXEC sp_helpindex 't';
EXEC sp_helpindex 'nowhere';
GO
USE master;
GO
EXEC sp_detach_db 'd';
SELECT name FROM sys.databases WHERE name = 'd';
EXEC sp_detach_db;
EXEC sp_helpdb 'd';
EXEC sp_detach_db 'd';
GO
CREATE TABLE h (x INT);
EXEC sp_helpindex 'h';
DROP TABLE h;
GO
