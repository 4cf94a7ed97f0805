-- Outer joins: what has no partner stays; a condition in ON is not one in WHERE.
CREATE TABLE a (id INT, v VARCHAR(5));
CREATE TABLE b (id INT, w VARCHAR(5));
INSERT INTO a VALUES (1, 'a1'), (2, 'a2'), (3, 'a3'), (NULL, 'a0');
INSERT INTO b VALUES (2, 'b2'), (3, 'b3'), (3, 'b3x'), (4, 'b4'), (NULL, 'b0');
GO
SELECT a.v, b.w FROM a LEFT JOIN b ON a.id = b.id ORDER BY a.v, b.w;
SELECT a.v, b.w FROM a RIGHT JOIN b ON a.id = b.id ORDER BY b.w;
SELECT a.v, b.w FROM a FULL OUTER JOIN b ON a.id = b.id ORDER BY a.v, b.w;
SELECT a.v, b.w FROM a LEFT JOIN b ON a.id = b.id AND b.w LIKE '%x' ORDER BY a.v;
SELECT a.v, b.w FROM a LEFT JOIN b ON a.id = b.id WHERE b.w LIKE '%x' ORDER BY a.v;
SELECT a.v FROM a LEFT JOIN b ON a.id = b.id WHERE b.id IS NULL ORDER BY a.v;
SELECT a.v, b.w FROM a LEFT JOIN b ON a.id = b.id AND a.v <> 'a2' ORDER BY a.v, b.w;
SELECT a.v, b.w, c.w AS again FROM a LEFT JOIN b ON a.id = b.id LEFT JOIN b c ON c.id = b.id + 1 ORDER BY a.v, b.w, c.w;
SELECT a.v, x.w FROM a LEFT JOIN (b x JOIN b y ON x.id = y.id) ON a.id = x.id ORDER BY a.v, x.w;
SELECT COUNT(*) AS rows_, COUNT(a.id) AS a_, COUNT(b.id) AS b_ FROM a FULL JOIN b ON a.id = b.id AND 1 = 0;
