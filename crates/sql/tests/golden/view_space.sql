CREATE TABLE t (a int NOT NULL CONSTRAINT pk PRIMARY KEY, b char(3000) NOT NULL, c int NULL);
CREATE INDEX ix ON t (c);
INSERT t VALUES (1, 'a', 1), (2, 'b', 2), (3, 'c', 3), (4, 'd', 4), (5, 'e', 5);
GO
SELECT i.name, p.index_id, p.partition_number, p.rows, p.data_compression_desc, a.type_desc, a.data_space_id,
    a.total_pages, a.used_pages, a.data_pages
FROM sys.partitions p JOIN sys.indexes i ON i.object_id = p.object_id AND i.index_id = p.index_id
    JOIN sys.allocation_units a ON a.container_id = p.hobt_id
WHERE p.object_id = OBJECT_ID('t') ORDER BY p.index_id;
SELECT index_id, in_row_data_page_count, in_row_used_page_count, in_row_reserved_page_count, used_page_count,
    reserved_page_count, row_count
FROM sys.dm_db_partition_stats WHERE object_id = OBJECT_ID('t') ORDER BY index_id;
SELECT a.index_id, a.page_type_desc, a.page_level, COUNT(*) AS pages
FROM sys.dm_db_database_page_allocations(DB_ID(), OBJECT_ID('t'), NULL, NULL, 'DETAILED') a
WHERE a.is_allocated = 1 GROUP BY a.index_id, a.page_type_desc, a.page_level ORDER BY 1, 2, 3;
SELECT d.page_type, SUM(d.row_count) AS rows, COUNT(*) AS pages
FROM sys.dm_os_buffer_descriptors d JOIN sys.allocation_units u ON u.allocation_unit_id = d.allocation_unit_id
    JOIN sys.partitions p ON p.hobt_id = u.container_id
WHERE d.database_id = DB_ID() AND p.object_id = OBJECT_ID('t') AND p.index_id = 1 GROUP BY d.page_type ORDER BY 1;
GO
