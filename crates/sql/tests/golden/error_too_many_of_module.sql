-- A procedure has at most 2,100 parameters (180), a view 1,024 columns (4505).
DECLARE @declared VARCHAR(MAX) = '@p1 INT = 1';
SELECT @declared = CONCAT(@declared, ', @p', value, ' INT = 1') FROM GENERATE_SERIES(2, 2100);
EXEC ('CREATE PROCEDURE most ' + @declared + ' AS SELECT @p1 + @p2100');
EXEC most;
EXEC ('CREATE PROCEDURE too_many ' + @declared + ',
    @p2101 INT = 1 AS SELECT @p2101');
EXEC ('ALTER PROCEDURE most ' + @declared + ', @p2101 INT = 1 AS SELECT @p2101');
EXEC most;
GO
DECLARE @list VARCHAR(MAX) = '1 AS c1', @names VARCHAR(MAX) = 'n1';
SELECT @list = CONCAT(@list, ', ', value, ' AS c', value), @names = CONCAT(@names, ', n', value)
FROM GENERATE_SERIES(2, 1024);
EXEC ('CREATE VIEW widest AS SELECT ' + @list);
SELECT c1, c1024 FROM widest;
EXEC ('CREATE VIEW too_wide AS SELECT ' + @list + ', 1025 AS c1025');
EXEC ('CREATE VIEW too_wide (' + @names + ', n1025) AS SELECT ' + @list + ', 1025 AS c1025');
EXEC ('ALTER VIEW widest AS SELECT ' + @list + ', 1025 AS c1025, 1026 AS c1026');
SELECT c1, c1024 FROM widest;
GO
SELECT name FROM sys.objects WHERE name IN ('too_many', 'too_wide');
GO
