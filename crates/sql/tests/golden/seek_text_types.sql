-- A text finds the key that it is equal to, whichever of the types of text the two have.
CREATE TABLE n (k nvarchar(20) NOT NULL PRIMARY KEY, v int NOT NULL);
CREATE TABLE c (k nchar(5) NOT NULL PRIMARY KEY, v int NOT NULL);
CREATE TABLE v (k varchar(20) NOT NULL PRIMARY KEY, v int NOT NULL);
CREATE TABLE i (id int NOT NULL PRIMARY KEY, k nvarchar(20) NULL);
CREATE INDEX ik ON i (k);
INSERT n VALUES ('abc', 1), ('xyz', 2), (N'žlutý', 3);
INSERT c VALUES ('abc', 1), ('xyz', 2);
INSERT v VALUES ('abc', 1), ('xyz', 2);
INSERT i VALUES (1, 'abc'), (2, 'xyz'), (3, NULL);
GO
SELECT v FROM n WHERE k = 'abc';
SELECT v FROM n WHERE k = 'ABC   ';
SELECT v FROM n WHERE k = N'abc';
SELECT v FROM n WHERE k IN ('abc', N'xyz', 'none');
SELECT v FROM n WHERE k = 'abc longer than the column is wide';
SELECT v FROM n WHERE k >= 'b' AND k < 'y';
SELECT v FROM n WHERE k LIKE 'a%';
SELECT v FROM c WHERE k = 'abc';
SELECT v FROM c WHERE k = CAST('xyz' AS char(12));
SELECT v FROM v WHERE k = N'abc';
SELECT v FROM v WHERE k IN (N'xyz', N'žlutý');
SELECT id FROM i WHERE k = 'xyz';
GO
DECLARE @v varchar(20) = 'abc', @c char(8) = 'xyz';
SELECT v FROM n WHERE k = @v;
SELECT v FROM n WHERE k = @c;
SELECT id FROM i WHERE k = @c;
GO
SELECT n.v, v.v FROM v JOIN n ON n.k = v.k ORDER BY 1;
SELECT n.v, v.v FROM n JOIN v ON n.k = v.k ORDER BY 1;
SELECT v.v, i.id FROM v LEFT JOIN i ON i.k = v.k ORDER BY 1;
SELECT v FROM v WHERE EXISTS (SELECT 1 FROM c WHERE c.k = v.k) ORDER BY 1;
GO
UPDATE n SET v = 5 WHERE k = 'abc';
DELETE n WHERE k = 'xyz';
MERGE n USING (VALUES ('abc', 7)) s (k, v) ON n.k = s.k WHEN MATCHED THEN UPDATE SET v = s.v
    WHEN NOT MATCHED THEN INSERT VALUES (s.k, s.v);
SELECT k, v FROM n ORDER BY v;
GO
