CREATE TABLE t (a int NOT NULL PRIMARY KEY);
INSERT t VALUES (1), (2);
EXEC sp_spaceused @objname = 't', @updateusage = 'TRUE';
EXEC sp_spaceused @updateusage = N'maybe';
EXEC sp_spaceused NULL, 'false', 'none', 1;
GO
CREATE TABLE #all (database_name sysname, database_size varchar(18), unallocated varchar(18), reserved varchar(18),
    data varchar(18), index_size varchar(18), unused varchar(18));
INSERT #all EXEC sp_spaceused @oneresultset = 1;
SELECT database_name, CASE WHEN database_size LIKE '%.__ MB' THEN 'MB' END AS database_size,
    CASE WHEN reserved LIKE '% KB' THEN 'KB' END AS reserved FROM #all;
GO
