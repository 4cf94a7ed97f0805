CREATE TABLE t (a int IDENTITY NOT NULL, b varchar(10) NULL DEFAULT 'x', c nvarchar(20) NOT NULL, d decimal(9, 2) NULL,
    e datetime NULL, f bit NULL, g float NULL, h uniqueidentifier NULL, i varbinary(8) NULL, j nchar(4) NULL,
    k bigint NULL, l datetime2(3) NULL, m money NULL, n smalldatetime NULL, o real NULL, p date NULL);
GO
CREATE VIEW v AS SELECT a FROM t;
GO
EXEC sp_tables;
EXEC sp_tables 't%', 'dbo', NULL, '''VIEW'',''TABLE''';
EXEC sp_tables @table_type = '''VIEW''';
GO
EXEC sp_columns 't';
EXEC sp_columns 't', @column_name = 'b%';
EXEC sp_columns 'nosuch';
GO
EXEC sp_columns 't', 'dbo', 'other';
GO
