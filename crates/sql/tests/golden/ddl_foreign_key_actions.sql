CREATE TABLE a (id INT PRIMARY KEY);
CREATE TABLE b (id INT PRIMARY KEY, a_id INT REFERENCES a ON DELETE CASCADE ON UPDATE CASCADE);
CREATE TABLE c (id INT PRIMARY KEY, b_id INT NULL CONSTRAINT fk_c REFERENCES b (id) ON DELETE SET NULL);
CREATE TABLE d (id INT PRIMARY KEY, a_id INT NOT NULL DEFAULT 1 REFERENCES a (id) ON DELETE SET DEFAULT ON UPDATE CASCADE);
INSERT INTO a VALUES (1), (2), (3), (4);
INSERT INTO b VALUES (10, 1), (20, 2), (21, 2), (30, 3);
INSERT INTO c VALUES (100, 10), (200, 20), (210, 21);
INSERT INTO d VALUES (1000, 2), (1001, 3);
GO
DELETE FROM a WHERE id = 2;
SELECT id, a_id FROM b ORDER BY id;
SELECT id, b_id FROM c ORDER BY id;
SELECT id, a_id FROM d ORDER BY id;
GO
UPDATE a SET id = id + 100 WHERE id = 3;
SELECT id, a_id FROM b ORDER BY id;
SELECT id, a_id FROM d ORDER BY id;
GO
-- The default is not there any more: nothing of the statement stays.
DELETE FROM a WHERE id IN (1, 103);
GO
SELECT id FROM a ORDER BY id;
SELECT id, a_id FROM b ORDER BY id;
SELECT id, a_id FROM d ORDER BY id;
GO
SELECT @@ROWCOUNT AS before_it;
DELETE FROM a WHERE id = 103;
SELECT @@ROWCOUNT AS rows;
GO
SELECT name, delete_referential_action_desc, update_referential_action_desc FROM sys.foreign_keys
WHERE is_system_named = 0;
