-- masked
CREATE TABLE t (a int NOT NULL CONSTRAINT pk PRIMARY KEY, b varchar(20) NULL);
INSERT t VALUES (1, 'one'), (2, NULL), (3, 'three');
GO
DECLARE @page int;
SELECT @page = allocated_page_page_id FROM sys.dm_db_database_page_allocations(DB_ID(), OBJECT_ID('t'), 1, NULL, 'DETAILED')
WHERE page_type = 1;
DBCC PAGE (0, 1, @page);
DBCC TRACEON (3604) WITH NO_INFOMSGS;
DBCC PAGE (0, 1, @page);
DBCC PAGE ('master', 1, @page, 0) WITH NO_INFOMSGS;
GO
