-- Numbers go to the right end of binary(n), as in CAST; texts and bytes to the left end.
CREATE TABLE t (id int IDENTITY, b binary(10), v varbinary(10), s binary(2));
INSERT t (b, v) VALUES (123, 123);
INSERT t (b, v) SELECT 123, CAST(5 AS bigint);
INSERT t (b, v, s) VALUES (0x7B, 0x7B, 0x7B);
INSERT t (b, s) VALUES (CAST(1.5 AS money), 65537);
INSERT t (s) VALUES (CAST(1 AS bit)), (CAST(2 AS tinyint));
SELECT id, b, v, s FROM t;
SELECT CAST(123 AS binary(10)) AS a, CAST(65537 AS binary(2)) AS b, CAST(CAST(1.5 AS money) AS binary(10)) AS c;
GO
UPDATE t SET b = 7, v = id WHERE id = 1;
UPDATE t SET b = id + 1 WHERE id = 2;
SELECT b, v FROM t WHERE id < 3;
MERGE t USING (VALUES (1, 77), (100, 78)) AS s(id, n) ON t.id = s.id
WHEN MATCHED THEN UPDATE SET b = s.n WHEN NOT MATCHED THEN INSERT (b, s) VALUES (s.n, s.n);
SELECT b, s FROM t WHERE b IN (CAST(77 AS binary(10)), CAST(78 AS binary(10)));
GO
CREATE TABLE d (a int, b binary(4) DEFAULT 1, c binary(4) DEFAULT (2 + 3), e binary(4) NULL);
INSERT d (a) VALUES (1);
INSERT d (a, b) VALUES (2, DEFAULT);
INSERT d (a, e) OUTPUT inserted.b, inserted.c, inserted.e VALUES (3, 9);
ALTER TABLE d ADD f binary(4) NOT NULL DEFAULT 6;
UPDATE d SET e = DEFAULT, b = DEFAULT WHERE a = 3;
SELECT a, b, c, e, f FROM d;
GO
DECLARE @o TABLE (b binary(6)), @v binary(4) = 3;
INSERT d (a) OUTPUT inserted.a INTO @o VALUES (500);
SELECT b, @v AS v FROM @o;
EXEC ('CREATE PROC numbers AS SELECT 258');
INSERT @o EXEC numbers;
SELECT b FROM @o;
GO
INSERT t (s) VALUES (0x010203);
