-- LIKE: wildcards, sets, escapes, blanks, NULL.
CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(20) NULL);
INSERT INTO t VALUES (1, 'apple'), (2, 'Apricot'), (3, 'banana'), (4, '50%'), (5, 'a_b'), (6, 'a[b'), (7, NULL), (8, ''), (9, 'apple  ');
CREATE INDEX iv ON t (v);
GO
SELECT id FROM t WHERE v LIKE 'ap%' ORDER BY id;
SELECT id FROM t WHERE v LIKE '%an%' ORDER BY id;
SELECT id FROM t WHERE v LIKE '_p%' ORDER BY id;
SELECT id FROM t WHERE v LIKE '[a-b][np]%' ORDER BY id;
SELECT id FROM t WHERE v LIKE '[^a]%' ORDER BY id;
SELECT id FROM t WHERE v LIKE '%!%' ESCAPE '!' ORDER BY id;
SELECT id FROM t WHERE v LIKE 'a!_b' ESCAPE '!' ORDER BY id;
SELECT id FROM t WHERE v LIKE 'a[_]b' ORDER BY id;
SELECT id FROM t WHERE v LIKE 'a[[]b' ORDER BY id;
SELECT id FROM t WHERE v LIKE 'apple' ORDER BY id;
SELECT id FROM t WHERE v NOT LIKE '%a%' ORDER BY id;
SELECT id FROM t WHERE v LIKE '' ORDER BY id;
SELECT id FROM t WHERE v LIKE NULL;
SELECT id FROM t WHERE v LIKE '%' ORDER BY id;
SELECT 1 AS x WHERE 'a' LIKE N'A' AND 123 LIKE '1%';
SELECT 1 AS x WHERE N'a ' LIKE N'a';
DECLARE @p VARCHAR(10) = 'B%';
SELECT id FROM t WHERE v LIKE @p;
GO
SELECT id FROM t WHERE v LIKE 'a' ESCAPE 'xx';
GO
