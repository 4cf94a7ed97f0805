SELECT name, database_id, state_desc, recovery_model, recovery_model_desc, page_verify_option_desc, collation_name,
    user_access_desc, is_read_only, log_reuse_wait, target_recovery_time_in_seconds, containment_desc
FROM sys.databases;
SELECT file_id, type, type_desc, data_space_id, name, state_desc, size, max_size, growth, is_percent_growth
FROM sys.database_files;
SELECT DB_NAME(database_id) AS db, file_id, name, type_desc FROM sys.master_files;
SELECT name, data_space_id, type, type_desc, is_default, is_system, is_read_only, is_autogrow_all_files
FROM sys.filegroups;
SELECT name, data_space_id, type, type_desc, is_default FROM sys.data_spaces;
SELECT fileid, groupid, size, maxsize, growth, name FROM sysfiles;
SELECT name FROM sysdatabases;
SELECT file_id, filegroup_id, total_page_count - allocated_extent_page_count - unallocated_extent_page_count AS rest,
    user_object_reserved_page_count, version_store_reserved_page_count
FROM sys.dm_db_file_space_usage;
SELECT database_id, file_id, CASE WHEN size_on_disk_bytes > 0 THEN 1 ELSE 0 END AS has_size,
    CASE WHEN num_of_writes > 0 AND num_of_bytes_written >= 8192 * num_of_writes THEN 1 ELSE 0 END AS written
FROM sys.dm_io_virtual_file_stats(DB_ID(), NULL);
SELECT COUNT(DISTINCT database_id) AS databases FROM sys.dm_io_virtual_file_stats(NULL, NULL);
SELECT MIN(file_id) AS file_id, MIN(vlf_begin_offset) AS first, SUM(CAST(vlf_active AS int)) AS active
FROM sys.dm_db_log_info(NULL);
GO
