-- Inner joins: one column, several, conditions besides the equality, more than two tables, a table with itself.
CREATE TABLE dept (id INT PRIMARY KEY, name VARCHAR(20) NOT NULL);
CREATE TABLE emp (id INT PRIMARY KEY, dept INT NULL, boss INT NULL, name VARCHAR(20) NOT NULL, pay MONEY NOT NULL);
INSERT INTO dept VALUES (1, 'sales'), (2, 'stock'), (3, 'press');
INSERT INTO emp VALUES (1, 1, NULL, 'Ann', 900), (2, 1, 1, 'Bob', 500), (3, 2, 1, 'Cid', 700), (4, NULL, 3, 'Dan', 300);
GO
SELECT d.name, e.name FROM dept AS d JOIN emp AS e ON e.dept = d.id ORDER BY e.id;
SELECT d.name, e.name FROM dept d, emp e WHERE d.id = e.dept AND e.pay > 600 ORDER BY e.id;
SELECT e.name, b.name AS boss FROM emp e INNER JOIN emp b ON b.id = e.boss ORDER BY e.id;
SELECT e.name, b.name AS boss, d.name AS dept
FROM emp e JOIN emp b ON b.id = e.boss JOIN dept d ON d.id = b.dept ORDER BY e.id;
SELECT e.name, o.name AS earns_less FROM emp e JOIN emp o ON o.pay < e.pay AND o.dept = e.dept ORDER BY 1, 2;
SELECT COUNT(*) AS pairs FROM emp a JOIN emp b ON a.id <> b.id;
SELECT d.name, COUNT(*) AS n, SUM(e.pay) AS pay FROM dept d JOIN emp e ON e.dept = d.id GROUP BY d.name ORDER BY d.name;
SELECT TOP 1 * FROM dept d JOIN emp e ON e.dept = d.id ORDER BY e.pay DESC;
