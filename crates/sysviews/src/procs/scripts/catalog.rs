//! The catalog in ODBC's form: `sp_tables`, `sp_columns`.

use super::Script;

pub(super) static SCRIPTS: &[Script] = &[
    Script {
        name: "sp_tables",
        about: "Lists tables and views whose names are like a pattern.",
        text: TABLES,
    },
    Script {
        name: "sp_columns",
        about: "Lists the columns of the tables whose names are like a pattern.",
        text: COLUMNS,
    },
];

const TABLES: &str = "CREATE PROCEDURE sp_tables @table_name nvarchar(384) = NULL, \
    @table_owner nvarchar(384) = NULL, @table_qualifier sysname = NULL, @table_type varchar(100) = NULL AS
SET NOCOUNT ON;
IF @table_qualifier <> DB_NAME()
BEGIN
    RAISERROR(15250, 16, 1);
    RETURN 1;
END
SELECT CONVERT(sysname, DB_NAME()) AS TABLE_QUALIFIER, SCHEMA_NAME(o.schema_id) AS TABLE_OWNER,
    o.name AS TABLE_NAME,
    CONVERT(varchar(32), CASE RTRIM(o.type) WHEN 'U' THEN 'TABLE' ELSE 'VIEW' END) AS TABLE_TYPE,
    CONVERT(varchar(254), NULL) AS REMARKS
FROM sys.objects o
WHERE o.type IN ('U', 'V') AND o.name LIKE ISNULL(@table_name, '%')
    AND SCHEMA_NAME(o.schema_id) LIKE ISNULL(@table_owner, '%')
    AND (@table_type IS NULL OR CHARINDEX(CASE RTRIM(o.type) WHEN 'U' THEN '''TABLE''' ELSE '''VIEW''' END,
        @table_type) > 0)
ORDER BY 4, 1, 2, 3;
RETURN 0;";

const COLUMNS: &str = "CREATE PROCEDURE sp_columns @table_name nvarchar(384), \
    @table_owner nvarchar(384) = NULL, @table_qualifier sysname = NULL, \
    @column_name nvarchar(384) = NULL, @ODBCVer int = 2 AS
SET NOCOUNT ON;
IF @table_qualifier <> DB_NAME()
BEGIN
    RAISERROR(15250, 16, 1);
    RETURN 1;
END
SELECT CONVERT(sysname, DB_NAME()) AS TABLE_QUALIFIER, SCHEMA_NAME(o.schema_id) AS TABLE_OWNER,
    o.name AS TABLE_NAME, c.name AS COLUMN_NAME, CONVERT(smallint, v.odbc) AS DATA_TYPE,
    CONVERT(sysname, v.name + CASE c.is_identity WHEN 1 THEN ' identity' ELSE '' END) AS TYPE_NAME,
    CONVERT(int, CASE WHEN v.size IS NOT NULL THEN v.size WHEN c.max_length = -1 THEN 0
        WHEN v.name LIKE 'n%char' THEN c.max_length / 2
        WHEN v.radix IS NULL AND v.sub IS NULL AND v.name NOT LIKE '%time%' THEN c.max_length
        ELSE c.precision END) AS PRECISION,
    CONVERT(int, CASE WHEN v.length IS NOT NULL THEN v.length WHEN c.max_length = -1 THEN 0
        WHEN v.name IN ('decimal', 'numeric') THEN c.precision + 2
        WHEN v.name LIKE '%time%' THEN c.precision * 2 ELSE c.max_length END) AS LENGTH,
    CONVERT(smallint, CASE WHEN v.radix = 10 OR v.sub > 1 THEN c.scale END) AS SCALE,
    CONVERT(smallint, v.radix) AS RADIX, CONVERT(smallint, c.is_nullable) AS NULLABLE,
    CONVERT(varchar(254), NULL) AS REMARKS, CONVERT(nvarchar(4000), d.definition) AS COLUMN_DEF,
    CONVERT(smallint, CASE WHEN v.sub IS NULL THEN v.odbc ELSE 9 END) AS SQL_DATA_TYPE,
    CONVERT(smallint, v.sub) AS SQL_DATETIME_SUB,
    CONVERT(int, CASE WHEN v.name LIKE '%char' OR v.name LIKE '%binary'
        THEN CASE c.max_length WHEN -1 THEN 0 ELSE c.max_length END END) AS CHAR_OCTET_LENGTH,
    c.column_id AS ORDINAL_POSITION,
    CONVERT(varchar(254), CASE c.is_nullable WHEN 1 THEN 'YES' ELSE 'NO' END) AS IS_NULLABLE,
    CONVERT(tinyint, CASE c.is_nullable WHEN 1 THEN v.loose ELSE v.ss END) AS SS_DATA_TYPE
