CREATE TABLE parent (a int NOT NULL, b int NOT NULL, CONSTRAINT pk_parent PRIMARY KEY (a, b));
CREATE TABLE other (id int NOT NULL CONSTRAINT pk_other PRIMARY KEY);
CREATE TABLE child (x int NOT NULL CONSTRAINT pk_child PRIMARY KEY, pa int NULL, pb int NULL, o int NULL,
    CONSTRAINT fk_parent FOREIGN KEY (pa, pb) REFERENCES parent (a, b) ON DELETE CASCADE,
    CONSTRAINT fk_other FOREIGN KEY (o) REFERENCES other (id) ON UPDATE SET NULL);
ALTER TABLE child NOCHECK CONSTRAINT fk_other;
GO
EXEC sp_helpconstraint 'child';
EXEC sp_helpconstraint 'parent', 'nomsg';
GO
