-- The files of tempdb, and what ALTER DATABASE does to them.
SELECT file_id, name, type_desc FROM tempdb.sys.database_files ORDER BY file_id
SELECT name, is_autogrow_all_files FROM tempdb.sys.filegroups
GO
ALTER DATABASE tempdb ADD FILEGROUP fg
GO
CREATE TABLE #t (i int)
INSERT #t VALUES (1), (2)
BEGIN TRAN
DELETE #t
ROLLBACK
SELECT COUNT(*) AS n FROM #t
DROP TABLE #t
GO
ALTER DATABASE tempdb ADD FILE (NAME = 'temp2', FILENAME = 'tempdb2.ndf', SIZE = 1MB, FILEGROWTH = 1MB)
ALTER DATABASE tempdb MODIFY FILE (NAME = 'tempdev', SIZE = 6MB)
SELECT file_id, name, size FROM tempdb.sys.database_files ORDER BY file_id
GO
ALTER DATABASE tempdb REMOVE FILE temp2
SELECT file_id, name FROM tempdb.sys.database_files ORDER BY file_id
GO
