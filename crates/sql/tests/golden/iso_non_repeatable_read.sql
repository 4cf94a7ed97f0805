-- A row that is read twice in a transaction, while another wants to change it between.
CREATE TABLE account (id INT NOT NULL PRIMARY KEY, owner VARCHAR(10) NOT NULL, balance INT NOT NULL);
INSERT account VALUES (1, 'ann', 100), (2, 'ann', 100), (3, 'bob', 100);
GO
:connect reader
SET TRANSACTION ISOLATION LEVEL READ UNCOMMITTED;
BEGIN TRAN;
SELECT balance AS [read uncommitted] FROM account WHERE id = 1;
GO
:connect main
SET LOCK_TIMEOUT 0;
UPDATE account SET balance += 1 WHERE id = 1;
GO
:connect reader
SELECT balance AS again FROM account WHERE id = 1;
COMMIT;
GO
:connect reader
SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
BEGIN TRAN;
SELECT balance AS [read committed] FROM account WHERE id = 1;
GO
:connect main
SET LOCK_TIMEOUT 0;
UPDATE account SET balance += 1 WHERE id = 1;
GO
:connect reader
SELECT balance AS again FROM account WHERE id = 1;
COMMIT;
GO
:connect reader
SET TRANSACTION ISOLATION LEVEL REPEATABLE READ;
BEGIN TRAN;
SELECT balance AS [repeatable read] FROM account WHERE id = 1;
GO
:connect main
SET LOCK_TIMEOUT 0;
UPDATE account SET balance += 1 WHERE id = 1;
GO
:connect reader
SELECT balance AS again FROM account WHERE id = 1;
COMMIT;
GO
:connect reader
SET TRANSACTION ISOLATION LEVEL SERIALIZABLE;
BEGIN TRAN;
SELECT balance AS [serializable] FROM account WHERE id = 1;
GO
:connect main
SET LOCK_TIMEOUT 0;
UPDATE account SET balance += 1 WHERE id = 1;
GO
:connect reader
SELECT balance AS again FROM account WHERE id = 1;
COMMIT;
GO
