//! Objects: `sp_help`, `sp_helpindex`, `sp_helpconstraint`.

use super::Script;

pub(super) static SCRIPTS: &[Script] = &[
    Script {
        name: "sp_help",
        about: "Shows an object with its columns, indexes and constraints, or a type, or all objects.",
        text: HELP,
    },
    Script {
        name: "sp_helpindex",
        about: "Shows the indexes of a table.",
        text: HELP_INDEX,
    },
    Script {
        name: "sp_helpconstraint",
        about: "Shows the constraints of a table.",
        text: HELP_CONSTRAINT,
    },
];

/// The names of the kinds of objects in `sp_help`.
const HELP: &str = "CREATE PROCEDURE sp_help @objname nvarchar(776) = NULL AS
SET NOCOUNT ON;
DECLARE @db sysname = DB_NAME();
IF @objname IS NULL
BEGIN
    SELECT o.name AS Name, CONVERT(nvarchar(128), N'dbo') AS Owner,
        CONVERT(nvarchar(31), CASE RTRIM(o.type) WHEN 'U' THEN N'user table' WHEN 'V' THEN N'view'
            WHEN 'P' THEN N'stored procedure' WHEN 'PK' THEN N'primary key cns'
            WHEN 'UQ' THEN N'unique key cns' WHEN 'C' THEN N'check cns'
            WHEN 'D' THEN N'default (maybe cns)' WHEN 'F' THEN N'foreign key cns'
            WHEN 'FN' THEN N'scalar function' WHEN 'IF' THEN N'inline function'
            WHEN 'TF' THEN N'table function' WHEN 'TR' THEN N'trigger'
            ELSE LOWER(o.type_desc) END) AS Object_type
    FROM sys.objects o ORDER BY 2, 3 DESC, 1;
    SELECT t.name AS User_type, TYPE_NAME(t.system_type_id) AS Storage_type, t.max_length AS Length,
        CONVERT(int, t.precision) AS Prec, CONVERT(int, t.scale) AS Scale,
        CONVERT(varchar(35), CASE t.is_nullable WHEN 1 THEN 'yes' ELSE 'no' END) AS Nullable,
        N'none' AS Default_name, N'none' AS Rule_name, t.collation_name AS Collation
    FROM sys.types t WHERE t.is_user_defined = 1 ORDER BY 1;
    RETURN 0;
END
IF PARSENAME(@objname, 3) <> @db
BEGIN
    RAISERROR(15250, 16, 1);
    RETURN 1;
END
DECLARE @id int = OBJECT_ID(@objname), @kind varchar(2);
IF @id IS NULL
BEGIN
    IF NOT EXISTS (SELECT 1 FROM sys.types WHERE name = @objname)
    BEGIN
        RAISERROR(15009, 16, 1, @objname, @db);
        RETURN 1;
    END
    SELECT t.name AS Type_name, TYPE_NAME(t.system_type_id) AS Storage_type, t.max_length AS Length,
        CONVERT(int, t.precision) AS Prec, CONVERT(int, t.scale) AS Scale,
        CONVERT(varchar(35), CASE t.is_nullable WHEN 1 THEN 'yes' ELSE 'no' END) AS Nullable,
        N'none' AS Default_name, N'none' AS Rule_name, t.collation_name AS Collation
    FROM sys.types t WHERE t.name = @objname;
    RETURN 0;
END
SELECT @kind = RTRIM(type) FROM sys.all_objects WHERE object_id = @id;
SELECT o.name AS Name, CONVERT(nvarchar(128), N'dbo') AS Owner,
    CONVERT(nvarchar(31), CASE @kind WHEN 'U' THEN N'user table' WHEN 'V' THEN N'view'
        WHEN 'P' THEN N'stored procedure' WHEN 'PK' THEN N'primary key cns' WHEN 'UQ' THEN N'unique key cns'
        WHEN 'C' THEN N'check cns' WHEN 'D' THEN N'default (maybe cns)' WHEN 'F' THEN N'foreign key cns'
        WHEN 'FN' THEN N'scalar function' WHEN 'IF' THEN N'inline function'
        WHEN 'TF' THEN N'table function' WHEN 'TR' THEN N'trigger' ELSE LOWER(o.type_desc) END) AS Type,
    o.create_date AS Created_datetime
