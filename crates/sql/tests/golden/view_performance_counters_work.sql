CREATE DATABASE c;
USE c;
CREATE TABLE t (a int NOT NULL PRIMARY KEY, b char(2000) NOT NULL);
CREATE TABLE h (a int NOT NULL, b varchar(8000) NOT NULL);
-- What is counted while the script works: each must go up.
CREATE TABLE #before (counter varchar(60) NOT NULL, value bigint NOT NULL);
INSERT #before SELECT RTRIM(counter_name), cntr_value FROM sys.dm_os_performance_counters
WHERE RTRIM(instance_name) IN ('', '_Total');
GO
SET NOCOUNT ON;
DECLARE @a int = 1;
WHILE @a <= 30
BEGIN
    INSERT t VALUES (@a, 'x');
    INSERT h VALUES (@a, REPLICATE('x', 1000));
    SET @a = @a + 1;
END;
UPDATE h SET b = REPLICATE('y', 6000) WHERE a % 3 = 0;
SELECT COUNT(*) FROM h;
SELECT SUM(DATALENGTH(b)) FROM h;
DELETE h WHERE a < 20;
INSERT h VALUES (100, REPLICATE('z', 3000));
SELECT a FROM t WHERE a = 7;
CREATE TABLE another (a int NOT NULL);
DROP TABLE t;
CHECKPOINT;
GO
SELECT RTRIM(n.counter_name) AS counter
FROM sys.dm_os_performance_counters AS n INNER JOIN #before AS b ON b.counter = RTRIM(n.counter_name)
WHERE RTRIM(n.instance_name) IN ('', '_Total') AND n.cntr_value > b.value
    AND RTRIM(n.counter_name) IN ('Transactions/sec', 'Write Transactions/sec', 'Extents Allocated/sec', 'Pages Allocated/sec',
    'Mixed page allocations/sec', 'Page Splits/sec', 'Forwarded Records/sec', 'Full Scans/sec', 'Index Searches/sec', 'Lock Requests/sec')
ORDER BY counter;
GO
SELECT RTRIM(object_name) AS object, RTRIM(counter_name) AS counter, cntr_type FROM sys.dm_os_performance_counters
WHERE RTRIM(instance_name) IN ('', '_Total') AND (object_name LIKE '%Access Methods%' OR object_name LIKE '%Databases%') ORDER BY object, counter;
GO
