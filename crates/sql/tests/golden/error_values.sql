-- Errors of values and types.
select cast(1.5e0 as varchar(2));
GO
select cast(1.25 as varchar(2));
GO
select datediff(iso_week, '2020-01-01', '2020-02-01');
GO
create table f (a float(54));
GO
select cast(1 as float(54));
GO
create table t (a int references nosuch (id));
GO
create table a (id int identity, v int);
create table b (id int);
insert a values (7);
GO
select * from a, b where a.id*=b.id;
GO
select $identity, a.$identity as x from a;
select identitycol from a where $identity = 1 order by $identity;
GO
select $identity from b;
GO
