-- masked
CREATE TABLE t (a int NOT NULL CONSTRAINT pk PRIMARY KEY, b varchar(20) NULL, c bit NOT NULL, d date NULL,
    e decimal(9, 2) NOT NULL, f nvarchar(10) NOT NULL);
INSERT t VALUES (1, 'one', 1, '2016-10-04', 12.50, N'eins'), (2, NULL, 0, NULL, -1, N'');
GO
DBCC TRACEON (3604) WITH NO_INFOMSGS;
DECLARE @page int;
SELECT @page = allocated_page_page_id FROM sys.dm_db_database_page_allocations(DB_ID(), OBJECT_ID('t'), 1, NULL, 'DETAILED')
WHERE page_type = 1;
DBCC PAGE (0, 1, @page, 3) WITH NO_INFOMSGS;
GO
