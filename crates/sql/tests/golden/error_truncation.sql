-- 2628: text that is longer than its column; 8115, 220 for numbers; nothing is stored.
CREATE TABLE t (c CHAR(3), v VARCHAR(3), n NVARCHAR(2), b VARBINARY(2), d DECIMAL(4,2), s SMALLINT, y TINYINT);
GO
INSERT INTO t (c) VALUES ('abcd');
PRINT 'goes on';
GO
INSERT INTO t (v) VALUES ('abc'), ('abcd');
GO
INSERT INTO t (n) VALUES (N'abc');
GO
INSERT INTO t (b) VALUES (0x010203);
GO
INSERT INTO t (d) VALUES (100);
GO
INSERT INTO t (d) VALUES (1.239);
INSERT INTO t (v) VALUES ('ab   ');
INSERT INTO t (s) VALUES (40000);
GO
INSERT INTO t (y) VALUES (-1);
GO
UPDATE t SET v = 'long text';
GO
DECLARE @v VARCHAR(3) = 'abcdef', @c CHAR(2) = 'xyz';
SELECT @v AS v, @c AS c;
SELECT d, DATALENGTH(v) AS v FROM t;
