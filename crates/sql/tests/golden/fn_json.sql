DECLARE @json nvarchar(max) = N'{ "id" : 7, "name": "A \"quoted\" caf\u00e9", "tags": [ "x", 2.50, true, null ], "info": {"a b": {"deep": -1e3}} }';
SELECT ISJSON(@json) AS is_json, ISJSON('{"a":1') AS broken, ISJSON('1') AS scalar, ISJSON(NULL) AS none;
SELECT JSON_VALUE(@json, '$.id') AS id, JSON_VALUE(@json, '$.name') AS name, JSON_VALUE(@json, 'lax $.tags[1]') AS number,
  JSON_VALUE(@json, '$.tags[2]') AS word, JSON_VALUE(@json, '$.tags[3]') AS none, JSON_VALUE(@json, '$.info."a b".deep') AS deep,
  JSON_VALUE(@json, '$.info') AS an_object, JSON_VALUE(@json, '$.missing') AS missing;
SELECT JSON_QUERY(@json, '$.tags') AS tags, JSON_QUERY(@json, '$.info') AS info, JSON_QUERY(@json, '$.id') AS scalar;
SELECT JSON_QUERY('  [1, 2]  ') AS whole, JSON_PATH_EXISTS(@json, '$.tags[3]') AS there, JSON_PATH_EXISTS(@json, '$.tags[4]') AS missing;
SELECT JSON_MODIFY('{"a":1, "b":[1]}', '$.a', 2) AS changed, JSON_MODIFY('{"a":1}', '$.b', N'x/"y"') AS added,
  JSON_MODIFY('{"a":1, "b":2}', '$.a', NULL) AS removed, JSON_MODIFY('{"b":[1]}', 'append $.b', 2.5) AS appended,
  JSON_MODIFY('{"a":1}', '$.a', CAST(1 AS bit)) AS a_bit, JSON_MODIFY('{"a":1}', '$.a', 0.5e0) AS a_float;
SELECT JSON_MODIFY('{}', '$.a', JSON_QUERY('[1]')) AS raw, JSON_MODIFY('{}', '$.a', '[1]') AS as_text,
  JSON_MODIFY('{}', '$.a', (SELECT 1 AS x FOR JSON PATH)) AS from_query;
SELECT STRING_ESCAPE(N'a"b\c/d' + NCHAR(9) + NCHAR(1), 'json') AS escaped;
SELECT 1 AS id, JSON_QUERY('{"k":[1]}', '$.k') AS list FOR JSON PATH;
GO
SELECT JSON_VALUE('{"a":1x}', '$.a') AS a;
GO
SELECT JSON_VALUE('{"a":1}', '$.first-name') AS a;
GO
SELECT JSON_VALUE('{"a":1}', 'strict $.b') AS a;
GO
SELECT JSON_VALUE('{"a":[1]}', 'strict $.a') AS a;
GO
SELECT JSON_QUERY('{"a":1}', 'strict $.a') AS a;
GO
SELECT JSON_MODIFY('{"a":1}', '$', 1) AS a;
GO
SELECT JSON_MODIFY('{"a":1} ', 'append strict $.a', 1) AS a;
GO
SELECT JSON_VALUE('{}') AS a;
GO
SELECT ISJSON(1) AS a;
GO
SELECT STRING_ESCAPE('a', 'xml') AS a;
GO
-- Without a WITH clause: the members.
SELECT * FROM OPENJSON(N'{"a":"x\ty","b":12.0,"c":true,"d":null,"e":[1, 2],"f":{ "g":1 },"a":2}');
SELECT [key], value, type FROM OPENJSON('["x",[1],{}]');
SELECT COUNT(*) FROM OPENJSON('{"a":{"b":[1,2,3]}}', '$.a.b');
SELECT COUNT(*) FROM OPENJSON(NULL);
SELECT COUNT(*) FROM OPENJSON('{"a":1}', '$.b');
SELECT SUM(CAST(value AS int)) AS sum FROM OPENJSON('[1,2,3]');
GO
-- With one: a row for each element, in types.
SELECT * FROM OPENJSON(N'{"orders":[{"number":"SO1","date":"2024-05-31T00:00:00","item":{"price":59.99,"amount":1}},
  {"number":"SO2","item":{"price":"12.5","amount":null},"tags":[1, 2]}, 5]}', N'$.orders')
WITH (number varchar(10) '$.number', date datetime '$.date', price decimal(8,2) N'$.item.price', amount int '$.item.amount',
  item nvarchar(max) '$.item' AS JSON, tags nvarchar(max) AS JSON) AS o;
SELECT * FROM OPENJSON('{"id":1,"on":true,"name":"longer than six"}') WITH (id int, [on] bit, name varchar(6), whole nvarchar(max) '$' AS JSON);
SELECT v FROM OPENJSON('[3,1,2]') WITH (v int '$') ORDER BY v;
SELECT t.id, j.value FROM (VALUES (1, '[10,20]'), (2, '[]'), (3, NULL)) AS t(id, list) CROSS APPLY OPENJSON(t.list) AS j ORDER BY t.id, j.[key];
SELECT t.id, j.value FROM (VALUES (1, '[10]'), (2, '[]')) AS t(id, list) OUTER APPLY OPENJSON(t.list) AS j ORDER BY t.id;
GO
SELECT [key], CAST(value AS nvarchar(9)) AS value, type INTO #json FROM OPENJSON('[1]');
SELECT c.name, TYPE_NAME(c.system_type_id) AS type, c.max_length, c.is_nullable, c.collation_name FROM tempdb.sys.columns AS c
WHERE c.object_id = OBJECT_ID('tempdb..#json');
GO
SELECT * FROM OPENJSON('{"a":1');
GO
SELECT * FROM OPENJSON('{"a":1}', 'strict $.a');
GO
SELECT * FROM OPENJSON('{"a":"abcdef"}') WITH (a varchar(3) 'strict $.a');
GO
SELECT * FROM OPENJSON('{"a":1}') WITH (a int AS JSON);
GO
SELECT * FROM OPENJSON('{"a":1}') WITH (a text);
GO
SELECT * FROM OPENJSON('{"a":"x"}') WITH (a int);
GO
-- What is no JSON takes the transaction along.
BEGIN TRANSACTION;
SELECT JSON_VALUE('x', '$.a') AS a;
GO
SELECT @@TRANCOUNT AS transactions;
GO
