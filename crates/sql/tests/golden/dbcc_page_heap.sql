CREATE TABLE h (a int NOT NULL, b varchar(3000) NOT NULL);
INSERT h VALUES (1, 'x'), (2, REPLICATE('y', 2500)), (3, REPLICATE('z', 2500)), (4, REPLICATE('w', 2500));
UPDATE h SET b = REPLICATE('x', 2900) WHERE a = 1;
DELETE h WHERE a = 3;
GO
CREATE TABLE #p (parent varchar(255), object varchar(255), field varchar(255), value varchar(8000));
DECLARE @page int, @text nvarchar(200);
SELECT @page = MIN(allocated_page_page_id)
FROM sys.dm_db_database_page_allocations(DB_ID(), OBJECT_ID('h'), 0, NULL, 'DETAILED') WHERE page_type = 1;
SET @text = N'DBCC PAGE (0, 1, ' + CAST(@page AS nvarchar(10)) + N', 3) WITH TABLERESULTS, NO_INFOMSGS';
INSERT #p EXEC (@text);
SELECT field, value FROM #p WHERE field LIKE 'Record%' OR field LIKE 'Forward%';
SELECT object, field, LEFT(value, 10) AS value FROM #p WHERE object LIKE 'Slot % Column %';
DROP TABLE #p;
GO
