-- INSERT and MERGE through views, common table expressions and views over views; the columns that they leave out.
CREATE TABLE t (id INT NOT NULL PRIMARY KEY, n INT NOT NULL DEFAULT 5, c VARCHAR(10) NULL CHECK (c <> 'bad'));
CREATE TABLE i (k INT IDENTITY(10, 10), v VARCHAR(5) NULL);
CREATE TABLE s (id INT, n INT);
INSERT s VALUES (1, 100), (2, 200), (7, 700);
GO
CREATE VIEW v AS SELECT id AS key_no, c AS word FROM t WHERE id < 100;
GO
CREATE VIEW vv AS SELECT word, key_no FROM v;
GO
CREATE VIEW vd AS SELECT id, n + 1 AS next FROM t;
GO
CREATE VIEW vi AS SELECT v, k FROM i;
GO
CREATE VIEW vg AS SELECT n, COUNT(*) AS rows FROM t GROUP BY n;
GO
-- INSERT: with and without a list of columns, VALUES, a query, DEFAULT, OUTPUT, an identity.
INSERT v VALUES (1, 'one');
INSERT INTO v (key_no) VALUES (2), (3);
INSERT dbo.v (word, key_no) SELECT 'four', 4;
INSERT vv VALUES ('five', 5);
INSERT vv (key_no, word) OUTPUT inserted.* VALUES (6, DEFAULT);
INSERT vd (id) VALUES (8);
WITH c AS (SELECT id, n FROM t WHERE n > 0) INSERT c VALUES (9, 90);
WITH c (a, b) AS (SELECT id, n FROM t) INSERT INTO c (b, a) SELECT n, id + 10 FROM s;
INSERT TOP (1) v (key_no) SELECT id + 20 FROM s ORDER BY id;
INSERT vi VALUES ('x');
INSERT vi (v) OUTPUT inserted.k, inserted.v VALUES ('y');
SELECT * FROM t;
SELECT * FROM i;
GO
INSERT v EXEC ('SELECT 30, ''exec''; SELECT 31, NULL');
SELECT * FROM v WHERE key_no >= 30;
GO
-- What can't be.
INSERT v VALUES (40, 'bad');
GO
INSERT v VALUES (1, 'twice');
GO
INSERT v VALUES (41);
GO
INSERT v (n) VALUES (1);
GO
INSERT vd VALUES (42, 1);
GO
INSERT vd (next) VALUES (1);
GO
INSERT vg VALUES (1, 1);
GO
INSERT vi (k, v) VALUES (1, 'z');
GO
WITH c AS (SELECT a.id FROM t a JOIN t b ON a.id = b.id) INSERT c VALUES (43);
GO
INSERT sys.objects VALUES (1);
GO
-- MERGE: a view, a view over a view, a common table expression, with each WHEN.
MERGE v USING s ON v.key_no = s.id
WHEN MATCHED THEN UPDATE SET word = 'm' + CAST(s.n AS VARCHAR(5))
WHEN NOT MATCHED THEN INSERT (word, key_no) VALUES ('new', s.id)
WHEN NOT MATCHED BY SOURCE AND v.key_no >= 30 THEN DELETE
WHEN NOT MATCHED BY SOURCE AND key_no = 9 THEN UPDATE SET v.word = 'alone'
OUTPUT $action, deleted.key_no AS before, inserted.*, s.n;
SELECT * FROM t;
GO
MERGE INTO vv AS x USING (VALUES (1), (50)) AS s (id) ON x.key_no = s.id
WHEN MATCHED THEN DELETE
WHEN NOT MATCHED THEN INSERT VALUES ('fifty', s.id)
OUTPUT $action, inserted.word, deleted.word;
WITH c AS (SELECT id, n FROM t WHERE n = 5)
MERGE c AS x USING (VALUES (2), (9)) AS s (id) ON x.id = s.id
WHEN MATCHED THEN UPDATE SET n = 6
WHEN NOT MATCHED THEN INSERT (id, n) VALUES (s.id + 50, 7);
SELECT * FROM t WHERE id IN (1, 2, 9, 50, 59);
GO
-- Keys are exchanged, through the view too.
MERGE v USING (VALUES (2, 3), (3, 2)) AS s (old, new) ON v.key_no = s.old
WHEN MATCHED THEN UPDATE SET key_no = s.new, word = CAST(s.old AS VARCHAR(5));
SELECT * FROM v WHERE key_no IN (2, 3);
GO
MERGE vd USING s ON vd.id = s.id WHEN MATCHED THEN UPDATE SET next = 1;
GO
MERGE vg USING s ON vg.n = s.id WHEN MATCHED THEN DELETE;
GO
MERGE v USING (VALUES (2), (2)) AS s (id) ON v.key_no = s.id WHEN MATCHED THEN DELETE;
GO