FROM sys.all_objects o WHERE o.object_id = @id;
IF EXISTS (SELECT 1 FROM sys.parameters WHERE object_id = @id)
    SELECT p.name AS Parameter_name, TYPE_NAME(p.user_type_id) AS Type, p.max_length AS Length,
        CONVERT(int, p.precision) AS Prec, CONVERT(int, CASE WHEN TYPE_NAME(p.system_type_id)
            IN ('decimal', 'numeric', 'time', 'datetime2', 'datetimeoffset') OR p.scale > 0
            OR TYPE_NAME(p.system_type_id) LIKE '%int' THEN p.scale END) AS Scale,
        CONVERT(smallint, p.parameter_id) AS Param_order,
        CONVERT(sysname, CASE WHEN TYPE_NAME(p.system_type_id)
            IN ('char', 'varchar', 'nchar', 'nvarchar', 'text', 'ntext')
            THEN SERVERPROPERTY('Collation') END) AS Collation
    FROM sys.parameters p WHERE p.object_id = @id ORDER BY p.parameter_id;
IF @kind NOT IN ('U', 'V') RETURN 0;
SELECT c.name AS Column_name, TYPE_NAME(c.user_type_id) AS Type,
    CONVERT(varchar(35), CASE c.is_computed WHEN 1 THEN 'yes' ELSE 'no' END) AS Computed,
    CONVERT(int, c.max_length) AS Length,
    CONVERT(char(5), CASE WHEN TYPE_NAME(c.system_type_id) IN ('tinyint', 'smallint', 'int', 'bigint', 'real',
        'money', 'float', 'decimal', 'numeric', 'smallmoney', 'date', 'time', 'datetime2', 'datetimeoffset')
        THEN CONVERT(varchar(5), c.precision) ELSE '' END) AS Prec,
    CONVERT(char(5), CASE WHEN TYPE_NAME(c.system_type_id) IN ('tinyint', 'smallint', 'int', 'bigint',
        'money', 'decimal', 'numeric', 'smallmoney', 'date', 'time', 'datetime2', 'datetimeoffset')
        THEN CONVERT(varchar(5), c.scale) ELSE '' END) AS Scale,
    CONVERT(varchar(35), CASE c.is_nullable WHEN 1 THEN 'yes' ELSE 'no' END) AS Nullable,
    CONVERT(varchar(35), CASE WHEN TYPE_NAME(c.system_type_id) IN ('char', 'varchar', 'binary', 'varbinary')
        THEN CASE c.is_ansi_padded WHEN 1 THEN 'no' ELSE 'yes' END ELSE '(n/a)' END) AS TrimTrailingBlanks,
    CONVERT(varchar(35), CASE
        WHEN TYPE_NAME(c.system_type_id) NOT IN ('char', 'varchar', 'binary', 'varbinary') THEN '(n/a)'
        WHEN c.is_nullable = 1 THEN 'yes' ELSE 'no' END) AS FixedLenNullInSource,
    c.collation_name AS Collation
FROM sys.all_columns c WHERE c.object_id = @id ORDER BY c.column_id;
IF EXISTS (SELECT 1 FROM sys.identity_columns WHERE object_id = @id)
    SELECT name AS [Identity], seed_value AS Seed, increment_value AS Increment,
        CONVERT(int, is_not_for_replication) AS [Not For Replication]
    FROM sys.identity_columns WHERE object_id = @id;
ELSE
    SELECT CONVERT(nvarchar(128), N'No identity column defined.') AS [Identity],
        CONVERT(numeric(38, 0), NULL) AS Seed, CONVERT(numeric(38, 0), NULL) AS Increment,
        CONVERT(int, NULL) AS [Not For Replication];
