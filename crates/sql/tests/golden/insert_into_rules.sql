-- SELECT INTO: what the new table takes over, and what is refused.
CREATE TABLE src (id INT IDENTITY(5, 5) PRIMARY KEY, name VARCHAR(10) NOT NULL, price DECIMAL(7, 2) NULL, CHECK (price > 0));
INSERT src VALUES ('pen', 1.5), ('ink', 2.25);
GO
SELECT * INTO copy FROM src;
INSERT copy VALUES ('cap', -1);
SELECT * FROM copy;
SELECT c.name, t.name AS type, c.max_length, c.is_nullable, c.is_identity FROM sys.columns c
    JOIN sys.types t ON t.user_type_id = c.user_type_id WHERE c.object_id = OBJECT_ID('copy') ORDER BY c.column_id;
SELECT id + 0 AS id, name + '!' AS name, price * 2 AS twice, NULL AS nothing, 'x' AS x, GETDATE() AS at INTO calculated FROM src;
SELECT id, name, twice, nothing, x FROM calculated;
SELECT c.name, t.name AS type, c.max_length, c.precision, c.scale, c.is_identity FROM sys.columns c
    JOIN sys.types t ON t.user_type_id = c.user_type_id WHERE c.object_id = OBJECT_ID('calculated') ORDER BY c.column_id;
SELECT name, COUNT(*) AS n INTO grouped FROM src GROUP BY name;
SELECT TOP 0 * INTO nothing FROM src;
SELECT COUNT(*) AS none FROM nothing;
SELECT 1 AS one INTO #temp;
SELECT * FROM #temp;
GO
SELECT * INTO copy FROM src;
GO
SELECT id + 1 INTO nameless FROM src;
GO
SELECT id, id INTO twice FROM src;
GO
SELECT * INTO x FROM nosuch;
GO
BEGIN TRAN;
SELECT * INTO undone FROM src;
ROLLBACK;
SELECT OBJECT_ID('undone') AS gone;
SELECT 1 / (id - 5) AS fails INTO half FROM src;
SELECT OBJECT_ID('half') AS gone;
GO
