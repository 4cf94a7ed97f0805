-- A column that ANSI_PADDING OFF would trim is refused before its batch does anything.
CREATE TABLE t (a INT);
GO
SET ANSI_PADDING OFF;
GO
PRINT 'not reached';
ALTER TABLE t ADD b VARCHAR(10);
GO
PRINT 'not reached';
IF 1 = 0 ALTER TABLE t ADD CONSTRAINT c CHECK (a > 0), b CHAR(10);
GO
-- Columns that it does not concern are added.
PRINT 'reached';
ALTER TABLE t ADD c INT, d NVARCHAR(10), e DECIMAL(5, 2);
GO
SET ANSI_PADDING ON;
ALTER TABLE t ADD b VARCHAR(10);
SELECT name FROM sys.columns WHERE object_id = OBJECT_ID('t') ORDER BY column_id;
GO
