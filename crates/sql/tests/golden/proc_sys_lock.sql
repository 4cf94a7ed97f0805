CREATE TABLE k (a int NOT NULL PRIMARY KEY, b int NULL);
INSERT k VALUES (1, 1), (2, 2);
GO
CREATE TABLE #l (spid smallint, dbid smallint, objid int, indid smallint, type nchar(4), resource nchar(32), mode nvarchar(8),
    status nvarchar(5));
BEGIN TRANSACTION;
UPDATE k SET b = 10 WHERE a = 2;
INSERT #l EXEC sp_lock @@SPID;
SELECT OBJECT_NAME(objid) AS object, indid, type, CASE WHEN resource LIKE '(%)%' THEN 'a hash' ELSE RTRIM(resource) END AS resource,
    mode, status
FROM #l WHERE objid = OBJECT_ID('k') AND dbid = DB_ID() ORDER BY type;
ROLLBACK;
EXEC sp_lock 9999;
GO
