-- A row that another transaction has changed and takes back: READ UNCOMMITTED alone shows it.
CREATE TABLE account (id INT NOT NULL PRIMARY KEY, owner VARCHAR(10) NOT NULL, balance INT NOT NULL);
INSERT account VALUES (1, 'ann', 100), (2, 'ann', 100), (3, 'bob', 100);
GO
:connect reader
SET TRANSACTION ISOLATION LEVEL READ UNCOMMITTED;
SET LOCK_TIMEOUT 0;
GO
:connect main
BEGIN TRAN;
UPDATE account SET balance = 0 WHERE id = 1;
GO
:connect reader
SELECT balance AS [read uncommitted] FROM account WHERE id = 1;
SELECT SUM(balance) AS total FROM account WITH (NOLOCK);
SELECT id FROM account WITH (READPAST) WHERE id < 3;
GO
:connect main
ROLLBACK;
GO
:connect reader
SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
SET LOCK_TIMEOUT 0;
GO
:connect main
BEGIN TRAN;
UPDATE account SET balance = 0 WHERE id = 1;
GO
:connect reader
SELECT balance AS [read committed] FROM account WHERE id = 1;
SELECT SUM(balance) AS total FROM account WITH (NOLOCK);
SELECT id FROM account WITH (READPAST) WHERE id < 3;
GO
:connect main
ROLLBACK;
GO
:connect reader
SET TRANSACTION ISOLATION LEVEL REPEATABLE READ;
SET LOCK_TIMEOUT 0;
GO
:connect main
BEGIN TRAN;
UPDATE account SET balance = 0 WHERE id = 1;
GO
:connect reader
SELECT balance AS [repeatable read] FROM account WHERE id = 1;
SELECT SUM(balance) AS total FROM account WITH (NOLOCK);
SELECT id FROM account WITH (READPAST) WHERE id < 3;
GO
:connect main
ROLLBACK;
GO
:connect reader
SET TRANSACTION ISOLATION LEVEL SERIALIZABLE;
SET LOCK_TIMEOUT 0;
GO
:connect main
BEGIN TRAN;
UPDATE account SET balance = 0 WHERE id = 1;
GO
:connect reader
SELECT balance AS [serializable] FROM account WHERE id = 1;
SELECT SUM(balance) AS total FROM account WITH (NOLOCK);
GO
:connect main
ROLLBACK;
GO
:connect reader
SELECT balance AS at_the_end FROM account WHERE id = 1;
GO
