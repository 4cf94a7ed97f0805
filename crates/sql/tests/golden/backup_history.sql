-- masked
CREATE DATABASE h;
GO
ALTER DATABASE h SET RECOVERY FULL;
GO
CREATE TABLE h.dbo.t (id INT PRIMARY KEY);
INSERT INTO h.dbo.t VALUES (1), (2);
GO
BACKUP DATABASE h TO DISK = 'h1.bak', DISK = 'h2.bak' WITH COMPRESSION, NAME = 'full', MEDIANAME = 'media', DESCRIPTION = 'all of it';
BACKUP LOG h TO DISK = 'h.trn' WITH THROTTLE = 500;
BACKUP DATABASE h TO DISK = 'h.dif' WITH DIFFERENTIAL, THROTTLE = 0, NAME = 'diff';
BACKUP DATABASE h TO DISK = 'h.dif' WITH COPY_ONLY, NAME = 'second set';
GO
RESTORE DATABASE g FROM DISK = 'h1.bak', DISK = 'h2.bak' WITH NORECOVERY, MOVE 'h' TO 'g.mdf', MOVE 'h_log' TO 'g.ldf';
RESTORE LOG g FROM DISK = 'h.trn' WITH RECOVERY;
GO
SELECT database_name, name, description, type, position, recovery_model, is_copy_only, has_backup_checksums, last_family_number,
    CASE WHEN backup_finish_date >= backup_start_date THEN 'yes' END AS ended
FROM msdb.dbo.backupset ORDER BY backup_set_id;
SELECT s.name, m.name, m.media_family_count, m.is_compressed, m.is_encrypted, f.family_sequence_number, f.device_type
FROM msdb.dbo.backupset s
JOIN msdb.dbo.backupmediaset m ON m.media_set_id = s.media_set_id
JOIN msdb.dbo.backupmediafamily f ON f.media_set_id = m.media_set_id
ORDER BY s.backup_set_id, f.family_sequence_number;
SELECT backup_set_id, file_number, logical_name, file_type, filegroup_name FROM msdb.dbo.backupfile ORDER BY 1, 2;
-- The differential backup is of the full one.
SELECT COUNT(*) FROM msdb.dbo.backupset f JOIN msdb.dbo.backupset d ON d.differential_base_guid = f.backup_set_uuid
    AND d.differential_base_lsn = f.checkpoint_lsn WHERE f.type = 'D' AND d.type = 'I';
-- The log backup goes on where the full one ends, or before.
SELECT COUNT(*) FROM msdb.dbo.backupset f JOIN msdb.dbo.backupset l ON l.first_lsn <= f.last_lsn + 1
    AND l.last_lsn >= f.last_lsn WHERE f.name = 'full' AND l.type = 'L';
SELECT destination_database_name, backup_set_id, restore_type, replace, recovery, device_count
FROM msdb.dbo.restorehistory ORDER BY restore_history_id;
SELECT restore_history_id, file_number FROM msdb.dbo.restorefile ORDER BY 1, 2;
SELECT COUNT(*) FROM msdb.dbo.suspect_pages;
GO
EXEC msdb.dbo.sp_delete_database_backuphistory @database_name = N'nothing';
SELECT COUNT(*) FROM msdb.dbo.backupset;
EXEC msdb.dbo.sp_delete_backuphistory @oldest_date = '2001-01-01';
SELECT COUNT(*) FROM msdb.dbo.backupset;
EXEC msdb.dbo.sp_delete_database_backuphistory @database_name = N'h';
SELECT (SELECT COUNT(*) FROM msdb.dbo.backupset) AS sets, (SELECT COUNT(*) FROM msdb.dbo.backupmediaset) AS media,
    (SELECT COUNT(*) FROM msdb.dbo.backupmediafamily) AS families, (SELECT COUNT(*) FROM msdb.dbo.backupfile) AS files,
    (SELECT COUNT(*) FROM msdb.dbo.restorehistory) AS restores, (SELECT COUNT(*) FROM msdb.dbo.restorefile) AS placed;
GO
-- A restore brings the set back.
RESTORE DATABASE k FROM DISK = 'h1.bak', DISK = 'h2.bak' WITH MOVE 'h' TO 'k.mdf', MOVE 'h_log' TO 'k.ldf';
SELECT name, type FROM msdb.dbo.backupset;
RESTORE VERIFYONLY FROM DISK = 'h.dif' WITH FILE = 2;
SELECT COUNT(*) FROM msdb.dbo.backupset;
RESTORE VERIFYONLY FROM DISK = 'h.dif' WITH FILE = 2, LOADHISTORY;
SELECT name, type, position FROM msdb.dbo.backupset ORDER BY backup_set_id;
SELECT DB_ID('msdb') AS id;
DROP DATABASE msdb;
GO
-- What is refused.
BACKUP DATABASE h TO DISK = 'e.bak' WITH ENCRYPTION (ALGORITHM = AES_256, SERVER CERTIFICATE = nokey);
BACKUP DATABASE h TO DISK = 'e.bak' WITH ENCRYPTION (ALGORITHM = AES_128, SERVER CERTIFICATE = nokey);
GO
BACKUP DATABASE h TO DISK = 'e.bak' WITH ENCRYPTION (ALGORITHM = ROT13, SERVER CERTIFICATE = nokey);
BACKUP DATABASE h TO DISK = 'e.bak' WITH ENCRYPTION (ALGORITHM = AES_256);
BACKUP DATABASE h TO DISK = 'e.bak' WITH THROTTLE = 5000000000;
BACKUP DATABASE h TO DISK = 'e.bak' WITH PASSWORD = 'p';
BACKUP DATABASE h TO DISK = 'e.bak' WITH MEDIAPASSWORD = 'p';
RESTORE DATABASE h FROM DISK = 'h1.bak', DISK = 'h2.bak' WITH PASSWORD = 'p';
GO
BACKUP DATABASE h TO DISK = 'e.bak' WITH FROBNICATE;
GO
DROP DATABASE g;
DROP DATABASE k;
DROP DATABASE h;
GO
