SELECT name, database_id FROM sys.databases ORDER BY database_id;
SELECT DB_ID('master') AS master, DB_ID('tempdb') AS tempdb, DB_NAME(1) AS one, DB_NAME(2) AS two;
CREATE DATABASE first;
CREATE DATABASE second;
SELECT name, database_id FROM sys.databases ORDER BY database_id;
DROP DATABASE first;
CREATE DATABASE third;
SELECT name, database_id FROM sys.databases ORDER BY database_id;
