-- Control of flow.
DECLARE @i INT = 0, @s VARCHAR(100) = '';
WHILE @i < 10
BEGIN
    SET @i += 1;
    IF @i % 2 = 0 CONTINUE;
    IF @i > 7 BREAK;
    SET @s += CAST(@i AS VARCHAR(2)) + ' ';
END
SELECT @i AS i, @s AS odd;
WHILE 1 = 1
BEGIN
    WHILE 1 = 1 BREAK;
    SET @i = -1;
    BREAK;
END
SELECT @i AS i;
IF @i IS NULL PRINT 'null' ELSE IF @i < 0 PRINT 'negative' ELSE PRINT 'other';
IF NULL = NULL PRINT 'yes' ELSE PRINT 'unknown is not true';
IF EXISTS (SELECT 1 WHERE 1 = 0) PRINT 'exists' ELSE PRINT 'does not exist';
IF @i = -1
BEGIN
    PRINT 'a';
    BEGIN
        PRINT 'b';
    END
END
ELSE
    PRINT 'c';
IF @i = 5 DECLARE @declared_anyhow INT = 7;
SELECT @declared_anyhow AS declared_but_not_set;
RETURN;
PRINT 'not reached';
GO
BREAK;
GO
CONTINUE;
GO
RETURN 1;
GO
IF 1 PRINT 'no condition';
GO
IF 1 = 1
BEGIN
END
GO
GOTO there;
there:
PRINT 'no GOTO';
GO
DECLARE c CURSOR FOR SELECT 1;
GO
DECLARE @c CURSOR;
GO
PRINT @nosuch;
GO
DECLARE @twice INT;
DECLARE @twice INT;
GO
