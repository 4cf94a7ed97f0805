//! The transactions as calls of their procedures.

use super::procedures::MOST_LINES;
use super::random::decimal;
use super::requests::{Finding, Request};
use crate::targets::{Reply, Session, StatementId, TargetError, Value};

/// What became of a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    /// Committed.
    Committed,
    /// Rolled back because its last item does not exist.
    RolledBack,
    /// A delivery.
    Delivered {
        /// A bit for each district that had an order to deliver, the first one's lowest.
        bits: u32,
        /// How often a transaction of it was run again as a deadlock's victim.
        deadlocks: u32,
    },
}

/// Runs transactions on a session.
pub(super) trait Form: Send {
    /// Runs one in a warehouse. After an error no transaction is open.
    fn run(
        &mut self,
        session: &mut dyn Session,
        warehouse: u32,
        request: &Request,
    ) -> Result<Outcome, TargetError>;
}

/// Ends what an error has left open.
pub(super) const ROLLBACK: &str = "IF @@TRANCOUNT > 0 ROLLBACK TRANSACTION;";
pub(super) const OF_CUSTOMER: &str = "@c_w_id int, @c_d_id tinyint, @c_id int";
pub(super) const WHERE_CUSTOMER: &str =
    "WHERE c_w_id = @c_w_id AND c_d_id = @c_d_id AND c_id = @c_id";
pub(super) const OF_ORDER: &str = "@w_id int, @d_id tinyint, @o_id int";

/// A value of the first row.
pub(super) fn first(reply: &Reply, column: usize) -> Result<Value, TargetError> {
    let value = reply.rows.first().and_then(|row| row.get(column));
    value
        .cloned()
        .ok_or_else(|| TargetError::other("a row that the load relies on is not there"))
}

pub(super) fn int(value: u32) -> Value {
    Value::Int(i64::from(value))
}

/// The customer's number and last name, one of them NULL.
pub(super) fn found(customer: &Finding) -> [Value; 2] {
    match customer {
        Finding::Number(number) => [int(*number), Value::Null],
        Finding::Name(name) => [Value::Null, Value::Text(name.clone())],
    }
}

/// Cents as an amount.
pub(super) fn amount(cents: u32) -> Value {
    Value::Text(decimal(i64::from(cents), 2))
}

/// What the procedure of a delivery gives.
fn delivered(reply: &Reply) -> Result<Outcome, TargetError> {
    let count = |value: &Value| u32::try_from(value.count()).unwrap_or(0);
    match reply.rows.last().map(Vec::as_slice) {
        Some([bits, deadlocks]) => Ok(Outcome::Delivered {
            bits: count(bits),
            deadlocks: count(deadlocks),
        }),
        _ => Err(TargetError::other("a delivery gave no count")),
    }
}

/// The prepared calls.
pub(super) struct Calls {
    new_order: StatementId,
    payment: StatementId,
    order_status: StatementId,
    delivery: StatementId,
    stock_level: StatementId,
    districts: u32,
}

impl Calls {
    pub(super) fn prepare(session: &mut dyn Session, districts: u32) -> Result<Calls, TargetError> {
        let mut lines = (String::new(), String::new());
        for n in 1..=MOST_LINES {
            lines.0 += &format!(", @i{n} int, @s{n} int, @q{n} smallint");
            lines.1 += &format!(", @i{n}, @s{n}, @q{n}");
        }
        let mut call = |text: &str, parameters: &str| session.prepare(text, parameters);
        Ok(Calls {
            new_order: call(
                &format!("EXEC dbo.oe_new_order @w, @d, @c, @n, @l{};", lines.1),
                &format!(
                    "@w int, @d tinyint, @c int, @n tinyint, @l tinyint{}",
                    lines.0
                ),
            )?,
            payment: call(
                "EXEC dbo.oe_payment @w, @d, @cw, @cd, @c, @last, @amount;",
                "@w int, @d tinyint, @cw int, @cd tinyint, @c int, @last varchar(16), @amount decimal(6, 2)",
            )?,
            order_status: call(
                "EXEC dbo.oe_order_status @w, @d, @c, @last;",
                "@w int, @d tinyint, @c int, @last varchar(16)",
            )?,
            delivery: call(
                "EXEC dbo.oe_delivery @w, @n, @carrier;",
                "@w int, @n tinyint, @carrier tinyint",
            )?,
            stock_level: call(
                "EXEC dbo.oe_stock_level @w, @d, @threshold;",
                "@w int, @d tinyint, @threshold smallint",
            )?,
            districts,
        })
    }

    fn call(
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
            } => {
                let is_local = lines.iter().all(|line| line.supply == w);
                let count = lines.len() as u32;
                let mut values = [w, *district, *customer, count, u32::from(is_local)]
                    .map(int)
                    .to_vec();
                for line in lines {
                    values.extend([line.item, line.supply, line.quantity].map(int));
                }
                values.resize(5 + 3 * MOST_LINES as usize, Value::Null);
                let reply = session.query(self.new_order, &values)?;
                Ok(match reply.scalar() {
                    Some(Value::Null) | None => Outcome::RolledBack,
                    Some(_) => Outcome::Committed,
                })
            }
            Request::Payment {
                district,
                home,
                customer,
                cents,
            } => {
                let [number, name] = found(customer);
                let mut values = [w, *district, home.0, home.1].map(int).to_vec();
                values.extend([number, name, amount(*cents)]);
                session
                    .query(self.payment, &values)
                    .map(|_| Outcome::Committed)
            }
            Request::OrderStatus { district, customer } => {
                let [number, name] = found(customer);
                let values = [int(w), int(*district), number, name];
                session
                    .query(self.order_status, &values)
                    .map(|_| Outcome::Committed)
            }
            Request::Delivery { carrier } => {
                let values = [w, self.districts, *carrier].map(int);
                delivered(&session.query(self.delivery, &values)?)
            }
            Request::StockLevel {
                district,
                threshold,
            } => {
                let values = [w, *district, *threshold].map(int);
                session
                    .query(self.stock_level, &values)
                    .map(|_| Outcome::Committed)
            }
        }
    }
}

impl Form for Calls {
    fn run(
        &mut self,
        session: &mut dyn Session,
        warehouse: u32,
        request: &Request,
    ) -> Result<Outcome, TargetError> {
        let outcome = self.call(session, warehouse, request);
        if outcome.is_err() {
            session.batch(ROLLBACK)?;
        }
        outcome
    }
}
