CREATE TABLE t (id INT IDENTITY, a INT, b VARCHAR(5));
CREATE TABLE s (a INT, b VARCHAR(5));
INSERT s VALUES (1, 'one'), (2, 'two'), (3, 'three');
GO
CREATE PROCEDURE gives @least INT AS
    SELECT a, b FROM s WHERE a >= @least;
    SELECT 100, 'more';
GO
INSERT t EXEC gives 2;
SELECT * FROM t;
INSERT t (b, a) EXEC ('SELECT ''x'', 7');
INSERT INTO t (a) EXEC sp_executesql N'SELECT a FROM s WHERE a = @a', N'@a INT', 1;
SELECT * FROM t ORDER BY id;
INSERT t EXEC ('SELECT 1');
SELECT @@TRANCOUNT AS none;
INSERT TOP (2) INTO t (a) SELECT a FROM s;
INSERT t (a) OUTPUT inserted.id, inserted.a VALUES (50), (51);
SELECT COUNT(*) AS n FROM t;
GO
