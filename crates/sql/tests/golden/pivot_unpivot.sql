CREATE TABLE s (person VARCHAR(5), y INT, v INT);
INSERT INTO s VALUES ('Ann', 2020, 1), ('Ann', 2021, 2), ('Bob', 2020, 3), ('Bob', 2020, 4), ('Cid', 2022, 9);
GO
SELECT person, [2020], [2021] FROM s PIVOT (SUM(v) FOR y IN ([2020], [2021])) AS p ORDER BY person;
SELECT [2020] AS a, [2022] AS b FROM (SELECT y, v FROM s) AS x PIVOT (COUNT(v) FOR y IN ([2020], [2022])) AS p;
SELECT k, what, value_ FROM (SELECT 1 AS k, 10 AS a, NULL AS b, 30 AS c) AS x UNPIVOT (value_ FOR what IN (a, b, c)) AS u ORDER BY what;
GO
SELECT * FROM s PIVOT (SUM(nosuch) FOR y IN ([2020])) AS p;
GO
