CREATE TABLE t (c1 int NOT NULL PRIMARY KEY, c2 char(4000) NOT NULL);
INSERT INTO t VALUES (1, 'a'), (2, 'b'), (3, 'c');
GO
DBCC SHOWFILESTATS;
GO
DBCC OPENTRAN;
DBCC OPENTRAN ('tempdb') WITH NO_INFOMSGS;
GO
DBCC OPENTRAN ('nosuch');
GO
DBCC OPENTRAN (77);
GO
DBCC LOGINFO ('nosuch');
GO
DBCC IND ('master', 't', -1);
GO
DBCC IND (0, 't', 1);
GO
DBCC IND ('master', 'nosuch', -1);
GO
DBCC IND ('master', 1, -1);
GO
DBCC IND ('master', 't');
GO
