CREATE PROCEDURE halve @n INT, @half INT OUTPUT, @rest INT = 0 OUTPUT AS
BEGIN
    SET @half = @n / 2;
    SET @rest = @n % 2;
    RETURN @half + @rest;
END
GO
DECLARE @h INT, @r INT, @rc INT;
EXEC @rc = halve 7, @h OUTPUT, @r OUTPUT;
SELECT @h AS h, @r AS r, @rc AS rc;
EXEC halve @half = @h OUT, @n = 100;
SELECT @h AS fifty, @r AS as_before;
EXEC halve 9, @h;
SELECT @h AS as_before;
GO
EXEC halve 9, 5 OUTPUT;
GO
DECLARE @h VARCHAR(1);
EXEC halve 7, @h OUTPUT;
SELECT @h AS h;
GO
DECLARE @rc INT = -5;
EXEC @rc = halve;
SELECT @rc AS as_before;
GO
EXEC halve 1, 2, 3, 4;
GO
EXEC halve 1, @nosuch = 2;
GO
EXEC halve @n = 1, @n = 2;
GO
DECLARE @h INT;
EXEC halve 'x', @h;
GO
CREATE PROCEDURE plain @a INT AS RETURN;
GO
DECLARE @x INT = 1, @rc INT;
EXEC @rc = plain @x;
SELECT @rc AS zero;
EXEC plain @x OUTPUT;
GO
CREATE PROCEDURE nothing AS RETURN NULL;
GO
DECLARE @rc INT = 7;
EXEC @rc = nothing;
SELECT @rc AS zero;
EXEC nothing 1;
GO
CREATE PROCEDURE defaults @a INT = 1, @b VARCHAR(10) = 'text', @c DATE = NULL AS SELECT @a AS a, @b AS b, @c AS c;
GO
EXEC defaults;
EXEC defaults DEFAULT, 'given';
EXEC defaults @b = bare_word, @c = '2024-01-31';
DECLARE @name SYSNAME = 'dbo.defaults';
EXEC @name 5;
EXEC [dbo].[defaults] 6;
EXEC master.dbo.defaults 7;
EXEC master..defaults 8;
GO
