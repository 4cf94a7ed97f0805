-- A statement that waited for a change of its table's definition is bound to the new one, wherever it stands; a column
-- that is gone is 207, a table that is gone 208. The rest of the batch goes by what is there then.
CREATE TABLE t (id INT NOT NULL PRIMARY KEY, n INT, gone INT);
CREATE TABLE child (id INT NOT NULL PRIMARY KEY, t_id INT REFERENCES t);
CREATE TABLE log_of (id INT, n INT);
INSERT t VALUES (1, 10, 100), (2, 20, 200);
GO
CREATE PROCEDURE add_one @id INT AS
    UPDATE t SET n = n + 1 WHERE id = @id;
    SELECT n AS in_procedure FROM t WHERE id = @id;
GO
EXEC add_one 1;
GO
BEGIN TRAN;
CREATE INDEX by_n ON t (n);
GO
:connect one
:start one
UPDATE t SET n = n + 1 WHERE id = 1;
SELECT n AS in_batch FROM t WHERE id = 1;
GO
:connect two
:start two
EXEC add_one 2;
GO
:connect three
:start three
BEGIN TRAN;
MERGE t USING (VALUES (3, 30)) AS s (id, n) ON t.id = s.id
    WHEN MATCHED THEN UPDATE SET n = s.n WHEN NOT MATCHED THEN INSERT (id, n) VALUES (s.id, s.n);
SELECT COUNT(*) AS rows_then FROM t;
COMMIT;
GO
:connect four
:start four
INSERT child VALUES (1, 1);
IF EXISTS (SELECT * FROM t WHERE id = 2) PRINT 'found';
GO
:connect five
:start five
SELECT v.a, CASE WHEN v.a > 1 THEN (SELECT MAX(id) FROM t WHERE id < 3) END AS b INTO #five
FROM (VALUES (1), (2)) AS v (a);
SELECT * FROM #five ORDER BY a;
INSERT log_of EXEC ('SELECT id, gone FROM t WHERE id < 3');
GO
:connect main
COMMIT;
GO
:wait one
:wait two
:wait three
:wait four
:wait five
:connect main
SELECT * FROM log_of ORDER BY id;
BEGIN TRAN;
ALTER TABLE t DROP COLUMN gone;
GO
:start one
SELECT id, gone FROM t;
PRINT 'not reached';
GO
:start two
BEGIN TRY
    EXEC ('UPDATE t SET gone = 1');
END TRY
BEGIN CATCH
    SELECT ERROR_NUMBER() AS number, ERROR_MESSAGE() AS message;
END CATCH
GO
:connect main
COMMIT;
GO
:wait one
:wait two
:connect main
BEGIN TRAN;
DROP TABLE log_of;
GO
:start one
INSERT log_of (id, n) VALUES (9, 9);
SELECT * FROM log_of;
GO
:connect main
CREATE TABLE log_of (id INT, n INT, more INT DEFAULT 7);
COMMIT;
GO
:wait one
:connect main
BEGIN TRAN;
DROP TABLE log_of;
GO
:start one
DELETE log_of;
GO
:connect main
COMMIT;
GO
:wait one
-- What a statement holds of a table that it does not read in the end goes with it.
:connect main
BEGIN TRAN;
SELECT CASE WHEN 1 = 0 THEN (SELECT MAX(id) FROM t) END AS nothing;
SELECT COUNT(*) AS locks FROM sys.dm_tran_locks WHERE resource_type = 'OBJECT' AND request_session_id = @@SPID;
COMMIT;
GO
