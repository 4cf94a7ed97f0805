-- Comparison under the default collation: case, blanks at the end; COLLATE; clashes.
SELECT CASE WHEN 'abc' = 'ABC' THEN 'same' ELSE 'other' END AS case_, CASE WHEN 'abc' = 'abc   ' THEN 'same' ELSE 'other' END AS blanks, CASE WHEN 'a' = ' a' THEN 'same' ELSE 'other' END AS before;
SELECT CASE WHEN 'abc' = 'ABC' COLLATE Latin1_General_CS_AS THEN 'same' ELSE 'other' END AS cs, CASE WHEN 'abc' COLLATE Latin1_General_BIN2 < 'B' THEN 'less' ELSE 'more' END AS bin;
SELECT CASE WHEN '' = ' ' THEN 'same' ELSE 'other' END AS a, LEN(' ') AS b, CASE WHEN N'' = N'  ' THEN 'same' ELSE 'other' END AS c;
CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(5));
INSERT INTO t VALUES (1, 'b'), (2, 'A'), (3, 'a'), (4, 'B'), (5, '_'), (6, '1');
SELECT v FROM t ORDER BY v, id;
SELECT v FROM t ORDER BY v COLLATE Latin1_General_BIN2;
SELECT id FROM t WHERE v = 'A' ORDER BY id;
SELECT id FROM t WHERE v COLLATE Latin1_General_BIN2 = 'A' ORDER BY id;
SELECT COUNT(DISTINCT v) AS v, COUNT(DISTINCT v COLLATE Latin1_General_BIN2) AS b FROM t;
SELECT MIN(v COLLATE Latin1_General_BIN2) AS least, MAX(v COLLATE Latin1_General_BIN2) AS most FROM t;
GO
SELECT 'a' COLLATE NoSuch_Collation;
GO
SELECT 'a' COLLATE Latin1_General_BIN2 + 'b' COLLATE Latin1_General_CS_AS;
GO
