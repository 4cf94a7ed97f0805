-- VALUES as a table, derived tables, SELECT without FROM.
SELECT a, b FROM (VALUES (1, 'x'), (2, NULL)) AS v (a, b) ORDER BY a DESC;
SELECT SUM(n) AS s FROM (VALUES (1), (2.5), (3)) AS v (n);
SELECT x.a + y.a AS n FROM (SELECT 1 AS a UNION ALL SELECT 2) AS x, (SELECT 10 AS a) AS y ORDER BY n;
SELECT 1 AS one, 'two' AS two, NULL AS three, 4.50 AS four WHERE 1 = 1;
SELECT 1 AS one WHERE 1 = 0;
SELECT 5 [a b], 6 AS "c d", seven = 7;
GO
SELECT * FROM (VALUES (1, 2), (3)) AS v (a, b);
GO
SELECT * FROM (VALUES (1, 2)) AS v (a);
GO
SELECT * FROM (SELECT 1) AS x;
GO
SELECT * FROM (SELECT 1 AS a, 2 AS a) AS x;
GO
SELECT * FROM (SELECT 1 AS a);
GO
SELECT *;
GO
