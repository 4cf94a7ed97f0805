-- A transaction reads one row before and one after another has moved money between the two.
CREATE TABLE account (id INT NOT NULL PRIMARY KEY, owner VARCHAR(10) NOT NULL, balance INT NOT NULL);
INSERT account VALUES (1, 'ann', 100), (2, 'ann', 100), (3, 'bob', 100);
GO
UPDATE account SET balance = 100 WHERE owner = 'ann';
GO
:connect reader
SET TRANSACTION ISOLATION LEVEL READ UNCOMMITTED;
BEGIN TRAN;
SELECT balance AS [read uncommitted] FROM account WHERE id = 1;
GO
:start main
BEGIN TRAN;
UPDATE account SET balance -= 50 WHERE id = 1;
UPDATE account SET balance += 50 WHERE id = 2;
COMMIT;
GO
SELECT balance AS second FROM account WHERE id = 2;
COMMIT;
GO
:connect main
UPDATE account SET balance = 100 WHERE owner = 'ann';
GO
:connect reader
SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
BEGIN TRAN;
SELECT balance AS [read committed] FROM account WHERE id = 1;
GO
:start main
BEGIN TRAN;
UPDATE account SET balance -= 50 WHERE id = 1;
UPDATE account SET balance += 50 WHERE id = 2;
COMMIT;
GO
SELECT balance AS second FROM account WHERE id = 2;
COMMIT;
GO
:connect main
UPDATE account SET balance = 100 WHERE owner = 'ann';
GO
:connect reader
SET TRANSACTION ISOLATION LEVEL REPEATABLE READ;
BEGIN TRAN;
SELECT balance AS [repeatable read] FROM account WHERE id = 1;
GO
:start main
BEGIN TRAN;
UPDATE account SET balance -= 50 WHERE id = 1;
UPDATE account SET balance += 50 WHERE id = 2;
COMMIT;
GO
SELECT balance AS second FROM account WHERE id = 2;
COMMIT;
GO
:wait main
:connect main
UPDATE account SET balance = 100 WHERE owner = 'ann';
GO
:connect reader
SET TRANSACTION ISOLATION LEVEL SERIALIZABLE;
BEGIN TRAN;
SELECT balance AS [serializable] FROM account WHERE id = 1;
GO
:start main
BEGIN TRAN;
UPDATE account SET balance -= 50 WHERE id = 1;
UPDATE account SET balance += 50 WHERE id = 2;
COMMIT;
GO
SELECT balance AS second FROM account WHERE id = 2;
COMMIT;
GO
:wait main
:connect main
