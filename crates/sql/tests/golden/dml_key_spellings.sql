-- A key may be given in another spelling than the row has: the row is the same one.
CREATE TABLE t (k varchar(10) NOT NULL PRIMARY KEY, x int NOT NULL, pad char(200) NOT NULL DEFAULT '');
INSERT t (k, x) SELECT CONCAT('k', value), 0 FROM GENERATE_SERIES(0, 4999);
INSERT t (k, x) VALUES ('abc', 0);
CREATE TABLE s (id int PRIMARY KEY, k varchar(10) NOT NULL, v int NOT NULL);
INSERT s VALUES (1, 'abc', 10), (2, 'ABC', 20), (3, 'abc ', 30);
GO
UPDATE t SET x = 1 OUTPUT deleted.k, deleted.x, inserted.x FROM s JOIN t ON t.k = s.k;
SELECT @@ROWCOUNT;
GO
MERGE t USING s ON t.k = s.k WHEN MATCHED THEN UPDATE SET x = s.v;
GO
MERGE t USING s ON t.k = s.k WHEN MATCHED THEN DELETE;
GO
SELECT k, x FROM t WHERE k = 'Abc';
GO
MERGE TOP (100000) t USING (SELECT k, MAX(v) v FROM s WHERE id = 2 GROUP BY k) s ON t.k = s.k
WHEN NOT MATCHED THEN INSERT (k, x) VALUES (s.k, 1)
WHEN NOT MATCHED BY SOURCE AND t.k = 'abc' THEN DELETE;
SELECT k, x FROM t WHERE k = 'abc';
GO
DECLARE c CURSOR LOCAL FOR SELECT k, x FROM t WHERE k = 'ABC' FOR UPDATE;
OPEN c;
FETCH c;
UPDATE t SET x = 77 WHERE CURRENT OF c;
SELECT k, x FROM t WHERE k = 'abc';
GO
-- An error is one whatever the other values of the key are.
CREATE TABLE e (a int NOT NULL, b int NOT NULL, PRIMARY KEY (a, b));
DECLARE @n int, @z int = 0;
SELECT * FROM e WHERE a = @n AND b = 1 / @z;
GO
