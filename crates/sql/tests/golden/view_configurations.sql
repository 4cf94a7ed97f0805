SELECT configuration_id, name, value, minimum, maximum, value_in_use, description, is_dynamic, is_advanced
FROM sys.configurations WHERE name <> 'max server memory (MB)' ORDER BY configuration_id;
GO
EXEC sp_configure 'show advanced options', 1;
SELECT CAST(value AS int) AS value, CAST(value_in_use AS int) AS value_in_use FROM sys.configurations
WHERE name = 'show advanced options';
RECONFIGURE;
SELECT CAST(value AS int) AS value, CAST(value_in_use AS int) AS value_in_use FROM sys.configurations
WHERE name = 'show advanced options';
GO
