-- Two transactions read a value and write what they make of it. A level that keeps read locks ends one as the
-- victim of a deadlock; below, what the first wrote is lost. UPDLOCK makes the second wait in time.
CREATE TABLE account (id INT NOT NULL PRIMARY KEY, owner VARCHAR(10) NOT NULL, balance INT NOT NULL);
INSERT account VALUES (1, 'ann', 100), (2, 'ann', 100), (3, 'bob', 100);
GO
UPDATE account SET balance = 100 WHERE id = 1;
GO
SET TRANSACTION ISOLATION LEVEL READ UNCOMMITTED;
BEGIN TRAN;
DECLARE @b INT;
SELECT @b = balance FROM account WHERE id = 1;
SELECT @b AS [read uncommitted];
GO
:connect other
SET TRANSACTION ISOLATION LEVEL READ UNCOMMITTED;
SET DEADLOCK_PRIORITY LOW;
BEGIN TRAN;
DECLARE @b INT;
SELECT @b = balance FROM account WHERE id = 1;
SELECT @b AS other;
GO
:start other
UPDATE account SET balance = 100 + 5 WHERE id = 1;
COMMIT;
GO
:connect main
UPDATE account SET balance = 100 + 7 WHERE id = 1;
COMMIT;
SELECT balance AS five_is_lost FROM account WHERE id = 1;
GO
UPDATE account SET balance = 100 WHERE id = 1;
GO
SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
BEGIN TRAN;
DECLARE @b INT;
SELECT @b = balance FROM account WHERE id = 1;
SELECT @b AS [read committed];
GO
:connect other
SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
SET DEADLOCK_PRIORITY LOW;
BEGIN TRAN;
DECLARE @b INT;
SELECT @b = balance FROM account WHERE id = 1;
SELECT @b AS other;
GO
:start other
UPDATE account SET balance = 100 + 5 WHERE id = 1;
COMMIT;
GO
:connect main
UPDATE account SET balance = 100 + 7 WHERE id = 1;
COMMIT;
SELECT balance AS five_is_lost FROM account WHERE id = 1;
GO
UPDATE account SET balance = 100 WHERE id = 1;
GO
SET TRANSACTION ISOLATION LEVEL REPEATABLE READ;
BEGIN TRAN;
DECLARE @b INT;
SELECT @b = balance FROM account WHERE id = 1;
SELECT @b AS [repeatable read];
GO
:connect other
SET TRANSACTION ISOLATION LEVEL REPEATABLE READ;
SET DEADLOCK_PRIORITY LOW;
BEGIN TRAN;
DECLARE @b INT;
SELECT @b = balance FROM account WHERE id = 1;
SELECT @b AS other;
GO
:start other
UPDATE account SET balance = 100 + 5 WHERE id = 1;
COMMIT;
GO
:connect main
UPDATE account SET balance = 100 + 7 WHERE id = 1;
COMMIT;
GO
:wait other
SELECT balance AS main_alone FROM account WHERE id = 1;
GO
:connect other
SELECT @@TRANCOUNT AS none;
GO
:connect main
UPDATE account SET balance = 100 WHERE id = 1;
GO
SET TRANSACTION ISOLATION LEVEL SERIALIZABLE;
BEGIN TRAN;
DECLARE @b INT;
SELECT @b = balance FROM account WHERE id = 1;
SELECT @b AS [serializable];
GO
:connect other
SET TRANSACTION ISOLATION LEVEL SERIALIZABLE;
SET DEADLOCK_PRIORITY LOW;
BEGIN TRAN;
DECLARE @b INT;
SELECT @b = balance FROM account WHERE id = 1;
SELECT @b AS other;
GO
:start other
UPDATE account SET balance = 100 + 5 WHERE id = 1;
COMMIT;
GO
:connect main
UPDATE account SET balance = 100 + 7 WHERE id = 1;
COMMIT;
GO
:wait other
SELECT balance AS main_alone FROM account WHERE id = 1;
GO
:connect other
SELECT @@TRANCOUNT AS none;
GO
:connect main
UPDATE account SET balance = 100 WHERE id = 1;
SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
BEGIN TRAN;
SELECT balance AS updlock FROM account WITH (UPDLOCK) WHERE id = 1;
GO
:start other
SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
BEGIN TRAN;
DECLARE @b INT;
SELECT @b = balance FROM account WITH (UPDLOCK) WHERE id = 1;
UPDATE account SET balance = @b + 5 WHERE id = 1;
COMMIT;
SELECT @b AS seen_by_other;
GO
UPDATE account SET balance = 100 + 7 WHERE id = 1;
COMMIT;
GO
:wait other
SELECT balance AS both FROM account WHERE id = 1;
GO
