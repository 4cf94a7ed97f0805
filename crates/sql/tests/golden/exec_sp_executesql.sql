CREATE TABLE t (id INT, c VARCHAR(10));
INSERT t VALUES (1, 'one'), (2, 'two'), (3, NULL);
GO
EXEC sp_executesql N'SELECT c FROM t WHERE id = @id', N'@id INT', @id = 2;
EXEC sp_executesql N'SELECT c FROM t WHERE id = @id', N'@id INT', 1;
EXEC sys.sp_executesql @stmt = N'SELECT @a + @b AS sum', @params = N'@a INT, @b INT', @b = 2, @a = 40;
DECLARE @n INT = -1, @rc INT;
EXEC @rc = sp_executesql N'SELECT @n = COUNT(*) FROM t WHERE id > @from', N'@from INT, @n INT OUTPUT', 1, @n OUTPUT;
SELECT @n AS two, @rc AS rc;
EXEC sp_executesql N'SET @n = 5', N'@n INT OUTPUT', @n = @n;
SELECT @n AS not_asked_for;
EXEC sp_executesql N'SET @n = 5', N'@n INT OUT', @n = @n OUT;
SELECT @n AS five;
EXEC sp_executesql N'SELECT 1 AS no_parameters';
DECLARE @sql NVARCHAR(100) = N'INSERT t VALUES (@i, @c)';
EXEC sp_executesql @sql, N'@i INT, @c VARCHAR(10)', @i = 4, @c = 'four';
SELECT @@ROWCOUNT AS one;
EXEC sp_executesql N'SELECT @p AS by_default', N'@p INT = 9';
EXEC sp_executesql N'SELECT @p AS p', N'@p VARCHAR(3)', 'abcdef';
GO
EXEC sp_executesql 'not unicode';
GO
EXEC sp_executesql N'SELECT @p', N'@p INT';
GO
EXEC sp_executesql N'SELECT @p', N'@p INT', @q = 1;
GO
EXEC sp_executesql N'SELECT 1', N'@p INT', 1, 2;
GO
EXEC sp_executesql N'SELECT @p', N'@p INT', 'x';
GO
EXEC sp_executesql N'SELECT nosuch FROM t';
PRINT 'goes on';
GO
EXEC sp_executesql N'SELECT FROM';
PRINT 'goes on';
GO
-- Each declaration has its own default.
EXEC sp_executesql N'SELECT @p AS one', N'@p INT = 1';
EXEC sp_executesql N'SELECT @p AS two', N'@p INT = 2';
EXEC sp_executesql N'SELECT @p AS three', N'@p INT = 3';
GO
