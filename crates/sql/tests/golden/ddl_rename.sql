CREATE TABLE t (a INT NOT NULL CONSTRAINT pk_t PRIMARY KEY, b INT CONSTRAINT df_b DEFAULT 7);
CREATE INDEX ix ON t (b);
CREATE TABLE other (a INT);
INSERT INTO t (a) VALUES (1);
EXEC sp_rename 't', 'renamed';
SELECT a, b FROM renamed;
GO
SELECT a FROM t;
GO
EXEC sp_rename 'renamed.b', 'bb', 'COLUMN';
EXEC sp_rename 'dbo.renamed.ix', 'ix2', 'INDEX';
EXEC sp_rename 'pk_t', 'pk_renamed';
GO
SELECT a, bb FROM renamed;
SELECT name FROM sys.indexes WHERE object_id = OBJECT_ID('renamed') ORDER BY index_id;
SELECT name FROM sys.key_constraints;
GO
EXEC sp_rename 'renamed', 'other';
GO
EXEC sp_rename 'renamed.a', 'bb', 'COLUMN';
GO
EXEC sp_rename 'nothing', 'x';
GO
EXEC sp_rename 'renamed.nothing', 'x', 'COLUMN';
GO
EXEC sp_rename 'renamed', 'x', 'THING';
GO
CREATE DATABASE d;
EXEC sp_rename 'd', 'e', 'DATABASE';
SELECT name FROM sys.databases WHERE database_id > 4;
GO
BEGIN TRAN;
EXEC sp_rename 'renamed', 'again';
ROLLBACK;
SELECT COUNT(*) AS n FROM renamed;
