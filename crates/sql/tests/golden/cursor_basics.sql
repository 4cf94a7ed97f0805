-- Cursors: the loop that scripts have, scrolling, scopes, status, what a FETCH without INTO shows.
CREATE TABLE t (id INT NOT NULL PRIMARY KEY, v INT NOT NULL, c VARCHAR(10) NULL);
INSERT t VALUES (1, 10, 'one'), (2, 20, 'two'), (3, 30, NULL), (4, 40, 'four');
GO
DECLARE @id INT, @c VARCHAR(10), @all VARCHAR(100) = '';
DECLARE walk CURSOR LOCAL FAST_FORWARD FOR SELECT id, c FROM t WHERE id > 1 ORDER BY id DESC;
OPEN walk;
FETCH NEXT FROM walk INTO @id, @c;
WHILE @@FETCH_STATUS = 0
BEGIN
    SET @all += CONCAT(@id, ':', @c, ' ');
    FETCH NEXT FROM walk INTO @id, @c;
END
CLOSE walk;
DEALLOCATE walk;
SELECT @all AS walked, @id AS last_id, @@FETCH_STATUS AS status;
GO
-- Scrolling.
SET NOCOUNT ON;
DECLARE s SCROLL CURSOR FOR SELECT id FROM t ORDER BY id;
OPEN s;
SELECT @@CURSOR_ROWS AS four, CURSOR_STATUS('global', 's') AS open_, CURSOR_STATUS('local', 's') AS none;
DECLARE @x INT, @back INT = 2;
FETCH LAST FROM s INTO @x; PRINT CONCAT('last ', @x, ' ', @@FETCH_STATUS, ' ', @@ROWCOUNT);
FETCH NEXT FROM s INTO @x; PRINT CONCAT('behind ', @x, ' ', @@FETCH_STATUS, ' ', @@ROWCOUNT);
FETCH PRIOR FROM s INTO @x; PRINT CONCAT('prior ', @x, ' ', @@FETCH_STATUS);
FETCH FIRST FROM s INTO @x; PRINT CONCAT('first ', @x, ' ', @@FETCH_STATUS);
FETCH PRIOR FROM s INTO @x; PRINT CONCAT('before ', @x, ' ', @@FETCH_STATUS);
FETCH s INTO @x; PRINT CONCAT('next ', @x, ' ', @@FETCH_STATUS);
FETCH ABSOLUTE 3 FROM s INTO @x; PRINT CONCAT('absolute 3 ', @x);
FETCH RELATIVE -2 FROM s INTO @x; PRINT CONCAT('relative -2 ', @x);
FETCH RELATIVE 0 FROM s INTO @x; PRINT CONCAT('relative 0 ', @x);
FETCH ABSOLUTE -2 FROM s INTO @x; PRINT CONCAT('absolute -2 ', @x);
FETCH ABSOLUTE @back FROM s INTO @x; PRINT CONCAT('absolute @back ', @x);
FETCH ABSOLUTE 0 FROM s INTO @x; PRINT CONCAT('absolute 0 ', @x, ' ', @@FETCH_STATUS);
FETCH ABSOLUTE 99 FROM s INTO @x; PRINT CONCAT('absolute 99 ', @x, ' ', @@FETCH_STATUS);
GO
-- A global cursor is there in the next batch, also for a text; a FETCH without INTO is a result.
SET NOCOUNT OFF;
FETCH FIRST FROM s;
EXEC ('FETCH NEXT FROM GLOBAL s');
FETCH ABSOLUTE 99 FROM s;
CLOSE s;
SELECT CURSOR_STATUS('global', 's') AS closed;
OPEN s;
FETCH NEXT FROM s;
DEALLOCATE s;
SELECT CURSOR_STATUS('global', 's') AS gone;
GO
-- The rows are those of OPEN; the variables of the query are those of DECLARE.
DECLARE @from INT = 2;
DECLARE v CURSOR STATIC LOCAL FOR SELECT id, v FROM t WHERE id >= @from ORDER BY id;
SET @from = 99;
OPEN v;
UPDATE t SET v = v + 1;
FETCH NEXT FROM v;
CLOSE v;
OPEN v;
FETCH NEXT FROM v;
GO
SELECT CURSOR_STATUS('local', 'v') AS gone_with_its_batch;
GO
-- Cursor variables.
DECLARE @c CURSOR, @d CURSOR, @n INT;
SELECT CURSOR_STATUS('variable', '@c') AS none, CURSOR_STATUS('variable', '@e') AS absent;
SET @c = CURSOR SCROLL FOR SELECT id FROM t ORDER BY id;
SET @d = @c;
OPEN @c;
FETCH NEXT FROM @d INTO @n; PRINT @n;
FETCH LAST FROM @c INTO @n; PRINT @n;
DEALLOCATE @c;
FETCH FIRST FROM @d INTO @n; PRINT @n;
SELECT CURSOR_STATUS('variable', '@c') AS none, CURSOR_STATUS('variable', '@d') AS open_;
DECLARE named CURSOR LOCAL FOR SELECT v FROM t ORDER BY id;
SET @c = named;
OPEN @c;
FETCH NEXT FROM named INTO @n; PRINT @n;
DEALLOCATE named;
FETCH NEXT FROM @c INTO @n; PRINT @n;
GO
-- Procedures, nested cursors, no rows, NULLs, conversions.
CREATE PROCEDURE per_table @like SYSNAME AS
BEGIN
    DECLARE @name SYSNAME, @sql NVARCHAR(200);
    DECLARE names CURSOR LOCAL READ_ONLY FORWARD_ONLY FOR SELECT name FROM sys.tables WHERE name LIKE @like ORDER BY name;
    OPEN names;
    WHILE 1 = 1
    BEGIN
        FETCH NEXT FROM names INTO @name;
        IF @@FETCH_STATUS <> 0 BREAK;
        SET @sql = N'SELECT COUNT(*) AS ' + QUOTENAME(@name) + N' FROM ' + QUOTENAME(@name);
        EXEC sp_executesql @sql;
    END
