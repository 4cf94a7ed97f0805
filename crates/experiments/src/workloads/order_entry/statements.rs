//! The transactions as plain statements, one request to the engine each: what an application without
//! procedures does.

use super::calls::{
    Form, OF_CUSTOMER, OF_ORDER, Outcome, ROLLBACK, WHERE_CUSTOMER, amount, first, found, int,
};
use super::churn::Churn;
use super::deliveries::{Deliveries, Transaction};
use super::procedures::{BAD_CREDIT, BY_NAME, LOW_STOCK, STOCK_CHANGES};
use super::random::{Kind, ORIGINAL};
use super::requests::{Finding, Line, Request};
use crate::targets::{Session, StatementId, TargetError, Value};

/// The prepared statements.
pub(super) struct Statements {
    transaction: Transaction,
    orders: Orders,
    payments: Payments,
    looks: Looks,
    deliveries: Deliveries,
}

/// The statements of a new order.
struct Orders {
    stock: Vec<StatementId>,
    terms: StatementId,
    next_order: StatementId,
    order: StatementId,
    undelivered: StatementId,
    item: StatementId,
    line: StatementId,
}

impl Orders {
    fn prepare(session: &mut dyn Session, districts: u32) -> Result<Orders, TargetError> {
        let mut p = |text: &str, parameters: &str| session.prepare(text, parameters);
        let mut stock = Vec::new();
        for d in 1..=districts {
            stock.push(p(
                &format!(
                    "UPDATE dbo.stock SET {STOCK_CHANGES} OUTPUT deleted.s_dist_{d:02}, deleted.s_data \
                     WHERE s_w_id = @supply AND s_i_id = @item;"
                ),
                "@w_id int, @supply int, @item int, @quantity smallint",
            )?);
        }
        Ok(Orders {
            stock,
            terms: p(
                "SELECT c_discount, c_last, c_credit, w_tax FROM dbo.warehouse JOIN dbo.customer ON c_w_id \
                 = w_id \
                 WHERE w_id = @c_w_id AND c_d_id = @c_d_id AND c_id = @c_id;",
                OF_CUSTOMER,
            )?,
            next_order: p(
                "UPDATE dbo.district SET d_next_o_id = d_next_o_id + 1 OUTPUT deleted.d_next_o_id, \
                 deleted.d_tax \
                 WHERE d_w_id = @w_id AND d_id = @d_id;",
                "@w_id int, @d_id tinyint",
            )?,
            order: p(
                "INSERT INTO dbo.orders (o_id, o_d_id, o_w_id, o_c_id, o_entry_d, o_carrier_id, o_ol_cnt, \
                 o_all_local) VALUES (@o_id, @d_id, @w_id, @c_id, GETDATE(), NULL, @lines, @local);",
                "@w_id int, @d_id tinyint, @o_id int, @c_id int, @lines tinyint, @local tinyint",
            )?,
            undelivered: p(
                "INSERT INTO dbo.new_order (no_o_id, no_d_id, no_w_id) VALUES (@o_id, @d_id, @w_id);",
                OF_ORDER,
            )?,
            item: p(
                "SELECT i_price, i_name, i_data FROM dbo.item WHERE i_id = @item;",
                "@item int",
            )?,
            line: p(
                "INSERT INTO dbo.order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id, \
                 ol_delivery_d, ol_quantity, ol_amount, ol_dist_info) VALUES (@o_id, @d_id, @w_id, @n, \
                 @item, \
                 @supply, NULL, @quantity, @quantity * @price, @dist);",
                "@w_id int, @d_id tinyint, @o_id int, @n tinyint, @item int, @supply int, @quantity tinyint, \
                 @price decimal(5, 2), @dist char(24)",
            )?,
        })
    }
}

/// The statements of a payment.
struct Payments {
    by_name: StatementId,
    pay: StatementId,
    bad_credit: StatementId,
    pay_district: StatementId,
    pay_warehouse: StatementId,
    history: StatementId,
}

