-- OUTPUT of UPDATE and DELETE names the other sources of FROM.
CREATE TABLE item (id INT NOT NULL PRIMARY KEY, name VARCHAR(10), price INT);
CREATE TABLE change (item INT, price INT, reason VARCHAR(10));
INSERT item VALUES (1, 'pen', 10), (2, 'ink', 20), (3, 'cap', 30);
INSERT change VALUES (1, 11, 'dearer'), (3, 25, 'sale');
CREATE TABLE logged (name VARCHAR(10), reason VARCHAR(10), was INT, is_now INT);
GO
UPDATE i SET price = c.price
OUTPUT inserted.id, c.reason, deleted.price AS was, inserted.price AS is_now
FROM item i JOIN change c ON c.item = i.id;
UPDATE item SET price += 1
OUTPUT inserted.name, change.reason, deleted.price, inserted.price INTO logged
FROM item JOIN change ON change.item = item.id
WHERE change.reason = 'sale';
SELECT * FROM logged;
GO
DELETE i OUTPUT deleted.name, c.reason, c.price * 2 AS twice
FROM item i LEFT JOIN change c ON c.item = i.id
WHERE i.id <> 1;
SELECT * FROM item;
GO
DELETE FROM change OUTPUT deleted.*, i.name FROM change JOIN item i ON i.id = change.item;
SELECT COUNT(*) AS one FROM change;
GO
UPDATE i SET price = 1 OUTPUT i.price FROM item i JOIN change c ON c.item = i.id;
GO
UPDATE i SET price = 1 OUTPUT x.price FROM item i;
GO
INSERT item OUTPUT inserted.id, c.reason SELECT 9, 'new', c.price FROM change c;
GO
MERGE item AS t USING (VALUES (1, 'why'), (7, 'new')) AS s (id, reason) ON t.id = s.id
WHEN MATCHED THEN UPDATE SET price = 0
WHEN NOT MATCHED THEN INSERT (id, name, price) VALUES (s.id, 'seven', 7)
OUTPUT $action, s.reason, inserted.id, deleted.price;
SELECT * FROM item ORDER BY id;
GO
