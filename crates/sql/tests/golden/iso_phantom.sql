-- Rows that are counted twice in a transaction, while another wants to add one between.
CREATE TABLE account (id INT NOT NULL PRIMARY KEY, owner VARCHAR(10) NOT NULL, balance INT NOT NULL);
INSERT account VALUES (1, 'ann', 100), (2, 'ann', 100), (3, 'bob', 100);
GO
:connect reader
SET TRANSACTION ISOLATION LEVEL READ UNCOMMITTED;
BEGIN TRAN;
SELECT COUNT(*) AS [read uncommitted] FROM account WHERE id BETWEEN 1 AND 20;
GO
:connect main
SET LOCK_TIMEOUT 0;
INSERT account VALUES (10, 'eve', 1);
INSERT account VALUES (30, 'eve', 1);
GO
:connect reader
SELECT COUNT(*) AS again FROM account WHERE id BETWEEN 1 AND 20;
COMMIT;
GO
:connect reader
SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
BEGIN TRAN;
SELECT COUNT(*) AS [read committed] FROM account WHERE id BETWEEN 1 AND 20;
GO
:connect main
SET LOCK_TIMEOUT 0;
INSERT account VALUES (11, 'eve', 1);
INSERT account VALUES (31, 'eve', 1);
GO
:connect reader
SELECT COUNT(*) AS again FROM account WHERE id BETWEEN 1 AND 20;
COMMIT;
GO
:connect reader
SET TRANSACTION ISOLATION LEVEL REPEATABLE READ;
BEGIN TRAN;
SELECT COUNT(*) AS [repeatable read] FROM account WHERE id BETWEEN 1 AND 20;
GO
:connect main
SET LOCK_TIMEOUT 0;
INSERT account VALUES (12, 'eve', 1);
INSERT account VALUES (32, 'eve', 1);
GO
:connect reader
SELECT COUNT(*) AS again FROM account WHERE id BETWEEN 1 AND 20;
COMMIT;
GO
:connect reader
SET TRANSACTION ISOLATION LEVEL SERIALIZABLE;
BEGIN TRAN;
SELECT COUNT(*) AS [serializable] FROM account WHERE id BETWEEN 1 AND 20;
GO
:connect main
SET LOCK_TIMEOUT 0;
INSERT account VALUES (13, 'eve', 1);
INSERT account VALUES (33, 'eve', 1);
GO
:connect reader
SELECT COUNT(*) AS again FROM account WHERE id BETWEEN 1 AND 20;
COMMIT;
GO
