-- A row that was moved and is deleted keeps the pointer to its first place, which is no value.
CREATE TABLE t (id int NOT NULL, v varchar(2000) NULL, f char(900) NULL);
GO
INSERT t SELECT i, NULL, NULL FROM (VALUES (1), (2), (3), (4), (5), (6), (7), (8)) x (i);
UPDATE t SET v = REPLICATE('y', 1500) WHERE id = 1;
UPDATE t SET v = '' WHERE id = 1;
DBCC CHECKTABLE ('t') WITH NO_INFOMSGS;
DELETE t WHERE id = 1;
DBCC CHECKTABLE ('t') WITH NO_INFOMSGS;
SELECT COUNT(*) AS left_over FROM t;
GO