SELECT CONVERT(sysname, ISNULL((SELECT TOP (1) name FROM sys.columns
    WHERE object_id = @id AND is_rowguidcol = 1), N'No rowguidcol column defined.')) AS [RowGuidCol];
IF @kind = 'V' RETURN 0;
SELECT s.name AS Data_located_on_filegroup
FROM sys.indexes i JOIN sys.data_spaces s ON s.data_space_id = i.data_space_id
WHERE i.object_id = @id AND i.index_id < 2;
EXEC sp_helpindex @objname;
EXEC sp_helpconstraint @objname, 'nomsg';
RAISERROR(15647, 10, 1, @objname);
RETURN 0;";

const HELP_INDEX: &str = "CREATE PROCEDURE sp_helpindex @objname nvarchar(776) AS
SET NOCOUNT ON;
DECLARE @id int = OBJECT_ID(@objname);
IF @id IS NULL
BEGIN
    DECLARE @db sysname = DB_NAME();
    RAISERROR(15009, 16, 1, @objname, @db);
    RETURN 1;
END
IF NOT EXISTS (SELECT 1 FROM sys.indexes WHERE object_id = @id AND index_id > 0)
BEGIN
    RAISERROR(15472, 10, 1, @objname);
    RETURN 0;
END
SELECT i.name AS index_name,
    LOWER(i.type_desc) + CASE i.is_unique WHEN 1 THEN ', unique' ELSE '' END
        + CASE i.is_primary_key WHEN 1 THEN ', primary key' ELSE '' END
        + CASE i.is_unique_constraint WHEN 1 THEN ', unique key' ELSE '' END
        + ' located on ' + s.name AS index_description,
    (SELECT STRING_AGG(COL_NAME(c.object_id, c.column_id)
            + CASE c.is_descending_key WHEN 1 THEN '(-)' ELSE '' END, ', ')
            WITHIN GROUP (ORDER BY c.key_ordinal)
        FROM sys.index_columns c
        WHERE c.object_id = i.object_id AND c.index_id = i.index_id AND c.key_ordinal > 0) AS index_keys
FROM sys.indexes i JOIN sys.data_spaces s ON s.data_space_id = i.data_space_id
WHERE i.object_id = @id AND i.index_id > 0 ORDER BY i.name;
RETURN 0;";

const HELP_CONSTRAINT: &str = "CREATE PROCEDURE sp_helpconstraint @objname nvarchar(776), \
    @nomsg varchar(5) = 'msg' AS
SET NOCOUNT ON;
DECLARE @id int = OBJECT_ID(@objname);
IF @id IS NULL
BEGIN
    DECLARE @db sysname = DB_NAME();
    RAISERROR(15009, 16, 1, @objname, @db);
    RETURN 1;
