CREATE PROCEDURE deeper @n INT AS
BEGIN
    IF @n <= 1
    BEGIN
        SELECT @@NESTLEVEL AS level;
        RETURN;
    END
    SET @n -= 1;
    EXEC deeper @n;
END
GO
EXEC deeper 1;
EXEC deeper 32;
GO
EXEC deeper 33;
SELECT 'not reached' AS a;
GO
BEGIN TRY
    EXEC deeper 50;
END TRY
BEGIN CATCH
    SELECT ERROR_NUMBER() AS n, ERROR_MESSAGE() AS m;
END CATCH
SELECT @@NESTLEVEL AS none;
GO
