SELECT COUNT(*) AS machines, MIN(IIF(cpu_count > 0, 1, 0)) AS has_cpus, MIN(IIF(sqlserver_start_time <= GETUTCDATE(), 1, 0)) AS has_started
FROM sys.dm_os_sys_info;
SELECT v.database_id, v.file_id, IIF(v.available_bytes BETWEEN 0 AND v.total_bytes, 1, 0) AS fits
FROM sys.master_files AS f CROSS APPLY sys.dm_os_volume_stats(f.database_id, f.file_id) AS v WHERE f.database_id = 1 ORDER BY v.file_id;
SELECT COUNT(*) AS none FROM sys.dm_os_volume_stats(1, 99);
SELECT name, principal_id, type, type_desc, is_fixed_role FROM sys.server_principals ORDER BY principal_id;
SELECT name, principal_id, type, default_schema_name, is_fixed_role, authentication_type_desc FROM sys.database_principals ORDER BY principal_id;
GO
-- Open transactions.
SELECT COUNT(*) AS open_transactions FROM sys.dm_tran_active_transactions;
CREATE TABLE t (id int NOT NULL CONSTRAINT pk_t PRIMARY KEY, a int NOT NULL, b int NULL);
CREATE INDEX by_two ON t (b DESC, a);
BEGIN TRANSACTION;
BEGIN TRANSACTION;
INSERT t VALUES (1, 1, 1);
SELECT s.open_transaction_count, s.is_user_transaction, a.name, a.transaction_type, a.transaction_state,
  IIF(a.transaction_begin_time <= GETUTCDATE(), 1, 0) AS has_begun
FROM sys.dm_tran_session_transactions AS s JOIN sys.dm_tran_active_transactions AS a ON a.transaction_id = s.transaction_id
WHERE s.session_id = @@SPID AND s.transaction_id > 0;
SELECT IIF(s.transaction_id = r.transaction_id, 1, 0) AS same FROM sys.dm_tran_session_transactions AS s
JOIN sys.dm_exec_requests AS r ON r.session_id = s.session_id;
SELECT spid - @@SPID AS own, blocked, open_tran, RTRIM(status) AS status, RTRIM(cmd) AS cmd, RTRIM(loginame) AS login, DB_NAME(dbid) AS db
FROM sys.sysprocesses WHERE spid = @@SPID;
ROLLBACK;
GO
SELECT s.name, s.stats_id, c.stats_column_id, COL_NAME(c.object_id, c.column_id) AS [column] FROM sys.stats AS s
JOIN sys.stats_columns AS c ON c.object_id = s.object_id AND c.stats_id = s.stats_id
WHERE s.object_id = OBJECT_ID('t') ORDER BY s.stats_id, c.stats_column_id;
GO
CREATE PROCEDURE p @n int AS SELECT @n AS n;
GO
SELECT ROUTINE_CATALOG, ROUTINE_SCHEMA, ROUTINE_NAME, ROUTINE_TYPE, DATA_TYPE, ROUTINE_DEFINITION, IS_DETERMINISTIC FROM INFORMATION_SCHEMA.ROUTINES;
GO
SELECT SUSER_ID() AS login, SUSER_ID('nobody') AS none, SUSER_SID() AS sid, USER_ID() AS [user], USER_ID('guest') AS guest,
  USER_ID('db_owner') AS role, DATABASE_PRINCIPAL_ID('db_owner') AS principal, DATABASE_PRINCIPAL_ID() AS own;
SELECT CONNECTIONPROPERTY('net_transport') AS transport, CONNECTIONPROPERTY('local_tcp_port') AS port,
  FILEGROUPPROPERTY('PRIMARY', 'IsDefault') AS is_default, FILEGROUPPROPERTY('PRIMARY', 'IsUserDefinedFG') AS is_own,
  FILEGROUPPROPERTY('nowhere', 'IsDefault') AS none, STATS_DATE(OBJECT_ID('t'), 1) AS stats;
SELECT IIF(m.total_physical_memory_kb >= m.available_physical_memory_kb AND p.physical_memory_in_use_kb > 0, 1, 0) AS fits
FROM sys.dm_os_sys_memory AS m CROSS JOIN sys.dm_os_process_memory AS p;
SELECT COUNT(host_platform) AS hosts FROM sys.dm_os_host_info;
SELECT message_id, language_id, severity, text FROM sys.messages WHERE message_id IN (208, 8153) ORDER BY message_id;
SELECT (SELECT COUNT(*) FROM sys.triggers) + (SELECT COUNT(*) FROM sys.synonyms) + (SELECT COUNT(*) FROM sys.sequences)
  + (SELECT COUNT(*) FROM sys.extended_properties) AS none;
GO
