-- Arguments that are NULL without a type, and names that two columns of the output have.
SELECT COUNT(NULL);
GO
SELECT COUNT_BIG(NULL);
GO
SELECT COUNT(CAST(NULL AS int)), COUNT(*);
GO
SELECT SUBSTRING(NULL, 1, 1);
GO
SELECT SUBSTRING(CAST(NULL AS varchar(3)), 1, 1), LEFT(NULL, 1), LEN(NULL);
GO
SELECT CAST('-' AS money), CAST('' AS money), CAST('.' AS smallmoney), CAST('-$' AS money);
GO
CREATE TABLE t (a int, b int);
INSERT t VALUES (1, 2), (2, 1);
GO
SELECT a AS s, b AS s FROM t ORDER BY s;
GO
SELECT *, a FROM t ORDER BY a;
GO
SELECT a AS s, b AS s FROM t UNION ALL SELECT 0, 0 ORDER BY s;
GO
SELECT a AS b, b AS a FROM t ORDER BY a;
SELECT *, a FROM t ORDER BY t.a DESC;
GO
