CREATE DATABASE one;
GO
EXEC sp_MSforeachdb 'IF ''?'' NOT IN (''model'', ''msdb'') PRINT ''?''';
EXEC sp_MSforeachdb @command1 = 'USE [?]; IF DB_ID() > 4 SELECT DB_NAME() AS here', @precommand = 'PRINT ''first''', @postcommand = 'PRINT ''last''';
GO
USE one;
GO
CREATE TABLE a (x int);
CREATE TABLE [b ]]c] (x int);
INSERT a VALUES (1), (2);
GO
CREATE SCHEMA s;
GO
CREATE TABLE s.t (x int);
GO
EXEC sp_MSforeachtable 'SELECT ''?'' AS name, COUNT(*) AS rows FROM ?';
EXEC sp_MSforeachtable @command1 = 'PRINT ''*''', @command2 = 'PRINT ''- *''', @replacechar = '*', @whereand = 'AND o.name LIKE ''t%''';
GO
EXEC sp_MSforeachtable;
GO
