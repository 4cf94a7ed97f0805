-- What the session is set to, by functions.
SELECT @@DATEFIRST AS first_day, @@OPTIONS AS options, @@MICROSOFTVERSION / 0x01000000 AS major;
GO
SET DATEFIRST 1;
SET NOCOUNT ON;
SET XACT_ABORT ON;
GO
SELECT @@DATEFIRST AS first_day, @@OPTIONS AS options, @@OPTIONS & 512 AS nocount;
GO
SELECT CONVERT(varchar(40), GETDATE(), 130) AS hijri;
GO
CREATE TABLE c (a varchar(10), b varchar(10));
GO
UPDATE c SET a = b WHERE a COLLATE Latin1_General_BIN2 = b COLLATE Latin1_General_CS_AS;
GO
SELECT PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY a) OVER () AS median FROM c;
GO
