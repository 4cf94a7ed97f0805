-- masked
DBCC TRACEON (3604, -1) WITH NO_INFOMSGS;
EXEC sp_configure 'show advanced options', 1;
GO
CREATE TABLE #e (at datetime, process nvarchar(50), text nvarchar(2000));
INSERT #e EXEC xp_readerrorlog 0, 1, N'DBCC TRACEON';
INSERT #e EXEC sp_readerrorlog 0, 1, N'Configuration option';
SELECT process, text FROM #e;
GO
EXEC sp_cycle_errorlog;
EXEC xp_readerrorlog 0, 1, N'reinitialized';
EXEC xp_readerrorlog 99;
GO
EXEC xp_readerrorlog 0, 1, 'not unicode';
GO
DBCC ERRORLOG;
GO
