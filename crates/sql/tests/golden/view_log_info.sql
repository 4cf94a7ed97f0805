SELECT DB_NAME(database_id) AS db, file_id, vlf_begin_offset, vlf_size_mb, vlf_active, vlf_status, vlf_parity, vlf_create_lsn
FROM sys.dm_db_log_info(DB_ID());
SELECT COUNT(*) AS rows FROM sys.dm_db_log_info(999);
DBCC LOGINFO WITH NO_INFOMSGS;
SELECT CASE WHEN total_log_size_in_bytes > used_log_space_in_bytes THEN 'room' ELSE 'full' END AS log,
    CASE WHEN used_log_space_in_percent BETWEEN 0 AND 100 THEN 'percent' END AS used
FROM sys.dm_db_log_space_usage;
GO
