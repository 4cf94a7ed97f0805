-- Assignments of one SELECT are done in the order of the list, and each reads what those before it have set.
CREATE TABLE t (id INT NOT NULL PRIMARY KEY, g INT NOT NULL, s VARCHAR(10) NOT NULL);
INSERT t VALUES (1, 1, 'c'), (2, 1, 'b'), (3, 2, 'a');
GO
-- Constants.
DECLARE @a INT = 0, @b INT = 0, @c INT = 5;
SELECT @a = 1, @b = @a + 1, @c += @b;
SELECT @a, @b, @c;
GO
-- From a table; UPDATE does the same.
DECLARE @a INT = 0, @b INT = 0;
SELECT @a = id, @b = @a + 1 FROM t;
SELECT @a, @b, @@ROWCOUNT;
UPDATE t SET @a = id, @b = @a + 1;
SELECT @a, @b;
GO
-- What a later entry sets is of the row before.
DECLARE @a INT = 0, @b INT = 10;
SELECT @a = @b, @b = id FROM t;
SELECT @a, @b;
GO
-- Concatenation, with a counter.
DECLARE @n INT = 0, @s VARCHAR(100) = '';
SELECT @n = @n + 1, @s = @s + CAST(@n AS VARCHAR(9)) + ':' + CAST(id AS VARCHAR(9)) + ' ' FROM t;
SELECT @n, @s;
GO
-- In the order of ORDER BY, by a column of the table and by an expression.
DECLARE @n INT = 0, @s VARCHAR(100) = '';
SELECT @n = @n + 1, @s = @s + CAST(@n AS VARCHAR(9)) + s + ' ' FROM t ORDER BY s;
SELECT @n, @s;
SELECT @n = 0, @s = '';
SELECT @n += 1, @s += CAST(@n AS VARCHAR(9)) + s + ' ' FROM t ORDER BY -id;
SELECT @n, @s;
SELECT @n = 0, @s = '';
SELECT @n += 1, @s += CAST(@n AS VARCHAR(9)) + s + ' ' FROM t ORDER BY id DESC;
SELECT @n, @s;
GO
-- TOP, OFFSET, DISTINCT.
DECLARE @n INT = 0, @s VARCHAR(100) = '';
SELECT TOP 2 @n = @n + id, @s = @s + CAST(@n AS VARCHAR(9)) + ' ' FROM t ORDER BY id DESC;
SELECT @n, @s;
SELECT @n = 0, @s = '';
SELECT @n = @n + id, @s = @s + CAST(@n AS VARCHAR(9)) + ' ' FROM t ORDER BY id OFFSET 1 ROWS;
SELECT @n, @s;
SELECT DISTINCT @n = g FROM t;
SELECT @n;
GO
-- Aggregates, groups, windows.
DECLARE @n INT = 0, @m INT = 0, @s VARCHAR(100) = '';
SELECT @n = COUNT(*), @m = @n + SUM(id) FROM t;
SELECT @n, @m;
SELECT @n = g, @m = COUNT(*), @s = @s + CONCAT(@n, '=', @m, ' ') FROM t GROUP BY g ORDER BY g DESC;
SELECT @n, @m, @s;
SELECT @n = ROW_NUMBER() OVER (ORDER BY s), @s = @s + CONCAT(@n, s, ' ') FROM t ORDER BY s;
SELECT @n, @s;
GO
-- A subquery and CASE read what an entry before them has set.
DECLARE @a INT = 0, @b INT = 0, @c VARCHAR(10);
SELECT @a = id, @b = (SELECT MAX(x.id) FROM t AS x WHERE x.id <= @a - 1), @c = CASE WHEN @a = 3 THEN s ELSE '-' END
FROM t;
SELECT @a, @b, @c;
GO
-- No row sets nothing; a table is joined.
DECLARE @a INT = 7, @b INT = 8;
SELECT @a = id, @b = @a FROM t WHERE id > 9;
SELECT @a, @b;
SELECT @a = x.id, @b = @a * 10 + y.id FROM t AS x JOIN t AS y ON y.id = x.id - 1 WHERE x.id = 3;
SELECT @a, @b;
GO
CREATE PROCEDURE p @from INT, @last INT OUTPUT, @twice INT OUTPUT AS
SELECT @last = id, @twice = @last * 2 FROM t WHERE id >= @from ORDER BY id;
GO
DECLARE @x INT, @y INT;
EXEC p 2, @x OUTPUT, @y OUTPUT;
SELECT @x, @y;
EXEC p 1, @x OUTPUT, @y OUTPUT;
SELECT @x, @y;
GO
-- An error leaves what was set before it.
DECLARE @a INT = 0, @b INT = 0;
BEGIN TRY
    SELECT @a = id, @b = 1 / (@a - 2) FROM t;
END TRY
BEGIN CATCH
    SELECT @a, @b, ERROR_NUMBER();
END CATCH
GO
-- Assignments and INTO exclude each other.
DECLARE @a INT;
SELECT @a = id INTO x FROM t;
GO
DECLARE @a INT;
SELECT @a = id, g INTO x FROM t;
GO
