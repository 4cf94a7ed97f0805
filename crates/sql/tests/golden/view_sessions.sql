SELECT status, host_name, program_name, login_name, original_login_name, is_user_process, DB_NAME(database_id) AS db,
    open_transaction_count, security_id, endpoint_id, client_version, authenticating_database_id
FROM sys.dm_exec_sessions WHERE session_id = @@SPID;
SELECT text_size, language, date_format, date_first, quoted_identifier, arithabort, ansi_null_dflt_on, ansi_defaults,
    ansi_warnings, ansi_padding, ansi_nulls, concat_null_yields_null, transaction_isolation_level, lock_timeout,
    deadlock_priority
FROM sys.dm_exec_sessions WHERE session_id = @@SPID;
GO
SET TRANSACTION ISOLATION LEVEL SERIALIZABLE;
SET LOCK_TIMEOUT 1500;
SET DEADLOCK_PRIORITY HIGH;
SET DATEFIRST 1;
SET DATEFORMAT ymd;
SET QUOTED_IDENTIFIER OFF;
BEGIN TRANSACTION;
BEGIN TRANSACTION;
SELECT date_format, date_first, quoted_identifier, transaction_isolation_level, lock_timeout, deadlock_priority,
    open_transaction_count
FROM sys.dm_exec_sessions WHERE session_id = @@SPID;
ROLLBACK;
SELECT open_transaction_count FROM sys.dm_exec_sessions WHERE session_id = @@SPID;
GO
SELECT CASE WHEN DATEDIFF(MINUTE, login_time, GETDATE()) = 0 THEN 'now' ELSE 'never' END AS login,
    CASE WHEN last_request_start_time >= last_request_end_time THEN 'running' ELSE 'ended' END AS last,
    CASE WHEN logical_reads > 0 THEN 'some' ELSE 'none' END AS logical_reads, reads,
    CASE WHEN cpu_time <= total_elapsed_time + 1 THEN 'less than passed' ELSE 'more' END AS cpu
FROM sys.dm_exec_sessions WHERE session_id = @@SPID;
GO
SELECT COUNT(*) AS users FROM sys.dm_exec_sessions WHERE is_user_process = 1;
SELECT CASE WHEN COUNT(*) > 0 THEN 'some' ELSE 'none' END AS of_the_system, MAX(session_id) / 51 AS beyond_50
FROM sys.dm_exec_sessions WHERE is_user_process = 0;
GO
SELECT 1/0;
GO
SELECT prev_error FROM sys.dm_exec_sessions WHERE session_id = @@SPID;
GO
