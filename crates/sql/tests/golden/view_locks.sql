CREATE TABLE h (a int NOT NULL);
CREATE TABLE k (a int NOT NULL PRIMARY KEY, b int NULL);
INSERT k VALUES (1, 1), (2, 2);
GO
BEGIN TRANSACTION;
UPDATE k SET b = 10 WHERE a = 2;
INSERT h VALUES (1);
SELECT l.resource_type, CASE l.resource_type WHEN 'OBJECT' THEN OBJECT_NAME(l.resource_associated_entity_id)
        ELSE OBJECT_NAME(p.object_id) END AS object,
    CASE WHEN l.resource_description = '' THEN 'nothing' WHEN l.resource_description LIKE '(%)' THEN 'a hash'
        ELSE 'a place' END AS description,
    l.request_mode, l.request_type, l.request_status, l.request_owner_type
FROM sys.dm_tran_locks l LEFT JOIN sys.partitions p ON p.hobt_id = l.resource_associated_entity_id
WHERE l.request_session_id = @@SPID AND l.resource_type <> 'DATABASE'
ORDER BY l.resource_type, 2, l.request_mode;
ROLLBACK;
SELECT COUNT(*) AS held FROM sys.dm_tran_locks WHERE request_session_id = @@SPID AND request_mode IN ('X', 'IX', 'U');
GO
SET TRANSACTION ISOLATION LEVEL SERIALIZABLE;
BEGIN TRANSACTION;
SELECT b FROM k WHERE a BETWEEN 1 AND 2;
SELECT resource_type, request_mode, COUNT(*) AS locks FROM sys.dm_tran_locks
WHERE request_session_id = @@SPID AND resource_type IN ('KEY', 'OBJECT') GROUP BY resource_type, request_mode
ORDER BY 1, 2;
COMMIT;
GO
