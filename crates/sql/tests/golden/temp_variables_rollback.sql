-- Table variables are no part of the transaction.
CREATE TABLE kept (id INT);
GO
DECLARE @t TABLE (id INT NOT NULL PRIMARY KEY, c VARCHAR(3) CHECK (c <> 'bad'));
BEGIN TRAN;
INSERT @t VALUES (1, 'a'), (2, 'b');
INSERT kept VALUES (1);
SAVE TRAN here;
UPDATE @t SET c = 'x' WHERE id = 1;
ROLLBACK TRAN here;
DELETE @t WHERE id = 2;
ROLLBACK;
SELECT * FROM @t;
SELECT COUNT(*) AS none FROM kept;
GO
-- A statement that fails leaves nothing behind there either.
DECLARE @t TABLE (id INT NOT NULL PRIMARY KEY, c VARCHAR(3) NULL CHECK (c <> 'bad'));
INSERT @t VALUES (1, 'a');
INSERT @t VALUES (2, 'b'), (1, 'c');
INSERT @t VALUES (3, 'bad');
INSERT @t VALUES (NULL, 'c');
INSERT @t VALUES (4, 'long');
SELECT * FROM @t;
GO
-- What happened is told after a rollback.
DECLARE @log TABLE (n INT IDENTITY, what VARCHAR(30));
BEGIN TRY
    BEGIN TRAN;
    INSERT kept VALUES (1);
    INSERT @log VALUES ('one row in');
    INSERT kept VALUES (1 / 0);
    COMMIT;
END TRY
BEGIN CATCH
    INSERT @log VALUES ('error ' + CAST(ERROR_NUMBER() AS VARCHAR(10)));
    ROLLBACK;
    INSERT @log VALUES ('rolled back');
END CATCH
SELECT * FROM @log ORDER BY n;
SELECT COUNT(*) AS none FROM kept;
GO
-- It is seen in its batch alone, and not by what the batch calls.
DECLARE @t TABLE (id INT);
EXEC ('SELECT * FROM @t');
INSERT @t SELECT id FROM (VALUES (3), (1), (2)) AS v (id);
SELECT t.id, u.id FROM @t t JOIN @t u ON u.id = t.id + 1 ORDER BY 1;
DELETE t FROM @t t WHERE t.id = 2;
UPDATE t SET id = 10 FROM @t AS t WHERE id = 3;
MERGE @t AS t USING (VALUES (1), (5)) AS s (id) ON t.id = s.id
WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT (id) VALUES (s.id);
SELECT id FROM @t ORDER BY id;
GO
SELECT * FROM @t;
GO
DECLARE @i INT = 0;
WHILE @i < 3
BEGIN
    DECLARE @once TABLE (i INT);
    INSERT @once VALUES (@i);
    SET @i += 1;
END
SELECT COUNT(*) AS three FROM @once;
GO
