CREATE SCHEMA sales;
GO
CREATE TABLE sales.orders (country CHAR(2) NOT NULL, number INT NOT NULL, CONSTRAINT pk_orders PRIMARY KEY (country, number));
CREATE TABLE sales.lines (id INT IDENTITY PRIMARY KEY, number INT, country CHAR(2),
    CONSTRAINT fk_lines FOREIGN KEY (country, number) REFERENCES sales.orders);
INSERT INTO sales.orders VALUES ('DE', 1), ('FR', 1);
INSERT INTO sales.lines (number, country) VALUES (1, 'DE'), (1, NULL), (99, NULL), (NULL, 'XX');
GO
INSERT INTO sales.lines (number, country) VALUES (2, 'DE');
GO
DELETE FROM sales.orders WHERE country = 'DE';
GO
SELECT fk.name, OBJECT_NAME(fk.parent_object_id) AS parent, OBJECT_NAME(fk.referenced_object_id) AS referenced,
    COL_NAME(c.parent_object_id, c.parent_column_id) AS own, COL_NAME(c.referenced_object_id, c.referenced_column_id) AS other
FROM sys.foreign_keys AS fk JOIN sys.foreign_key_columns AS c ON c.constraint_object_id = fk.object_id
ORDER BY c.constraint_column_id;
SELECT type, type_desc FROM sys.objects WHERE name = 'fk_lines';
SELECT OBJECTPROPERTY(OBJECT_ID('sales.fk_lines'), 'IsConstraint') AS is_constraint;
GO
MERGE sales.orders AS t USING (VALUES ('DE', 1)) AS s (country, number) ON t.country = s.country AND t.number = s.number
WHEN MATCHED THEN DELETE;
GO
MERGE sales.lines AS t USING (VALUES (5, 'ZZ')) AS s (number, country) ON 1 = 0
WHEN NOT MATCHED THEN INSERT (number, country) VALUES (s.number, s.country);