END
IF @nomsg <> 'nomsg' SELECT @objname AS [Object Name];
IF EXISTS (SELECT 1 FROM sys.objects WHERE parent_object_id = @id)
    SELECT t.constraint_type, t.constraint_name, t.delete_action, t.update_action, t.status_enabled,
        t.status_for_replication, t.constraint_keys
    FROM (
        SELECT CONVERT(nvarchar(146), 'FOREIGN KEY') AS constraint_type, f.name AS constraint_name,
            CONVERT(nvarchar(11), CASE f.delete_referential_action WHEN 1 THEN 'Cascade'
                WHEN 2 THEN 'Set Null' WHEN 3 THEN 'Set Default' ELSE 'No Action' END) AS delete_action,
            CONVERT(nvarchar(11), CASE f.update_referential_action WHEN 1 THEN 'Cascade'
                WHEN 2 THEN 'Set Null' WHEN 3 THEN 'Set Default' ELSE 'No Action' END) AS update_action,
            CONVERT(varchar(8), CASE f.is_disabled WHEN 1 THEN 'Disabled' ELSE 'Enabled' END)
                AS status_enabled,
            CONVERT(varchar(19), 'Is_For_Replication') AS status_for_replication,
            CONVERT(nvarchar(2126), (SELECT STRING_AGG(COL_NAME(c.parent_object_id, c.parent_column_id), ', ')
                    WITHIN GROUP (ORDER BY c.constraint_column_id)
                FROM sys.foreign_key_columns c WHERE c.constraint_object_id = f.object_id))
                AS constraint_keys,
            f.name AS nonblank
        FROM sys.foreign_keys f WHERE f.parent_object_id = @id
        UNION ALL
        SELECT ' ', ' ', ' ', ' ', ' ', ' ', CONVERT(nvarchar(2126), 'REFERENCES ' + DB_NAME() + '.'
            + OBJECT_SCHEMA_NAME(f.referenced_object_id) + '.' + OBJECT_NAME(f.referenced_object_id) + ' ('
            + (SELECT STRING_AGG(COL_NAME(c.referenced_object_id, c.referenced_column_id), ', ')
                    WITHIN GROUP (ORDER BY c.constraint_column_id)
                FROM sys.foreign_key_columns c WHERE c.constraint_object_id = f.object_id) + ')'), f.name
        FROM sys.foreign_keys f WHERE f.parent_object_id = @id
        UNION ALL
        SELECT CONVERT(nvarchar(146), CASE RTRIM(k.type) WHEN 'PK' THEN 'PRIMARY KEY' ELSE 'UNIQUE' END
                + CASE i.type WHEN 1 THEN ' (clustered)' ELSE ' (non-clustered)' END),
            k.name, '(n/a)', '(n/a)', '(n/a)', '(n/a)',
            CONVERT(nvarchar(2126), (SELECT STRING_AGG(COL_NAME(c.object_id, c.column_id)
                    + CASE c.is_descending_key WHEN 1 THEN '(-)' ELSE '' END, ', ')
                    WITHIN GROUP (ORDER BY c.key_ordinal)
                FROM sys.index_columns c
                WHERE c.object_id = i.object_id AND c.index_id = i.index_id AND c.key_ordinal > 0)),
            k.name
        FROM sys.key_constraints k
            JOIN sys.indexes i ON i.object_id = k.parent_object_id AND i.index_id = k.unique_index_id
        WHERE k.parent_object_id = @id
        UNION ALL
        SELECT CASE c.parent_column_id WHEN 0 THEN 'CHECK Table Level '
                ELSE 'CHECK on column ' + COL_NAME(@id, c.parent_column_id) END,
            c.name, '(n/a)', '(n/a)', CASE c.is_disabled WHEN 1 THEN 'Disabled' ELSE 'Enabled' END,
            'Is_For_Replication', CONVERT(nvarchar(2126), c.definition), c.name
        FROM sys.check_constraints c WHERE c.parent_object_id = @id
        UNION ALL
        SELECT 'DEFAULT on column ' + COL_NAME(@id, d.parent_column_id), d.name, '(n/a)', '(n/a)', '(n/a)',
            '(n/a)', CONVERT(nvarchar(2126), d.definition), d.name
        FROM sys.default_constraints d WHERE d.parent_object_id = @id
    ) AS t ORDER BY t.nonblank, t.constraint_type DESC;
ELSE
    RAISERROR(15469, 10, 1, @objname);
IF EXISTS (SELECT 1 FROM sys.foreign_keys WHERE referenced_object_id = @id)
    SELECT DB_NAME() + '.' + SCHEMA_NAME(f.schema_id) + '.' + OBJECT_NAME(f.parent_object_id) + ': ' + f.name
        AS [Table is referenced by foreign key]
    FROM sys.foreign_keys f WHERE f.referenced_object_id = @id ORDER BY 1;
ELSE
    RAISERROR(15470, 10, 1, @objname);
RETURN 0;";
