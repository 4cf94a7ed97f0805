-- masked
CREATE DATABASE b ON PRIMARY (NAME = b, FILENAME = 'b.mdf', SIZE = 8MB)
    LOG ON (NAME = b_log, FILENAME = 'b.ldf', SIZE = 2MB);
ALTER DATABASE b SET RECOVERY FULL;
GO
USE b;
CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(100));
CREATE TABLE quiet (id INT PRIMARY KEY, v CHAR(4000));
INSERT INTO t VALUES (1, 'before the full backup');
SET NOCOUNT ON;
DECLARE @i INT = 0;
WHILE @i < 200 BEGIN SET @i += 1; INSERT INTO quiet VALUES (@i, 'x'); END;
SET NOCOUNT OFF;
GO
USE master;
GO
-- Without a base there is no differential backup; COPY_ONLY is none.
BACKUP DATABASE b TO DISK = 'd0.bak' WITH DIFFERENTIAL;
BACKUP DATABASE b TO DISK = 'copy.bak' WITH COPY_ONLY;
BACKUP DATABASE b TO DISK = 'd0.bak' WITH DIFFERENTIAL;
GO
BACKUP DATABASE b TO DISK = 'full.bak';
GO
-- Little has changed now.
SELECT CASE WHEN modified_extent_page_count < allocated_extent_page_count / 2 THEN 'few' ELSE 'many' END AS changed
    FROM b.sys.dm_db_file_space_usage;
INSERT INTO b.dbo.t VALUES (2, 'in the first differential backup');
GO
BACKUP DATABASE b TO DISK = 'd1.bak' WITH DIFFERENTIAL, NAME = 'first';
INSERT INTO b.dbo.t VALUES (3, 'in the second differential backup');
-- Neither COPY_ONLY nor a differential backup changes the base.
BACKUP DATABASE b TO DISK = 'copy2.bak' WITH COPY_ONLY;
BACKUP DATABASE b TO DISK = 'd2a.bak', DISK = 'd2b.bak' WITH DIFFERENTIAL, COPY_ONLY, COMPRESSION;
INSERT INTO b.dbo.t VALUES (4, 'in the log backup');
BACKUP LOG b TO DISK = 'l.trn';
INSERT INTO b.dbo.t VALUES (5, 'in none');
GO
RESTORE DATABASE c FROM DISK = 'd1.bak';
RESTORE DATABASE b FROM DISK = 'd1.bak';
GO
RESTORE DATABASE c FROM DISK = 'full.bak' WITH NORECOVERY, MOVE 'b' TO 'c.mdf', MOVE 'b_log' TO 'c.ldf';
RESTORE DATABASE c FROM DISK = 'd1.bak' WITH NORECOVERY;
RESTORE DATABASE c FROM DISK = 'd2a.bak', DISK = 'd2b.bak' WITH NORECOVERY;
RESTORE DATABASE c FROM DISK = 'd1.bak' WITH NORECOVERY;
RESTORE LOG c FROM DISK = 'l.trn';
SELECT id FROM c.dbo.t ORDER BY id;
SELECT COUNT(*) FROM c.dbo.quiet;
GO
DBCC CHECKDB (c) WITH NO_INFOMSGS;
GO
-- The first one alone.
RESTORE DATABASE d FROM DISK = 'full.bak' WITH NORECOVERY, MOVE 'b' TO 'd.mdf', MOVE 'b_log' TO 'd.ldf';
RESTORE DATABASE d FROM DISK = 'd1.bak' WITH RECOVERY;
SELECT id FROM d.dbo.t ORDER BY id;
GO
-- A restored database goes on from its base.
INSERT INTO d.dbo.t VALUES (6, 'in the copy');
BACKUP DATABASE d TO DISK = 'dd.bak' WITH DIFFERENTIAL;
RESTORE DATABASE e FROM DISK = 'full.bak' WITH NORECOVERY, MOVE 'b' TO 'e.mdf', MOVE 'b_log' TO 'e.ldf';
RESTORE DATABASE e FROM DISK = 'dd.bak';
SELECT id FROM e.dbo.t ORDER BY id;
GO
-- Another full backup is another base; a COPY_ONLY backup is none.
BACKUP DATABASE b TO DISK = 'full2.bak';
BACKUP DATABASE b TO DISK = 'd3.bak' WITH DIFFERENTIAL;
RESTORE DATABASE f FROM DISK = 'full.bak' WITH NORECOVERY, MOVE 'b' TO 'f.mdf', MOVE 'b_log' TO 'f.ldf';
RESTORE DATABASE f FROM DISK = 'd3.bak';
RESTORE DATABASE f FROM DISK = 'copy2.bak' WITH NORECOVERY, MOVE 'b' TO 'f.mdf', MOVE 'b_log' TO 'f.ldf';
RESTORE DATABASE f FROM DISK = 'd2a.bak', DISK = 'd2b.bak';
RESTORE DATABASE f WITH RECOVERY;
BACKUP DATABASE f TO DISK = 'df.bak' WITH DIFFERENTIAL;
GO
-- What trace flags print.
DBCC TRACEON (3604, 3004, 3213);
BACKUP DATABASE b TO DISK = 'NUL', DISK = 'NUL' WITH COPY_ONLY, BUFFERCOUNT = 8, MAXTRANSFERSIZE = 131072, COMPRESSION;
GO
