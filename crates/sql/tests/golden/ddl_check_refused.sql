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
