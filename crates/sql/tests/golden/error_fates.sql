CREATE TABLE t (id INT NOT NULL PRIMARY KEY, c VARCHAR(3) NULL);
INSERT t VALUES (1, 'a');
GO
INSERT t VALUES (1, 'dup');
SELECT @@ERROR AS err, @@ROWCOUNT AS n;
INSERT t VALUES (NULL, 'x');
INSERT t VALUES (2, 'long');
SELECT 1 / 0;
UPDATE t SET id = id / 0;
SELECT 'a statement was ended each time' AS a, COUNT(*) AS n FROM t;
GO
SELECT CAST('x' AS INT);
SELECT 'not reached: a conversion ends the batch' AS a;
GO
SELECT * FROM nosuch;
SELECT 'not reached: a name ends the batch' AS a;
GO
INSERT t VALUES (2, 'b'), (3, 'c'), (1, 'dup'), (4, 'd');
SELECT COUNT(*) AS still_one FROM t;
GO
BEGIN TRY
    SELECT * FROM nosuch;
END TRY
BEGIN CATCH
    SELECT 'not caught in its own batch' AS a;
END CATCH
GO
BEGIN TRY
    EXEC ('SELECT * FROM nosuch');
END TRY
BEGIN CATCH
    SELECT ERROR_NUMBER() AS caught_outside;
END CATCH
GO
BEGIN TRY
    EXEC nosuch;
END TRY
BEGIN CATCH
    SELECT ERROR_NUMBER() AS n, ERROR_MESSAGE() AS m;
END CATCH
GO
SET XACT_ABORT ON;
BEGIN TRAN;
INSERT t VALUES (5, 'e');
INSERT t VALUES (1, 'dup');
SELECT 'not reached' AS a;
GO
SELECT @@TRANCOUNT AS rolled_back, COUNT(*) AS n FROM t;
BEGIN TRAN;
RAISERROR ('XACT_ABORT does not care', 16, 1);
SELECT @@TRANCOUNT AS still_open;
ROLLBACK;
SET XACT_ABORT OFF;
GO
