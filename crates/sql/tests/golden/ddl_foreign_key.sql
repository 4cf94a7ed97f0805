CREATE TABLE parent (id INT NOT NULL CONSTRAINT pk_parent PRIMARY KEY, name VARCHAR(10));
CREATE TABLE child (id INT NOT NULL PRIMARY KEY, parent_id INT NULL CONSTRAINT fk_child REFERENCES parent (id));
INSERT INTO parent VALUES (1, 'a'), (2, 'b'), (3, 'c');
INSERT INTO child VALUES (10, 1), (11, 1), (12, NULL);
GO
INSERT INTO child VALUES (13, 4);
GO
INSERT INTO child VALUES (13, 2), (14, 9);
SELECT COUNT(*) AS n FROM child;
GO
UPDATE child SET parent_id = 7 WHERE id = 10;
GO
UPDATE child SET parent_id = 2 WHERE id = 10;
DELETE FROM parent WHERE id = 2;
GO
DELETE FROM parent WHERE id = 3;
UPDATE parent SET id = 5 WHERE id = 1;
GO
UPDATE parent SET name = 'z' WHERE id = 1;
UPDATE parent SET id = 30 WHERE name = 'zz';
GO
-- Keys may change places within a statement.
DELETE FROM child;
INSERT INTO child VALUES (1, 1), (2, 2);
DELETE FROM parent WHERE id NOT IN (1, 2);
GO
DROP TABLE parent;
GO
TRUNCATE TABLE parent;
GO
ALTER TABLE parent DROP CONSTRAINT pk_parent;
GO
ALTER TABLE parent DROP COLUMN id;
GO
ALTER TABLE child DROP COLUMN parent_id;
GO
ALTER TABLE child ALTER COLUMN parent_id BIGINT;
GO
BEGIN TRY
    INSERT INTO child VALUES (99, 99);
END TRY
BEGIN CATCH
    SELECT ERROR_NUMBER() AS number, ERROR_MESSAGE() AS message;
END CATCH;
GO
ALTER TABLE child DROP CONSTRAINT fk_child;
DELETE FROM parent;
DROP TABLE parent;
SELECT id, parent_id FROM child ORDER BY id;
