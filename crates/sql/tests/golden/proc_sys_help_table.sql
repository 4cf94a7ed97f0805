-- masked
CREATE TABLE t (id int IDENTITY (10, 5) NOT NULL CONSTRAINT pk PRIMARY KEY, a bigint NULL CONSTRAINT ck CHECK (a > 0),
    b varchar(10) NOT NULL CONSTRAINT df DEFAULT 'none', c nvarchar(30) NULL, d datetime NULL, e decimal(9, 2) NULL,
    f char(5) NULL, g datetime2(3) NULL, h bit NULL, i uniqueidentifier NULL, j varbinary(8) NULL,
    k int NOT NULL CONSTRAINT uq UNIQUE NONCLUSTERED, CONSTRAINT ck2 CHECK (k > a));
CREATE TABLE plain (x int);
GO
EXEC sp_help 't';
GO
EXEC sp_help 'plain';
GO