impl Payments {
    fn prepare(session: &mut dyn Session) -> Result<Payments, TargetError> {
        let mut p = |text: &str, parameters: &str| session.prepare(text, parameters);
        let by_name = BY_NAME.replace("SELECT @c_id = c_id", "SELECT c_id");
        Ok(Payments {
            by_name: p(
                &by_name,
                "@c_w_id int, @c_d_id tinyint, @c_last varchar(16)",
            )?,
            pay: p(
                &format!(
                    "UPDATE dbo.customer SET c_balance = c_balance - @amount, c_ytd_payment = c_ytd_payment \
                     + \
                     @amount, c_payment_cnt = c_payment_cnt + 1 OUTPUT inserted.c_credit, \
                     inserted.c_balance, \
                     inserted.c_first, inserted.c_last {WHERE_CUSTOMER};"
                ),
                &format!("{OF_CUSTOMER}, @amount decimal(6, 2)"),
            )?,
            bad_credit: p(
                &format!("UPDATE dbo.customer SET {BAD_CREDIT} {WHERE_CUSTOMER};"),
                &format!("{OF_CUSTOMER}, @amount decimal(6, 2), @w_id int, @d_id tinyint"),
            )?,
            pay_district: p(
                "UPDATE dbo.district SET d_ytd = d_ytd + @amount OUTPUT inserted.d_name \
                 WHERE d_w_id = @w_id AND d_id = @d_id;",
                "@w_id int, @d_id tinyint, @amount decimal(6, 2)",
            )?,
            pay_warehouse: p(
                "UPDATE dbo.warehouse SET w_ytd = w_ytd + @amount OUTPUT inserted.w_name WHERE w_id = @w_id;",
                "@w_id int, @amount decimal(6, 2)",
            )?,
            history: p(
                "INSERT INTO dbo.history (h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, \
                 h_data) \
                 VALUES (@c_id, @c_d_id, @c_w_id, @d_id, @w_id, GETDATE(), @amount, @data);",
                &format!(
                    "{OF_CUSTOMER}, @amount decimal(6, 2), @w_id int, @d_id tinyint, @data varchar(24)"
                ),
            )?,
        })
    }
}

/// The statements that only read.
struct Looks {
    balance: StatementId,
    last_order: StatementId,
    lines: StatementId,
    ordered: StatementId,
    low_stock: StatementId,
}

impl Looks {
    fn prepare(session: &mut dyn Session) -> Result<Looks, TargetError> {
        let mut p = |text: &str, parameters: &str| session.prepare(text, parameters);
        Ok(Looks {
            balance: p(
                &format!("SELECT c_balance, c_first, c_last FROM dbo.customer {WHERE_CUSTOMER};"),
                OF_CUSTOMER,
            )?,
            last_order: p(
                "SELECT TOP (1) o_id, o_entry_d, o_carrier_id FROM dbo.orders WHERE o_w_id = @c_w_id AND \
                 o_d_id = @c_d_id AND o_c_id = @c_id ORDER BY o_id DESC;",
                OF_CUSTOMER,
            )?,
            lines: p(
                "SELECT ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d FROM dbo.order_line \
                 WHERE ol_w_id = @w_id AND ol_d_id = @d_id AND ol_o_id = @o_id;",
                OF_ORDER,
            )?,
            ordered: p(
                "SELECT d_next_o_id FROM dbo.district WHERE d_w_id = @w_id AND d_id = @d_id;",
                "@w_id int, @d_id tinyint",
            )?,
            low_stock: p(
                LOW_STOCK,
                "@w_id int, @d_id tinyint, @o_id int, @threshold smallint",
            )?,
        })
    }
}

impl Statements {
    pub(super) fn prepare(
        session: &mut dyn Session,
        districts: u32,
        churn: Churn,
    ) -> Result<Statements, TargetError> {
        let transaction = Transaction::prepare(session, churn)?;
        Ok(Statements {
            transaction,
            orders: Orders::prepare(session, districts)?,
            payments: Payments::prepare(session)?,
            looks: Looks::prepare(session)?,
            deliveries: Deliveries::prepare(session, transaction, districts)?,
        })
    }

    fn customer(
        &self,
        session: &mut dyn Session,
        (w, d): (u32, u32),
        customer: &Finding,
    ) -> Result<Value, TargetError> {
        if matches!(customer, Finding::Number(_)) {
            let [number, _] = found(customer);
            return Ok(number);
        }
        let [_, name] = found(customer);
        first(
            &session.query(self.payments.by_name, &[int(w), int(d), name])?,
            0,
        )
    }

