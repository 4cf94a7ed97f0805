-- An aggregate belongs to the query whose columns its argument names.
create table w (g int, o int, v int);
create table m (id int);
insert w values (1, 10, 1), (1, 20, 2), (2, 5, 3);
insert m values (5), (20), (20);
GO
select (select max(w.o) from m where id = 5) as o from w;
select (select max(w.o)) as o from w;
select g, (select sum(w.o)) as o from w group by g order by g;
select g, (select sum(w.o) + count(*) from m) as o from w group by g order by g;
select g, (select x.v + 1 from (select sum(w.o) as v) as x) as o from w group by g order by g;
select g from w group by g having exists (select 1 from m where max(w.o) = m.id) order by g;
select g from w group by g having max(o) in (select id from m where id = max(w.o)) order by g;
select g from w group by g order by (select -sum(w.o));
select g, (select grouping(w.g)) as o from w group by g with rollup order by 2, 1;
select g, (select count(distinct w.o) from m where id = 5) as n from w group by g order by g;
GO
-- An aggregate of the inner columns, or of none, belongs to the inner query.
select g, (select max(id) from m) as o from w order by g, o;
select g, (select count(*) from m) as o from w order by g, o;
select g, (select max(id) from m where id > w.o) as o from w order by g, o;
GO
select g, (select sum(w.o)) from w;
GO
select (select max(x.o + w.o) from w x) from w;
GO
select (select max(w.o + w.g)) from w;
GO
select x.v from w cross apply (select max(w.o) v from m) x;
GO
select g from w where g = (select max(w.o));
GO
select g from w group by g having (select 1 from m where max(id) = 5) = 1;
GO
update w set o = (select max(w.o));
GO
select max((select max(w.o) from m)) from w;
GO
