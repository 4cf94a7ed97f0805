-- masked
-- Piecemeal restore: the primary filegroup comes online first, the others beside the open database.
CREATE DATABASE pieces ON PRIMARY (NAME = p1, FILENAME = 'pieces.mdf', SIZE = 4MB),
    FILEGROUP later (NAME = l1, FILENAME = 'pieces.ndf', SIZE = 2MB)
    LOG ON (NAME = plog, FILENAME = 'pieces.ldf', SIZE = 2MB);
ALTER DATABASE pieces SET RECOVERY FULL;
GO
USE pieces;
CREATE TABLE first (id int PRIMARY KEY, v varchar(20)) ON [PRIMARY];
CREATE TABLE second (id int CONSTRAINT pk_second PRIMARY KEY, v varchar(20)) ON later;
CREATE INDEX by_v ON first (v) ON later;
INSERT first VALUES (1, 'one'), (2, 'two');
INSERT second VALUES (1, 'one'), (2, 'two');
BACKUP DATABASE pieces TO DISK = 'pieces.bak';
INSERT first VALUES (3, 'three');
INSERT second VALUES (3, 'three');
BACKUP LOG pieces TO DISK = 'pieces.trn';
USE master;
GO
RESTORE DATABASE copy FROM DISK = 'pieces.bak' WITH PARTIAL, NORECOVERY,
    MOVE 'p1' TO 'copy.mdf', MOVE 'l1' TO 'copy.ndf', MOVE 'plog' TO 'copy.ldf';
RESTORE LOG copy FROM DISK = 'pieces.trn' WITH RECOVERY, PARTIAL;
RESTORE LOG copy FROM DISK = 'pieces.trn' WITH RECOVERY;
GO
SELECT name, state, state_desc FROM copy.sys.database_files ORDER BY file_id;
SELECT name, state_desc FROM sys.master_files WHERE database_id = DB_ID('copy') ORDER BY file_id;
SELECT id, v FROM copy.dbo.first WHERE v = 'two';
GO
SELECT * FROM copy.dbo.second;
GO
INSERT copy.dbo.second VALUES (4, 'four');
GO
INSERT copy.dbo.first VALUES (4, 'four');
GO
SELECT v FROM copy.dbo.first WITH (INDEX (by_v));
GO
CREATE TABLE copy.dbo.third (id int) ON later;
GO
ALTER DATABASE copy ADD FILE (NAME = l2, FILENAME = 'copy2.ndf') TO FILEGROUP later;
GO
ALTER DATABASE copy REMOVE FILE l1;
GO
BACKUP DATABASE copy TO DISK = 'NUL';
GO
BACKUP LOG copy TO DISK = 'tail.trn' WITH NORECOVERY;
GO
EXEC sp_detach_db 'copy';
GO
CREATE DATABASE snap ON (NAME = p1, FILENAME = 'snap.ss') AS SNAPSHOT OF copy;
GO
DBCC CHECKDB (copy) WITH NO_INFOMSGS;
GO
-- The other filegroup: from the same full backup, and the same log.
RESTORE DATABASE copy FILEGROUP = 'later' FROM DISK = 'pieces.bak' WITH NORECOVERY;
GO
SELECT name, state_desc FROM copy.sys.database_files ORDER BY file_id;
RESTORE DATABASE copy WITH RECOVERY;
GO
RESTORE LOG copy FROM DISK = 'pieces.trn' WITH RECOVERY;
GO
SELECT name, state_desc FROM copy.sys.database_files ORDER BY file_id;
INSERT copy.dbo.second VALUES (4, 'four');
INSERT copy.dbo.first VALUES (4, 'four');
SELECT * FROM copy.dbo.second;
SELECT v FROM copy.dbo.first WITH (INDEX (by_v));
DBCC CHECKDB (copy) WITH NO_INFOMSGS;
RESTORE DATABASE copy FILEGROUP = 'later' FROM DISK = 'pieces.bak' WITH RECOVERY;
GO
DROP DATABASE copy;
DROP DATABASE pieces;
GO
