-- INSERT WITH (TABLOCK) of a query: the same rows as one by one, whole or not at all
CREATE TABLE numbers (n int NOT NULL PRIMARY KEY, text varchar(200) NOT NULL, spare int NULL)
GO
;WITH digits AS (SELECT d FROM (VALUES (0), (1), (2), (3), (4), (5), (6), (7), (8), (9)) AS v (d))
INSERT INTO numbers WITH (TABLOCK) (n, text)
SELECT a.d * 1000 + b.d * 100 + c.d * 10 + e.d, REPLICATE('x', 150 + e.d)
FROM digits a CROSS JOIN digits b CROSS JOIN digits c CROSS JOIN digits e
ORDER BY 1
GO
SELECT COUNT(*) AS rows, MIN(n) AS first, MAX(n) AS last, SUM(LEN(text)) AS length FROM numbers
GO
-- Rolled back
BEGIN TRANSACTION
INSERT INTO numbers WITH (TABLOCK) SELECT n + 10000, text, spare FROM numbers
UPDATE numbers SET spare = 1 WHERE n = 15000
SELECT COUNT(*) AS rows, COUNT(spare) AS spares FROM numbers
ROLLBACK
SELECT COUNT(*) AS rows, COUNT(spare) AS spares FROM numbers
GO
-- A key that is there: nothing of the statement stays
INSERT INTO numbers WITH (TABLOCK) SELECT n + 9999, text, spare FROM numbers ORDER BY n
SELECT COUNT(*) AS rows FROM numbers
GO
-- A value that may not be NULL
INSERT INTO numbers WITH (TABLOCK) SELECT n + 20000, NULLIF(text, text), spare FROM numbers WHERE n < 3
SELECT COUNT(*) AS rows FROM numbers
GO
-- Not in the order of the key
INSERT INTO numbers WITH (TABLOCK) SELECT n + 30000, text, 2 FROM numbers ORDER BY n DESC
SELECT COUNT(*) AS rows, COUNT(spare) AS spares FROM numbers
GO
-- Identity values and defaults
CREATE TABLE counted (id bigint IDENTITY(5, 5) PRIMARY KEY, n int NOT NULL, made int NOT NULL DEFAULT 7)
INSERT INTO counted WITH (TABLOCK) (n) SELECT n FROM numbers WHERE n < 4 ORDER BY n
SELECT SCOPE_IDENTITY() AS scope
SELECT * FROM counted
GO
DROP TABLE counted, numbers
GO
