-- Functions of text.
SELECT LEN('abc  ') AS a, DATALENGTH('abc  ') AS b, DATALENGTH(N'abc') AS c, LEN('') AS d, LEN(NULL) AS e;
SELECT LEFT('furrow', 3) AS a, RIGHT('furrow', 3) AS b, SUBSTRING('furrow', 2, 3) AS c, SUBSTRING('furrow', -1, 4) AS d, SUBSTRING('furrow', 5, 100) AS e;
SELECT UPPER('aBc') AS a, LOWER('aBc') AS b, LTRIM('  x ') + '|' AS c, RTRIM(' x  ') + '|' AS d, TRIM('  x  ') + '|' AS e;
SELECT REPLACE('banana', 'an', 'AN') AS a, REPLACE('ABC', 'b', '-') AS b, STUFF('abcdef', 2, 3, 'XY') AS c, STUFF('abc', 5, 1, 'X') AS d;
SELECT CHARINDEX('na', 'banana') AS a, CHARINDEX('na', 'banana', 4) AS b, CHARINDEX('x', 'banana') AS c, PATINDEX('%n[a-c]n%', 'banana') AS d;
SELECT REPLICATE('ab', 3) AS a, REPLICATE('x', -1) AS b, SPACE(3) + '|' AS c, REVERSE('abc') AS d;
SELECT ASCII('A') AS a, CHAR(66) AS b, UNICODE(N'A') AS c, NCHAR(67) AS d, CHAR(300) AS e;
SELECT CONCAT('a', NULL, 1, 2.50, 'z') AS a, CONCAT_WS('-', 'a', NULL, 'b') AS b, 'a' + NULL AS c;
SELECT QUOTENAME('a]b') AS a, QUOTENAME('a', '''') AS b, STR(3.14159, 8, 3) AS c, STR(123456, 3) AS d;
SELECT TRANSLATE('2*[3+4]', '[]', '()') AS b, SOUNDEX('Robert') AS c, DIFFERENCE('Robert', 'Rupert') AS d;
SELECT value FROM STRING_SPLIT('a,b,,c', ',');
SELECT FORMAT(1234.5, 'N2') AS a, FORMAT(7, '000') AS b;
GO
SELECT LEFT('abc', -1);
GO
SELECT LEN();
GO
SELECT UPPER('a', 'b');
GO
SELECT NOSUCH('a');
GO
SELECT dbo.nosuch('a');
GO
SELECT SUBSTRING(12, 1, 1);
GO
