-- DISTINCT rows in the order of an entry of the list that has a subquery.
CREATE TABLE t (id INT PRIMARY KEY, v INT NULL);
CREATE TABLE u (id INT PRIMARY KEY, name VARCHAR(5));
INSERT INTO t VALUES (1, 3), (2, NULL), (3, 1), (4, 3), (5, 2);
INSERT INTO u VALUES (1, 'one'), (2, 'two'), (3, 'three');
GO
SELECT DISTINCT (SELECT u.name FROM u WHERE u.id = t.v) AS name FROM t ORDER BY name DESC;
SELECT DISTINCT (SELECT u.name FROM u WHERE u.id = t.v) AS name, v FROM t ORDER BY 1;
SELECT DISTINCT v, CASE WHEN v IN (SELECT id FROM u) THEN 1 ELSE 0 END AS known FROM t ORDER BY known, v;
SELECT DISTINCT TOP 1 WITH TIES (SELECT u.name FROM u WHERE u.id = t.v) AS name FROM t ORDER BY name;
SELECT DISTINCT v AS k, (SELECT MAX(u.name) FROM u WHERE u.id > v) AS name FROM t GROUP BY v ORDER BY name, k;
GO
SELECT DISTINCT v FROM t ORDER BY (SELECT u.name FROM u WHERE u.id = t.v);
GO
SELECT DISTINCT (SELECT u.name FROM u WHERE u.id = t.v) AS name FROM t ORDER BY v;
GO
