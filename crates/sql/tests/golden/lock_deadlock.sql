-- Two transactions wait for each other: one is chosen, told 1205, and rolled back; the other goes on.
CREATE TABLE a (id INT NOT NULL PRIMARY KEY, n INT);
CREATE TABLE b (id INT NOT NULL PRIMARY KEY, n INT);
INSERT a VALUES (1, 0);
INSERT b VALUES (1, 0);
GO
BEGIN TRAN;
UPDATE a SET n += 1;
GO
:connect victim
SET DEADLOCK_PRIORITY -5;
BEGIN TRAN;
UPDATE b SET n += 10;
GO
:start victim
UPDATE a SET n += 10;
SELECT 'not reached' AS a;
GO
:connect main
UPDATE b SET n += 1;
COMMIT;
GO
:wait victim
:connect victim
SELECT @@TRANCOUNT AS none, @@ERROR AS err;
SELECT a.n AS a, b.n AS b FROM a JOIN b ON a.id = b.id;
GO
-- Within TRY it is caught, and the transaction can only be rolled back.
:connect main
BEGIN TRAN;
UPDATE a SET n = 100;
GO
:connect victim
BEGIN TRAN;
UPDATE b SET n = 200;
GO
:start victim
BEGIN TRY
    UPDATE a SET n = 200;
END TRY
BEGIN CATCH
    SELECT ERROR_NUMBER() AS err, ERROR_SEVERITY() AS level, XACT_STATE() AS state, @@TRANCOUNT AS n;
    BEGIN TRY
        UPDATE b SET n = 300;
    END TRY
    BEGIN CATCH
        SELECT ERROR_NUMBER() AS doomed;
    END CATCH
    ROLLBACK;
    SELECT XACT_STATE() AS state, @@TRANCOUNT AS n;
END CATCH
GO
:connect main
UPDATE b SET n = 100;
COMMIT;
GO
:wait victim
SELECT a.n AS a, b.n AS b FROM a JOIN b ON a.id = b.id;
GO
-- Not caught and not rolled back: the end of the batch does it.
BEGIN TRAN;
UPDATE a SET n = 1;
GO
:connect victim
BEGIN TRAN;
UPDATE b SET n = 2;
GO
:start victim
BEGIN TRY
    UPDATE a SET n = 2;
END TRY
BEGIN CATCH
    PRINT ERROR_NUMBER();
END CATCH
PRINT 'the batch goes on';
GO
:connect main
UPDATE b SET n = 1;
COMMIT;
GO
:wait victim
:connect victim
SELECT @@TRANCOUNT AS none, a.n AS a, b.n AS b FROM a JOIN b ON a.id = b.id;
GO
