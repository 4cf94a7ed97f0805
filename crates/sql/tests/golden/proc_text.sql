EXEC ('SELECT 1 AS a');
EXEC ('SELECT' + ' 2' + ' AS b');
DECLARE @s NVARCHAR(100) = N'SELECT @@NESTLEVEL AS level';
EXEC (@s);
EXEC sp_executesql @s;
DECLARE @n INT = 5, @out INT;
EXEC sp_executesql N'SET @o = @i * 2', N'@i INT, @o INT OUTPUT', @i = @n, @o = @out OUTPUT;
SELECT @out AS doubled;
EXEC sp_executesql N'SELECT @a + @b AS summed', N'@a INT, @b INT = 7', 3;
EXEC sp_executesql N'SELECT @a', N'@a INT';
EXEC sp_executesql 'SELECT 1';
SELECT 'goes on' AS after_them;
GO
EXEC ('SELEC 1');
SELECT @@ERROR AS err;
EXEC ('SELECT * FROM nosuch');
SELECT @@ERROR AS err;
EXEC nosuch 1;
SELECT @@ERROR AS err;
EXEC ('DECLARE @x INT = 4; SET NOCOUNT ON; SELECT @x');
SELECT 'NOCOUNT is off again' AS a;
EXEC ('SELECT @x');
GO
EXEC ('USE tempdb; SELECT DB_NAME() AS inside');
SELECT DB_NAME() AS outside;
GO
