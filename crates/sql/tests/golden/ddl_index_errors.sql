CREATE TABLE t (id INT NOT NULL PRIMARY KEY, a INT, b VARCHAR(1000), c VARCHAR(20));
INSERT INTO t VALUES (1, 1, 'x', 'p'), (2, 1, 'y', 'q');
GO
CREATE UNIQUE INDEX ux ON t (a);
GO
CREATE INDEX ix ON t (a);
CREATE INDEX ix ON t (c);
GO
CREATE INDEX ix2 ON t (nothing);
GO
CREATE INDEX ix2 ON t (a, a);
GO
CREATE INDEX ix2 ON t (a) INCLUDE (a);
GO
CREATE CLUSTERED INDEX cx ON t (a);
GO
CREATE INDEX ix2 ON nowhere (a);
GO
CREATE INDEX ix2 ON t (a) ON nofilegroup;
GO
CREATE INDEX ix2 ON t (a) WHERE a > 0;
GO
CREATE INDEX ix2 ON t (a) WITH (IGNORE_DUP_KEY = ON);
GO
DROP INDEX nothing ON t;
GO
DROP INDEX IF EXISTS nothing ON t;
DROP INDEX t.ix;
GO
DROP INDEX ix ON nowhere;
GO
ALTER INDEX nothing ON t REBUILD;
GO
ALTER INDEX ALL ON nowhere REBUILD;
GO
CREATE INDEX ix ON t (a) WITH (DROP_EXISTING = ON);
GO
CREATE INDEX ix ON t (a DESC, c);
CREATE INDEX ix ON t (c) WITH (DROP_EXISTING = ON);
SELECT i.name, c.key_ordinal, COL_NAME(c.object_id, c.column_id) AS col, c.is_descending_key FROM sys.indexes AS i
JOIN sys.index_columns AS c ON c.object_id = i.object_id AND c.index_id = i.index_id
WHERE i.object_id = OBJECT_ID('t') ORDER BY i.index_id, c.key_ordinal;
