-- A key that can be longer than an index takes gives a warning.
create table k (a varchar(900) not null constraint pk_k primary key, b nvarchar(500), c nvarchar(450));
GO
create index ix_b on k (b);
create index ix_c on k (c);
GO
create table l (a varchar(901) not null, b int not null, constraint pk_l primary key (a, b));
GO
alter table l add constraint uq_l unique (b, a);
alter table l add c int;
GO
