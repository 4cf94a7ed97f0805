CREATE TABLE t (id INT PRIMARY KEY, n INT);
INSERT t VALUES (1, 10), (2, 20), (3, 30);
GO
CREATE VIEW v AS SELECT id, n * 2 AS doubled FROM t WHERE n > 10;
GO
CREATE VIEW w (a, b) AS WITH c AS (SELECT id, doubled FROM v) SELECT id, doubled + 1 FROM c;
GO
SELECT * FROM v;
SELECT x.a, t.n FROM w AS x JOIN t ON t.id = x.a WHERE x.b > 50;
SELECT v.doubled FROM dbo.v;
GO
SELECT nosuch FROM v;
GO
INSERT v (id) VALUES (4);
GO
USE tempdb;
SELECT COUNT(*) AS two FROM master.dbo.v;
GO
USE master;
DROP TABLE t;
GO
SELECT * FROM v;
GO
DROP VIEW v;
SELECT * FROM v;
GO
