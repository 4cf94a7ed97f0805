CREATE TABLE t (id INT NOT NULL PRIMARY KEY);
GO
BEGIN TRY
    BEGIN TRY
        SELECT 1 / 0 AS x;
    END TRY
    BEGIN CATCH
        SELECT ERROR_NUMBER() AS inner_error, ERROR_LINE() AS line;
        RAISERROR ('from the inner CATCH', 16, 7);
        SELECT 'not reached' AS a;
    END CATCH
END TRY
BEGIN CATCH
    SELECT ERROR_NUMBER() AS n, ERROR_SEVERITY() AS level, ERROR_STATE() AS state, ERROR_LINE() AS line,
        ERROR_MESSAGE() AS message, ERROR_PROCEDURE() AS p;
    BEGIN TRY
        INSERT t VALUES (NULL);
    END TRY
    BEGIN CATCH
        SELECT ERROR_NUMBER() AS nested;
    END CATCH
    SELECT ERROR_NUMBER() AS the_outer_again;
END CATCH
SELECT ERROR_NUMBER() AS none;
GO
-- TRY in TRY: what is rethrown goes outwards with its number, state and line.
BEGIN TRY
    BEGIN TRY
        THROW 51000, 'thrown', 9;
    END TRY
    BEGIN CATCH
        PRINT 'passing ' + ERROR_MESSAGE();
        THROW;
    END CATCH
END TRY
BEGIN CATCH
    SELECT ERROR_NUMBER() AS n, ERROR_STATE() AS state, ERROR_LINE() AS line;
END CATCH
GO
-- Out of loops and procedures.
CREATE PROCEDURE fails @n INT AS
BEGIN
    SELECT 10 / @n AS tenth;
    RETURN 5;
END
GO
DECLARE @i INT = 2, @rc INT = -1;
WHILE @i >= -1
BEGIN
    BEGIN TRY
        EXEC @rc = fails @i;
    END TRY
    BEGIN CATCH
        SELECT ERROR_PROCEDURE() AS p, ERROR_LINE() AS line, @rc AS rc_as_before;
        SET @i -= 1;
        CONTINUE;
    END CATCH
    IF @i < 0 BREAK;
    SET @i -= 1;
END
SELECT @i AS i, @rc AS rc;
GO
-- Information is not caught; @@ERROR in CATCH.
BEGIN TRY
    RAISERROR ('level 10 is only said', 10, 1);
    PRINT 'goes on';
    RAISERROR ('level 11 is caught', 11, 1);
END TRY
BEGIN CATCH
    SELECT @@ERROR AS err, ERROR_SEVERITY() AS level;
END CATCH
GO
BEGIN TRY
    RETURN;
END TRY
BEGIN CATCH
    PRINT 'no';
END CATCH
PRINT 'not reached';
GO
THROW;
GO
BEGIN TRY
    PRINT 'no catch'
END TRY
GO
