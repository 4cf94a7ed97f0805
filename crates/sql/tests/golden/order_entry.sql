-- An order-entry load of five procedures, with the SET options, hints and forms that such procedures are written with.
SET ANSI_NULLS OFF
SET QUOTED_IDENTIFIER OFF
GO
CREATE TABLE warehouse (w_id INT NOT NULL CONSTRAINT pk_warehouse PRIMARY KEY CLUSTERED WITH (PAD_INDEX = OFF,
    STATISTICS_NORECOMPUTE = OFF, IGNORE_DUP_KEY = OFF, ALLOW_ROW_LOCKS = ON, ALLOW_PAGE_LOCKS = OFF, FILLFACTOR = 5),
    w_name CHAR(10), w_street CHAR(20), w_city CHAR(20), w_tax SMALLMONEY, w_ytd MONEY)
CREATE TABLE district (d_id TINYINT NOT NULL, d_w_id INT NOT NULL, d_name CHAR(10), d_tax SMALLMONEY, d_ytd MONEY,
    d_next_o_id INT, CONSTRAINT pk_district PRIMARY KEY CLUSTERED (d_w_id, d_id))
CREATE TABLE customer (c_id INT NOT NULL, c_d_id TINYINT NOT NULL, c_w_id INT NOT NULL, c_first CHAR(16), c_middle CHAR(2),
    c_last CHAR(16), c_credit CHAR(2), c_discount SMALLMONEY, c_balance MONEY, c_ytd_payment MONEY, c_payment_cnt SMALLINT,
    c_delivery_cnt SMALLINT, c_since DATETIME, c_data CHAR(40))
CREATE TABLE history (h_c_id INT, h_c_d_id TINYINT, h_c_w_id INT, h_d_id TINYINT, h_w_id INT, h_date DATETIME, h_amount SMALLMONEY,
    h_data CHAR(24))
CREATE TABLE orders (o_id INT NOT NULL, o_d_id TINYINT NOT NULL, o_w_id INT NOT NULL, o_c_id INT, o_carrier_id TINYINT,
    o_ol_cnt TINYINT, o_all_local TINYINT, o_entry_d DATETIME)
CREATE TABLE new_order (no_o_id INT NOT NULL, no_d_id TINYINT NOT NULL, no_w_id INT NOT NULL,
    CONSTRAINT pk_new_order PRIMARY KEY CLUSTERED (no_w_id, no_d_id, no_o_id))
CREATE TABLE order_line (ol_o_id INT NOT NULL, ol_d_id TINYINT NOT NULL, ol_w_id INT NOT NULL, ol_number TINYINT NOT NULL,
    ol_i_id INT, ol_supply_w_id INT, ol_delivery_d DATETIME, ol_quantity SMALLINT, ol_amount SMALLMONEY, ol_dist_info CHAR(24))
CREATE TABLE item (i_id INT NOT NULL PRIMARY KEY, i_name CHAR(24), i_price SMALLMONEY, i_data CHAR(50))
CREATE TABLE stock (s_i_id INT NOT NULL, s_w_id INT NOT NULL, s_quantity SMALLINT, s_ytd INT, s_order_cnt SMALLINT,
    s_remote_cnt SMALLINT, s_data CHAR(50), s_dist_01 CHAR(24), s_dist_02 CHAR(24),
    CONSTRAINT pk_stock PRIMARY KEY CLUSTERED (s_w_id, s_i_id))
