CREATE TABLE t (a int NOT NULL, b int NOT NULL CONSTRAINT ck CHECK (b > 0), c int CONSTRAINT df DEFAULT (5),
    CONSTRAINT pk PRIMARY KEY NONCLUSTERED (a DESC, b), CONSTRAINT uq UNIQUE CLUSTERED (c), CONSTRAINT ck2 CHECK (a > b));
CREATE TABLE plain (x int);
GO
EXEC sp_helpconstraint 't';
EXEC sp_helpconstraint 't', 'nomsg';
EXEC sp_helpconstraint 'plain';
GO
EXEC sp_helpconstraint 'nosuch';
GO
