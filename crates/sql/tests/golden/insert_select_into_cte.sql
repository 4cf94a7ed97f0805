-- SELECT INTO from a common table expression, which is the only source.
WITH one AS (SELECT 1 AS n, 'a' AS t UNION ALL SELECT 2, 'b'),
     two AS (SELECT n * 10 AS n, t FROM one)
SELECT n, t INTO made FROM two;
SELECT n, t FROM made ORDER BY n;
GO
-- The name of the expression hides a table, and its identity column.
CREATE TABLE numbered (id INT IDENTITY(5, 5), v INT);
INSERT numbered VALUES (1), (2);
GO
WITH numbered AS (SELECT v FROM made AS m CROSS JOIN dbo.numbered)
SELECT v INTO hidden FROM numbered;
SELECT v FROM hidden ORDER BY v;
SELECT OBJECTPROPERTY(OBJECT_ID('hidden'), 'TableHasIdentity') AS has_identity;
GO
