-- IDENTITY_INSERT belongs to the connection, and is on for one table of all databases.
CREATE DATABASE d1;
CREATE DATABASE d2;
GO
CREATE TABLE d1.dbo.t (id INT IDENTITY PRIMARY KEY, a INT);
CREATE TABLE d2.dbo.u (id INT IDENTITY PRIMARY KEY, a INT);
SET IDENTITY_INSERT d1.dbo.t ON;
INSERT INTO d1.dbo.t (id, a) VALUES (18, 1);
GO
INSERT INTO d1.dbo.t (id, a) VALUES (19, 2);
USE d2;
INSERT INTO d1.dbo.t (id, a) VALUES (20, 3);
USE master;
INSERT INTO d1.dbo.t (id, a) VALUES (21, 4);
SELECT id, a FROM d1.dbo.t;
GO
SET IDENTITY_INSERT d2.dbo.u ON;
GO
-- A copy keeps the values, and the other table the setting.
SELECT * INTO d1.dbo.copy FROM d1.dbo.t;
INSERT INTO d1.dbo.t (id, a) VALUES (22, 5);
INSERT INTO d1.dbo.copy (a) VALUES (6);
SELECT id, a FROM d1.dbo.copy;
GO
SET IDENTITY_INSERT d1.dbo.t OFF;
SET IDENTITY_INSERT d2.dbo.u ON;
INSERT INTO d2.dbo.u (id, a) VALUES (5, 5);
GO
INSERT INTO d1.dbo.t (id, a) VALUES (23, 6);
GO
-- A table that is gone has it no more.
DROP TABLE d2.dbo.u;
SET IDENTITY_INSERT d1.dbo.t ON;
INSERT INTO d1.dbo.t (id, a) VALUES (24, 7);
