-- Checks and defaults that are refused, and columns that a check keeps.
create table cc (a int, b int check (a < 5));
GO
create table cc (a int, b int check (b < 5), c int check ((select 1) = 1));
GO
create table cc (a int default (select 1));
GO
create table cc (a int, check (exists (select 1)));
GO
create table cc (a int, b varchar(10) check (b <> 'x'), constraint ck check (a < 5 or b = 'y'));
alter table cc add d int check (a = 1);
GO
alter table cc add constraint ck2 check (a > (select 1));
GO
alter table cc alter column a bigint;
GO
alter table cc alter column a int not null;
alter table cc alter column b varchar(20);
GO
alter table cc alter column b varchar(5);
GO
GO
-- A date part is no column, whatever it is called.
CREATE TABLE parts (year INT, d DATE CHECK (DATEADD(year, 1, d) > '20000101'));
ALTER TABLE parts ALTER COLUMN year BIGINT;
ALTER TABLE parts ADD day INT, u DATE CHECK (DATEPART(day, u) > 0);
GO
ALTER TABLE parts ALTER COLUMN d DATETIME;
GO
PRINT GROUPING(1);
GO
