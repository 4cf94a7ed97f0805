-- Rows are changed through a view by the positions of its stored columns.
CREATE TABLE t (id int NOT NULL PRIMARY KEY, a int NULL, b varchar(10) NULL);
INSERT t VALUES (1, 10, 'one');
GO
CREATE VIEW v AS SELECT * FROM t;
GO
CREATE VIEW w AS SELECT id, b FROM v;
GO
ALTER TABLE t ADD c int NULL DEFAULT 5;
GO
INSERT v VALUES (2, 20, 'two');
INSERT v (id, b) VALUES (3, 'three');
UPDATE v SET a = a + 1 WHERE b = 'two';
UPDATE w SET b = 'drei' OUTPUT deleted.b, inserted.b WHERE id = 3;
MERGE v USING (VALUES (1, 'uno'), (4, 'four')) AS s (id, b) ON v.id = s.id
WHEN MATCHED THEN UPDATE SET b = s.b
WHEN NOT MATCHED THEN INSERT (id, b) VALUES (s.id, s.b);
DELETE FROM v WHERE a = 21;
SELECT * FROM t;
GO
INSERT v VALUES (5, 50, 'five', 5);
GO
UPDATE v SET c = 1;
GO
WITH x AS (SELECT * FROM v) UPDATE x SET a = 99 WHERE id = 4;
DECLARE over_v CURSOR FOR SELECT * FROM v WHERE id = 1 FOR UPDATE;
OPEN over_v;
FETCH NEXT FROM over_v;
UPDATE v SET a = 100 WHERE CURRENT OF over_v;
CLOSE over_v;
DEALLOCATE over_v;
SELECT * FROM t;
GO
-- The second column of the view is now c, the third is d; both have their stored names.
ALTER TABLE t DROP COLUMN a;
ALTER TABLE t ADD d varchar(10) NULL;
GO
SELECT * FROM v;
UPDATE v SET a = 'vier' WHERE id = 4;
SELECT * FROM t;
GO
-- A view that is created or altered in a transaction that is rolled back leaves no columns behind.
BEGIN TRANSACTION;
GO
CREATE VIEW gone AS SELECT id AS lost FROM t;
GO
ALTER VIEW w AS SELECT id AS lost FROM t;
GO
EXEC sp_refreshview 'v';
SELECT OBJECT_NAME(object_id) AS name, COUNT(*) AS columns FROM sys.columns
WHERE object_id IN (OBJECT_ID('v'), OBJECT_ID('w'), OBJECT_ID('gone')) GROUP BY object_id ORDER BY 1;
ROLLBACK;
SELECT OBJECT_NAME(object_id) AS name, COUNT(*) AS columns FROM sys.columns
WHERE object_id IN (OBJECT_ID('v'), OBJECT_ID('w'), OBJECT_ID('gone')) GROUP BY object_id ORDER BY 1;
GO
DBCC CHECKCATALOG WITH NO_INFOMSGS;
GO
