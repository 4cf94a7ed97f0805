-- Rows of one INSERT go in some at a time: the same rows, errors and locks as one by one.
create table t (id int not null primary key, v int not null, note varchar(20) null)
GO
insert t values (1, 10, 'one'), (2, 20, null), (3, 30, '')
select * from t
GO
-- All of a statement or nothing of it.
insert t values (4, 1, null), (5, 1, null), (2, 1, null), (6, 1, null)
GO
insert t values (4, 1, null), (5, null, null), (4, 1, null)
GO
insert t (id, v) values (7, 1), (7, 1)
GO
select count(*) as rows_left from t
GO
-- The error of the first row that has one.
insert t select value, 10 / (value - 12), null from generate_series(10, 14)
GO
insert t select case when value = 11 then 1 else value end, 10 / (value - 12), null from generate_series(10, 14)
GO
select count(*) as rows_left from t
GO
-- Rows of the table itself.
insert t select id + 100, v, note from t
insert t select id + 1000, v, note from t
select count(*) as rows, sum(id) as ids from t
GO
-- More rows than a page takes, between others and behind them; not in order.
insert t select value * 2 + 5000, value, replicate('x', value % 20) from generate_series(1, 3000)
insert t select value * 2 + 5001, value, null from generate_series(1, 3000)
insert t select 20000 - value, value, null from generate_series(1, 500)
select count(*) as rows, sum(id) as ids, sum(cast(v as bigint)) as v, sum(len(note)) as note from t
GO
-- A lock for each row, until the transaction ends.
begin transaction
insert t select value, 1, null from generate_series(30001, 30100)
select resource_type, request_mode, count(*) as locks from sys.dm_tran_locks
where request_session_id = @@spid and resource_type = 'KEY' group by resource_type, request_mode
rollback
select count(*) as rows from t where id > 30000
GO
-- Identity values, in order, and the last of them.
create table numbered (n int identity(5, 2) primary key, v int)
GO
insert numbered values (1), (2), (3)
select scope_identity() as last, @@identity as also_last
insert numbered (v) select value from generate_series(1, 200)
select min(n) as first, max(n) as last, count(*) as rows, scope_identity() as scope from numbered
GO
-- With a lock of the table or of pages.
create table whole (id int primary key)
insert whole with (tablock) values (1), (2), (3)
insert whole with (paglock) values (4), (5)
insert whole with (tablock) values (6), (1)
GO
select count(*) as rows from whole
dbcc checktable ('t') with no_infomsgs
drop table t, numbered, whole
GO
-- Every row of VALUES sees the table as it was; a refused row uses no identity values of those behind it.
create table seen (id int primary key, before int)
insert seen values (0, 0)
insert seen values (1, (select count(*) from seen)), (2, (select count(*) from seen)), (3, (select count(*) from seen))
select * from seen
create table used (n int identity, k int primary key)
GO
insert used (k) values (1), (1), (3), (4), (5)
GO
insert used (k) values (9)
select n, k from used
drop table seen, used
GO
