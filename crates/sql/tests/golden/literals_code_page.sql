-- A varchar literal has the characters of its code page alone; others are replaced when it is read.
-- 322 is a letter that code page 1252 lacks: 108 is similar. 233 and 8364 are in it.
DECLARE @text nvarchar(50) = N'a' + NCHAR(233) + NCHAR(322) + NCHAR(8364);
DECLARE @sql nvarchar(max) = N'
SELECT UNICODE(SUBSTRING(#, 3, 1)) AS letter, LEN(#) AS n, DATALENGTH(#) AS bytes, UNICODE(RIGHT(#, 1)) AS euro;
SELECT UNICODE(SUBSTRING(N#, 3, 1)) AS letter, DATALENGTH(N#) AS bytes;
SELECT CASE WHEN # = CAST(N# AS varchar(10)) THEN 1 ELSE 0 END AS as_converted;
SELECT CASE WHEN # = N# THEN 1 ELSE 0 END AS same;
DECLARE @v nvarchar(10) = #, @w nvarchar(10) = N#;
SELECT UNICODE(SUBSTRING(@v, 3, 1)) AS v, UNICODE(SUBSTRING(@w, 3, 1)) AS w;
CREATE TABLE #t (n nvarchar(10), v varchar(10), d nvarchar(10) DEFAULT #);
INSERT #t (n, v) VALUES (#, N#), (N#, #);
SELECT UNICODE(SUBSTRING(n, 3, 1)) AS n, UNICODE(SUBSTRING(v, 3, 1)) AS v, UNICODE(SUBSTRING(d, 3, 1)) AS d FROM #t;
SELECT COUNT(*) AS found FROM #t WHERE n = #;
SELECT COUNT(*) AS found FROM #t WHERE n LIKE #;
';
SET @sql = REPLACE(REPLACE(@sql, N'#t', N'tempdb..code_page'), N'#', N'''' + @text + N'''');
EXEC (@sql);
