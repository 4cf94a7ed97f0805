DBCC TRACEON (1165, 3605);
GO
EXEC sp_cycle_errorlog;
GO
USE [master];
GO
IF DATABASEPROPERTYEX (N'Company', N'Version') > 0
    DROP DATABASE [Company];
GO
CREATE DATABASE Company ON PRIMARY (NAME = N'Company_data', FILENAME = N'...mdf', SIZE = 5MB, FILEGROWTH = 5MB)
  LOG ON (NAME = N'Company_log', FILENAME = N'...ldf', SIZE = 64MB);
EXEC xp_readerrorlog;
ALTER DATABASE Company ADD FILE (NAME = N'SecondFile', FILENAME = N'...ndf', SIZE = 5MB, FILEGROWTH = 5MB);
ALTER DATABASE Company ADD FILE (NAME = N'ThirdFile', FILENAME = N'...ndf', SIZE = 250MB, FILEGROWTH = 5MB);
CREATE TABLE t (c1 INT IDENTITY, c2 CHAR (8000) DEFAULT 'a');
INSERT INTO t DEFAULT VALUES;   -- GO 70000
SELECT wait_type, waiting_tasks_count, wait_time_ms, signal_wait_time_ms FROM sys.dm_os_wait_stats ORDER BY wait_time_ms DESC;
SELECT name, collisions, spins, backoffs FROM sys.dm_os_spinlock_stats WHERE name = 'FGCB_PRP_FILL';
BACKUP DATABASE Company TO DISK = 'a.bak', DISK = 'b.bak' WITH COPY_ONLY, COMPRESSION, CHECKSUM, STATS = 10;
BACKUP DATABASE Company TO DISK = 'NUL' WITH COPY_ONLY;
RESTORE FILELISTONLY FROM DISK = 'a.bak';
RESTORE DATABASE Copy FROM DISK = 'a.bak' WITH MOVE 'Company_data' TO 'c.mdf';
RESTORE VERIFYONLY FROM DISK = 'a.bak', DISK = 'b.bak';
DBCC CHECKDB (Company) WITH NO_INFOMSGS;
DBCC CHECKDB (Company) WITH PHYSICAL_ONLY, MAXDOP = 4;
ALTER DATABASE Company REMOVE FILE SecondFile;
DBCC SHRINKFILE (SecondFile, EMPTYFILE);
ALTER DATABASE Company REMOVE FILE SecondFile;
GO
INSERT INTO [BigRows] DEFAULT VALUES;
GO 70000
declare @tb varchar(36), @create_sql varchar(100), @drop_sql varchar(100), @insert_sql varchar(100)
select @tb = cast(newid() as varchar(36))
set @create_sql = 'CREATE TABLE [' + @tb + '] (c char(1000) not null)'
set @insert_sql = 'INSERT [' + @tb + '] values(''aaaaaaaaaaaaa'')'
set @drop_sql = 'DROP TABLE [' + @tb + ']'
EXEC (@create_sql)
EXEC (@insert_sql)
EXEC (@drop_sql)
GO
CREATE TABLE MyBigTable (c1 uniqueidentifier ROWGUIDCOL DEFAULT NEWID (), c2 datetime DEFAULT GETDATE (), c3 CHAR (111) DEFAULT 'a', c4 INT DEFAULT 1, c5 INT DEFAULT 2, c6 BIGINT DEFAULT 42);
CREATE CLUSTERED INDEX MyBigTable_cl ON MyBigTable (c1);
GO
SET NOCOUNT ON;
DECLARE @counter BIGINT;
DECLARE @start DATETIME;
SELECT @counter = 0, @start = GETDATE ();
WHILE (@counter < 819200)
BEGIN
    INSERT INTO MyBigTable DEFAULT VALUES;
    SELECT @counter = @counter + 1;
END;
INSERT INTO msdb.dbo.Results VALUES (CONVERT (INTEGER, DATEDIFF (second, @start, GETDATE ())));
GO
SELECT size/128.0 - CAST(FILEPROPERTY(name,'SpaceUsed') AS int)/128.0 FROM sys.database_files
GO
SELECT * FROM sys.dm_io_virtual_file_stats(DB_ID('d'), NULL); SELECT * FROM sys.dm_db_page_info(5, 1, 9, 'DETAILED'); SELECT * FROM sys.dm_io_pending_io_requests
GO
WITH [Waits] AS (SELECT [wait_type], [wait_time_ms] / 1000.0 AS [WaitS], ([wait_time_ms] - [signal_wait_time_ms]) / 1000.0 AS [ResourceS], 100.0 * [wait_time_ms] / SUM ([wait_time_ms]) OVER() AS [Percentage], ROW_NUMBER() OVER(ORDER BY [wait_time_ms] DESC) AS [RowNum] FROM sys.dm_os_wait_stats WHERE [wait_type] NOT IN (N'CHKPT', N'LAZYWRITER_SLEEP') AND [waiting_tasks_count] > 0)
SELECT MAX ([W1].[wait_type]) AS [WaitType], CAST (MAX ([W1].[WaitS]) AS DECIMAL (16,2)) AS [Wait_S] FROM [Waits] AS [W1] INNER JOIN [Waits] AS [W2] ON [W2].[RowNum] <= [W1].[RowNum] GROUP BY [W1].[RowNum] HAVING SUM ([W2].[Percentage]) - MAX( [W1].[Percentage] ) < 95;
