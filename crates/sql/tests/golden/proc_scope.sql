CREATE TABLE t (id INT IDENTITY PRIMARY KEY, n INT);
GO
CREATE PROCEDURE down @n INT AS
BEGIN
    SET NOCOUNT ON;
    DECLARE @next INT = @n - 1;
    IF @n > 0
        EXEC down @next;
    ELSE
        SELECT @@NESTLEVEL AS deepest;
END
GO
EXEC down 5;
SELECT 'NOCOUNT is off' AS a;
EXEC down 31;
EXEC down 40;
GO
SELECT 'a batch that went too deep is over' AS a, @@ERROR AS err;
GO
CREATE PROCEDURE ins AS
    INSERT t (n) VALUES (1);
    SELECT SCOPE_IDENTITY() AS inside;
GO
INSERT t (n) VALUES (0);
EXEC ins;
SELECT SCOPE_IDENTITY() AS scope, @@IDENTITY AS last;
GO
CREATE PROCEDURE late AS
    SELECT * FROM comes_later;
    SELECT 'not reached' AS a;
GO
EXEC late;
SELECT 'the caller goes on' AS a, @@ERROR AS err;
CREATE TABLE comes_later (x INT);
EXEC late;
GO
CREATE PROCEDURE fails AS

    SELECT 1 / 0;
    PRINT 'after the error';
    RAISERROR ('raised inside', 16, 1);
    THROW 50005, 'thrown inside', 1;
GO
EXEC fails;
SELECT 'not reached' AS a;
GO
BEGIN TRY
    EXEC fails;
END TRY
BEGIN CATCH
    SELECT ERROR_PROCEDURE() AS p, ERROR_LINE() AS l, ERROR_NUMBER() AS n;
END CATCH
GO
CREATE PROCEDURE opens AS BEGIN TRAN;
GO
EXEC opens;
SELECT @@TRANCOUNT AS one;
COMMIT;
GO
CREATE PROCEDURE ends AS ROLLBACK;
GO
BEGIN TRAN;
EXEC ends;
SELECT @@TRANCOUNT AS none;
GO
DROP PROCEDURE down;
EXEC down 1;
GO
