-- masked
CREATE TABLE t (a int NOT NULL CONSTRAINT pk PRIMARY KEY, b int CONSTRAINT ck CHECK (b > 0) CONSTRAINT df DEFAULT 1);
GO
CREATE PROCEDURE p @a int, @b nvarchar(20) = N'x', @c decimal(9, 2) OUTPUT, @d datetime = NULL AS SELECT 1;
GO
CREATE VIEW v AS SELECT a FROM t;
GO
EXEC sp_help;
GO
EXEC sp_help 'p';
GO
EXEC sp_help 'ck';
GO
EXEC sp_help 'int';
EXEC sp_help 'nvarchar';
GO
EXEC sp_help 'nosuch';
GO
EXEC sp_help 'other.dbo.t';
GO
DECLARE @r int;
EXEC @r = sp_help 'nosuch';
SELECT @r AS status;
GO
