-- A value of a list that cannot be evaluated is an error of the rows that come to it, in short and in long
-- lists alike, and so where NULL is looked up.
CREATE TABLE n (a INT NULL);
INSERT INTO n VALUES (1), (NULL);
GO
DECLARE @z INT = 0;
SELECT a FROM n WHERE a = 1 AND a IN (1, 1 / @z);
SELECT a FROM n WHERE a = 1 AND a IN (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 1 / @z);
GO
DECLARE @z INT = 0;
SELECT a FROM n WHERE a IS NULL AND a NOT IN (1, 1 / @z);
GO
DECLARE @z INT = 0;
SELECT a FROM n WHERE a IS NULL
    AND a NOT IN (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 1 / @z);
GO
SELECT a FROM n WHERE a IS NULL AND a NOT IN (1, 'x');
GO
SELECT a FROM n WHERE a IS NULL AND a NOT IN (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 'x');
GO
SELECT a FROM n WHERE a IS NULL AND a NOT IN (1, CAST('x' AS INT));
GO
SELECT a FROM n WHERE a IS NULL
    AND a NOT IN (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, CAST('x' AS INT));
GO
