CREATE PROCEDURE p @a int
AS
  -- a comment
  SELECT @a AS a;
GO
CREATE TABLE t (a int CONSTRAINT ck CHECK (a > 0) CONSTRAINT df DEFAULT 5);
GO
CREATE VIEW v AS SELECT a FROM t;
GO
EXEC sp_helptext 'p';
EXEC sp_helptext 'dbo.v';
EXEC sp_helptext 'ck';
EXEC sp_helptext 'df';
GO
EXEC sp_helptext 't';
GO
EXEC sp_helptext 'nosuch';
GO
EXEC sp_helptext;
GO
EXEC sp_helptext 't', 'a';
GO