FROM sys.objects o JOIN sys.columns c ON c.object_id = o.object_id
    JOIN (VALUES ('bit', -7, 1, 1, NULL, NULL, 50, 50), ('tinyint', -6, 3, 1, 10, NULL, 48, 38),
        ('smallint', 5, 5, 2, 10, NULL, 52, 38), ('int', 4, 10, 4, 10, NULL, 56, 38),
        ('bigint', -5, 19, 8, 10, NULL, 63, 108), ('decimal', 3, NULL, NULL, 10, NULL, 55, 106),
        ('numeric', 2, NULL, NULL, 10, NULL, 63, 108), ('money', 3, 19, 21, 10, NULL, 60, 110),
        ('smallmoney', 3, 10, 12, 10, NULL, 122, 110), ('real', 7, 24, 4, 2, NULL, 59, 109),
        ('float', 6, 53, 8, 2, NULL, 62, 109), ('date', -9, 10, 20, NULL, NULL, 0, 0),
        ('time', -9, NULL, NULL, NULL, NULL, 0, 0), ('datetime', 11, 23, 16, NULL, 3, 61, 111),
        ('datetime2', -9, NULL, NULL, NULL, NULL, 0, 0), ('datetimeoffset', -9, NULL, NULL, NULL, NULL, 0, 0),
        ('smalldatetime', 11, 16, 16, NULL, 3, 58, 111), ('char', 1, NULL, NULL, NULL, NULL, 39, 39),
        ('varchar', 12, NULL, NULL, NULL, NULL, 39, 39),
        ('text', -1, 2147483647, 2147483647, NULL, NULL, 35, 35),
        ('nchar', -8, NULL, NULL, NULL, NULL, 39, 39), ('nvarchar', -9, NULL, NULL, NULL, NULL, 39, 39),
        ('ntext', -10, 1073741823, 2147483646, NULL, NULL, 35, 35),
        ('binary', -2, NULL, NULL, NULL, NULL, 37, 37), ('varbinary', -3, NULL, NULL, NULL, NULL, 37, 37),
        ('image', -4, 2147483647, 2147483647, NULL, NULL, 34, 34),
        ('uniqueidentifier', -11, 36, 16, NULL, NULL, 37, 37), ('timestamp', -2, 8, 8, NULL, NULL, 45, 45),
        ('xml', -152, 0, 0, NULL, NULL, 0, 0), ('sql_variant', -150, 0, 8000, 10, NULL, 39, 39))
        AS v (name, odbc, size, length, radix, sub, ss, loose) ON v.name = TYPE_NAME(c.system_type_id)
    LEFT JOIN sys.default_constraints d
        ON d.parent_object_id = c.object_id AND d.parent_column_id = c.column_id
WHERE o.name LIKE @table_name AND o.type IN ('U', 'V')
    AND SCHEMA_NAME(o.schema_id) LIKE ISNULL(@table_owner, '%') AND c.name LIKE ISNULL(@column_name, '%')
ORDER BY 1, 2, 3, 17;
RETURN 0;";
