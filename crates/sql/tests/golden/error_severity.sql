-- Levels: 10 and below inform, 11 to 18 are errors, 19 and above have to be logged, 20 ends the connection.
RAISERROR ('zero', 0, 1);
SELECT @@ERROR AS none;
RAISERROR ('ten', 10, 1);
SELECT @@ERROR AS none;
RAISERROR ('ten, noted', 10, 1) WITH SETERROR;
SELECT @@ERROR AS err;
RAISERROR ('eleven', 11, 1);
SELECT @@ERROR AS err;
RAISERROR ('eighteen', 18, 255);
RAISERROR ('nineteen', 19, 1);
RAISERROR ('nineteen, logged', 19, 1) WITH LOG;
GO
RAISERROR ('negative', -1, -1);
RAISERROR ('now', 0, 1) WITH NOWAIT;
GO
:connect doomed
CREATE TABLE t (id INT);
BEGIN TRAN;
INSERT t VALUES (1);
BEGIN TRY
    RAISERROR ('the end', 20, 1) WITH LOG;
END TRY
BEGIN CATCH
    SELECT 'not caught' AS a;
END CATCH
SELECT 'not reached' AS a;
GO
SELECT 1 AS not_answered;
GO
:connect main
SELECT COUNT(*) AS rolled_back FROM t;
GO
