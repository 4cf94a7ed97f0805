-- The target of UPDATE and DELETE is a source of FROM that is the same object, whatever its alias.
CREATE TABLE u (id int PRIMARY KEY, v int);
INSERT u VALUES (1, 10), (2, 20), (3, 30), (4, 40);
UPDATE u SET v = 1 FROM u AS a WHERE a.id = 1;
UPDATE dbo.u SET v = 2 FROM u a WHERE a.id = 2;
UPDATE u SET u.v = a.v + 3 FROM dbo.u a JOIN (VALUES (3)) AS s(id) ON s.id = a.id;
DELETE u FROM u a WHERE a.id = 4;
SELECT id, v FROM u;
DELETE FROM u FROM u AS a WHERE a.id = 1;
DELETE TOP (1) FROM u OUTPUT deleted.id, b.id FROM u AS a JOIN (VALUES (2)) AS b(id) ON a.id = b.id;
SELECT id, v FROM u;
GO
-- OUTPUT has the columns of the target as those of DELETED alone.
DELETE u OUTPUT a.id FROM u AS a;
GO
-- Several sources are the table: the one without an alias is the target, or an alias has to be named.
INSERT u VALUES (1, 10), (2, 20);
UPDATE u SET v = b.v FROM u JOIN u AS b ON b.id = u.id + 1;
SELECT id, v FROM u;
GO
UPDATE u SET v = 0 FROM u AS a JOIN u AS b ON b.id = a.id + 1;
GO
DELETE u FROM u AS a, u AS b WHERE a.id = b.id;
GO
UPDATE b SET v = 0 FROM u AS a JOIN u AS b ON b.id = a.id + 1;
SELECT id, v FROM u;
GO
-- The alias hides the name of the table.
UPDATE u SET v = 1 FROM u AS a WHERE u.id = 1;
GO
-- An alias that is the name of another table.
CREATE TABLE w (id int, v int);
INSERT w VALUES (1, 1), (2, 2);
UPDATE u SET v = 100 FROM w AS u WHERE u.id = 1;
DELETE w FROM w AS u JOIN u AS w ON w.id = u.id WHERE w.id = 3;
SELECT id, v FROM u;
SELECT id, v FROM w;
GO
-- Temporary tables and table variables.
CREATE TABLE #t (id int, v int);
INSERT #t VALUES (1, 1), (2, 2), (3, 3);
UPDATE #t SET v = 10 FROM #t AS a WHERE a.id = 1;
UPDATE tempdb..#t SET v = 20 FROM #t AS a WHERE a.id = 2;
DELETE #t FROM #t a WHERE a.id = 3;
SELECT id, v FROM #t;
DECLARE @t TABLE (id int, v int);
INSERT @t VALUES (1, 1), (2, 2), (3, 3);
UPDATE @t SET v = 10 FROM @t AS a WHERE a.id = 1;
UPDATE b SET v = 20 FROM @t AS a JOIN @t AS b ON a.id = b.id WHERE b.id = 2;
DELETE @t FROM @t a WHERE a.id = 3;
SELECT id, v FROM @t;
GO
-- Schemas and databases are parts of the identity.
CREATE SCHEMA s1;
GO
CREATE TABLE s1.u (id int, v int);
INSERT s1.u VALUES (1, 1), (2, 2), (3, 3);
UPDATE s1.u SET v = 7 FROM s1.u AS a JOIN dbo.u AS b ON a.id = b.id WHERE a.id = 2;
DELETE s1.u FROM dbo.u AS a JOIN s1.u ON a.id = s1.u.id WHERE a.id = 3;
UPDATE dbo.u SET v = -1 FROM dbo.u JOIN s1.u ON dbo.u.id = s1.u.id WHERE s1.u.v = 7;
SELECT id, v FROM s1.u;
SELECT id, v FROM dbo.u;
GO
CREATE DATABASE other;
GO
CREATE TABLE other.dbo.u (id int, v int);
INSERT other.dbo.u VALUES (1, 1), (2, 2);
UPDATE other.dbo.u SET v = 5 FROM other..u AS a WHERE a.id = 1;
DELETE other..u FROM other.dbo.u AS a JOIN dbo.u AS b ON a.id = b.id WHERE b.id = 2;
SELECT id, v FROM other.dbo.u;
SELECT id, v FROM dbo.u;
GO
-- Views, common table expressions and derived tables.
CREATE VIEW s1.v AS SELECT id, v FROM u;
GO
UPDATE s1.v SET v = v + 100 FROM s1.v AS a WHERE a.id = 1;
SELECT id, v FROM s1.u;
WITH c AS (SELECT id, v FROM s1.u) UPDATE c SET v = 0 FROM c AS a WHERE a.id = 1;
WITH c AS (SELECT id, v FROM s1.u) DELETE c FROM c AS a JOIN dbo.u AS b ON a.id = b.id AND b.id = 2;
SELECT id, v FROM s1.u;
INSERT s1.u VALUES (2, 4), (9, 5);
UPDATE d SET v = 9 FROM dbo.u AS a CROSS APPLY (SELECT v FROM s1.u AS x WHERE x.id = a.id) AS d;
SELECT id, v FROM s1.u;
GO
WITH c AS (SELECT id, v FROM s1.u) DELETE c FROM c AS a, c AS b;
GO
-- What is no object.
DELETE f FROM STRING_SPLIT('a,b', ',') AS f;
GO
-- The prefix of a column in SET.
UPDATE u SET a.v = 3 FROM u AS a WHERE a.id = 2;
UPDATE u SET dbo.u.v = dbo.u.v + 1;
SELECT id, v FROM u;
GO
UPDATE u SET b.v = 3;
GO
UPDATE u SET s1.u.v = 3 FROM u, s1.u;
GO
MERGE u AS a USING (VALUES (1)) AS s(id) ON a.id = s.id WHEN MATCHED THEN UPDATE SET s.v = 1;
GO
MERGE u USING u AS s ON u.id = s.id AND s.id = 2 WHEN MATCHED THEN UPDATE SET u.v = s.v * 2 WHEN NOT MATCHED BY SOURCE THEN DELETE;
SELECT id, v FROM u;
