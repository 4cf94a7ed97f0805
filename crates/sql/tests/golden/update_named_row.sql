-- UPDATE and DELETE of the row that the whole key names: it is changed without being found first.
CREATE TABLE t (a int, b bigint, v int NOT NULL, s varchar(5) NULL, PRIMARY KEY (a, b));
CREATE TABLE u (k varchar(5) PRIMARY KEY, v int IDENTITY, w int NULL UNIQUE);
INSERT INTO t VALUES (1, 1, 10, 'x'), (1, 2, 20, 'y'), (2, 1, 30, 'z');
INSERT INTO u (k, w) VALUES ('a', 1), ('B', 2);
GO
DECLARE @a int = 1, @b bigint = 2, @v int = 21, @s varchar(5) = 'yy';
UPDATE t SET v = @v, s = @s WHERE a = @a AND b = @b;
UPDATE t SET v = 22 WHERE b = 2 AND @a = a;
UPDATE t SET v = NULL WHERE a = 7 AND b = @b;
UPDATE t SET v = 0 WHERE a = @a AND b = NULL;
UPDATE t SET v = 0 WHERE a = @a AND b = @b AND v = 23;
UPDATE t SET v = 0 WHERE a = @a AND a = 2 AND b = 1;
UPDATE t SET v = 0 WHERE a = 1.5 AND b = 1;
UPDATE t SET v = 24 WHERE a = 1.0 AND b = '2';
SELECT * FROM t;
GO
-- Errors of a change come only if there is the row.
UPDATE t SET v = NULL WHERE a = 1 AND b = 2;
GO
UPDATE t SET s = 'too long' WHERE a = 1 AND b = 2;
GO
UPDATE t SET a = 2, b = 1 WHERE a = 1 AND b = 2;
GO
UPDATE t SET a = 3 WHERE a = 1 AND b = 2;
SELECT * FROM t;
GO
-- Other spellings of a key of text.
UPDATE u SET w = 5 WHERE k = 'A';
UPDATE u SET w = 6 WHERE k = N'b ';
SELECT * FROM u;
DELETE FROM u WHERE k = 'b';
SELECT * FROM u;
GO
-- Keys of other types than the value's.
CREATE TABLE bits (k bit PRIMARY KEY, v int);
CREATE TABLE bytes (k tinyint PRIMARY KEY, v int);
INSERT INTO bits VALUES (0, 1), (1, 2);
INSERT INTO bytes VALUES (1, 1), (2, 2);
UPDATE bits SET v = 3 WHERE k = 2;
UPDATE bits SET v = 4 WHERE k = 1;
UPDATE bytes SET v = 3 WHERE k = 257;
UPDATE bytes SET v = 4 WHERE k = CAST(1 AS float);
DELETE FROM bytes WHERE k = '2';
SELECT * FROM bits;
SELECT * FROM bytes;
GO
-- The locks, of a row that exists and of one that does not.
BEGIN TRAN;
UPDATE t SET v = 11 WHERE a = 1 AND b = 1;
UPDATE t SET v = 11 WHERE a = 9 AND b = 9;
SELECT resource_type, request_mode FROM sys.dm_tran_locks
WHERE request_session_id = @@SPID AND resource_type IN ('OBJECT', 'KEY') ORDER BY resource_type;
DELETE FROM t WHERE a = 1 AND b = 1;
DELETE FROM t WHERE a = 9 AND b = 9;
SELECT COUNT(*) AS n FROM t;
ROLLBACK;
SELECT * FROM t;
GO
-- Its change waits for X at once, one that has to look at the row for U.
BEGIN TRAN;
UPDATE t SET v = 12 WHERE a = 1 AND b = 1;
GO
:start named
UPDATE t SET v = 13 WHERE a = 1 AND b = 1;
GO
:start read
UPDATE t SET v = v + 1 WHERE a = 1 AND b = 1;
GO
SELECT request_mode, COUNT(*) AS n FROM sys.dm_tran_locks
WHERE resource_type = 'KEY' AND request_status = 'WAIT' GROUP BY request_mode ORDER BY request_mode;
COMMIT;
GO
:wait named
:wait read
SELECT v FROM t WHERE a = 1 AND b = 1;
GO
-- A row that is not there, at SERIALIZABLE: who waits for the gap has not locked the key, which another session
-- inserts.
SET TRANSACTION ISOLATION LEVEL SERIALIZABLE;
BEGIN TRAN;
UPDATE t SET v = 1 WHERE a = 0 AND b = 0;
DELETE FROM t WHERE a = 0 AND b = 0;
GO
:start updates
SET TRANSACTION ISOLATION LEVEL SERIALIZABLE;
UPDATE t SET v = 2 WHERE a = 0 AND b = 0;
GO
:start deletes
SET TRANSACTION ISOLATION LEVEL SERIALIZABLE;
DELETE FROM t WHERE a = 0 AND b = 1;
GO
SELECT request_mode, request_status, COUNT(*) AS n FROM sys.dm_tran_locks
WHERE resource_type = 'KEY' AND request_session_id <> @@SPID GROUP BY request_mode, request_status;
INSERT INTO t VALUES (0, 0, 1, NULL);
COMMIT;
SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
GO
:wait updates
:wait deletes
SELECT v FROM t WHERE a = 0;
GO
-- Rules that look at the row.
ALTER TABLE t ADD CONSTRAINT c CHECK (v < 100);
GO
UPDATE t SET v = 100 WHERE a = 1 AND b = 1;
GO
UPDATE t SET v = 99 OUTPUT deleted.v, inserted.v WHERE a = 1 AND b = 1;
UPDATE TOP (0) t SET v = 98 WHERE a = 1 AND b = 1;
SET ROWCOUNT 1;
DELETE FROM t WHERE a = 1 AND b = 1;
SELECT a, b, v FROM t;
GO
