-- EXEC of texts.
CREATE TABLE t (id INT);
GO
DECLARE @a VARCHAR(50) = 'SELECT ', @b NVARCHAR(50) = N'42 AS answer';
EXEC (@a + @b);
EXEC ('SELECT 1 AS a; SELECT 2 AS b');
EXEC (@a + '''it''''s'' AS quoted');
EXECUTE (N'INSERT t VALUES (1)');
EXEC ('');
DECLARE @null VARCHAR(10);
EXEC (@null);
EXEC ('DECLARE @inner INT = 5; SELECT @inner AS i');
EXEC ('SELECT @inner');
EXEC ('SELECT @a');
EXEC ('SET NOCOUNT ON; SELECT 1 AS silent');
SELECT 2 AS counted;
EXEC ('USE tempdb; SELECT DB_NAME() AS inside');
SELECT DB_NAME() AS outside;
EXEC ('SELECT 1

SELECT FROM');
EXEC ('
SELECT *
FROM nosuch');
SELECT 'goes on' AS a;
EXEC ('SELECT CAST(''x'' AS INT)');
SELECT 'not reached' AS a;
GO
EXEC ('SELECT 1') AT other;
GO
EXEC ('SELECT 1') AS USER = 'dbo';
GO
EXEC ('EXEC (''SELECT @@NESTLEVEL AS two'')');
EXEC ('CREATE TABLE #inner (id INT); INSERT #inner VALUES (1); SELECT COUNT(*) AS one FROM #inner');
SELECT OBJECT_ID('tempdb..#inner') AS gone;
CREATE TABLE #outer (id INT);
EXEC ('INSERT #outer VALUES (1); SELECT COUNT(*) AS one FROM #outer');
EXEC ('BEGIN TRAN; INSERT t VALUES (2); COMMIT');
SELECT COUNT(*) AS two FROM t;
GO
