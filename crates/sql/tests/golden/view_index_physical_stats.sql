CREATE DATABASE p;
USE p;
GO
CREATE TABLE k (a int NOT NULL PRIMARY KEY, b char(3000) NOT NULL);
CREATE INDEX ix ON k (a DESC);
CREATE TABLE h (a int NOT NULL, b varchar(4000) NOT NULL);
CREATE TABLE nothing (a int NOT NULL);
GO
SET NOCOUNT ON;
DECLARE @a int = 1;
WHILE @a <= 40
BEGIN
    INSERT k VALUES (@a * 10, 'row');
    INSERT h VALUES (@a, REPLICATE('x', 500));
    SET @a = @a + 1;
END;
GO
-- Loaded in the order of the key: nothing is out of order.
SELECT index_id, index_type_desc, index_depth, index_level, avg_fragmentation_in_percent, page_count, record_count
FROM sys.dm_db_index_physical_stats(DB_ID(), OBJECT_ID('k'), 1, NULL, NULL);
SELECT index_level, fragment_count, page_count, record_count, ghost_record_count, min_record_size_in_bytes AS least,
    max_record_size_in_bytes AS most, avg_record_size_in_bytes AS mean, forwarded_record_count AS stubs
FROM sys.dm_db_index_physical_stats(DB_ID(), OBJECT_ID('k'), 1, 1, 'DETAILED');
SELECT index_level, page_count, record_count FROM sys.dm_db_index_physical_stats(DB_ID(), OBJECT_ID('k'), 2, NULL, 'SAMPLED');
SELECT OBJECT_NAME(object_id) AS name, index_type_desc, alloc_unit_type_desc, index_depth, index_level, page_count, fragment_count
FROM sys.dm_db_index_physical_stats(DB_ID(), NULL, NULL, NULL, 'LIMITED') ORDER BY name, index_id;
GO
-- Rows in between split pages: what follows by key lies behind all others.
INSERT k SELECT a + 1, b FROM k WHERE a % 40 = 0;
SELECT index_level, avg_fragmentation_in_percent, fragment_count, page_count, record_count
FROM sys.dm_db_index_physical_stats(DB_ID(), OBJECT_ID('k'), 1, 1, 'DETAILED');
ALTER INDEX ALL ON k REBUILD;
SELECT index_level, avg_fragmentation_in_percent, fragment_count, page_count, record_count
FROM sys.dm_db_index_physical_stats(DB_ID(), OBJECT_ID('k'), 1, 1, 'DETAILED');
GO
-- Rows of a heap that outgrow their pages leave stubs.
UPDATE h SET b = REPLICATE('y', 3000) WHERE a % 4 = 0;
SELECT index_type_desc, index_depth, index_level, page_count, record_count, forwarded_record_count
FROM sys.dm_db_index_physical_stats(DB_ID(), OBJECT_ID('h'), 0, NULL, 'DETAILED');
SELECT forwarded_record_count FROM sys.dm_db_index_physical_stats(DB_ID(), OBJECT_ID('h'), 0, NULL, 'LIMITED');
GO
SELECT COUNT(*) FROM sys.dm_db_index_physical_stats(DB_ID(), OBJECT_ID('h'), 0, NULL, 'WHOLE');
GO
SELECT COUNT(*) FROM sys.dm_db_index_physical_stats(DB_ID(), OBJECT_ID('h'), 0, 2, NULL);
SELECT COUNT(*) FROM sys.dm_db_index_physical_stats(DB_ID(), OBJECT_ID('h'), 1, NULL, NULL);
GO
ALTER INDEX ALL ON k REORGANIZE;
GO
