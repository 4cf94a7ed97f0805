-- Which clauses WHEN of MERGE may stand together.
create table t (id int primary key, v int);
create table s (id int primary key, v int);
GO
merge t using s on t.id = s.id
when matched then update set v = s.v
when matched then delete;
GO
merge t using s on t.id = s.id
when matched and s.v > 1 then update set v = s.v
when matched then update set v = 0;
GO
merge t using s on t.id = s.id
when not matched and s.v > 1 then insert values (s.id, s.v)
when not matched by target then insert values (s.id, 0);
GO
merge t using s on t.id = s.id
when not matched by source then delete
when matched then delete
when not matched by source and t.v > 1 then update set v = 1;
GO
merge t using s on t.id = s.id
when not matched by source then update set v = s.v;
GO
insert t values (1, 1), (2, 2);
insert s values (1, 5), (2, 0);
merge t using s on t.id = s.id
when matched and s.v = 0 then delete
when matched then update set v = s.v
when not matched by source and t.v > 1 then delete
when not matched by source then update set v = 1
when not matched then insert values (s.id, s.v);
select id, v from t;
GO
