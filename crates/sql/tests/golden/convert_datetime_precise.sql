-- datetime keeps 1/300 s where it becomes a type of more digits.
declare @d datetime = '2020-02-03 14:05:00.003', @e datetime = '2020-02-03 14:05:00.007';
select cast(@d as datetime2), cast(@e as datetime2), cast(@e as datetime2(3));
select cast(@d as time(7)), cast(@e as datetimeoffset);
select case when @d = cast('2020-02-03 14:05:00.003' as datetime2) then 1 else 0 end,
    case when @d = cast(@d as datetime2) then 1 else 0 end,
    case when cast(cast(@e as datetime2) as datetime) = @e then 1 else 0 end;
select @d, convert(varchar(30), @e, 121);
GO
