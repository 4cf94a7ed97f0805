-- A view has the columns that it had when it was created, until it is altered or refreshed.
CREATE TABLE t (a int NOT NULL, b varchar(10) NULL);
INSERT t VALUES (1, 'one');
GO
CREATE VIEW every AS SELECT * FROM t;
GO
CREATE VIEW trap AS SELECT *, 7 AS seven FROM t;
GO
CREATE VIEW outer_one AS SELECT * FROM every;
GO
ALTER TABLE t ADD c int NULL;
GO
UPDATE t SET c = 3;
SELECT * FROM every;
SELECT * FROM outer_one;
SELECT e.*, t.c FROM every AS e JOIN t ON t.a = e.a;
SELECT COUNT(*) AS n FROM every WHERE EXISTS (SELECT * FROM every);
-- By position: seven is now the new column.
SELECT * FROM trap;
GO
SELECT c FROM every;
GO
SELECT name, TYPE_NAME(system_type_id) AS type, max_length, is_nullable FROM sys.columns
WHERE object_id = OBJECT_ID('every') ORDER BY column_id;
SELECT TABLE_NAME, COLUMN_NAME, ORDINAL_POSITION, IS_NULLABLE, DATA_TYPE FROM INFORMATION_SCHEMA.COLUMNS
WHERE TABLE_NAME IN ('every', 'outer_one', 'trap') ORDER BY 1, 3;
EXEC sp_columns 'every';
GO
EXEC sp_refreshview 'every';
EXEC sp_refreshview @viewname = '[dbo].[trap]';
GO
SELECT * FROM every;
SELECT * FROM trap;
SELECT * FROM outer_one;
SELECT name FROM sys.columns WHERE object_id = OBJECT_ID('every') ORDER BY column_id;
GO
-- A column dropped and another added: the name is the stored one, the values are those of the new column.
ALTER TABLE t DROP COLUMN b;
ALTER TABLE t ADD z varchar(20) NULL;
GO
UPDATE t SET z = 'zet';
SELECT * FROM every;
GO
-- A wider type is not cut.
ALTER TABLE t ALTER COLUMN z varchar(40) NULL;
UPDATE t SET z = REPLICATE('z', 30);
SELECT c FROM every;
GO
DBCC CHECKDB WITH NO_INFOMSGS;
GO
DROP VIEW every, trap, outer_one;
DROP TABLE t;
GO
SELECT COUNT(*) AS n FROM sys.columns WHERE name = 'seven';
DBCC CHECKDB WITH NO_INFOMSGS;
GO