END
GO
CREATE TABLE t2 (a INT);
EXEC per_table 't%';
EXEC per_table 'none%';
SELECT CURSOR_STATUS('local', 'names') AS gone_with_its_procedure;
GO
DECLARE @a INT, @b INT, @out VARCHAR(100) = '';
DECLARE o CURSOR LOCAL FOR SELECT id FROM t WHERE id < 3 ORDER BY id;
OPEN o;
FETCH o INTO @a;
WHILE @@FETCH_STATUS = 0
BEGIN
    DECLARE i CURSOR LOCAL FOR SELECT id FROM t WHERE id > @a ORDER BY id;
    OPEN i;
    FETCH i INTO @b;
    WHILE @@FETCH_STATUS = 0
    BEGIN
        SET @out += CONCAT(@a, @b, ' ');
        FETCH i INTO @b;
    END
    CLOSE i; DEALLOCATE i;
    FETCH o INTO @a;
END
SELECT @out AS pairs;
GO
DECLARE @text VARCHAR(3), @big BIGINT;
DECLARE e CURSOR LOCAL FOR SELECT c, id FROM t ORDER BY id;
OPEN e;
FETCH e INTO @text, @big; PRINT CONCAT(@text, @big);
FETCH e INTO @text, @big; FETCH e INTO @text, @big; PRINT CONCAT(ISNULL(@text, 'null'), @big);
FETCH e INTO @text, @big; PRINT CONCAT(@text, @big);
CLOSE e; DEALLOCATE e;
DECLARE e CURSOR LOCAL FOR SELECT 1 WHERE 1 = 0;
OPEN e;
SELECT CURSOR_STATUS('local', 'e') AS empty, @@CURSOR_ROWS AS zero;
FETCH e INTO @big; PRINT @@FETCH_STATUS;
GO
-- SET CURSOR_CLOSE_ON_COMMIT.
SET CURSOR_CLOSE_ON_COMMIT ON;
DECLARE k CURSOR FOR SELECT id FROM t;
OPEN k;
BEGIN TRAN; COMMIT;
SELECT CURSOR_STATUS('global', 'k') AS closed;
DEALLOCATE k;
SET CURSOR_CLOSE_ON_COMMIT OFF;
GO
