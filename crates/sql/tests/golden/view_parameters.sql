CREATE PROCEDURE p @a int, @b nvarchar(20) = N'x', @c decimal(9, 2) OUTPUT, @d varchar(max) = NULL AS SELECT @a;
GO
SELECT name, parameter_id, TYPE_NAME(system_type_id) AS type, max_length, precision, scale, is_output,
    has_default_value, is_readonly, is_nullable
FROM sys.parameters WHERE object_id = OBJECT_ID('p') ORDER BY parameter_id;
SELECT name, type, type_desc, is_auto_executed FROM sys.procedures;
SELECT OBJECT_NAME(object_id) AS name, uses_ansi_nulls, uses_quoted_identifier, is_schema_bound, is_recompiled,
    execute_as_principal_id, LEN(definition) AS length
FROM sys.sql_modules;
GO
