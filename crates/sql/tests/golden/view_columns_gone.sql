-- Views whose tables no longer have what they read.
CREATE TABLE t (a int NOT NULL, b varchar(10) NULL, c int NULL);
GO
CREATE VIEW every AS SELECT * FROM t;
GO
CREATE VIEW named (x, y) AS SELECT a, b FROM t;
GO
CREATE VIEW outer_one AS SELECT x FROM named;
GO
ALTER TABLE t DROP COLUMN b;
GO
SELECT a FROM every;
GO
SELECT a FROM dbo.every;
GO
SELECT x FROM named;
GO
SELECT x FROM dbo.outer_one;
GO
UPDATE named SET x = 1;
GO
INSERT every VALUES (1, 2);
GO
SELECT name FROM sys.columns WHERE object_id = OBJECT_ID('named') ORDER BY column_id;
GO
-- The text is refused as CREATE VIEW would refuse it.
EXEC sp_refreshview 'named';
EXEC sp_refreshview 'every';
GO
SELECT * FROM every;
GO
EXEC sp_refreshview 'nosuch';
EXEC sp_refreshview 't';
EXEC sp_refreshview 'other.dbo.every';
EXEC sp_refreshview;
GO
DROP TABLE t;
GO
SELECT * FROM every;
GO
INSERT every VALUES (1, 2);
GO
BEGIN TRY
    EXEC ('SELECT * FROM every');
END TRY
BEGIN CATCH
    SELECT ERROR_NUMBER() AS number, ERROR_MESSAGE() AS text;
END CATCH;
GO
CREATE TABLE t (a int NOT NULL, b varchar(10) NULL, c int NULL);
GO
SELECT x FROM outer_one;
GO
-- Columns of a view have names of their own.
CREATE VIEW twice AS SELECT x.a, y.A FROM t AS x, t AS y;
GO
CREATE VIEW twice (a, A) AS SELECT a, b FROM t;
GO
-- A view that reads itself.
ALTER VIEW named AS SELECT * FROM named;
GO
SELECT * FROM named;
GO
UPDATE named SET x = 1;
GO
