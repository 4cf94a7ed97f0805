CREATE PROCEDURE add_up @a INT, @b INT = 10, @sum INT = NULL OUTPUT
AS
    SET @sum = @a + @b;
    SELECT @a AS a, @b AS b, @sum AS summed;
    RETURN @sum * 2;
GO
DECLARE @s INT, @rc INT;
EXEC add_up 1;
EXEC add_up 1, 2;
EXEC @rc = add_up @b = 3, @a = 4, @sum = @s OUTPUT;
SELECT @s AS s, @rc AS rc;
EXEC @rc = add_up 5, DEFAULT, @s OUTPUT;
SELECT @s AS s, @rc AS rc;
EXEC add_up;
EXEC add_up 1, 2, 3, 4;
EXEC add_up 1, @c = 2;
EXEC add_up @a = 1, @a = 2;
EXEC add_up 1, 2, 3 OUTPUT;
GO
EXEC add_up 'x';
EXEC dbo.add_up '7';
DECLARE @name SYSNAME = 'dbo.add_up';
EXEC @name 1, 1;
GO
CREATE PROCEDURE bare @w VARCHAR(20) AS SELECT @w AS w;
GO
EXEC bare hello;
EXEC bare 'quoted';
GO
CREATE PROCEDURE none AS SELECT 1 AS x;
GO
EXEC none 1;
GO
none
GO
CREATE PROCEDURE not_output @x INT AS SET @x = 9;
GO
DECLARE @v INT = 1;
EXEC not_output @v;
SELECT @v AS unchanged;
EXEC not_output @v OUTPUT;
GO
