-- Gauges of the pool are those of the moment; sys.databases has the columns of its documentation.
CREATE DATABASE d;
GO
CREATE TABLE d.dbo.t (a int);
INSERT d.dbo.t VALUES (1);
SELECT CASE WHEN c.cntr_value > 0 AND c.cntr_value >= (SELECT COUNT(*) FROM sys.dm_os_buffer_descriptors) / 2 THEN 'counted' END AS pages
FROM sys.dm_os_performance_counters AS c WHERE c.counter_name = 'Database pages';
SELECT CASE WHEN r.cntr_value > 0 AND b.cntr_value >= r.cntr_value THEN 'counted' END AS hits
FROM sys.dm_os_performance_counters AS r CROSS JOIN sys.dm_os_performance_counters AS b
WHERE r.counter_name = 'Buffer cache hit ratio' AND b.counter_name = 'Buffer cache hit ratio base';
SELECT CASE WHEN cntr_value BETWEEN 1 AND 100 THEN 'counted' END AS log FROM sys.dm_os_performance_counters
WHERE counter_name = 'Percent Log Used' AND instance_name = '_Total';
SELECT name, replica_id, group_database_id, resource_pool_id, default_language_name, is_federation_member, catalog_collation_type_desc,
    physical_database_name, is_accelerated_database_recovery_on FROM sys.databases WHERE name = 'd';
GO
USE d;
SELECT resource_type, request_mode, request_status, request_owner_type FROM sys.dm_tran_locks WHERE request_session_id = @@SPID;
GO