GO
CREATE UNIQUE CLUSTERED INDEX customer_i1 ON customer (c_w_id, c_d_id, c_id) WITH (SORT_IN_TEMPDB = ON, ONLINE = OFF, MAXDOP = 1)
CREATE NONCLUSTERED INDEX customer_i2 ON customer (c_w_id, c_d_id, c_last, c_first) WITH FILLFACTOR = 80, PAD_INDEX
CREATE UNIQUE CLUSTERED INDEX orders_i1 ON orders (o_w_id, o_d_id, o_id)
CREATE INDEX orders_i2 ON orders (o_w_id, o_d_id, o_c_id, o_id)
CREATE UNIQUE CLUSTERED INDEX order_line_i1 ON order_line (ol_w_id, ol_d_id, ol_o_id, ol_number) WITH (DATA_COMPRESSION = NONE)
ALTER TABLE warehouse SET (LOCK_ESCALATION = DISABLE)
ALTER TABLE district SET (LOCK_ESCALATION = AUTO)
ALTER TABLE stock SET (LOCK_ESCALATION = TABLE)
SELECT name, lock_escalation, lock_escalation_desc FROM sys.tables WHERE name IN ("warehouse", "district", "stock") ORDER BY name
SELECT name, fill_factor, is_padded, allow_row_locks, allow_page_locks FROM sys.indexes
WHERE name IN ("pk_warehouse", "customer_i2", "orders_i2") ORDER BY name
GO
INSERT warehouse VALUES (1, "W_ONE", "1 First Street", "Town", 0.1, 300), (2, "W_TWO", "2 Second Street", "City", 0.05, 300)
INSERT district SELECT d.id, w.w_id, "D_" + CAST(d.id AS CHAR(1)), 0.02 * d.id, 30, 4 FROM warehouse w CROSS JOIN (VALUES (1), (2)) AS d (id)
INSERT item SELECT n, "item " + CAST(n AS VARCHAR(3)), n * 1.5, CASE n WHEN 3 THEN "an ORIGINAL one" ELSE "plain" END
FROM (VALUES (1), (2), (3), (4), (5)) AS i (n)
INSERT stock SELECT i_id, w_id, 10 + i_id * 3, 0, 0, 0, CASE i_id WHEN 3 THEN "ORIGINAL too" ELSE "plain" END,
    "dist one", "dist two" FROM item, warehouse
INSERT customer SELECT c.id, d_id, d_w_id, c.first_name, "OE", c.last_name, c.credit, 0.1, -10, 10, 1, 0, "2016-01-02 03:04:05", "kept "
FROM district, (VALUES (1, "Ann", "BAROUGHT", "GC"), (2, "Bob", "BAROUGHT", "BC"), (3, "Cid", "PRESABLE", "GC"),
    (4, "Dan", "BAROUGHT", "GC")) AS c (id, first_name, last_name, credit)
INSERT orders SELECT o.id, d_id, d_w_id, o.c, CASE WHEN o.id < 3 THEN 5 END, 1, 1, "20160102 10:00" FROM district,
    (VALUES (1, 3), (2, 1), (3, 2)) AS o (id, c)
INSERT new_order SELECT o_id, o_d_id, o_w_id FROM orders WHERE o_carrier_id IS NULL
INSERT order_line SELECT o_id, o_d_id, o_w_id, 1, o_id, o_w_id, CASE WHEN o_id < 3 THEN o_entry_d END, 5, o_id * 10, "dist" FROM orders
GO
CREATE PROCEDURE place_order @w_id INT, @max_w_id INT, @d_id TINYINT, @c_id INT, @o_ol_cnt TINYINT, @items VARCHAR(100),
    @total MONEY OUTPUT, @TIMESTAMP DATETIME = NULL
AS
BEGIN
SET ANSI_WARNINGS OFF
SET NOCOUNT ON
SET XACT_ABORT OFF
DECLARE @c_discount SMALLMONEY, @c_last CHAR(16), @c_credit CHAR(2), @d_tax SMALLMONEY, @w_tax SMALLMONEY,
    @d_next_o_id INT, @ol_supply_w_id INT, @ol_i_id INT, @ol_quantity SMALLINT, @o_all_local INT = 1, @o_id INT,
    @i_name CHAR(24), @i_price SMALLMONEY, @i_data CHAR(50), @s_quantity SMALLINT, @ol_amount SMALLMONEY,
    @s_data CHAR(50), @s_dist CHAR(24), @brand CHAR(1), @loop_counter INT = 1, @pos INT, @rest VARCHAR(100) = @items
