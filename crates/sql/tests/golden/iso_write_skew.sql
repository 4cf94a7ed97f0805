-- Two transactions each look at both rows and change one, so that a rule over both is broken: at REPEATABLE
-- READ and above one of them is the victim of a deadlock.
CREATE TABLE account (id INT NOT NULL PRIMARY KEY, owner VARCHAR(10) NOT NULL, balance INT NOT NULL);
INSERT account VALUES (1, 'ann', 100), (2, 'ann', 100), (3, 'bob', 100);
GO
UPDATE account SET balance = 100 WHERE owner = 'ann';
GO
SET TRANSACTION ISOLATION LEVEL READ UNCOMMITTED;
BEGIN TRAN;
SELECT SUM(balance) AS [read uncommitted] FROM account WHERE id IN (1, 2);
GO
:connect other
SET TRANSACTION ISOLATION LEVEL READ UNCOMMITTED;
SET DEADLOCK_PRIORITY LOW;
BEGIN TRAN;
SELECT SUM(balance) AS other FROM account WHERE id IN (1, 2);
GO
:start other
UPDATE account SET balance -= 150 WHERE id = 2;
COMMIT;
GO
:connect main
UPDATE account SET balance -= 150 WHERE id = 1;
COMMIT;
GO
:connect main
SELECT SUM(balance) AS [sum is to be 0 or more] FROM account WHERE owner = 'ann';
GO
UPDATE account SET balance = 100 WHERE owner = 'ann';
GO
SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
BEGIN TRAN;
SELECT SUM(balance) AS [read committed] FROM account WHERE id IN (1, 2);
GO
:connect other
SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
SET DEADLOCK_PRIORITY LOW;
BEGIN TRAN;
SELECT SUM(balance) AS other FROM account WHERE id IN (1, 2);
GO
:start other
UPDATE account SET balance -= 150 WHERE id = 2;
COMMIT;
GO
:connect main
UPDATE account SET balance -= 150 WHERE id = 1;
COMMIT;
GO
:connect main
SELECT SUM(balance) AS [sum is to be 0 or more] FROM account WHERE owner = 'ann';
GO
UPDATE account SET balance = 100 WHERE owner = 'ann';
GO
SET TRANSACTION ISOLATION LEVEL REPEATABLE READ;
BEGIN TRAN;
SELECT SUM(balance) AS [repeatable read] FROM account WHERE id IN (1, 2);
GO
:connect other
SET TRANSACTION ISOLATION LEVEL REPEATABLE READ;
SET DEADLOCK_PRIORITY LOW;
BEGIN TRAN;
SELECT SUM(balance) AS other FROM account WHERE id IN (1, 2);
GO
:start other
UPDATE account SET balance -= 150 WHERE id = 2;
COMMIT;
GO
:connect main
UPDATE account SET balance -= 150 WHERE id = 1;
COMMIT;
GO
:wait other
:connect main
SELECT SUM(balance) AS [sum is to be 0 or more] FROM account WHERE owner = 'ann';
GO
UPDATE account SET balance = 100 WHERE owner = 'ann';
GO
SET TRANSACTION ISOLATION LEVEL SERIALIZABLE;
BEGIN TRAN;
SELECT SUM(balance) AS [serializable] FROM account WHERE id IN (1, 2);
GO
:connect other
SET TRANSACTION ISOLATION LEVEL SERIALIZABLE;
SET DEADLOCK_PRIORITY LOW;
BEGIN TRAN;
SELECT SUM(balance) AS other FROM account WHERE id IN (1, 2);
GO
:start other
UPDATE account SET balance -= 150 WHERE id = 2;
COMMIT;
GO
:connect main
UPDATE account SET balance -= 150 WHERE id = 1;
COMMIT;
GO
:wait other
:connect main
SELECT SUM(balance) AS [sum is to be 0 or more] FROM account WHERE owner = 'ann';
GO
