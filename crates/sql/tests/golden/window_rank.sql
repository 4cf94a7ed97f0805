-- ROW_NUMBER, RANK, DENSE_RANK, NTILE, PERCENT of the whole.
CREATE TABLE s (region VARCHAR(5), person VARCHAR(5), amount INT);
INSERT INTO s VALUES ('east', 'Ann', 50), ('east', 'Bob', 30), ('east', 'Cid', 50), ('west', 'Dan', 20), ('west', 'Eve', 40);
GO
SELECT person, amount, ROW_NUMBER() OVER (ORDER BY amount DESC, person) AS r FROM s ORDER BY r;
SELECT person, amount, RANK() OVER (ORDER BY amount DESC) AS r, DENSE_RANK() OVER (ORDER BY amount DESC) AS d FROM s ORDER BY amount DESC, person;
SELECT region, person, ROW_NUMBER() OVER (PARTITION BY region ORDER BY amount, person) AS r FROM s ORDER BY region, r;
SELECT person, NTILE(2) OVER (ORDER BY person) AS half, NTILE(4) OVER (ORDER BY person) AS quarter FROM s ORDER BY person;
SELECT region, person, amount, SUM(amount) OVER (PARTITION BY region) AS total, amount * 100 / SUM(amount) OVER () AS percent_ FROM s ORDER BY region, person;
SELECT region, SUM(amount) AS total, RANK() OVER (ORDER BY SUM(amount) DESC) AS r FROM s GROUP BY region ORDER BY region;
SELECT person FROM (SELECT person, ROW_NUMBER() OVER (PARTITION BY region ORDER BY amount DESC, person) AS r FROM s) AS x WHERE r = 1 ORDER BY person;
SELECT COUNT(*) OVER () AS n, COUNT(DISTINCT region) AS regions FROM s GROUP BY region;
