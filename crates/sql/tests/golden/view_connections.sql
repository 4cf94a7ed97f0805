SELECT net_transport, protocol_type, protocol_version, endpoint_id, encrypt_option, auth_scheme, client_net_address,
    client_tcp_port, local_tcp_port, parent_connection_id
FROM sys.dm_exec_connections WHERE session_id = @@SPID;
SELECT COUNT(*) AS rows, COUNT(DISTINCT connection_id) AS ids FROM sys.dm_exec_connections;
SELECT CASE WHEN r.connection_id = c.connection_id THEN 'the same' ELSE 'another' END AS connection
FROM sys.dm_exec_requests r JOIN sys.dm_exec_connections c ON c.session_id = r.session_id
WHERE r.session_id = @@SPID;
GO
SELECT event_type, parameters, event_info FROM sys.dm_exec_input_buffer(@@SPID, 0);
GO
SELECT COUNT(*) AS rows FROM sys.dm_exec_input_buffer(999, 0);
SELECT t.dbid, t.encrypted, t.text FROM sys.dm_exec_requests r CROSS APPLY sys.dm_exec_sql_text(r.sql_handle) t
WHERE r.session_id = @@SPID;
SELECT COUNT(*) AS rows FROM sys.dm_exec_sql_text(0x02);
GO
