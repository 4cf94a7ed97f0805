-- masked
CREATE DATABASE b ON PRIMARY (NAME = b_data, FILENAME = 'b.mdf', SIZE = 4MB),
    FILEGROUP g (NAME = b_more, FILENAME = 'b_more.ndf', SIZE = 1MB)
    LOG ON (NAME = b_log, FILENAME = 'b.ldf', SIZE = 1MB);
GO
USE b;
CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(100));
CREATE TABLE far (id INT, v CHAR(2000)) ON g;
INSERT INTO t VALUES (1, 'one'), (2, 'two');
INSERT INTO far VALUES (1, 'x'), (2, 'y'), (3, 'z');
GO
USE master;
GO
BACKUP DATABASE b TO DISK = 'b1.bak', DISK = 'b2.bak' WITH NAME = 'first', DESCRIPTION = 'two stripes', CHECKSUM;
GO
RESTORE VERIFYONLY FROM DISK = 'b2.bak', DISK = 'b1.bak';
GO
-- Another copy beside the first.
RESTORE DATABASE c FROM DISK = 'b2.bak', DISK = 'b1.bak'
    WITH MOVE 'b_data' TO 'c.mdf', MOVE 'B_MORE' TO 'c_more.ndf', MOVE 'b_log' TO 'c.ldf', STATS = 50;
GO
SELECT * FROM c.dbo.t ORDER BY id;
SELECT COUNT(*) FROM c.dbo.far;
SELECT name, physical_name FROM c.sys.database_files ORDER BY file_id;
INSERT INTO c.dbo.t VALUES (3, 'three');
SELECT name, state_desc FROM sys.databases WHERE name IN ('b', 'c') ORDER BY name;
GO
-- Restoring over it needs nobody in it, and REPLACE for another database.
RESTORE DATABASE c FROM DISK = 'b1.bak', DISK = 'b2.bak' WITH REPLACE,
    MOVE 'b_data' TO 'c.mdf', MOVE 'b_more' TO 'c_more.ndf', MOVE 'b_log' TO 'c.ldf';
SELECT COUNT(*) FROM c.dbo.t;
GO
CREATE DATABASE other;
GO
RESTORE DATABASE other FROM DISK = 'b1.bak', DISK = 'b2.bak';
GO
-- Appended, and written over.
BACKUP DATABASE b TO DISK = 'b1.bak', DISK = 'b2.bak' WITH NAME = 'second';
RESTORE VERIFYONLY FROM DISK = 'b1.bak', DISK = 'b2.bak' WITH FILE = 2;
RESTORE VERIFYONLY FROM DISK = 'b1.bak', DISK = 'b2.bak' WITH FILE = 3;
BACKUP DATABASE b TO DISK = 'b1.bak', DISK = 'b2.bak' WITH INIT, NAME = 'third', STATS;
RESTORE VERIFYONLY FROM DISK = 'b1.bak', DISK = 'b2.bak' WITH FILE = 2;
GO
-- Compressed.
BACKUP DATABASE b TO DISK = 'b1.bak', DISK = 'b2.bak' WITH COMPRESSION;
BACKUP DATABASE b TO DISK = 'z1.bak', DISK = 'z2.bak', DISK = 'z3.bak' WITH COMPRESSION (ALGORITHM = ZSTD, LEVEL = LOW);
BACKUP DATABASE b TO DISK = 'l.bak' WITH COMPRESSION, BUFFERCOUNT = 3, MAXTRANSFERSIZE = 65536;
RESTORE DATABASE d FROM DISK = 'z3.bak', DISK = 'z1.bak', DISK = 'z2.bak'
    WITH MOVE 'b_data' TO 'd.mdf', MOVE 'b_more' TO 'd_more.ndf', MOVE 'b_log' TO 'd.ldf';
SELECT * FROM d.dbo.t ORDER BY id;
RESTORE DATABASE e FROM DISK = 'l.bak'
    WITH MOVE 'b_data' TO 'e.mdf', MOVE 'b_more' TO 'e_more.ndf', MOVE 'b_log' TO 'e.ldf', NORECOVERY;
SELECT name, state_desc FROM sys.databases WHERE name = 'e';
GO
USE e;
GO
RESTORE DATABASE e WITH RECOVERY;
SELECT COUNT(*) FROM e.dbo.far;
RESTORE DATABASE e WITH RECOVERY;
BACKUP DATABASE b TO DISK = 'NUL' WITH COPY_ONLY;
GO
-- What is refused.
RESTORE DATABASE x FROM DISK = 'b1.bak' WITH MOVE 'b_data' TO 'x.mdf';
RESTORE DATABASE x FROM DISK = 'b1.bak', DISK = 'b1.bak';
RESTORE DATABASE x FROM DISK = 'b1.bak', DISK = 'z2.bak';
RESTORE DATABASE x FROM DISK = 'none.bak';
RESTORE DATABASE x FROM DISK = 'b1.bak', DISK = 'b2.bak' WITH MOVE 'nofile' TO 'x.mdf';
RESTORE DATABASE x FROM DISK = 'b1.bak', DISK = 'b2.bak' WITH MOVE 'b_data' TO 'x', MOVE 'b_more' TO 'x';
RESTORE DATABASE x FROM DISK = 'b1.bak', DISK = 'b2.bak';
RESTORE DATABASE x FROM DISK = 'b.mdf';
RESTORE HEADERONLY FROM DISK = 'NUL';
BACKUP DATABASE b TO DISK = 'b1.bak' WITH NOINIT;
BACKUP DATABASE b TO DISK = 'b1.bak', DISK = 'NUL';
BACKUP DATABASE b TO DISK = 'q.bak' WITH INIT, NOINIT;
BACKUP DATABASE b TO DISK = 'q.bak' WITH BLOCKSIZE = 1000;
BACKUP DATABASE b TO DISK = 'q.bak' WITH MAXTRANSFERSIZE = 100000;
BACKUP DATABASE b TO DISK = 'q.bak' WITH BUFFERCOUNT = 0;
BACKUP DATABASE b TO DISK = 'q.bak' WITH STATS = 101;
BACKUP DATABASE nodb TO DISK = 'q.bak';
BACKUP DATABASE tempdb TO DISK = 'q.bak';
BACKUP DATABASE b TO nodevice;
GO
BEGIN TRANSACTION;
BACKUP DATABASE b TO DISK = 'q.bak';
ROLLBACK;
GO
USE c;
GO
RESTORE DATABASE c FROM DISK = 'b1.bak', DISK = 'b2.bak' WITH REPLACE;
GO
USE master;
DROP DATABASE c;
DROP DATABASE d;
GO
