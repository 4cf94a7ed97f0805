EXEC sp_configure;
GO
EXEC sp_configure 'show advanced options', 1;
EXEC sp_configure 'show advanced options';
RECONFIGURE;
EXEC sp_configure 'show advanced';
GO
CREATE TABLE #c (name nvarchar(35), minimum int, maximum int, config_value int, run_value int);
INSERT #c EXEC sp_configure;
SELECT name, minimum, maximum, CASE name WHEN 'max server memory (MB)' THEN -1 ELSE config_value END AS config_value
FROM #c;
GO
EXEC sp_configure 'recovery interval', 5;
EXEC sp_configure 'recovery interval (min)';
RECONFIGURE WITH OVERRIDE;
EXEC sp_configure 'recovery interval (min)';
GO
EXEC sp_configure 'recovery interval (min)', 40000;
GO
EXEC sp_configure 'nosuch';
GO
EXEC sp_configure 'e';
GO
EXEC sp_configure 'fill factor (%)', 90;
GO
EXEC sp_configure 'fill factor (%)', 0;
EXEC sp_configure 'show advanced options', 0;
RECONFIGURE;
GO
EXEC sp_configure 'fill factor (%)';
GO
BEGIN TRANSACTION;
RECONFIGURE;
ROLLBACK;
GO
