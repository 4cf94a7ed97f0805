//! The five transactions as stored procedures, and the segment that creates, fills and drops a table.

use super::churn::{Churn, segment};
use crate::targets::{Session, TargetError};

/// The number of a deadlock's victim.
pub(super) const DEADLOCK: u32 = 1205;
/// Times that a transaction is tried before the run fails.
pub(super) const TRIES: u32 = 100;
/// Lines of an order at most.
pub(super) const MOST_LINES: u32 = 15;

/// The district's own column of a row of stock.
const DIST: &str = "CASE @d_id WHEN 1 THEN s_dist_01 WHEN 2 THEN s_dist_02 WHEN 3 THEN s_dist_03 \
    WHEN 4 THEN s_dist_04 WHEN 5 THEN s_dist_05 WHEN 6 THEN s_dist_06 WHEN 7 THEN s_dist_07 \
    WHEN 8 THEN s_dist_08 WHEN 9 THEN s_dist_09 ELSE s_dist_10 END";

/// What the update of a row of stock sets, whatever its form: `@quantity`, `@supply` and `@w_id` are
/// variables.
pub(super) const STOCK_CHANGES: &str = "s_quantity = CASE WHEN s_quantity - @quantity >= 10 \
    THEN s_quantity - @quantity ELSE s_quantity - @quantity + 91 END, s_ytd = s_ytd + @quantity, \
    s_order_cnt = s_order_cnt + 1, s_remote_cnt = s_remote_cnt + CASE WHEN @supply <> @w_id THEN 1 ELSE 0 \
    END";

/// The text of a customer with bad credit after a payment.
pub(super) const BAD_CREDIT: &str = "c_data = LEFT(CONCAT(@c_id, ' ', @c_d_id, ' ', @c_w_id, ' ', @d_id, \
    ' ', @w_id, ' ', @amount, '|', c_data), 500)";

/// The customer in the middle of those with a last name, in the order of their first names.
pub(super) const BY_NAME: &str = "SELECT @c_id = c_id FROM (SELECT c_id, ROW_NUMBER() OVER (ORDER BY \
    c_first) AS n, \
    COUNT(*) OVER () AS named FROM dbo.customer WHERE c_w_id = @c_w_id AND c_d_id = @c_d_id AND c_last = \
    @c_last) \
    AS found WHERE n = (named + 1) / 2;";

/// The items of the last 20 orders of which less than the threshold is in stock.
pub(super) const LOW_STOCK: &str = "SELECT COUNT(DISTINCT s_i_id) AS low_stock FROM dbo.order_line \
    JOIN dbo.stock ON s_w_id = ol_w_id AND s_i_id = ol_i_id \
    WHERE ol_w_id = @w_id AND ol_d_id = @d_id AND ol_o_id < @o_id AND ol_o_id >= @o_id - 20 \
    AND s_quantity < @threshold;";

/// `@i1 int, @s1 int, @q1 smallint, ...`: the lines of an order.
fn line_parameters() -> String {
    let line = |n| format!("@i{n} int = NULL, @s{n} int = NULL, @q{n} smallint = NULL");
    let lines: Vec<String> = (1..=MOST_LINES).map(line).collect();
    lines.join(", ")
}

/// `CHOOSE(@line, @i1, @i2, ...)`.
fn chosen(letter: char) -> String {
    let names: Vec<String> = (1..=MOST_LINES).map(|n| format!("@{letter}{n}")).collect();
    format!("CHOOSE(@line, {})", names.join(", "))
}

