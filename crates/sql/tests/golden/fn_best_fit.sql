-- Characters that the code page of varchar lacks become similar ones, or question marks.
-- 937 is Omega, 257 an a with a macron, 65313 a fullwidth A, 8734 the sign of infinity, 1046 a Cyrillic letter.
DECLARE @n nvarchar(10) = NCHAR(937) + NCHAR(257) + NCHAR(65313) + NCHAR(8734) + NCHAR(1046);
DECLARE @v varchar(10) = @n;
SELECT @v AS assigned, CAST(@n AS char(5)) AS converted, ASCII(@n) AS code, DATALENGTH(@v) AS bytes;
SELECT CASE WHEN @v = @n THEN 1 ELSE 0 END AS same, CASE WHEN @v = CAST(@n AS varchar(10)) THEN 1 ELSE 0 END AS cast_same;
CREATE TABLE t (v varchar(10) PRIMARY KEY, d varchar(10) NOT NULL DEFAULT NCHAR(65313));
INSERT INTO t (v) VALUES (@n);
SELECT v, d FROM t WHERE v = 'OaA8?';
SELECT COUNT(*) AS found FROM t WHERE v = @n;
SELECT UPPER(CAST(NCHAR(402) + NCHAR(255) + NCHAR(181) AS varchar(3))) AS upper_case;
DECLARE @sql nvarchar(200) = N'SELECT ''' + @n + N''' AS literal';
EXEC (@sql);
GO
