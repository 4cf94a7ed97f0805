CREATE TABLE t (id INT PRIMARY KEY, name VARCHAR(20), price DECIMAL(8,2), born DATE);
INSERT INTO t VALUES (1, 'apple', 1.25, '2020-01-31'), (2, 'pear', NULL, '2021-02-28'), (3, 'plum', 3.5, NULL);
SELECT * FROM t;
SELECT id, UPPER(name) AS n, price * 2 FROM t WHERE price IS NOT NULL ORDER BY price DESC;
SELECT COUNT(*), SUM(price), MIN(name), AVG(id) FROM t;
SELECT id FROM t WHERE id = 2;
SELECT id FROM t WHERE id BETWEEN 2 AND 9 AND name LIKE 'p%';
SELECT TOP 2 id, CASE WHEN id > 1 THEN 'many' ELSE 'one' END FROM t ORDER BY id;
SELECT a.id, b.id FROM t a JOIN t b ON a.id < b.id ORDER BY 1, 2;
SELECT a.id, b.name FROM t a LEFT JOIN t b ON b.id = a.id + 1 ORDER BY a.id;
SELECT name FROM t WHERE id IN (SELECT id FROM t WHERE price > 2);
SELECT id, (SELECT COUNT(*) FROM t b WHERE b.id < a.id) AS smaller FROM t a;
SELECT id % 2 AS odd, COUNT(*) AS n FROM t GROUP BY id % 2 HAVING COUNT(*) > 1;
SELECT 1 AS x UNION SELECT 2 UNION ALL SELECT 2 ORDER BY x DESC;
WITH c AS (SELECT id, price FROM t) SELECT SUM(price) FROM c WHERE id < 3;
SELECT DISTINCT LEN(name) FROM t ORDER BY LEN(name);
SELECT name FROM t ORDER BY id OFFSET 1 ROWS FETCH NEXT 1 ROWS ONLY;
GO
SELECT nothing FROM t;
GO
SELECT * FROM nowhere;
GO
SELECT name, COUNT(*) FROM t;
GO
SELECT id / 0 FROM t;
SELECT 'goes on';
GO
DECLARE @n INT = 2, @s VARCHAR(10);
SELECT @s = name FROM t WHERE id = @n;
PRINT @s;
WHILE @n > 0 SET @n -= 1;
IF @n = 0 PRINT 'none left' ELSE PRINT 'some left';
BEGIN TRY SELECT 1/0 END TRY BEGIN CATCH SELECT ERROR_NUMBER() AS number, ERROR_MESSAGE() AS text END CATCH
