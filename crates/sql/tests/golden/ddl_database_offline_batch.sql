-- A batch that uses a database which it closes and opens: the session waits for no one but itself, so for nothing.
CREATE DATABASE h;
GO
CREATE TABLE h.dbo.t (a int PRIMARY KEY);
GO
ALTER DATABASE h SET OFFLINE; ALTER DATABASE h SET ONLINE; INSERT h.dbo.t VALUES (1);
GO
SELECT a FROM h.dbo.t; ALTER DATABASE h SET OFFLINE; ALTER DATABASE h SET ONLINE; SELECT a FROM h.dbo.t;
GO
-- The same batch again, from what was read before.
SELECT a FROM h.dbo.t; ALTER DATABASE h SET OFFLINE; ALTER DATABASE h SET ONLINE; SELECT a FROM h.dbo.t;
GO
CREATE PROCEDURE again AS
BEGIN
    SELECT a FROM h.dbo.t;
    ALTER DATABASE h SET OFFLINE;
    ALTER DATABASE h SET ONLINE;
    INSERT h.dbo.t VALUES (2);
    SELECT a FROM h.dbo.t;
END;
GO
EXEC again;
GO
DELETE h.dbo.t; DROP DATABASE h;
GO
SELECT a FROM h.dbo.t;
GO
