-- A select list has at most 4,096 elements (1056), a text of sp_executesql 2,100 parameters (8003).
DECLARE @list VARCHAR(MAX) = '1';
SELECT @list = CONCAT(@list, ', ', value) FROM GENERATE_SERIES(2, 4096);
EXEC ('SELECT COUNT(*) FROM (SELECT TOP 1 1 AS a) AS t WHERE EXISTS (SELECT ' + @list + ')');
EXEC ('SELECT ' + @list + ', 4097');
GO
DECLARE @columns VARCHAR(MAX) = 'c1 INT';
SELECT @columns = CONCAT(@columns, ', c', value, ' INT') FROM GENERATE_SERIES(2, 1000);
EXEC ('CREATE TABLE t (' + @columns + ')');
SELECT a.*, b.*, c.*, d.*, e.* FROM t AS a, t AS b, t AS c, t AS d, t AS e;
GO
DECLARE @declared NVARCHAR(MAX) = N'@p1 INT = 1';
SELECT @declared = CONCAT(@declared, N', @p', value, N' INT = 1') FROM GENERATE_SERIES(2, 2100);
EXEC sp_executesql N'SELECT @p1 + @p2100', @declared;
SET @declared = CONCAT(@declared, N', @p2101 INT = 1');
EXEC sp_executesql N'SELECT @p1 + @p2101', @declared;
GO
