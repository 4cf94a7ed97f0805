-- Options of indexes and tables that change nothing which a query gives are taken, and kept where a view shows them;
-- those that would are refused by name.
CREATE TABLE t (id INT NOT NULL CONSTRAINT pk PRIMARY KEY WITH (FILLFACTOR = 90, PAD_INDEX = ON), v INT, w INT,
    CONSTRAINT uq UNIQUE (v) WITH (FILLFACTOR = 70, ALLOW_PAGE_LOCKS = OFF), INDEX inner_one (w) WITH (FILLFACTOR = 60));
CREATE INDEX i1 ON t (w) WITH (FILLFACTOR = 80, PAD_INDEX = ON, SORT_IN_TEMPDB = ON, STATISTICS_NORECOMPUTE = ON, ONLINE = ON,
    IGNORE_DUP_KEY = OFF, ALLOW_ROW_LOCKS = ON, ALLOW_PAGE_LOCKS = ON, DATA_COMPRESSION = NONE, MAXDOP = 2,
    DROP_EXISTING = OFF, OPTIMIZE_FOR_SEQUENTIAL_KEY = ON);
CREATE INDEX i2 ON t (w) WITH FILLFACTOR = 100;
CREATE INDEX i3 ON t (w) WITH PAD_INDEX, FILLFACTOR = 55;
SELECT name, fill_factor, is_padded, allow_row_locks, allow_page_locks FROM sys.indexes WHERE object_id = OBJECT_ID('t') ORDER BY name;
GO
ALTER INDEX i1 ON t REBUILD;
ALTER INDEX i2 ON t REBUILD WITH (FILLFACTOR = 75, ONLINE = ON);
ALTER INDEX i3 ON t SET (ALLOW_ROW_LOCKS = OFF);
ALTER INDEX ALL ON t SET (STATISTICS_NORECOMPUTE = OFF);
ALTER TABLE t REBUILD;
CREATE INDEX i1 ON t (v) WITH (DROP_EXISTING = ON);
SELECT name, fill_factor, is_padded, allow_row_locks, allow_page_locks FROM sys.indexes WHERE object_id = OBJECT_ID('t') ORDER BY name;
SELECT INDEXPROPERTY(OBJECT_ID('t'), 'i3', 'IndexFillFactor') AS fill, INDEXPROPERTY(OBJECT_ID('t'), 'i3', 'IsPadIndex') AS pad;
GO
CREATE INDEX no ON t (w) WITH (FILLFACTOR = 101);
GO
CREATE UNIQUE INDEX no ON t (v) WITH (IGNORE_DUP_KEY = ON);
GO
CREATE INDEX no ON t (w) WITH (DATA_COMPRESSION = PAGE);
GO
CREATE INDEX no ON t (w) WITH (RESUMABLE = ON, ONLINE = ON);
GO
-- LOCK_ESCALATION.
SELECT lock_escalation, lock_escalation_desc FROM sys.tables WHERE name = 't';
ALTER TABLE t SET (LOCK_ESCALATION = AUTO);
SELECT lock_escalation, lock_escalation_desc FROM sys.tables WHERE name = 't';
ALTER TABLE t SET (LOCK_ESCALATION = DISABLE);
ALTER TABLE t ADD more INT;
SELECT lock_escalation, lock_escalation_desc FROM sys.tables WHERE name = 't';
ALTER TABLE nowhere SET (LOCK_ESCALATION = TABLE);
GO
WITH n AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM n WHERE n < 7000) INSERT t (id, v) SELECT n, n FROM n OPTION (MAXRECURSION 0);
BEGIN TRAN;
UPDATE t SET w = 1;
SELECT request_mode, COUNT(*) AS locks FROM sys.dm_tran_locks
WHERE request_session_id = @@SPID AND resource_type = 'OBJECT' AND resource_associated_entity_id = OBJECT_ID('t') GROUP BY request_mode;
SELECT COUNT(*) AS rows_locked FROM sys.dm_tran_locks WHERE request_session_id = @@SPID AND resource_type IN ('KEY', 'PAGE') AND request_mode = 'X';
ROLLBACK;
ALTER TABLE t SET (LOCK_ESCALATION = TABLE);
BEGIN TRAN;
UPDATE t SET w = 1;
SELECT request_mode, COUNT(*) AS locks FROM sys.dm_tran_locks
WHERE request_session_id = @@SPID AND resource_type = 'OBJECT' AND resource_associated_entity_id = OBJECT_ID('t') GROUP BY request_mode;
ROLLBACK;
GO
