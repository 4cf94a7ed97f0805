CREATE TABLE t (id INT IDENTITY PRIMARY KEY, c CHAR(5) DEFAULT 'd', n DECIMAL(6,2) NULL);
CREATE TABLE log_of (id INT, old_n DECIMAL(6,2), new_n DECIMAL(6,2));
INSERT t (n) OUTPUT inserted.* VALUES (1.005), (2);
INSERT t OUTPUT inserted.id AS new_id, inserted.c + '|' AS padded DEFAULT VALUES;
UPDATE t SET n = ISNULL(n, 0) + 10, c = 'u' OUTPUT deleted.n AS before, inserted.n AS after, inserted.c WHERE id >= 2;
UPDATE t SET n = n * 2 OUTPUT inserted.id, deleted.n, inserted.n INTO log_of WHERE id < 3;
SELECT * FROM log_of;
DELETE FROM t OUTPUT deleted.id, deleted.n INTO log_of (id, old_n) OUTPUT deleted.* WHERE id = 1;
SELECT * FROM log_of;
DELETE TOP (1) FROM t OUTPUT deleted.id;
SELECT COUNT(*) AS n FROM t;
UPDATE t SET n = 1 OUTPUT inserted.nosuch;
GO
INSERT t OUTPUT deleted.id DEFAULT VALUES;
GO
SELECT COUNT(*) AS still FROM t;
GO