SET @TIMESTAMP = ISNULL(@TIMESTAMP, GETDATE())
SET @total = 0
BEGIN TRANSACTION
BEGIN TRY
    SELECT @c_discount = customer.c_discount, @c_last = customer.c_last, @c_credit = customer.c_credit,
        @w_tax = warehouse.w_tax
    FROM dbo.customer WITH (HOLDLOCK, ROWLOCK), dbo.warehouse WITH (INDEX = pk_warehouse)
    WHERE warehouse.w_id = @w_id AND customer.c_w_id = @w_id AND customer.c_d_id = @d_id AND customer.c_id = @c_id
    UPDATE dbo.district WITH (ROWLOCK, UPDLOCK)
    SET @d_tax = d_tax, @o_id = d_next_o_id, d_next_o_id = district.d_next_o_id + 1
    WHERE district.d_id = @d_id AND district.d_w_id = @w_id
    SET @d_next_o_id = @o_id + 1
    INSERT dbo.orders (o_id, o_d_id, o_w_id, o_c_id, o_entry_d, o_ol_cnt, o_all_local)
    VALUES (@o_id, @d_id, @w_id, @c_id, @TIMESTAMP, @o_ol_cnt, @o_all_local)
    INSERT INTO dbo.new_order (no_o_id, no_d_id, no_w_id) VALUES (@o_id, @d_id, @w_id)
    WHILE (@loop_counter <= @o_ol_cnt)
    BEGIN
        SET @pos = CHARINDEX(",", @rest + ",")
        SET @ol_i_id = CAST(LEFT(@rest, @pos - 1) AS INT)
        SET @rest = SUBSTRING(@rest, @pos + 1, 100)
        SELECT @ol_supply_w_id = CASE WHEN @ol_i_id = 2 THEN @max_w_id ELSE @w_id END, @ol_quantity = @ol_i_id + 2
        SET @i_price = NULL
        SELECT @i_price = item.i_price, @i_name = item.i_name, @i_data = item.i_data
        FROM dbo.item WITH (NOLOCK) WHERE item.i_id = @ol_i_id
        IF @@ROWCOUNT = 0
            RAISERROR ("Item %d is not valid", 16, 1, @ol_i_id)
        UPDATE TOP (1) dbo.stock WITH (ROWLOCK)
        SET s_quantity = CASE WHEN s_quantity - @ol_quantity >= 10 THEN s_quantity - @ol_quantity
                ELSE s_quantity - @ol_quantity + 91 END,
            @s_quantity = s_quantity, @s_data = s_data, s_ytd = s_ytd + @ol_quantity, s_order_cnt += 1,
            s_remote_cnt = s_remote_cnt + CASE WHEN @ol_supply_w_id <> @w_id THEN 1 ELSE 0 END,
            @s_dist = CASE @d_id WHEN 1 THEN s_dist_01 WHEN 2 THEN s_dist_02 END
        WHERE stock.s_i_id = @ol_i_id AND stock.s_w_id = @ol_supply_w_id
        IF CHARINDEX("ORIGINAL", @i_data) > 0 AND PATINDEX("%ORIGINAL%", @s_data) > 0
            SET @brand = "B"
        ELSE
            SET @brand = "G"
        SET @ol_amount = @ol_quantity * @i_price * (1 + @w_tax + @d_tax) * (1 - @c_discount)
        INSERT dbo.order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_dist_info)
        VALUES (@o_id, @d_id, @w_id, @loop_counter, @ol_i_id, @ol_supply_w_id, @ol_quantity, @ol_amount,
            @s_dist + " of a district whose name is long")
        SELECT @total = @total + @ol_amount, @loop_counter = @loop_counter + 1
    END
    SELECT RTRIM(@c_last) AS c_last, @c_credit AS credit, @c_discount AS discount, @w_tax AS w_tax, @d_tax AS d_tax,
        @d_next_o_id AS next_o_id, @brand AS brand, CONVERT(VARCHAR(10), @TIMESTAMP, 120) AS entry
    COMMIT TRANSACTION
    RETURN 0
