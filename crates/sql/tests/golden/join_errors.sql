-- Names that lead nowhere, or to two places.
CREATE TABLE t (id INT, v INT);
CREATE TABLE u (id INT, w INT);
GO
SELECT id FROM t JOIN u ON t.id = u.id;
GO
SELECT x.id FROM t JOIN u ON t.id = u.id;
GO
SELECT t.w FROM t JOIN u ON t.id = u.id;
GO
SELECT * FROM t JOIN t ON 1 = 1;
GO
SELECT * FROM t a JOIN u a ON 1 = 1;
GO
SELECT z.* FROM t;
GO
SELECT * FROM t JOIN nowhere n ON n.id = t.id;
GO
SELECT t.id FROM t AS x;
GO
SELECT * FROM t LEFT JOIN u;
GO
