CREATE TABLE t (id int, name varchar(20), price decimal(5, 2), made datetime, [first word] nvarchar(10), is_on bit);
INSERT t VALUES (1, 'a<b', 0.5, '2024-02-29T13:14:15', N'x & "y"', 1), (2, NULL, -0.25, '2024-02-29T13:14:15.120', NULL, 0);
GO
-- Lists in one text, as scripts of all years make them.
SELECT STUFF((SELECT ', ' + CAST(id AS varchar(10)) FROM t ORDER BY id FOR XML PATH('')), 1, 2, '') AS list;
SELECT STUFF((SELECT ',' + name FROM (VALUES ('a<b'), ('c&d')) AS v(name) FOR XML PATH(''), TYPE).value('.', 'nvarchar(max)'), 1, 1, '') AS list;
SELECT (SELECT '[' + name + ']' FROM t FOR XML PATH(''), TYPE).value('(./text())[1]', 'varchar(5)') AS cut;
SELECT x.id, (SELECT id AS [data()] FROM t WHERE id <= x.id ORDER BY id FOR XML PATH('')) AS ids FROM t AS x ORDER BY id;
SELECT (SELECT id FROM t WHERE 1 = 0 FOR XML PATH('')) AS nothing;
GO
SELECT id, name, price, made, [first word] AS words, is_on FROM t ORDER BY id FOR XML PATH;
SELECT id AS '@id', name AS 'a/b', price AS 'a/c', made AS 'd/@made', 'text' AS 'd', NULL AS e, 1 AS 'comment()' FROM t ORDER BY id FOR XML PATH('thing'), ROOT('things');
SELECT id, name, [first word] FROM t ORDER BY id FOR XML RAW;
SELECT id, price FROM t ORDER BY id FOR XML RAW('r'), ELEMENTS, ROOT;
SELECT id, name FROM t AS item ORDER BY id FOR XML AUTO;
SELECT id AS '@id', (SELECT 1 AS n, 'x' AS s FOR XML PATH('in'), TYPE) FROM t ORDER BY id FOR XML PATH('out');
SELECT id, (SELECT 1 AS n FOR XML PATH('in')) AS [text] FROM t WHERE id = 1 FOR XML PATH('out');
SELECT 0x616263 AS bytes, CAST(1.5 AS float) AS f, CAST('12345678-1234-1234-1234-123456789012' AS uniqueidentifier) AS g FOR XML PATH('');
GO
SELECT name AS n, id AS '@id' FROM t FOR XML PATH('r');
GO
SELECT id AS '@id' FROM t FOR XML PATH('');
GO
SELECT id + 1 FROM t FOR XML RAW;
GO
SELECT id FROM t FOR XML EXPLICIT;
GO
SELECT (SELECT id FROM t FOR XML PATH(''), TYPE).value('(/id)[2]', 'int');
GO
SELECT id, name, price, made, [first word], is_on FROM t ORDER BY id FOR JSON PATH;
SELECT id AS [a.id], name AS [a.name], price AS [a.deep.price], id AS last FROM t ORDER BY id FOR JSON PATH, INCLUDE_NULL_VALUES, ROOT('all');
SELECT id, 'c:\x/"y"' AS p FROM t WHERE id = 1 FOR JSON PATH, WITHOUT_ARRAY_WRAPPER;
SELECT id, (SELECT id AS inner_id FROM t ORDER BY id FOR JSON PATH) AS list FROM t ORDER BY id FOR JSON AUTO;
SELECT CAST(1.5 AS float) AS f, CAST('2024-02-29' AS date) AS d, CAST(2.5 AS money) AS m, CAST('10:11:12.5' AS time(3)) AS t FOR JSON PATH;
GO
SELECT id, id FROM t FOR JSON PATH;
GO
SELECT id AS [a.b], id AS c, id AS [a.d] FROM t FOR JSON PATH;
GO
SELECT id + 1 FROM t FOR JSON PATH;
GO
SELECT id FROM t FOR JSON PATH, ROOT, WITHOUT_ARRAY_WRAPPER;
GO
-- XML within XML has a string value as well.
SELECT (SELECT (SELECT 1 AS a, 'b<c' AS d FOR XML PATH('x'), TYPE) FOR XML PATH(''), TYPE).value('.', 'varchar(100)') AS said;
SELECT (SELECT (SELECT 1 AS a FOR XML PATH('x'), TYPE) AS [node()], 'b' AS [data()] FOR XML PATH(''), TYPE).value('.', 'varchar(100)') AS said;
GO
SELECT (SELECT (SELECT 1 AS a FOR XML PATH('x'), TYPE) FOR XML PATH(''), TYPE).value('text()[1]', 'varchar(100)');
GO
-- Names that XML cannot have: RAW and AUTO write them by number, PATH refuses them.
CREATE TABLE [my #t] ([a b] int, [1c] int, [a_x0020_] int, [a:b] int);
INSERT [my #t] VALUES (1, 2, 3, 4);
GO
SELECT * FROM [my #t] FOR XML AUTO;
SELECT * FROM [my #t] FOR XML RAW, ELEMENTS;
SELECT 1 AS [x/y], 2 AS [xml:lang] FOR XML PATH('r');
GO
SELECT 1 AS [a b] FOR XML PATH;
GO
SELECT 1 AS [x/y z] FOR XML PATH;
GO
SELECT 1 AS [1a] FOR XML PATH;
GO
SELECT 1 AS [TEXT()] FOR XML PATH;
GO
SELECT 1 AS [@] FOR XML PATH;
GO
SELECT 1 AS a FOR XML PATH('x y');
GO
SELECT 1 AS a FOR XML RAW('x y');
GO
SELECT 1 AS a FOR XML PATH, ROOT('p/q');
GO
SELECT 1 AS a FOR XML PATH, ROOT('');
GO
SELECT 1 AS [a:b] FOR XML PATH;
GO
SELECT 1 AS [@a:b] FOR XML PATH;
GO
SELECT 1 AS a FOR XML PATH('p:r');
GO
SELECT 1 AS a FOR XML PATH, ROOT('p:r');
GO
SELECT 1 AS [xmlns] FOR XML PATH;
GO
SELECT 1 AS [/a] FOR XML PATH;
GO
SELECT 1 AS [a//b] FOR XML PATH;
GO
-- Bytes.
CREATE TABLE bytes (id int PRIMARY KEY, bin varbinary(10));
INSERT bytes VALUES (1, 0x0102FF);
GO
SELECT id, bin FROM bytes FOR XML RAW, BINARY BASE64;
SELECT id, bin FROM bytes FOR XML AUTO, BINARY BASE64, ELEMENTS;
SELECT id, bin FROM bytes FOR XML PATH('b');
GO
SELECT id, bin FROM bytes FOR XML RAW;
GO
SELECT id, bin FROM bytes FOR XML AUTO;
GO
