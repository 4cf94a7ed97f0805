CREATE DATABASE q ON (NAME = q1, FILENAME = 'q1.mdf', SIZE = 4MB, MAXSIZE = 4MB)
LOG ON (NAME = ql, FILENAME = 'ql.ldf', SIZE = 4MB);
GO
USE q;
CREATE TABLE h (a int IDENTITY, b char(7000));
CREATE TABLE room (n int NOT NULL);
GO
INSERT h (b) SELECT TOP 800 'x' FROM sys.all_columns;
GO
-- The pages that were rolled back are used again, and all there is.
DECLARE @i int = 0;
SET NOCOUNT ON;
BEGIN TRY
    WHILE @i < 800 BEGIN INSERT h VALUES ('y'); SET @i += 1; END
END TRY
BEGIN CATCH
    PRINT ERROR_MESSAGE();
END CATCH;
INSERT room VALUES (@i);
SELECT CASE WHEN @i > 300 THEN 'many' ELSE 'few' END AS inserted, COUNT(*) - @i AS lost FROM h;
GO
-- So are those of rows that were deleted, before the ghosts are cleaned away by themselves.
DELETE h;
DECLARE @j int = 0;
SET NOCOUNT ON;
BEGIN TRY
    WHILE @j < 800 BEGIN INSERT h VALUES ('z'); SET @j += 1; END
END TRY
BEGIN CATCH
    PRINT ERROR_NUMBER();
END CATCH;
SELECT @j - n AS more FROM room;
GO
BEGIN TRAN;
TRUNCATE TABLE h;
SELECT COUNT(*) AS none FROM h;
ROLLBACK;
SELECT COUNT(*) - n AS more FROM h, room GROUP BY n;
TRUNCATE TABLE h;
SELECT COUNT(*) AS none FROM h;
INSERT h VALUES ('first');
SELECT a, RTRIM(b) AS b FROM h;
GO
-- With room, a transaction that was rolled back leaves its pages to the next one.
USE master;
CREATE TABLE h (a int IDENTITY, b char(7000));
DECLARE @k int = 0;
SET NOCOUNT ON;
BEGIN TRAN;
WHILE @k < 100 BEGIN INSERT h VALUES ('y'); SET @k += 1; END
ROLLBACK;
DECLARE @pages bigint = (SELECT SUM(used_page_count) FROM sys.dm_db_partition_stats WHERE object_id = OBJECT_ID('h'));
WHILE @k < 200 BEGIN INSERT h VALUES ('y'); SET @k += 1; END
SELECT SUM(used_page_count) - @pages AS more FROM sys.dm_db_partition_stats WHERE object_id = OBJECT_ID('h');
GO
-- A default filegroup holds from the beginning.
CREATE DATABASE f ON PRIMARY (NAME = f1, FILENAME = 'f1.mdf', SIZE = 4MB),
    FILEGROUP FG1 DEFAULT (NAME = f2, FILENAME = 'f2.ndf', SIZE = 2MB)
LOG ON (NAME = fl, FILENAME = 'fl.ldf', SIZE = 4MB);
GO
USE f;
CREATE TABLE t (a int NOT NULL);
SELECT g.name, g.is_default FROM sys.indexes AS i JOIN sys.filegroups AS g ON g.data_space_id = i.data_space_id
WHERE i.object_id = OBJECT_ID('t');
ALTER DATABASE f MODIFY FILEGROUP FG1 DEFAULT;
ALTER DATABASE f MODIFY FILEGROUP [PRIMARY] DEFAULT;
CREATE TABLE u (a int NOT NULL);
SELECT g.name FROM sys.indexes AS i JOIN sys.filegroups AS g ON g.data_space_id = i.data_space_id
WHERE i.object_id = OBJECT_ID('u');
