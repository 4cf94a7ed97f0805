SELECT request_id, status, command, DB_NAME(database_id) AS db, user_id, blocking_session_id, wait_type, wait_time,
    wait_resource, open_transaction_count, open_resultset_count, percent_complete, nest_level, dop, page_resource
FROM sys.dm_exec_requests WHERE session_id = @@SPID;
GO
CREATE TABLE t (n int);
GO
CREATE PROCEDURE p AS
INSERT t SELECT nest_level FROM sys.dm_exec_requests WHERE session_id = @@SPID;
GO
EXEC p;
EXEC ('EXEC p');
SELECT n FROM t ORDER BY n;
GO
BEGIN TRANSACTION;
UPDATE t SET n = n;
SELECT CASE WHEN r.transaction_id = l.request_owner_id THEN 'the same' ELSE 'another' END AS owner,
    r.open_transaction_count
FROM sys.dm_exec_requests r JOIN (SELECT TOP (1) * FROM sys.dm_tran_locks WHERE request_session_id = @@SPID) l
    ON l.request_session_id = r.session_id;
COMMIT;
GO
SELECT COUNT(*) AS running FROM sys.dm_exec_requests WHERE session_id > 50;
SELECT DISTINCT status FROM sys.dm_exec_requests WHERE session_id <= 50;
GO
