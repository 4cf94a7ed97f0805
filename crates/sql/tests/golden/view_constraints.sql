CREATE TABLE t (id int IDENTITY (10, 5) NOT NULL CONSTRAINT pk PRIMARY KEY, a int NULL CONSTRAINT ck CHECK (a > 0),
    b varchar(10) NOT NULL CONSTRAINT df DEFAULT 'none', c int NOT NULL CONSTRAINT uq UNIQUE,
    CONSTRAINT ck2 CHECK (c > a));
INSERT t (a, c) VALUES (1, 2), (2, 3);
GO
SELECT name, type, type_desc, OBJECT_NAME(parent_object_id) AS parent, is_disabled, is_not_for_replication,
    is_not_trusted, parent_column_id, definition, uses_database_collation, is_system_named
FROM sys.check_constraints ORDER BY name;
SELECT name, type, type_desc, parent_column_id, definition, is_system_named FROM sys.default_constraints;
SELECT name, type, type_desc, unique_index_id, is_system_named, is_enforced FROM sys.key_constraints ORDER BY name;
SELECT name, column_id, is_identity, seed_value, increment_value, last_value, is_not_for_replication
FROM sys.identity_columns;
SELECT name, column_id, TYPE_NAME(system_type_id) AS type, max_length, is_nullable, is_identity, is_computed,
    CASE WHEN default_object_id = OBJECT_ID('df') THEN 'df' END AS default_object, is_hidden, is_masked, encryption_type
FROM sys.columns WHERE object_id = OBJECT_ID('t') ORDER BY column_id;
SELECT name, index_id, type_desc, is_unique, is_primary_key, is_unique_constraint, fill_factor, has_filter, auto_created
FROM sys.indexes WHERE object_id = OBJECT_ID('t') ORDER BY index_id;
GO
