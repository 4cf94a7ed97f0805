CREATE TABLE #w (spid smallint, ecid smallint, status nchar(30), loginame nchar(128), hostname nchar(128), blk char(5),
    dbname nchar(128), cmd nchar(16), request_id int);
INSERT #w EXEC sp_who;
SELECT RTRIM(status) AS status, RTRIM(loginame) AS loginame, RTRIM(hostname) AS hostname, blk, RTRIM(dbname) AS dbname,
    RTRIM(cmd) AS cmd, request_id
FROM #w WHERE spid = @@SPID;
SELECT CASE WHEN COUNT(*) > 0 THEN 'background' END AS others FROM #w WHERE status = 'background';
DELETE #w;
INSERT #w EXEC sp_who 'active';
SELECT COUNT(*) AS idle FROM #w WHERE cmd = 'AWAITING COMMAND';
DELETE #w;
INSERT #w EXEC sp_who 'sa';
SELECT CASE WHEN COUNT(*) > 1 THEN 'several' END AS sessions FROM #w;
DELETE #w;
INSERT #w EXEC sp_who '9999';
SELECT COUNT(*) AS rows FROM #w;
GO
EXEC sp_who 'nobody';
GO
