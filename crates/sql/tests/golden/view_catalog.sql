CREATE TABLE customer (id int IDENTITY (10, 5) NOT NULL PRIMARY KEY, name nvarchar(40) NOT NULL, born date NULL,
    balance decimal(9, 2) NULL DEFAULT 0, note varchar(100) NULL);
CREATE TABLE item (code char(4) NOT NULL, price money NULL);
GO
SELECT name, type, type_desc, parent_object_id, is_ms_shipped, max_column_id_used, lock_escalation_desc
FROM sys.tables;
SELECT o.type, o.type_desc, p.name AS parent FROM sys.objects o JOIN sys.tables p ON p.object_id = o.parent_object_id
ORDER BY o.type;
SELECT t.name AS of_table, c.column_id, c.name, ty.name AS type, c.max_length, c.[precision], c.scale, c.collation_name,
    c.is_nullable, c.is_identity
FROM sys.columns c JOIN sys.tables t ON t.object_id = c.object_id JOIN sys.types ty ON ty.user_type_id = c.user_type_id
ORDER BY t.name, c.column_id;
SELECT t.name AS of_table, i.index_id, i.type, i.type_desc, i.is_unique, i.is_primary_key, i.data_space_id
FROM sys.indexes i JOIN sys.tables t ON t.object_id = i.object_id ORDER BY t.name, i.index_id;
SELECT ic.index_id, ic.index_column_id, c.name, ic.key_ordinal, ic.is_descending_key, ic.is_included_column
FROM sys.index_columns ic JOIN sys.columns c ON c.object_id = ic.object_id AND c.column_id = ic.column_id;
SELECT seed_value, increment_value, last_value FROM sys.identity_columns;
GO
INSERT INTO customer (name) VALUES (N'Ann'), (N'Bo');
INSERT INTO item VALUES ('A001', 1), ('A002', 2), ('A003', 3);
GO
SELECT t.name AS of_table, p.index_id, p.rows, p.data_compression_desc
FROM sys.partitions p JOIN sys.tables t ON t.object_id = p.object_id ORDER BY t.name;
SELECT t.name AS of_table, a.type_desc, a.data_space_id, a.total_pages, a.used_pages, a.data_pages
FROM sys.allocation_units a JOIN sys.partitions p ON p.hobt_id = a.container_id
JOIN sys.tables t ON t.object_id = p.object_id ORDER BY t.name;
SELECT seed_value, increment_value, last_value FROM sys.identity_columns;
SELECT name, schema_id FROM sys.schemas WHERE name = 'dbo';
SELECT * FROM INFORMATION_SCHEMA.TABLES;
SELECT TABLE_NAME, COLUMN_NAME, ORDINAL_POSITION, IS_NULLABLE, DATA_TYPE, CHARACTER_MAXIMUM_LENGTH,
    CHARACTER_OCTET_LENGTH, NUMERIC_PRECISION, NUMERIC_PRECISION_RADIX, NUMERIC_SCALE, DATETIME_PRECISION
FROM INFORMATION_SCHEMA.COLUMNS ORDER BY TABLE_NAME, ORDINAL_POSITION;
GO
SELECT name, system_type_id, user_type_id, max_length, [precision], scale FROM sys.types ORDER BY user_type_id;
GO
