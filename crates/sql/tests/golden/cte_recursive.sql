-- Recursive common table expressions: numbers, trees, MAXRECURSION, errors.
WITH n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < 5) SELECT i FROM n;
WITH n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < 150) SELECT COUNT(*) AS c, SUM(i) AS s FROM n OPTION (MAXRECURSION 200);
WITH n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < 1000) SELECT MAX(i) AS most FROM n OPTION (MAXRECURSION 0);
GO
CREATE TABLE emp (id INT PRIMARY KEY, boss INT NULL, name VARCHAR(10));
INSERT INTO emp VALUES (1, NULL, 'Ann'), (2, 1, 'Bob'), (3, 1, 'Cid'), (4, 2, 'Dan'), (5, 4, 'Eve');
WITH tree AS (
    SELECT id, name, 0 AS depth, CAST(name AS VARCHAR(100)) AS way FROM emp WHERE boss IS NULL
    UNION ALL
    SELECT e.id, e.name, t.depth + 1, CAST(t.way + '/' + e.name AS VARCHAR(100)) FROM emp e JOIN tree t ON e.boss = t.id
)
SELECT depth, way FROM tree ORDER BY way;
WITH up AS (SELECT id, boss FROM emp WHERE id = 5 UNION ALL SELECT e.id, e.boss FROM emp e JOIN up ON up.boss = e.id)
SELECT id FROM up;
GO
WITH n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n) SELECT COUNT(*) FROM n;
GO
WITH n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < 9) SELECT COUNT(*) FROM n OPTION (MAXRECURSION 3);
GO
WITH n AS (SELECT 1 AS i UNION ALL SELECT 'x' + CAST(i AS VARCHAR(5)) FROM n) SELECT * FROM n;
GO
WITH n AS (SELECT 'a' AS s UNION ALL SELECT s + 'a' FROM n WHERE LEN(s) < 3) SELECT * FROM n;
GO
