DBCC TRACEON (1165, 3605);
EXEC sp_cycle_errorlog;
GO
CREATE DATABASE [Company] ON PRIMARY (NAME = N'Company_data', FILENAME = N'D:\SQLskills\Company_data.mdf', SIZE = 5MB, FILEGROWTH = 5MB)
LOG ON (NAME = N'Company_log', FILENAME = N'D:\SQLskills\Company_log.ldf', SIZE = 64MB);
GO
EXEC xp_readerrorlog;
GO
ALTER DATABASE [Company] ADD FILE (NAME = N'SecondFile', FILENAME = N'D:\SQLskills\SecondFile.ndf', SIZE = 5MB, FILEGROWTH = 5MB);
GO
EXEC xp_readerrorlog;
GO
ALTER DATABASE [Company] ADD FILE (NAME = N'ThirdFile', FILENAME = N'D:\SQLskills\ThirdFile.ndf', SIZE = 250MB, FILEGROWTH = 5MB);
GO
EXEC [xp_readerrorlog];
GO
USE [Company];
GO
CREATE TABLE [BigRows] ([c1] INT IDENTITY, [c2] CHAR (8000) DEFAULT 'a');
GO
SET NOCOUNT ON;
GO
INSERT INTO [BigRows] DEFAULT VALUES;
GO 70000
EXEC [xp_readerrorlog];
GO
SELECT COUNT(*) AS n FROM [BigRows];
ALTER DATABASE [Company] REMOVE FILE SecondFile;
GO
