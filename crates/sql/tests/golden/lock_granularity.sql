CREATE TABLE t (id int CONSTRAINT PK_t PRIMARY KEY, v int, pad char(3000) DEFAULT 'x');
INSERT t (id, v) VALUES (1, 10), (2, 20), (3, 30), (4, 40);
CREATE INDEX by_v ON t (v) WITH (ALLOW_PAGE_LOCKS = OFF);
SELECT name, allow_row_locks, allow_page_locks FROM sys.indexes WHERE object_id = OBJECT_ID('t') ORDER BY index_id;
GO
CREATE VIEW held AS
SELECT resource_type AS kind, request_mode AS mode, request_status AS status, COUNT(*) AS locks
FROM sys.dm_tran_locks WHERE request_session_id = @@SPID GROUP BY resource_type, request_mode, request_status;
GO
SELECT * FROM t WITH (PAGLOCK);
GO
DROP INDEX by_v ON t;
GO
BEGIN TRAN;
UPDATE t WITH (PAGLOCK) SET pad = 'y' WHERE id = 1;
SELECT kind, mode, locks FROM held WHERE kind IN ('OBJECT', 'PAGE', 'KEY') ORDER BY kind;
SELECT p.index_id, COUNT(*) FROM sys.dm_tran_locks l JOIN sys.partitions p ON p.hobt_id = l.resource_associated_entity_id
WHERE l.resource_type = 'PAGE' AND l.resource_description LIKE '1:%' GROUP BY p.index_id;
UPDATE t WITH (ROWLOCK) SET pad = 'y' WHERE id = 4;
SELECT kind, mode, locks FROM held WHERE kind IN ('OBJECT', 'PAGE', 'KEY') ORDER BY kind, mode;
ROLLBACK;
GO
BEGIN TRAN;
SELECT COUNT(*) FROM t WITH (PAGLOCK, REPEATABLEREAD);
SELECT kind, mode, locks FROM held WHERE kind IN ('OBJECT', 'PAGE', 'KEY') ORDER BY kind;
ROLLBACK;
GO
SELECT * FROM t WITH (PAGLOCK, TABLOCK);
GO
ALTER INDEX PK_t ON t SET (ALLOW_ROW_LOCKS = OFF);
SELECT name, allow_row_locks, allow_page_locks FROM sys.indexes WHERE object_id = OBJECT_ID('t');
BEGIN TRAN;
DELETE t WHERE id = 2;
SELECT kind, mode, locks FROM held WHERE kind IN ('OBJECT', 'PAGE', 'KEY') ORDER BY kind;
ROLLBACK;
SELECT id FROM t WITH (ROWLOCK);
GO
ALTER INDEX ALL ON t SET (ALLOW_PAGE_LOCKS = OFF);
BEGIN TRAN;
DELETE t WHERE id = 2;
SELECT kind, mode, locks FROM held WHERE kind IN ('OBJECT', 'PAGE', 'KEY') ORDER BY kind;
ROLLBACK;
GO
ALTER INDEX PK_t ON t REBUILD WITH (ALLOW_ROW_LOCKS = ON, ALLOW_PAGE_LOCKS = ON);
SELECT name, allow_row_locks, allow_page_locks FROM sys.indexes WHERE object_id = OBJECT_ID('t');
ALTER INDEX nosuch ON t SET (ALLOW_PAGE_LOCKS = OFF);
GO