END TRY
BEGIN CATCH
    SELECT ERROR_NUMBER() AS ErrorNumber, ERROR_SEVERITY() AS ErrorSeverity, ERROR_STATE() AS ErrorState,
        ERROR_PROCEDURE() AS ErrorProcedure, ERROR_LINE() AS ErrorLine, ERROR_MESSAGE() AS ErrorMessage
    IF @@TRANCOUNT > 0
        ROLLBACK TRANSACTION
    RETURN -1
END CATCH
END
GO
CREATE PROCEDURE pay @w_id INT, @d_id TINYINT, @c_id INT, @byname BIT, @h_amount SMALLMONEY, @c_last CHAR(16) = NULL
AS
SET NOCOUNT ON
SET ANSI_WARNINGS OFF
DECLARE @w_name CHAR(10), @d_name CHAR(10), @w_street CHAR(20), @c_balance MONEY, @c_credit CHAR(2), @c_first CHAR(16), @namecnt INT,
    @row INT, @h_date DATETIME = "2016-05-06 07:08:09", @c_data VARCHAR(40)
BEGIN TRANSACTION
BEGIN TRY
    IF (@byname = 1)
    BEGIN
        SELECT @namecnt = COUNT(c_id) FROM customer WITH (REPEATABLEREAD) WHERE c_last = @c_last AND c_d_id = @d_id AND c_w_id = @w_id
        SET @row = (@namecnt + 1) / 2
        SELECT @c_id = c_id FROM (SELECT c_id, ROW_NUMBER() OVER (ORDER BY c_first) AS rn FROM customer
            WHERE c_w_id = @w_id AND c_d_id = @d_id AND c_last = @c_last) AS named WHERE rn = @row
    END
    UPDATE customer SET c_balance = c_balance - @h_amount, @c_balance = c_balance - @h_amount, c_payment_cnt = c_payment_cnt + 1,
        c_ytd_payment = c_ytd_payment + @h_amount, @c_credit = c_credit, @c_first = c_first, @c_last = c_last,
        @c_data = CASE WHEN c_credit = "BC" THEN LEFT(CONVERT(CHAR(2), @c_id) + CONVERT(CHAR(6), @h_amount) + c_data, 40) ELSE c_data END
    WHERE c_id = @c_id AND c_d_id = @d_id AND c_w_id = @w_id
    IF @c_credit = "BC"
        UPDATE customer SET c_data = @c_data + " and more than there is place for" WHERE c_w_id = @w_id AND c_d_id = @d_id AND c_id = @c_id
    UPDATE district SET d_ytd = d_ytd + @h_amount, @d_name = d_name WHERE d_w_id = @w_id AND d_id = @d_id
    DECLARE @was TABLE (name CHAR(10), street CHAR(20))
    UPDATE warehouse WITH (UPDLOCK, HOLDLOCK) SET w_ytd = w_ytd + @h_amount OUTPUT deleted.w_name, deleted.w_street INTO @was
    WHERE w_id = @w_id
    SELECT @w_name = name, @w_street = street FROM @was
    INSERT history VALUES (@c_id, @d_id, @w_id, @d_id, @w_id, @h_date, @h_amount, RTRIM(@w_name) + "    " + @d_name + "cut here")
    SELECT @c_id AS c_id, RTRIM(@c_last) AS c_last, RTRIM(@c_first) AS c_first, @c_credit AS credit, @c_balance AS balance,
        RTRIM(@w_street) AS street, RTRIM(@d_name) AS d_name
    COMMIT TRANSACTION
END TRY
BEGIN CATCH
    IF XACT_STATE() <> 0 ROLLBACK TRANSACTION
    SELECT ERROR_NUMBER() AS ErrorNumber, ERROR_MESSAGE() AS ErrorMessage
