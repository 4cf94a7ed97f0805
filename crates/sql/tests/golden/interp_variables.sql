DECLARE @a INT, @b VARCHAR(5) = 'abcdefgh', @c CHAR(4) = 'x', @d DECIMAL(5, 2) = 1.999, @e NVARCHAR(MAX) = N'yes';
SELECT @a AS a, @b AS b, @c + '|' AS c, @d AS d, @e AS e;
SET @a = '12';
SET @a += 1;
SET @a *= 2;
SET @a -= 1;
SET @a /= 2;
SET @a %= 7;
SELECT @a AS five;
SET @a = 12;
SET @a |= 3;
SET @a &= 13;
SET @a ^= 1;
SELECT @a AS twelve;
SELECT @a = 1, @b = 'two';
SELECT @a AS a, @b AS b;
SELECT @a = id, @b = c FROM (VALUES (1, 'x'), (2, 'y')) AS v (id, c) ORDER BY id;
SELECT @a AS the_last, @b AS row;
SELECT @a = id FROM (VALUES (7)) AS v (id) WHERE id > 100;
SELECT @a AS as_before;
SET @a = (SELECT id FROM (VALUES (7)) AS v (id) WHERE id > 100);
SELECT @a AS null_of_a_subquery;
SELECT @b = @b + c FROM (VALUES ('1'), ('2')) AS v (c);
SELECT @b AS gathered;
GO
DECLARE @t TINYINT = 255;
SET @t += 1;
SELECT @t AS t;
GO
DECLARE @i INT = 'x';
SELECT 'not reached' AS a;
GO
SELECT @gone AS g;
GO
DECLARE @x TEXT;
GO
DECLARE @x NOSUCHTYPE;
GO
DECLARE @x INT;
SELECT @x = 1, 2;
GO
SET @undeclared = 1;
GO
DECLARE @m MONEY = 1.23456, @u UNIQUEIDENTIFIER, @v VARBINARY(3) = 0x01020304;
SELECT @m AS m, @u AS u, @v AS v, CAST(1 AS BIT) AS b;
GO
