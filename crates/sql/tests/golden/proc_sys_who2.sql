-- masked
CREATE TABLE #w (spid char(5), status nvarchar(30), login nvarchar(128), host nvarchar(128), blk char(5),
    db nvarchar(128), command nvarchar(32), cpu nvarchar(30), io nvarchar(30), last nvarchar(30), program nvarchar(128),
    spid2 char(5), request char(5));
INSERT #w EXEC sp_who2;
SELECT RTRIM(status) AS status, RTRIM(login) AS login, RTRIM(host) AS host, blk, RTRIM(db) AS db, RTRIM(command) AS command,
    last, RTRIM(program) AS program, CASE spid WHEN spid2 THEN 'the same' END AS spid, request
FROM #w WHERE spid = CONVERT(char(5), @@SPID);
GO
EXEC sp_who2 '9999';
EXEC sp_who2 'nobody';
GO