    fn new_order(
        &self,
        session: &mut dyn Session,
        w: u32,
        (d, c): (u32, u32),
        lines: &[Line],
    ) -> Result<Outcome, TargetError> {
        session.query(self.orders.terms, &[w, d, c].map(int))?;
        let order = first(&session.query(self.orders.next_order, &[w, d].map(int))?, 0)?;
        let is_local = lines.iter().all(|line| line.supply == w);
        let mut values = vec![int(w), int(d), order.clone(), int(c)];
        values.extend([lines.len() as u32, u32::from(is_local)].map(int));
        session.execute(self.orders.order, &values)?;
        session.execute(self.orders.undelivered, &[int(w), int(d), order.clone()])?;
        for (n, line) in (1..).zip(lines) {
            let item = session.query(self.orders.item, &[int(line.item)])?;
            if item.rows.is_empty() {
                session.batch("ROLLBACK TRANSACTION;")?;
                return Ok(Outcome::RolledBack);
            }
            let price = first(&item, 0)?;
            let values = [w, line.supply, line.item, line.quantity].map(int);
            let update = self.orders.stock.get(d as usize - 1).copied();
            let update = update.ok_or_else(|| TargetError::other("there is no such district"))?;
            let stock = session.query(update, &values)?;
            let dist = first(&stock, 0)?;
            let is_original = |value: Value| value.to_string().contains(ORIGINAL);
            // Printed on the order, as the specification has it; no table holds it.
            let _brand = is_original(first(&item, 2)?) && is_original(first(&stock, 1)?);
            let mut values = vec![int(w), int(d), order.clone()];
            values.extend([n, line.item, line.supply, line.quantity].map(int));
            values.extend([price, dist]);
            session.execute(self.orders.line, &values)?;
        }
        Ok(Outcome::Committed)
    }

    fn payment(
        &self,
        session: &mut dyn Session,
        (w, d): (u32, u32),
        home: (u32, u32),
        (customer, cents): (&Finding, u32),
    ) -> Result<Outcome, TargetError> {
        let customer = self.customer(session, home, customer)?;
        let mut values = vec![int(home.0), int(home.1), customer, amount(cents)];
        let paid = session.query(self.payments.pay, &values)?;
        values.extend([int(w), int(d)]);
        if first(&paid, 0)?.to_string() == "BC" {
            session.execute(self.payments.bad_credit, &values)?;
        }
        let district =
            session.query(self.payments.pay_district, &[int(w), int(d), amount(cents)])?;
        let warehouse = session.query(self.payments.pay_warehouse, &[int(w), amount(cents)])?;
        let names = format!("{}    {}", first(&warehouse, 0)?, first(&district, 0)?);
        values.push(Value::Text(names));
        session.execute(self.payments.history, &values)?;
        Ok(Outcome::Committed)
    }

    fn order_status(
        &self,
        session: &mut dyn Session,
        (w, d): (u32, u32),
        customer: &Finding,
    ) -> Result<Outcome, TargetError> {
        let customer = self.customer(session, (w, d), customer)?;
        let values = [int(w), int(d), customer];
        session.query(self.looks.balance, &values)?;
        let order = session.query(self.looks.last_order, &values)?;
        if !order.rows.is_empty() {
            session.query(self.looks.lines, &[int(w), int(d), first(&order, 0)?])?;
        }
        Ok(Outcome::Committed)
    }

    fn within(
        &self,
        session: &mut dyn Session,
        w: u32,
        request: &Request,
    ) -> Result<Outcome, TargetError> {
        match request {
            Request::NewOrder {
                district,
                customer,
                lines,
                ..
            } => self.new_order(session, w, (*district, *customer), lines),
            Request::Payment {
                district,
                home,
                customer,
                cents,
            } => self.payment(session, (w, *district), *home, (customer, *cents)),
            Request::OrderStatus { district, customer } => {
                self.order_status(session, (w, *district), customer)
            }
            Request::Delivery { carrier } => self.deliveries.run(session, w, *carrier),
            Request::StockLevel {
                district,
                threshold,
            } => {
                let next = session.query(self.looks.ordered, &[w, *district].map(int))?;
                let values = [int(w), int(*district), first(&next, 0)?, int(*threshold)];
                session.query(self.looks.low_stock, &values)?;
                Ok(Outcome::Committed)
            }
        }
    }
}

impl Form for Statements {
    fn run(
        &mut self,
        session: &mut dyn Session,
        warehouse: u32,
        request: &Request,
    ) -> Result<Outcome, TargetError> {
        // A delivery has a transaction of its own for each district.
        let is_one = request.kind() != Kind::Delivery;
        if is_one {
            self.transaction.begin(session)?;
        }
        let outcome = self
            .within(session, warehouse, request)
            .and_then(|outcome| {
                if is_one && outcome != Outcome::RolledBack {
                    self.transaction.end_with_churn(session)?;
                }
                Ok(outcome)
            });
        if outcome.is_err() {
            session.batch(ROLLBACK)?;
        }
        outcome
    }
}
