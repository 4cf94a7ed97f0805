-- Errors of types are found before the first statement of the batch runs.
select 1 as one;
select coalesce(null, null);
GO
select 1 as one;
select iif(1 = 1, null, null);
GO
select 1 as one;
print $1;
GO
select 1 as one;
select dateadd(iso_week, 1, '2020-01-01');
GO
