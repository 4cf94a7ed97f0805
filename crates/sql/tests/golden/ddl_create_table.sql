-- Columns, keys, defaults.
CREATE TABLE t (
    id int IDENTITY(10, 5) NOT NULL CONSTRAINT PK_t PRIMARY KEY,
    name varchar(20) NOT NULL UNIQUE,
    price decimal(9, 2) NULL DEFAULT 1.5,
    state char(3) DEFAULT 'new',
    made date DEFAULT '2020-01-31'
);
INSERT t (name) VALUES ('a'), ('b');
INSERT t (name, price, state) VALUES ('c', NULL, 'old');
SELECT * FROM t ORDER BY id;
INSERT t (name) VALUES ('A');
GO
CREATE TABLE T (x int);
GO
-- Names with their schema and database.
CREATE TABLE master.dbo.[a table] ([a column] int, CONSTRAINT [PK a] PRIMARY KEY NONCLUSTERED ([a column] DESC), INDEX i ([a column]));
INSERT [a table] VALUES (2), (1);
SELECT * FROM dbo.[a table] ORDER BY 1;
DROP TABLE dbo.[a table], t;
SELECT * FROM t;
GO
CREATE TABLE k (a int CONSTRAINT PK_k PRIMARY KEY, b int, CONSTRAINT UQ_k UNIQUE CLUSTERED (b));
INSERT k VALUES (1, 2);
INSERT k VALUES (1, 3);
INSERT k VALUES (2, 2);
GO
CREATE TABLE s (a sysname, b integer, c dec(5), d character varying(7), e datetime2, f double precision, g nvarchar(9), h bit);
SELECT * FROM s;
