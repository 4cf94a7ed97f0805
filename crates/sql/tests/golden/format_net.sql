-- FORMAT as .NET Framework formats.
select format(123456789, '###-##-####'), format(1234567, '0,,.0M'), format(1500, '0,k'), format(15, '0\%');
select format(2.5e0, 'N0'), format(0.125e0, 'N2'), format(0.1e0, 'N20'), format(1e5, 'R');
select format(cast('14:05' as time), N'hh\:mm'), format(cast('14:05' as time), N'hh:mm'),
    format(cast('14:05:06.5' as time), 'c'), format(cast('14:05:06.5' as time), 'g'),
    format(cast('14:05' as time), 'HH\:mm');
declare @d datetime = '2020-02-03 14:05:00', @o datetimeoffset = '2020-02-03 14:05:00 +02:00';
select format(@d, '%d'), format(@d, 'R'), format(@o, 'zzz');
select convert(varchar(40), @d, 127), convert(varchar(40), @o, 127);
GO
GO
-- An empty format is the general one; nothing is longer than nvarchar(4000).
SELECT FORMAT(5, '') AS n, FORMAT(CAST('14:05' AS TIME), '') AS t,
    LEN(FORMAT(1e308, '0' + REPLICATE('%', 3900))) AS l;
