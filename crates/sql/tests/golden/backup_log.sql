-- masked
CREATE DATABASE b;
GO
USE b;
CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(100));
INSERT INTO t VALUES (1, 'before the full backup');
GO
USE master;
GO
-- SIMPLE has no log backups; FULL has none before a full backup.
BACKUP LOG b TO DISK = 'l.trn';
ALTER DATABASE b SET RECOVERY FULL;
BACKUP LOG b TO DISK = 'l.trn';
GO
BACKUP DATABASE b TO DISK = 'full.bak';
INSERT INTO b.dbo.t VALUES (2, 'in the first log backup');
BACKUP LOG b TO DISK = 'l1.trn';
INSERT INTO b.dbo.t VALUES (3, 'in the second log backup');
BACKUP LOG b TO DISK = 'l2a.trn', DISK = 'l2b.trn' WITH COMPRESSION;
INSERT INTO b.dbo.t VALUES (4, 'in the third log backup');
BACKUP LOG b TO DISK = 'copy.trn' WITH COPY_ONLY;
BACKUP LOG b TO DISK = 'l3.trn';
INSERT INTO b.dbo.t VALUES (5, 'in none');
GO
RESTORE LOG c FROM DISK = 'l1.trn';
RESTORE DATABASE c FROM DISK = 'l1.trn';
RESTORE LOG b FROM DISK = 'l1.trn';
GO
RESTORE DATABASE c FROM DISK = 'full.bak' WITH NORECOVERY, MOVE 'b' TO 'c.mdf', MOVE 'b_log' TO 'c.ldf';
RESTORE LOG c FROM DISK = 'l2a.trn', DISK = 'l2b.trn' WITH NORECOVERY;
RESTORE LOG c FROM DISK = 'full.bak' WITH NORECOVERY;
RESTORE LOG c FROM DISK = 'l1.trn' WITH NORECOVERY;
RESTORE LOG c FROM DISK = 'l2a.trn', DISK = 'l2b.trn' WITH NORECOVERY;
RESTORE LOG c FROM DISK = 'l1.trn' WITH NORECOVERY;
SELECT state_desc FROM sys.databases WHERE name = 'c';
RESTORE LOG c FROM DISK = 'l3.trn' WITH RECOVERY;
SELECT id FROM c.dbo.t ORDER BY id;
RESTORE LOG c FROM DISK = 'copy.trn';
GO
-- To the end of the second log backup.
RESTORE DATABASE d FROM DISK = 'full.bak' WITH NORECOVERY, MOVE 'b' TO 'd.mdf', MOVE 'b_log' TO 'd.ldf';
RESTORE LOG d FROM DISK = 'l1.trn' WITH NORECOVERY;
RESTORE DATABASE d WITH RECOVERY;
SELECT id FROM d.dbo.t ORDER BY id;
GO
-- The log is not backed up by differences.
BACKUP LOG b TO DISK = 'l3.trn' WITH DIFFERENTIAL;
GO
-- SIMPLE breaks the chain.
ALTER DATABASE b SET RECOVERY SIMPLE;
ALTER DATABASE b SET RECOVERY FULL;
BACKUP LOG b TO DISK = 'l4.trn';
GO
