CREATE TABLE customer (id int IDENTITY (10, 5) NOT NULL PRIMARY KEY, name nvarchar(40) NOT NULL, code char(4) NULL);
INSERT INTO customer (name) VALUES (N'Ann'), (N'Bo');
GO
SELECT OBJECT_NAME(OBJECT_ID('customer')) AS name, OBJECT_SCHEMA_NAME(OBJECT_ID('dbo.customer')) AS of_schema,
    OBJECT_NAME(OBJECT_ID('master..[customer]', 'U')) AS by_database, OBJECT_ID('customer', 'V') AS no_view,
    OBJECT_ID('nosuch') AS nothing, OBJECT_ID('nosuch.dbo.customer') AS no_database;
SELECT SCHEMA_ID() AS own, SCHEMA_NAME() AS own_name, SCHEMA_ID('dbo') AS dbo, SCHEMA_ID('nosuch') AS nothing;
SELECT TYPE_ID('int') AS int_id, TYPE_ID('sysname') AS sysname_id, TYPE_NAME(231) AS of_231, TYPE_ID('nosuch') AS nothing;
SELECT COL_LENGTH('customer', 'name') AS length, COL_NAME(OBJECT_ID('customer'), 3) AS third,
    COL_LENGTH('customer', 'nosuch') AS nothing, COLUMNPROPERTY(OBJECT_ID('customer'), 'id', 'IsIdentity') AS is_identity,
    COLUMNPROPERTY(OBJECT_ID('customer'), 'code', 'AllowsNull') AS allows_null,
    COLUMNPROPERTY(OBJECT_ID('customer'), 'name', 'Precision') AS characters;
SELECT INDEX_COL('customer', 1, 1) AS key_column, OBJECTPROPERTY(OBJECT_ID('customer'), 'IsUserTable') AS is_table,
    OBJECTPROPERTY(OBJECT_ID('customer'), 'TableHasPrimaryKey') AS has_key,
    OBJECTPROPERTY(OBJECT_ID('customer'), 'TableHasClustIndex') AS is_clustered, OBJECTPROPERTY(1, 'IsView') AS nothing;
SELECT IDENT_CURRENT('customer') AS last, IDENT_SEED('customer') AS seed, IDENT_INCR('customer') AS increment,
    IDENT_CURRENT('nosuch') AS nothing;
SELECT FILE_ID('master') AS data, FILE_IDEX('mastlog') AS of_log, FILE_NAME(1) AS first, FILEGROUP_ID('PRIMARY') AS fg,
    FILEGROUP_NAME(1) AS fg_name, FILE_ID('nosuch') AS nothing;
SELECT FILEPROPERTY('master', 'IsPrimaryFile') AS is_primary, FILEPROPERTY('mastlog', 'IsLogFile') AS is_log,
    FILEPROPERTY('master', 'IsReadOnly') AS is_read_only,
    CASE WHEN FILEPROPERTY('master', 'SpaceUsed') BETWEEN 1 AND 512 THEN 'fits' END AS used,
    FILEPROPERTY('nosuch', 'SpaceUsed') AS nothing;
SELECT DATABASEPROPERTYEX('master', 'Status') AS status, DATABASEPROPERTYEX('master', 'Recovery') AS recovery,
    DATABASEPROPERTYEX('nosuch', 'Status') AS nothing, DATABASEPROPERTYEX('master', 'nosuch') AS no_property;
SELECT SERVERPROPERTY('Collation') AS collation_name, SERVERPROPERTY('nosuch') AS nothing, USER_NAME() AS me,
    @@MAX_PRECISION AS digits, @@LOCK_TIMEOUT AS timeout, @@LANGUAGE AS language,
    CASE WHEN @@VERSION LIKE 'Furrow %' THEN 'yes' END AS says_who_it_is;
GO
SELECT OBJECT_ID();
GO
SELECT COL_LENGTH('customer');
GO
