-- What is wrong with a module is told when it is made, where the names that it speaks of are there.
CREATE TABLE pg (id int, a int);
CREATE TABLE #w (other int);
GO
CREATE VIEW vx AS SELECT id FROM pg ORDER BY id;
GO
SELECT id FROM vx;
GO
CREATE VIEW vt AS SELECT TOP (5) id FROM pg ORDER BY id;
GO
CREATE PROC p AS SELECT @nope;
GO
EXEC p;
GO
CREATE PROC p AS
SELECT id FROM pg;
SELECT nosuchcol FROM pg;
GO
CREATE PROC p AS
IF @x = 1
    UPDATE pg SET nosuch = 1;
GO
CREATE PROC p @x int AS
DECLARE @y int = @x;
IF @x = @y
BEGIN
    PRINT @z;
END
GO
-- Tables that are not there yet, and temporary ones, are looked at when it runs.
CREATE PROC p @x int OUTPUT AS
CREATE TABLE #w (mine int);
INSERT #w (mine) VALUES (@x);
SELECT @x = mine + 1 FROM #w;
SELECT nosuchcol FROM not_there WHERE a = @x;
GO
DROP TABLE #w;
GO
DECLARE @r int = 4;
EXEC p @r OUTPUT;
GO
ALTER PROC p AS DELETE pg WHERE missing = 1;
GO
EXEC sp_helptext 'p';
GO
