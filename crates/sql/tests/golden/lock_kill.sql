-- KILL: a connection that waits, and one that does nothing with a transaction open.
CREATE TABLE t (id INT NOT NULL PRIMARY KEY, n INT);
INSERT t VALUES (1, 0);
CREATE TABLE who (name VARCHAR(10), id INT);
GO
:connect idle
INSERT who VALUES ('idle', @@SPID);
BEGIN TRAN;
UPDATE t SET n = 1;
GO
:connect main
SET LOCK_TIMEOUT 0;
SELECT n FROM t;
GO
DECLARE @kill VARCHAR(20) = (SELECT 'KILL ' + CAST(id AS VARCHAR(10)) FROM who WHERE name = 'idle');
EXEC (@kill);
SELECT n AS at_once FROM t;
EXEC (@kill);
GO
:connect idle
SELECT 1 AS not_answered;
GO
:connect main
BEGIN TRAN;
UPDATE t SET n = 2;
GO
:connect waiter
INSERT who VALUES ('waiter', @@SPID);
GO
:start waiter
BEGIN TRAN;
INSERT who VALUES ('lost', 0);
UPDATE t SET n = 3;
SELECT 'not reached' AS a;
GO
:connect main
DECLARE @kill VARCHAR(20) =
    (SELECT 'KILL ' + CAST(id AS VARCHAR(10)) FROM who WITH (READPAST) WHERE name = 'waiter');
EXEC (@kill);
GO
:wait waiter
COMMIT;
SELECT n FROM t;
SELECT name FROM who;
KILL 0;
GO
KILL 32000;
GO
