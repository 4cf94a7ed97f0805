CREATE TABLE h (id INT NOT NULL, a INT, s VARCHAR(10));
INSERT INTO h VALUES (3, 30, 'c'), (1, 10, 'a'), (2, 20, 'b');
CREATE INDEX ix ON h (a);
SELECT index_id, type_desc, name FROM sys.indexes WHERE object_id = OBJECT_ID('h') ORDER BY index_id;
CREATE UNIQUE CLUSTERED INDEX cx ON h (id);
SELECT index_id, type_desc, name, is_unique FROM sys.indexes WHERE object_id = OBJECT_ID('h') ORDER BY index_id;
SELECT id, s FROM h WHERE a = 20;
INSERT INTO h VALUES (2, 5, 'z');
GO
ALTER INDEX ALL ON h REBUILD;
ALTER INDEX ix ON h REBUILD;
DROP INDEX cx ON h;
SELECT index_id, type_desc, name FROM sys.indexes WHERE object_id = OBJECT_ID('h') ORDER BY index_id;
INSERT INTO h VALUES (2, 5, 'z');
SELECT id, a, s FROM h WHERE a < 25 ORDER BY a;
