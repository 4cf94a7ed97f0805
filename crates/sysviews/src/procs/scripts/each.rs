//! A command for each database or table: `sp_MSforeachdb`, `sp_MSforeachtable`.

use super::Script;

pub(super) static SCRIPTS: &[Script] = &[
    Script {
        name: "sp_MSforeachdb",
        about: "Runs commands for each open database, with its name in place of a question mark.",
        text: EACH_DATABASE,
    },
    Script {
        name: "sp_MSforeachtable",
        about: "Runs commands for each user table, with its name in place of a question mark.",
        text: EACH_TABLE,
    },
];

const EACH_DATABASE: &str = "CREATE PROCEDURE sp_MSforeachdb @command1 nvarchar(2000), \
@replacechar nchar(1) = N'?', @command2 nvarchar(2000) = NULL, @command3 nvarchar(2000) = NULL, \
@precommand nvarchar(2000) = NULL, @postcommand nvarchar(2000) = NULL AS
DECLARE @id int = 0, @name nvarchar(128), @sql nvarchar(max);
IF @precommand IS NOT NULL EXEC (@precommand);
WHILE 1 = 1
BEGIN
    SET @id = (SELECT MIN(database_id) FROM sys.databases WHERE database_id > @id AND state = 0);
    IF @id IS NULL BREAK;
    SET @name = DB_NAME(@id);
    SET @sql = REPLACE(@command1, @replacechar, @name);
    EXEC (@sql);
    SET @sql = REPLACE(@command2, @replacechar, @name);
    IF @sql IS NOT NULL EXEC (@sql);
    SET @sql = REPLACE(@command3, @replacechar, @name);
    IF @sql IS NOT NULL EXEC (@sql);
END
IF @postcommand IS NOT NULL EXEC (@postcommand);
RETURN 0;";

/// As in SQL Server, an additional condition uses the aliases `o` and `syso`.
const EACH_TABLE: &str = "CREATE PROCEDURE sp_MSforeachtable @command1 nvarchar(2000), \
@replacechar nchar(1) = N'?', @command2 nvarchar(2000) = NULL, @command3 nvarchar(2000) = NULL, \
@whereand nvarchar(2000) = NULL, @precommand nvarchar(2000) = NULL, @postcommand nvarchar(2000) = NULL AS
DECLARE @id int = 0, @name nvarchar(600), @sql nvarchar(max), @next nvarchar(max);
SET @next = N'SET @id = (SELECT MIN(o.id) FROM dbo.sysobjects AS o JOIN sys.all_objects AS syso
    ON syso.object_id = o.id WHERE o.xtype = ''U'' AND o.id > @id ' + ISNULL(@whereand, N'') + N')';
IF @precommand IS NOT NULL EXEC (@precommand);
WHILE 1 = 1
BEGIN
    EXEC sp_executesql @next, N'@id int OUTPUT', @id = @id OUTPUT;
    IF @id IS NULL BREAK;
    SET @name = QUOTENAME(OBJECT_SCHEMA_NAME(@id)) + N'.' + QUOTENAME(OBJECT_NAME(@id));
    SET @sql = REPLACE(@command1, @replacechar, @name);
    EXEC (@sql);
    SET @sql = REPLACE(@command2, @replacechar, @name);
    IF @sql IS NOT NULL EXEC (@sql);
    SET @sql = REPLACE(@command3, @replacechar, @name);
    IF @sql IS NOT NULL EXEC (@sql);
END
IF @postcommand IS NOT NULL EXEC (@postcommand);
RETURN 0;";
