-- Keys are compared when all rows have changed.
CREATE TABLE t (id INT NOT NULL PRIMARY KEY, u INT NOT NULL UNIQUE, c CHAR(1) NOT NULL);
INSERT t VALUES (1, 10, 'a'), (2, 20, 'b'), (3, 30, 'c');
GO
UPDATE t SET id = 3 - id WHERE id IN (1, 2);
SELECT * FROM t ORDER BY id;
UPDATE t SET id = id + 1;
SELECT * FROM t ORDER BY id;
UPDATE t SET id = id - 1;
UPDATE t SET u = CASE u WHEN 10 THEN 20 WHEN 20 THEN 30 ELSE 10 END;
SELECT * FROM t ORDER BY id;
UPDATE t SET id = 4 - id, u = 40 - u OUTPUT deleted.id AS old_id, inserted.id AS new_id;
SELECT * FROM t ORDER BY id;
GO
UPDATE t SET id = 1;
UPDATE t SET id = 2 WHERE id = 3;
UPDATE t SET u = 30 WHERE u <> 30;
SELECT * FROM t ORDER BY id;
GO
CREATE TABLE h (a INT, b INT);
CREATE UNIQUE INDEX ix ON h (a);
INSERT h VALUES (1, 1), (2, 2), (NULL, 3);
UPDATE h SET a = CASE WHEN a = 1 THEN NULL WHEN a = 2 THEN 1 ELSE 2 END;
SELECT * FROM h ORDER BY b;
UPDATE h SET a = NULL;
SELECT * FROM h ORDER BY b;
GO
MERGE t AS t USING (VALUES (1, 2), (2, 1), (3, NULL), (9, 3)) AS s (id, new_id) ON t.id = s.id
WHEN MATCHED AND s.new_id IS NULL THEN DELETE
WHEN MATCHED THEN UPDATE SET id = s.new_id
WHEN NOT MATCHED THEN INSERT VALUES (s.new_id, 99, 'z')
OUTPUT $action, s.new_id, deleted.id, inserted.id;
SELECT * FROM t ORDER BY id;
GO
