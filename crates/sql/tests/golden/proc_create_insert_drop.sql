CREATE PROCEDURE churn
AS
DECLARE @name VARCHAR(40), @sql VARCHAR(400);
SELECT @name = 'T_' + REPLACE(CAST(NEWID() AS VARCHAR(36)), '-', '');
EXEC ('CREATE TABLE ' + @name + ' (c CHAR(1000))');
EXEC ('INSERT ' + @name + ' VALUES (''x'')');
SELECT @sql = 'SELECT COUNT(*) AS n FROM ' + @name;
EXEC (@sql);
EXEC ('DROP TABLE ' + @name);
GO
EXEC churn;
GO 3
