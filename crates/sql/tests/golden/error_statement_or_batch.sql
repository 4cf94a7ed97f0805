-- What an error ends: the statement, the batch, the batch with its transaction.
CREATE TABLE t (id INT NOT NULL PRIMARY KEY, tiny TINYINT NULL, c VARCHAR(3) NULL CHECK (c <> 'bad'));
INSERT t VALUES (1, 1, 'a');
GO
BEGIN TRAN;
INSERT t VALUES (1, 1, 'b');
INSERT t VALUES (2, 256, 'b');
INSERT t VALUES (2, 1, 'bad');
INSERT t VALUES (2, 1, 'long');
INSERT t VALUES (NULL, 1, 'b');
UPDATE t SET tiny = tiny - 2;
UPDATE t SET tiny = 1 / (id - 1);
DELETE t WHERE 1 / (id - 1) = 1;
SELECT (SELECT id FROM (VALUES (1), (2)) AS v (id)) AS two_rows;
EXEC nosuch;
RAISERROR ('raised', 16, 1);
SELECT @@TRANCOUNT AS still_one, COUNT(*) AS one FROM t;
ROLLBACK;
GO
BEGIN TRAN;
INSERT t VALUES (2, 'x', 'b');
SELECT 'not reached' AS a;
GO
SELECT @@TRANCOUNT AS a_conversion_ends_it;
BEGIN TRAN;
SELECT CAST('2001-02-30' AS DATETIME) AS d;
SELECT 'not reached' AS a;
GO
SELECT @@TRANCOUNT AS a_date_too;
BEGIN TRAN;
SELECT * FROM nosuch;
SELECT 'not reached' AS a;
GO
SELECT @@TRANCOUNT AS a_table_does_not;
THROW 50000, 'thrown', 1;
SELECT 'not reached' AS a;
GO
SELECT @@TRANCOUNT AS neither_does_throw;
ROLLBACK;
GO
