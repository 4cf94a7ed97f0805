SET NOCOUNT ON;
CREATE DATABASE d;
SELECT page_verify_option, page_verify_option_desc FROM sys.databases WHERE name = 'd';
ALTER DATABASE d SET PAGE_VERIFY TORN_PAGE_DETECTION;
SELECT page_verify_option, page_verify_option_desc FROM sys.databases WHERE name = 'd';
SELECT DATABASEPROPERTYEX('d', 'IsTornPageDetectionEnabled') AS torn;
USE d;
CREATE TABLE t (id INT IDENTITY PRIMARY KEY, pad CHAR(4000) NOT NULL DEFAULT 'x');
GO
INSERT INTO t DEFAULT VALUES;
GO 40
CHECKPOINT;
DBCC DROPCLEANBUFFERS;
GO
SELECT COUNT(*) AS n, LEFT(MIN(pad), 1) AS lowest, LEFT(MAX(pad), 1) AS highest FROM t;
ALTER DATABASE d SET PAGE_VERIFY NONE;
UPDATE t SET pad = 'y';
CHECKPOINT;
DBCC DROPCLEANBUFFERS;
GO
SELECT COUNT(*) AS n, LEFT(MIN(pad), 1) AS lowest, LEFT(MAX(pad), 1) AS highest FROM t;
SELECT page_verify_option, page_verify_option_desc FROM sys.databases WHERE name = 'd';
ALTER DATABASE d SET PAGE_VERIFY CHECKSUM;
UPDATE t SET pad = 'z';
CHECKPOINT;
DBCC DROPCLEANBUFFERS;
GO
SELECT COUNT(*) AS n, LEFT(MIN(pad), 1) AS lowest, LEFT(MAX(pad), 1) AS highest FROM t;
SELECT page_verify_option, page_verify_option_desc FROM sys.databases WHERE name = 'd';
ALTER DATABASE d SET TORN_PAGE_DETECTION ON;
SELECT page_verify_option_desc FROM sys.databases WHERE name = 'd';
ALTER DATABASE d SET TORN_PAGE_DETECTION OFF;
SELECT page_verify_option_desc FROM sys.databases WHERE name = 'd';
