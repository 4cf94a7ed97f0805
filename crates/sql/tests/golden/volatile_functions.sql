-- RAND() is asked once for all rows, NEWID() for each; GETDATE() is one moment of a statement.
CREATE TABLE t (id INT);
INSERT INTO t VALUES (1), (2), (3), (4);
GO
SELECT COUNT(DISTINCT r) AS rands, COUNT(DISTINCT n) AS ids, COUNT(DISTINCT d) AS moments FROM (SELECT RAND() AS r, NEWID() AS n, GETDATE() AS d FROM t) AS x;
SELECT CASE WHEN RAND() = RAND() THEN 'one' ELSE 'each its own' END AS calls;
SELECT CASE WHEN RAND(7) = RAND(7) THEN 'same' ELSE 'other' END AS seeded;
SELECT COUNT(DISTINCT r) AS seeds FROM (SELECT RAND(id) AS r FROM t) AS x;
DECLARE @a FLOAT = RAND(), @b FLOAT = RAND();
SELECT CASE WHEN @a = @b THEN 'same' ELSE 'other' END AS again;
SELECT CASE WHEN @a >= 0 AND @a < 1 THEN 'in range' END AS range_;
