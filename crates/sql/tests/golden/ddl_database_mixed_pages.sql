CREATE DATABASE m;
SELECT is_mixed_page_allocation_on FROM sys.databases WHERE name IN ('m', 'tempdb');
ALTER DATABASE m SET MIXED_PAGE_ALLOCATION ON;
SELECT name, is_mixed_page_allocation_on FROM sys.databases WHERE name IN ('m', 'tempdb') ORDER BY name;
GO
ALTER DATABASE tempdb SET MIXED_PAGE_ALLOCATION ON;
GO
USE m;
GO
CREATE TABLE h (a int NOT NULL, b char(7000) NOT NULL);
INSERT h VALUES (1, 'a');
-- The smallest heap: an IAM page and a page of data.
SELECT page_type_desc, is_iam_page, is_allocated, is_mixed_page_allocation
FROM sys.dm_db_database_page_allocations(DB_ID(), OBJECT_ID('h'), NULL, NULL, 'DETAILED');
EXEC sp_spaceused 'h';
GO
INSERT h SELECT a + 1, b FROM h;
INSERT h SELECT a + 2, b FROM h;
INSERT h SELECT a + 4, b FROM h;
GO
-- Eight pages one by one; the ninth lies in an extent of its own.
SELECT is_mixed_page_allocation, COUNT(*) FROM sys.dm_db_database_page_allocations(DB_ID(), OBJECT_ID('h'), NULL, NULL, 'LIMITED')
WHERE is_iam_page = 0 GROUP BY is_mixed_page_allocation ORDER BY 1;
INSERT h VALUES (9, 'i');
SELECT is_mixed_page_allocation, is_allocated, COUNT(*) FROM sys.dm_db_database_page_allocations(DB_ID(), OBJECT_ID('h'), NULL, NULL, 'LIMITED')
WHERE is_iam_page = 0 GROUP BY is_mixed_page_allocation, is_allocated ORDER BY 1, 2;
EXEC sp_spaceused 'h';
GO
SELECT COUNT(*), SUM(a) FROM h;
-- Built on nine pages: extents only.
ALTER TABLE h REBUILD;
SELECT is_mixed_page_allocation, COUNT(*) FROM sys.dm_db_database_page_allocations(DB_ID(), OBJECT_ID('h'), NULL, NULL, 'LIMITED')
WHERE is_iam_page = 0 AND is_allocated = 1 GROUP BY is_mixed_page_allocation;
-- Empty again: one page.
TRUNCATE TABLE h;
INSERT h VALUES (1, 'a');
EXEC sp_spaceused 'h';
GO
CREATE TABLE k (a int NOT NULL PRIMARY KEY, b char(3000) NOT NULL);
INSERT k VALUES (1, 'a'), (2, 'b'), (3, 'c'), (4, 'd'), (5, 'e');
SELECT SUM(a) FROM k;
DBCC IND (0, 'h', 0) WITH NO_INFOMSGS;
DECLARE @before bigint = (SELECT SUM(mixed_extent_page_count) FROM sys.dm_db_file_space_usage);
DROP TABLE h, k;
WAITFOR DELAY '00:00:00.1';
SELECT CASE WHEN SUM(mixed_extent_page_count) <= @before THEN 'given back' END FROM sys.dm_db_file_space_usage;
GO
USE master;
ALTER DATABASE m SET OFFLINE;
ALTER DATABASE m SET ONLINE;
SELECT is_mixed_page_allocation_on FROM sys.databases WHERE name = 'm';
ALTER DATABASE m SET MIXED_PAGE_ALLOCATION OFF;
SELECT is_mixed_page_allocation_on FROM sys.databases WHERE name = 'm';
GO