END CATCH
GO
CREATE PROCEDURE order_status @w_id INT, @d_id TINYINT, @c_id INT, @byname BIT, @c_last CHAR(16) = NULL
AS
SET NOCOUNT ON
SET TRANSACTION ISOLATION LEVEL REPEATABLE READ
SET ANSI_WARNINGS OFF
DECLARE @o_id INT, @o_date DATETIME, @carrier TINYINT, @c_balance MONEY, @cnt SMALLINT, @val TINYINT
BEGIN TRANSACTION
IF @byname = 1
BEGIN
    SELECT @cnt = (COUNT(*) + 1) / 2 FROM customer WHERE c_last = @c_last AND c_w_id = @w_id AND c_d_id = @d_id
    SET ROWCOUNT @cnt
    SELECT @c_id = c_id, @c_balance = c_balance FROM customer WITH (HOLDLOCK)
    WHERE c_last = @c_last AND c_w_id = @w_id AND c_d_id = @d_id ORDER BY c_w_id, c_d_id, c_last, c_first
    SET ROWCOUNT 0
END
ELSE
    SELECT @c_balance = c_balance, @c_last = c_last FROM customer WHERE c_id = @c_id AND c_d_id = @d_id AND c_w_id = @w_id
IF @@ROWCOUNT = 0 AND @c_balance = NULL
    PRINT "There is no such customer"
SELECT TOP (1) @o_id = o_id, @o_date = o_entry_d, @carrier = o_carrier_id FROM orders (SERIALIZABLE)
WHERE o_w_id = @w_id AND o_d_id = @d_id AND o_c_id = @c_id ORDER BY o_id DESC
SELECT ol_number, ol_supply_w_id, ol_i_id, ol_quantity, ol_amount, ol_delivery_d, RTRIM(ol_dist_info) AS dist FROM order_line WITH (READPAST, READCOMMITTED)
WHERE ol_o_id = @o_id AND ol_d_id = @d_id AND ol_w_id = @w_id
COMMIT TRANSACTION
SELECT @c_id AS c_id, RTRIM(@c_last) AS c_last, @c_balance AS balance, @o_id AS o_id, ISNULL(@carrier, 0) AS carrier
GO
CREATE PROCEDURE deliver @d_w_id INT, @d_o_carrier_id TINYINT, @date DATETIME, @delivered VARCHAR(40) OUT
AS
SET NOCOUNT ON
SET XACT_ABORT ON
SET ANSI_WARNINGS OFF
SET CONCAT_NULL_YIELDS_NULL OFF
DECLARE @d_id TINYINT = 1, @o_id INT, @d_c_id INT, @d_ol_total MONEY, @gone TABLE (o_id INT)
SET @delivered = NULL
WHILE (@d_id <= 2)
BEGIN
    BEGIN TRANSACTION
    SET @o_id = NULL
    DELETE @gone
    DELETE TOP (1) FROM new_order WITH (ROWLOCK, READPAST) OUTPUT deleted.no_o_id INTO @gone (o_id)
    WHERE no_w_id = @d_w_id AND no_d_id = @d_id
        AND no_o_id = (SELECT MIN(no_o_id) FROM new_order WITH (UPDLOCK) WHERE no_w_id = @d_w_id AND no_d_id = @d_id)
    IF (@@ROWCOUNT <> 0)
    BEGIN
        SELECT @o_id = o_id FROM @gone
        UPDATE orders SET o_carrier_id = @d_o_carrier_id, @d_c_id = o_c_id WHERE o_id = @o_id AND o_d_id = @d_id AND o_w_id = @d_w_id
        UPDATE order_line SET ol_delivery_d = @date WHERE ol_o_id = @o_id AND ol_d_id = @d_id AND ol_w_id = @d_w_id
        SET @d_ol_total = (SELECT SUM(ol_amount) FROM order_line WHERE ol_o_id = @o_id AND ol_d_id = @d_id AND ol_w_id = @d_w_id)
        UPDATE customer SET c_balance = c_balance + @d_ol_total, c_delivery_cnt = c_delivery_cnt + 1
        WHERE c_id = @d_c_id AND c_d_id = @d_id AND c_w_id = @d_w_id
    END
    COMMIT TRANSACTION
    SET @delivered = @delivered + CASE @d_id WHEN 1 THEN "" ELSE " / " END + ISNULL(CAST(@o_id AS VARCHAR(5)), "skipped")
    SELECT @d_id += 1
