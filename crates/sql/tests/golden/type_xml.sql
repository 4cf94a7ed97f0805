-- Text becomes XML in one form, and text again.
SELECT CAST('<?xml version="1.0"?><a x = ''1''> <b></b> </a>' AS xml) AS x;
DECLARE @x xml = N'<b/>text &amp; <![CDATA[<more>]]>';
SELECT @x AS x, CAST(@x AS nvarchar(max)) AS text, CAST(@x AS varchar(100)) AS narrow, CAST(@x AS varbinary(8000)) AS bytes;
SELECT CONVERT(xml, '<a> </a>') AS dropped, CONVERT(xml, '<a> </a>', 1) AS kept, CAST(0xFFFE3C0061002F003E00 AS xml) AS wide, CAST(0x3C612F3E AS xml) AS bytes;
SELECT TRY_CAST('<a>' AS xml) AS none, ISNULL(CAST(NULL AS xml), '<c/>') AS given, COALESCE(CAST(NULL AS xml), N'<d></d>') AS other;
SELECT @x.value('.', 'varchar(20)') AS said, @x.value('(.)[1]', 'nvarchar(5)') AS cut;
GO
-- What is not well-formed.
SELECT CAST('<a>' AS xml);
GO
SELECT CAST('<a></b>' AS xml);
GO
DECLARE @x xml = '<a x="1" x="2"/>';
GO
SELECT CAST(N'<?xml version="1.0" encoding="utf-8"?><a/>' AS xml);
GO
SELECT CAST('a & b' AS xml);
GO
SELECT CONVERT(xml, '<a/>', 7);
GO
SELECT CAST(CAST('<abc/>' AS xml) AS varchar(5));
GO
SELECT CAST(CAST(N'<a>' + NCHAR(1046) + N'</a>' AS xml) AS varchar(50));
GO
-- Columns: those of SQL Server's files can be read, tables of our own have none yet.
CREATE TABLE docs (id int, doc xml);
GO
SELECT id, doc, LEN(CAST(doc AS nvarchar(max))) AS length FROM (VALUES (1, CAST('<a><b>1</b></a>' AS xml), 'one'), (2, NULL, 'two')) AS docs(id, doc, note) ORDER BY id;
GO
SELECT id FROM (VALUES (1, CAST('<a><b>1</b></a>' AS xml), 'one'), (2, NULL, 'two')) AS docs(id, doc, note) WHERE doc = '<a/>';
GO
SELECT id FROM (VALUES (1, CAST('<a><b>1</b></a>' AS xml), 'one'), (2, NULL, 'two')) AS docs(id, doc, note) ORDER BY doc;
GO
SELECT DISTINCT doc FROM (VALUES (1, CAST('<a><b>1</b></a>' AS xml), 'one'), (2, NULL, 'two')) AS docs(id, doc, note);
GO
SELECT doc, COUNT(*) FROM (VALUES (1, CAST('<a><b>1</b></a>' AS xml), 'one'), (2, NULL, 'two')) AS docs(id, doc, note) GROUP BY doc;
GO
SELECT MAX(doc) FROM (VALUES (1, CAST('<a><b>1</b></a>' AS xml), 'one'), (2, NULL, 'two')) AS docs(id, doc, note);
GO
SELECT LEN(doc) FROM (VALUES (1, CAST('<a><b>1</b></a>' AS xml), 'one'), (2, NULL, 'two')) AS docs(id, doc, note);
GO
SELECT doc + 'x' FROM (VALUES (1, CAST('<a><b>1</b></a>' AS xml), 'one'), (2, NULL, 'two')) AS docs(id, doc, note);
GO
SELECT STUFF((SELECT note FROM (VALUES (1, CAST('<a><b>1</b></a>' AS xml), 'one'), (2, NULL, 'two')) AS docs(id, doc, note) FOR XML PATH(''), TYPE), 1, 1, '');
GO
DECLARE @t varchar(100) = CAST('<a/>' AS xml);
GO
SELECT CAST(doc AS int) FROM (VALUES (1, CAST('<a><b>1</b></a>' AS xml), 'one'), (2, NULL, 'two')) AS docs(id, doc, note);
GO
SELECT doc.value('(/a/b)[1]', 'int') FROM (VALUES (1, CAST('<a><b>1</b></a>' AS xml), 'one'), (2, NULL, 'two')) AS docs(id, doc, note);
GO
SELECT doc.value('.', 'int') AS said, docs.doc.value('.', 'varchar(3)') AS said_too FROM (VALUES (1, CAST('<a><b>1</b></a>' AS xml), 'one'), (2, NULL, 'two')) AS docs(id, doc, note);
GO
SELECT doc.query('/a') FROM (VALUES (1, CAST('<a><b>1</b></a>' AS xml), 'one'), (2, NULL, 'two')) AS docs(id, doc, note);
GO
SELECT note.value('.', 'int') FROM (VALUES (1, CAST('<a><b>1</b></a>' AS xml), 'one'), (2, NULL, 'two')) AS docs(id, doc, note);
GO
-- XML within XML.
SELECT id, doc FROM (VALUES (1, CAST('<a><b>1</b></a>' AS xml), 'one'), (2, NULL, 'two')) AS docs(id, doc, note) ORDER BY id FOR XML PATH('d');
SELECT id, note, doc FROM (VALUES (1, CAST('<a><b>1</b></a>' AS xml), 'one'), (2, NULL, 'two')) AS docs(id, doc, note) ORDER BY id FOR XML RAW;
SELECT id, (SELECT note AS n FOR XML PATH(''), TYPE) AS inside, doc AS [*] FROM (VALUES (1, CAST('<a><b>1</b></a>' AS xml), 'one'), (2, NULL, 'two')) AS docs(id, doc, note) ORDER BY id FOR XML PATH('d'), TYPE;
SELECT id, doc FROM (VALUES (1, CAST('<a><b>1</b></a>' AS xml), 'one'), (2, NULL, 'two')) AS docs(id, doc, note) WHERE id = 1 FOR JSON PATH;
GO
SELECT doc AS [@doc] FROM (VALUES (1, CAST('<a><b>1</b></a>' AS xml), 'one'), (2, NULL, 'two')) AS docs(id, doc, note) FOR XML PATH;
GO
SELECT doc AS [text()] FROM (VALUES (1, CAST('<a><b>1</b></a>' AS xml), 'one'), (2, NULL, 'two')) AS docs(id, doc, note) FOR XML PATH;
GO
DECLARE @list xml = (SELECT note FROM (VALUES (1, CAST('<a><b>1</b></a>' AS xml), 'one'), (2, NULL, 'two')) AS docs(id, doc, note) ORDER BY id FOR XML PATH(''), TYPE);
SELECT @list AS list, @list.value('.', 'varchar(100)') AS said;
GO