fn new_order(churn: &str) -> String {
    format!(
        "CREATE PROCEDURE dbo.oe_new_order @w_id int, @d_id tinyint, @c_id int, @lines tinyint, @all_local \
         tinyint, {}
AS
SET NOCOUNT ON; SET XACT_ABORT ON;
DECLARE @discount decimal(4, 4), @last varchar(16), @credit char(2), @w_tax decimal(4, 4), @d_tax
    decimal(4, 4),
    @o_id int, @line tinyint = 1, @item int, @supply int, @quantity smallint, @price decimal(5, 2),
    @name varchar(24), @i_data varchar(50), @s_data varchar(50), @in_stock smallint, @dist char(24),
    @amount decimal(6, 2), @brand char(1), @total decimal(12, 2) = 0, @now datetime = GETDATE();
BEGIN TRANSACTION;
SELECT @discount = c_discount, @last = c_last, @credit = c_credit, @w_tax = w_tax
FROM dbo.warehouse JOIN dbo.customer ON c_w_id = w_id WHERE w_id = @w_id AND c_d_id = @d_id AND c_id = @c_id;
UPDATE dbo.district SET @d_tax = d_tax, @o_id = d_next_o_id, d_next_o_id = d_next_o_id + 1
WHERE d_w_id = @w_id AND d_id = @d_id;
INSERT INTO dbo.orders (o_id, o_d_id, o_w_id, o_c_id, o_entry_d, o_carrier_id, o_ol_cnt, o_all_local)
VALUES (@o_id, @d_id, @w_id, @c_id, @now, NULL, @lines, @all_local);
INSERT INTO dbo.new_order (no_o_id, no_d_id, no_w_id) VALUES (@o_id, @d_id, @w_id);
WHILE @line <= @lines
BEGIN
    SELECT @item = {}, @supply = {}, @quantity = {}, @price = NULL;
    SELECT @price = i_price, @name = i_name, @i_data = i_data FROM dbo.item WHERE i_id = @item;
    IF @price IS NULL
    BEGIN
        ROLLBACK TRANSACTION;
        SELECT CAST(NULL AS int) AS o_id, 'Item number is not valid' AS status;
        RETURN 1;
    END
    UPDATE dbo.stock SET {STOCK_CHANGES}, @in_stock = s_quantity, @s_data = s_data, @dist = {DIST}
    WHERE s_w_id = @supply AND s_i_id = @item;
    SET @amount = @quantity * @price;
    SET @brand = CASE WHEN CHARINDEX('ORIGINAL', @i_data) > 0 AND CHARINDEX('ORIGINAL', @s_data) > 0 THEN
        'B' ELSE 'G' END;
    INSERT INTO dbo.order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id, ol_delivery_d,
        ol_quantity, ol_amount, ol_dist_info)
    VALUES (@o_id, @d_id, @w_id, @line, @item, @supply, NULL, @quantity, @amount, @dist);
    SELECT @total = @total + @amount, @line = @line + 1;
END
{churn}COMMIT TRANSACTION;
SELECT @o_id AS o_id, @last AS c_last, @credit AS c_credit, @discount AS c_discount, @w_tax AS w_tax,
    @d_tax AS d_tax,
    CAST(@total * (1 - @discount) * (1 + @w_tax + @d_tax) AS decimal(12, 2)) AS total, @now AS entered;",
        line_parameters(),
        chosen('i'),
        chosen('s'),
        chosen('q')
    )
}

fn payment(churn: &str) -> String {
    format!(
        "CREATE PROCEDURE dbo.oe_payment @w_id int, @d_id tinyint, @c_w_id int, @c_d_id tinyint, @c_id int,
    @c_last varchar(16), @amount decimal(6, 2)
AS
SET NOCOUNT ON; SET XACT_ABORT ON;
DECLARE @w_name varchar(10), @d_name varchar(10), @credit char(2), @balance decimal(12, 2), @first
    varchar(16),
    @now datetime = GETDATE();
BEGIN TRANSACTION;
IF @c_id IS NULL
    {BY_NAME}
UPDATE dbo.customer SET c_balance = c_balance - @amount, @balance = c_balance - @amount,
    c_ytd_payment = c_ytd_payment + @amount, c_payment_cnt = c_payment_cnt + 1,
    @credit = c_credit, @first = c_first, @c_last = c_last
WHERE c_w_id = @c_w_id AND c_d_id = @c_d_id AND c_id = @c_id;
IF @credit = 'BC'
    UPDATE dbo.customer SET {BAD_CREDIT} WHERE c_w_id = @c_w_id AND c_d_id = @c_d_id AND c_id = @c_id;
UPDATE dbo.district SET d_ytd = d_ytd + @amount, @d_name = d_name WHERE d_w_id = @w_id AND d_id = @d_id;
UPDATE dbo.warehouse SET w_ytd = w_ytd + @amount, @w_name = w_name WHERE w_id = @w_id;
INSERT INTO dbo.history (h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, h_data)
VALUES (@c_id, @c_d_id, @c_w_id, @d_id, @w_id, @now, @amount, @w_name + '    ' + @d_name);
{churn}COMMIT TRANSACTION;
SELECT @c_id AS c_id, @first AS c_first, @c_last AS c_last, @credit AS c_credit, @balance AS c_balance, \
@now AS paid;"
    )
}

