-- A table has at most 1,024 columns, however they come to it (1702).
DECLARE @columns VARCHAR(MAX) = 'c1 INT';
SELECT @columns = @columns + CONCAT(', c', value, ' BIT') FROM GENERATE_SERIES(2, 1020);
EXEC ('CREATE TABLE t (' + @columns + ')');
GO
ALTER TABLE t ADD d1 BIT, d2 BIT;
GO
ALTER TABLE t ADD e1 BIT, e2 BIT, e3 BIT;
GO
SELECT COUNT(*) FROM sys.columns WHERE object_id = OBJECT_ID('t');
ALTER TABLE t ADD e1 BIT, e2 BIT;
GO
ALTER TABLE t ADD e3 BIT NOT NULL DEFAULT 1;
GO
-- A column that is dropped gives its place to another.
ALTER TABLE t DROP COLUMN c5;
ALTER TABLE t ADD e3 BIT NOT NULL DEFAULT 1;
GO
INSERT INTO t (c1) VALUES (7);
SELECT c1, e3 FROM t;
SELECT COUNT(*) FROM sys.columns WHERE object_id = OBJECT_ID('t');
GO
