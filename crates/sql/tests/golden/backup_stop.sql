-- masked
CREATE DATABASE b;
ALTER DATABASE b SET RECOVERY FULL;
GO
USE b;
CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(100));
INSERT INTO t VALUES (1, 'before the full backup');
GO
USE master;
BACKUP DATABASE b TO DISK = 'full.bak';
GO
-- A time between two commits.
INSERT INTO b.dbo.t VALUES (2, 'in time');
WAITFOR DELAY '00:00:00.020';
DECLARE @t DATETIME2 = SYSDATETIME();
WAITFOR DELAY '00:00:00.020';
INSERT INTO b.dbo.t VALUES (3, 'too late');
BACKUP LOG b TO DISK = 'l1.trn';
INSERT INTO b.dbo.t VALUES (4, 'later still');
BACKUP LOG b TO DISK = 'l2.trn';
RESTORE DATABASE c FROM DISK = 'full.bak' WITH NORECOVERY, MOVE 'b' TO 'c.mdf', MOVE 'b_log' TO 'c.ldf', STOPAT = @t;
RESTORE LOG c FROM DISK = 'l1.trn' WITH RECOVERY, STOPAT = @t;
SELECT id FROM c.dbo.t ORDER BY id;
DROP DATABASE c;
-- The point is not in the first log backup.
DECLARE @later DATETIME2 = DATEADD(HOUR, 1, @t);
RESTORE DATABASE c FROM DISK = 'full.bak' WITH RECOVERY, MOVE 'b' TO 'c.mdf', MOVE 'b_log' TO 'c.ldf', STOPAT = @later;
RESTORE LOG c FROM DISK = 'l1.trn' WITH RECOVERY, STOPAT = @later;
SELECT state_desc FROM sys.databases WHERE name = 'c';
RESTORE LOG c FROM DISK = 'l1.trn' WITH STOPAT = @t;
RESTORE LOG c FROM DISK = 'l2.trn' WITH RECOVERY;
SELECT id FROM c.dbo.t ORDER BY id;
DROP DATABASE c;
GO
-- Marks.
BEGIN TRANSACTION price WITH MARK 'prices of autumn';
INSERT INTO b.dbo.t VALUES (5, 'marked');
BEGIN TRANSACTION inner_one WITH MARK;
COMMIT;
COMMIT;
INSERT INTO b.dbo.t VALUES (6, 'behind the mark');
BACKUP LOG b TO DISK = 'l3.trn';
RESTORE DATABASE c FROM DISK = 'full.bak' WITH NORECOVERY, MOVE 'b' TO 'c.mdf', MOVE 'b_log' TO 'c.ldf';
RESTORE LOG c FROM DISK = 'l1.trn' WITH NORECOVERY, STOPATMARK = 'price';
RESTORE LOG c FROM DISK = 'l2.trn' WITH NORECOVERY, STOPATMARK = 'price';
RESTORE LOG c FROM DISK = 'l3.trn' WITH RECOVERY, STOPATMARK = 'price' AFTER '2020-01-01T00:00:00';
SELECT id FROM c.dbo.t ORDER BY id;
DROP DATABASE c;
RESTORE DATABASE c FROM DISK = 'full.bak' WITH NORECOVERY, MOVE 'b' TO 'c.mdf', MOVE 'b_log' TO 'c.ldf';
RESTORE LOG c FROM DISK = 'l1.trn' WITH NORECOVERY;
RESTORE LOG c FROM DISK = 'l2.trn' WITH NORECOVERY;
RESTORE LOG c FROM DISK = 'l3.trn' WITH RECOVERY, STOPBEFOREMARK = 'price';
SELECT id FROM c.dbo.t ORDER BY id;
DROP DATABASE c;
GO
-- What is refused.
RESTORE DATABASE c FROM DISK = 'full.bak' WITH MOVE 'b' TO 'c.mdf', MOVE 'b_log' TO 'c.ldf', STOPAT = '2001-01-01';
RESTORE DATABASE c FROM DISK = 'full.bak' WITH MOVE 'b' TO 'c.mdf', MOVE 'b_log' TO 'c.ldf', STOPATMARK = 'price';
RESTORE DATABASE c FROM DISK = 'full.bak' WITH MOVE 'b' TO 'c.mdf', MOVE 'b_log' TO 'c.ldf', STOPAT = 'yesterday';
RESTORE DATABASE c FROM DISK = 'full.bak' WITH STOPATMARK = 'lsn:none';
RESTORE DATABASE c FROM DISK = 'full.bak' WITH STOPAT = '2030-01-01', STOPATMARK = 'price' AFTER '2030-01-01';
CREATE DATABASE s;
BACKUP DATABASE s TO DISK = 's.bak';
RESTORE DATABASE r FROM DISK = 's.bak' WITH MOVE 's' TO 'r.mdf', MOVE 's_log' TO 'r.ldf', STOPAT = '2030-01-01';
GO
-- Recovery begins a fork: the log of the copy goes on where the copy stopped, and nowhere else.
DROP DATABASE IF EXISTS c;
DROP DATABASE IF EXISTS d;
BACKUP LOG b TO DISK = 'f0.trn';
CREATE TABLE b.dbo.moment (at DATETIME2);
INSERT INTO b.dbo.moment SELECT SYSDATETIME();
WAITFOR DELAY '00:00:00.020';
INSERT INTO b.dbo.t VALUES (50, 'left behind by the copy');
BACKUP LOG b TO DISK = 'f1.trn';
RESTORE DATABASE c FROM DISK = 'full.bak' WITH NORECOVERY, MOVE 'b' TO 'c.mdf', MOVE 'b_log' TO 'c.ldf';
RESTORE LOG c FROM DISK = 'l1.trn' WITH NORECOVERY;
RESTORE LOG c FROM DISK = 'l2.trn' WITH NORECOVERY;
RESTORE LOG c FROM DISK = 'l3.trn' WITH NORECOVERY;
RESTORE LOG c FROM DISK = 'f0.trn' WITH NORECOVERY;
DECLARE @at DATETIME2 = (SELECT DATEADD(MILLISECOND, 10, at) FROM b.dbo.moment);
RESTORE LOG c FROM DISK = 'f1.trn' WITH RECOVERY, STOPAT = @at;
INSERT INTO c.dbo.t VALUES (60, 'another way');
BACKUP LOG c TO DISK = 'c1.trn';
RESTORE DATABASE d FROM DISK = 'full.bak' WITH NORECOVERY, MOVE 'b' TO 'd.mdf', MOVE 'b_log' TO 'd.ldf';
RESTORE LOG d FROM DISK = 'l1.trn' WITH NORECOVERY;
RESTORE LOG d FROM DISK = 'l2.trn' WITH NORECOVERY;
RESTORE LOG d FROM DISK = 'l3.trn' WITH NORECOVERY;
RESTORE LOG d FROM DISK = 'f0.trn' WITH NORECOVERY;
RESTORE LOG d FROM DISK = 'f1.trn' WITH NORECOVERY, STOPAT = @at;
RESTORE LOG d FROM DISK = 'c1.trn' WITH RECOVERY;
SELECT id FROM d.dbo.t WHERE id >= 50;
SELECT CASE WHEN l.last_recovery_fork_guid = f.last_recovery_fork_guid THEN 'same' ELSE 'another' END AS fork
    FROM msdb.dbo.backupset l JOIN msdb.dbo.backupset f ON f.database_name = 'b' AND f.type = 'D'
    WHERE l.database_name = 'c' AND l.type = 'L';
DROP DATABASE d;
RESTORE DATABASE d FROM DISK = 'full.bak' WITH NORECOVERY, MOVE 'b' TO 'd.mdf', MOVE 'b_log' TO 'd.ldf';
RESTORE LOG d FROM DISK = 'l1.trn' WITH NORECOVERY;
RESTORE LOG d FROM DISK = 'l2.trn' WITH NORECOVERY;
RESTORE LOG d FROM DISK = 'l3.trn' WITH NORECOVERY;
RESTORE LOG d FROM DISK = 'f0.trn' WITH NORECOVERY;
RESTORE LOG d FROM DISK = 'f1.trn' WITH NORECOVERY;
RESTORE LOG d FROM DISK = 'c1.trn' WITH NORECOVERY;
RESTORE DATABASE d WITH RECOVERY;
SELECT id FROM d.dbo.t WHERE id >= 50;
GO