fn order_status(churn: &str) -> String {
    format!(
        "CREATE PROCEDURE dbo.oe_order_status @c_w_id int, @c_d_id tinyint, @c_id int, @c_last varchar(16)
AS
SET NOCOUNT ON; SET XACT_ABORT ON;
DECLARE @balance decimal(12, 2), @first varchar(16), @o_id int, @entered datetime, @carrier tinyint;
BEGIN TRANSACTION;
IF @c_id IS NULL
    {BY_NAME}
SELECT @balance = c_balance, @first = c_first, @c_last = c_last FROM dbo.customer
WHERE c_w_id = @c_w_id AND c_d_id = @c_d_id AND c_id = @c_id;
SELECT TOP (1) @o_id = o_id, @entered = o_entry_d, @carrier = o_carrier_id FROM dbo.orders
WHERE o_w_id = @c_w_id AND o_d_id = @c_d_id AND o_c_id = @c_id ORDER BY o_id DESC;
SELECT ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d FROM dbo.order_line
WHERE ol_w_id = @c_w_id AND ol_d_id = @c_d_id AND ol_o_id = @o_id;
{churn}COMMIT TRANSACTION;
SELECT @c_id AS c_id, @balance AS c_balance, @o_id AS o_id, @entered AS entered, @carrier AS carrier;"
    )
}

/// A district is a transaction of its own. One that is a deadlock's victim is run again; those before it have
/// committed.
fn delivery(churn: &str) -> String {
    format!(
        "CREATE PROCEDURE dbo.oe_delivery @w_id int, @districts tinyint, @carrier tinyint
AS
SET NOCOUNT ON; SET XACT_ABORT ON;
DECLARE @d_id tinyint = 1, @o_id int, @c_id int, @total decimal(12, 2), @now datetime = GETDATE(),
    @delivered int = 0, @bit int = 1, @deadlocks int = 0;
WHILE @d_id <= @districts
BEGIN
    SELECT @o_id = NULL;
    BEGIN TRY
        BEGIN TRANSACTION;
        SELECT TOP (1) @o_id = no_o_id FROM dbo.new_order WITH (UPDLOCK)
        WHERE no_w_id = @w_id AND no_d_id = @d_id ORDER BY no_o_id;
        IF @o_id IS NOT NULL
        BEGIN
            DELETE dbo.new_order WHERE no_w_id = @w_id AND no_d_id = @d_id AND no_o_id = @o_id;
            UPDATE dbo.orders SET o_carrier_id = @carrier, @c_id = o_c_id
            WHERE o_w_id = @w_id AND o_d_id = @d_id AND o_id = @o_id;
            UPDATE dbo.order_line SET ol_delivery_d = @now WHERE ol_w_id = @w_id AND ol_d_id = @d_id AND
                ol_o_id = @o_id;
            SELECT @total = SUM(ol_amount) FROM dbo.order_line WHERE ol_w_id = @w_id AND ol_d_id = @d_id AND
                ol_o_id = @o_id;
            UPDATE dbo.customer SET c_balance = c_balance + @total, c_delivery_cnt = c_delivery_cnt + 1
            WHERE c_w_id = @w_id AND c_d_id = @d_id AND c_id = @c_id;
        END
        IF @d_id = @districts
        BEGIN
            {churn}SET @d_id = @d_id;
        END
        COMMIT TRANSACTION;
        IF @o_id IS NOT NULL
            SET @delivered = @delivered + @bit;
        SELECT @d_id = @d_id + 1, @bit = @bit * 2;
    END TRY
    BEGIN CATCH
        IF ERROR_NUMBER() <> {DEADLOCK} OR @deadlocks = {TRIES}
            THROW;
        IF @@TRANCOUNT > 0
            ROLLBACK TRANSACTION;
        SET @deadlocks = @deadlocks + 1;
    END CATCH
END
SELECT @delivered AS delivered, @deadlocks AS deadlocks;"
    )
}

fn stock_level(churn: &str) -> String {
    format!(
        "CREATE PROCEDURE dbo.oe_stock_level @w_id int, @d_id tinyint, @threshold smallint
AS
SET NOCOUNT ON; SET XACT_ABORT ON;
DECLARE @o_id int;
BEGIN TRANSACTION;
SELECT @o_id = d_next_o_id FROM dbo.district WHERE d_w_id = @w_id AND d_id = @d_id;
{LOW_STOCK}
{churn}COMMIT TRANSACTION;"
    )
}

/// Makes the five procedures.
pub(super) fn create(session: &mut dyn Session, churn: Churn) -> Result<(), TargetError> {
    let churn = segment(churn);
    for make in [new_order, payment, order_status, delivery, stock_level] {
        session.batch(&make(&churn))?;
    }
    Ok(())
}
