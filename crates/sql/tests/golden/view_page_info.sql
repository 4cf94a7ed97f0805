CREATE TABLE t (a int NOT NULL, b char(2000) NOT NULL);
INSERT t VALUES (1, 'x'), (2, 'y'), (3, 'z');
GO
SELECT i.page_type, i.page_type_desc, i.page_level, i.slot_count, i.ghost_rec_count, i.is_iam_pg, i.is_mixed_ext,
    i.pfs_page_id, i.gam_page_id, i.gam_status, i.sgam_page_id, i.diff_map_page_id, i.ml_page_id, i.ml_status,
    i.free_bytes, i.free_data_offset, i.min_len, i.header_version, OBJECT_NAME(i.object_id) AS object, i.index_id
FROM sys.dm_db_database_page_allocations(DB_ID(), OBJECT_ID('t'), NULL, NULL, 'LIMITED') a
    CROSS APPLY sys.dm_db_page_info(a.database_id, a.allocated_page_file_id, a.allocated_page_page_id, 'LIMITED') i
WHERE a.is_iam_page = 0 AND a.is_allocated = 1;
SELECT i.page_type_desc, i.pfs_status, i.pfs_status_desc, i.pfs_alloc_percent, i.gam_status_desc, i.sgam_status_desc,
    i.ml_status_desc
FROM sys.dm_db_database_page_allocations(DB_ID(), OBJECT_ID('t'), NULL, NULL, 'LIMITED') a
    CROSS APPLY sys.dm_db_page_info(a.database_id, a.allocated_page_file_id, a.allocated_page_page_id, 'DETAILED') i
WHERE a.is_allocated = 1 ORDER BY i.page_type;
GO
SELECT page_id, page_type_desc, page_flag_bits_desc, gam_status_desc, diff_status_desc, pfs_status_desc
FROM sys.dm_db_page_info(DB_ID(), 1, 9, 'DETAILED');
SELECT page_id, page_type_desc, OBJECT_NAME(object_id) AS object FROM sys.dm_db_page_info(DB_ID(), 1, 1, DEFAULT);
SELECT COUNT(*) AS rows FROM sys.dm_db_page_info(DB_ID(), 1, 99999999, 'LIMITED');
SELECT COUNT(*) AS rows FROM sys.dm_db_page_info(DB_ID(), 2, 0, 'LIMITED');
GO
SELECT COUNT(*) AS rows FROM sys.dm_db_page_info(NULL, 1, 1, 'LIMITED');
GO
SELECT COUNT(*) AS rows FROM sys.dm_db_page_info(DB_ID(), 1, NULL, 'LIMITED');
GO
SELECT db_id, file_id, page_id FROM sys.fn_PageResCracker(0x0005000100000099);
SELECT COUNT(*) AS rows FROM sys.fn_PageResCracker(NULL);
GO
