-- SELECT INTO with a column that numbers the rows.
CREATE TABLE t (a varchar(5));
INSERT t VALUES ('c'), ('a'), ('b');
GO
SELECT IDENTITY(INT, 1, 1) AS n, a INTO #nums FROM t ORDER BY a;
SELECT n, a FROM #nums ORDER BY n;
INSERT #nums (a) VALUES ('d');
SELECT n, a FROM #nums WHERE a = 'd';
GO
SELECT a, n = IDENTITY(DECIMAL(9, 0), 100, -10), LEN(a) AS l INTO kept FROM t ORDER BY a DESC;
SELECT a, n, l FROM kept ORDER BY n DESC;
SELECT name, is_identity, is_nullable, TYPE_NAME(system_type_id) AS type FROM sys.columns
    WHERE object_id = OBJECT_ID('kept') ORDER BY column_id;
SELECT IDENTITY(BIGINT) AS i INTO #only FROM t;
SELECT i FROM #only ORDER BY i;
GO
CREATE TABLE u (id int IDENTITY, a int);
GO
SELECT id, IDENTITY(int, 1, 1) AS n INTO #twice FROM u;
GO
SELECT IDENTITY(int, 1, 1) AS m, IDENTITY(int, 1, 1) AS n INTO #twice FROM t;
GO
SELECT IDENTITY(int, 1, 1) AS n FROM t;
GO
SELECT a INTO #wrong FROM t WHERE IDENTITY(int, 1, 1) = 1;
GO
SELECT IDENTITY(varchar(5), 1, 1) AS n INTO #wrong FROM t;
GO
SELECT IDENTITY(int, 1) AS n INTO #wrong FROM t;
GO