END
GO
CREATE PROCEDURE stock_level @w_id INT, @d_id TINYINT, @threshold SMALLINT
AS
SET NOCOUNT ON
SET ANSI_WARNINGS OFF
SET TRANSACTION ISOLATION LEVEL READ COMMITTED
DECLARE @o_low INT, @o_high INT
SELECT @o_low = d_next_o_id - 20, @o_high = d_next_o_id - 1 FROM district WHERE d_w_id = @w_id AND d_id = @d_id
SELECT COUNT(DISTINCT stock.s_i_id) AS low_stock FROM order_line, stock
WHERE order_line.ol_w_id = @w_id AND order_line.ol_d_id = @d_id AND order_line.ol_o_id BETWEEN @o_low AND @o_high
    AND stock.s_w_id = order_line.ol_w_id AND stock.s_i_id = order_line.ol_i_id AND stock.s_quantity < @threshold
OPTION (LOOP JOIN, MAXDOP 1)
GO
SET QUOTED_IDENTIFIER ON
SET ANSI_NULLS ON
GO
DECLARE @total MONEY, @status INT;
EXEC @status = place_order 1, 2, 1, 3, 3, '1,2,3', @total OUTPUT, '2016-07-08 09:10:11';
SELECT @status AS status, @total AS total, @@TRANCOUNT AS open_transactions;
EXEC @status = place_order @w_id = 1, @max_w_id = 2, @d_id = 1, @c_id = 1, @o_ol_cnt = 2, @items = '4,99', @total = @total OUT;
SELECT @status AS status, @@TRANCOUNT AS open_transactions;
GO
EXEC pay 1, 1, 3, 0, 12.34;
EXEC pay 1, 2, 0, 1, 100, 'BAROUGHT';
GO
EXEC order_status 1, 1, 3, 0;
EXEC order_status 1, 2, 0, 1, 'BAROUGHT';
EXEC order_status 1, 2, 77, 0;
GO
DECLARE @delivered VARCHAR(40);
EXEC deliver 1, 7, '2016-08-09', @delivered OUTPUT;
SELECT @delivered AS delivered;
EXEC deliver 1, 8, '2016-08-10', @delivered OUTPUT;
SELECT @delivered AS delivered;
GO
EXEC stock_level 1, 1, 15;
EXEC stock_level 1, 1, 20;
EXEC sp_executesql N'EXEC stock_level @w, @d, 100', N'@w INT, @d TINYINT', 1, 2;
GO
SELECT w_id, w_ytd FROM warehouse;
SELECT d_w_id, d_id, d_ytd, d_next_o_id FROM district;
SELECT c_id, c_d_id, c_balance, c_ytd_payment, c_payment_cnt, c_delivery_cnt, RTRIM(c_data) AS data FROM customer
WHERE c_w_id = 1 AND c_balance <> -10;
SELECT h_c_id, h_d_id, h_date, h_amount, h_data FROM history;
SELECT o_id, o_d_id, o_c_id, o_carrier_id, o_ol_cnt FROM orders WHERE o_w_id = 1;
SELECT no_o_id, no_d_id, no_w_id FROM new_order;
SELECT ol_o_id, ol_number, ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d FROM order_line WHERE ol_w_id = 1 AND ol_o_id > 2;
SELECT s_w_id, s_i_id, s_quantity, s_ytd, s_order_cnt, s_remote_cnt FROM stock WHERE s_order_cnt > 0;
SELECT @@OPTIONS AS as_at_first;
GO
