-- procedures of an order-entry benchmark, as drivers write them
CREATE PROCEDURE [dbo].[neword]
@no_w_id int, @no_max_w_id int, @no_d_id int, @TIMESTAMP datetime2(0) AS
BEGIN
SET ANSI_WARNINGS OFF
DECLARE @no_c_discount smallmoney, @o_id int, @order_amount int, @li int = 1
DECLARE @no_ol_supply_w_id int, @rbk int = CAST(100 * RAND() + 1 AS INT)
BEGIN TRANSACTION
BEGIN TRY
SELECT @no_c_discount = customer.c_discount FROM dbo.customer WITH (INDEX = [customer_i1]) WHERE customer.c_w_id = @no_w_id
UPDATE dbo.district SET @o_id = d_next_o_id, d_next_o_id = district.d_next_o_id + 1
OUTPUT deleted.d_next_o_id, deleted.d_tax WHERE d_id = @no_d_id
SET @order_amount = CAST((10 * RAND()) + 5 AS INT)
WHILE (@li <= @order_amount)
BEGIN
IF @li = @order_amount AND @rbk = 1
SET @no_ol_supply_w_id = 100001
ELSE
SET @no_ol_supply_w_id = CASE WHEN @no_max_w_id > 1 THEN 2 ELSE @no_w_id END
UPDATE s SET s_quantity = CASE WHEN s_quantity > 10 THEN s_quantity - 5 ELSE s_quantity + 86 END
FROM dbo.stock AS s WITH (serializable updlock) WHERE s.s_i_id = @li
INSERT dbo.order_line (ol_o_id, ol_number, ol_delivery_d) VALUES (@o_id, @li, NULL)
SET @li += 1
END
COMMIT TRANSACTION
END TRY
BEGIN CATCH
SELECT ERROR_NUMBER() AS ErrorNumber, ERROR_MESSAGE() AS ErrorMessage
IF @@TRANCOUNT > 0
ROLLBACK TRANSACTION;
END CATCH
END
GO
CREATE PROCEDURE [dbo].[delivery] @d_w_id int AS
BEGIN
DECLARE @d TABLE (o_id int, c_id int)
DECLARE @d_d_id int = 1
WHILE @d_d_id <= 10
BEGIN
DELETE TOP (1) FROM dbo.new_order OUTPUT deleted.no_o_id, 0 INTO @d WHERE no_w_id = @d_w_id AND no_d_id = @d_d_id
UPDATE dbo.customer SET c_balance = c_balance + ol.total
FROM dbo.customer c CROSS APPLY (SELECT SUM(ol_amount) AS total FROM dbo.order_line WHERE ol_w_id = @d_w_id) AS ol
WHERE c.c_id IN (SELECT c_id FROM @d) OPTION (MAXDOP 1)
SET @d_d_id = @d_d_id + 1
END
END
GO
CREATE TABLE [dbo].[warehouse] ([w_id] [int] NOT NULL, [w_ytd] [money] NOT NULL, [w_name] [char](10) NULL, padding char(4000) NOT NULL DEFAULT REPLICATE('x', 4000), CONSTRAINT [warehouse_i1] PRIMARY KEY CLUSTERED ([w_id] ASC) WITH (PAD_INDEX = OFF, STATISTICS_NORECOMPUTE = OFF, IGNORE_DUP_KEY = OFF, ALLOW_ROW_LOCKS = ON, ALLOW_PAGE_LOCKS = ON) ON [PRIMARY]) ON [PRIMARY]
GO
ALTER TABLE [dbo].[warehouse] SET (LOCK_ESCALATION = DISABLE)
GO
CREATE UNIQUE NONCLUSTERED INDEX [orders_i2] ON [dbo].[orders] ([o_w_id] ASC, [o_d_id] ASC, [o_c_id] ASC, [o_id] ASC) WITH (PAD_INDEX = OFF, SORT_IN_TEMPDB = OFF, IGNORE_DUP_KEY = OFF, DROP_EXISTING = OFF, ONLINE = OFF, ALLOW_ROW_LOCKS = ON, ALLOW_PAGE_LOCKS = ON) ON [PRIMARY]
GO
EXEC neword 1,10,3,'2020-01-01 00:00:00'
GO
CREATE PROC slev @st_w_id int AS SELECT COUNT_BIG(DISTINCT s.s_i_id) FROM (SELECT TOP 20 ol_i_id FROM dbo.order_line WITH (NOLOCK) ORDER BY ol_o_id DESC) AS ol INNER LOOP JOIN dbo.stock s ON s.s_i_id = ol.ol_i_id WHERE s.s_quantity < 15
