-- 266: a procedure that leaves another number of transactions open than there were.
CREATE TABLE t (id INT);
GO
CREATE PROCEDURE opens AS BEGIN TRAN; INSERT t VALUES (1);
GO
CREATE PROCEDURE ends AS COMMIT;
GO
CREATE PROCEDURE undoes AS ROLLBACK; SELECT 'goes on' AS a;
GO
EXEC opens;
SELECT @@TRANCOUNT AS one;
EXEC opens;
SELECT @@TRANCOUNT AS two;
EXEC ends;
SELECT @@TRANCOUNT AS one;
EXEC undoes;
SELECT @@TRANCOUNT AS none, COUNT(*) AS nothing FROM t;
GO
BEGIN TRAN;
BEGIN TRY
    EXEC undoes;
    SELECT 'not reached' AS a;
END TRY
BEGIN CATCH
    SELECT ERROR_NUMBER() AS err, XACT_STATE() AS state, @@TRANCOUNT AS n;
END CATCH
GO
CREATE PROCEDURE careful AS
BEGIN
    DECLARE @outer INT = @@TRANCOUNT;
    IF @outer = 0 BEGIN TRAN ELSE SAVE TRAN careful;
    BEGIN TRY
        INSERT t VALUES (1);
        INSERT t VALUES (1 / 0);
        IF @outer = 0 COMMIT;
    END TRY
    BEGIN CATCH
        IF @outer = 0 ROLLBACK ELSE ROLLBACK TRAN careful;
        THROW;
    END CATCH
END
GO
EXEC careful;
GO
SELECT @@TRANCOUNT AS none;
BEGIN TRAN;
INSERT t VALUES (5);
EXEC careful;
GO
SELECT @@TRANCOUNT AS one, COUNT(*) AS one FROM t;
COMMIT;
GO
