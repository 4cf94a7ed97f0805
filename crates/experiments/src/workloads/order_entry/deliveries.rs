//! A delivery as plain statements, and the statements around every transaction.

use super::calls::{OF_CUSTOMER, OF_ORDER, Outcome, ROLLBACK, WHERE_CUSTOMER, first, int};
use super::churn::{Churn, segment};
use super::procedures::{DEADLOCK, TRIES};
use crate::targets::{Session, StatementId, TargetError};

/// What is around the statements of a transaction.
#[derive(Debug, Clone, Copy)]
pub(super) struct Transaction {
    begin: StatementId,
    commit: StatementId,
    churn: Option<StatementId>,
}

impl Transaction {
    pub(super) fn prepare(
        session: &mut dyn Session,
        churn: Churn,
    ) -> Result<Transaction, TargetError> {
        let churn = match segment(churn) {
            none if none.is_empty() => None,
            text => Some(session.prepare(&text, "")?),
        };
        Ok(Transaction {
            begin: session.prepare("BEGIN TRANSACTION;", "")?,
            commit: session.prepare("COMMIT TRANSACTION;", "")?,
            churn,
        })
    }

    pub(super) fn begin(self, session: &mut dyn Session) -> Result<(), TargetError> {
        session.execute(self.begin, &[]).map(|_| ())
    }

    fn end(self, session: &mut dyn Session) -> Result<(), TargetError> {
        session.execute(self.commit, &[]).map(|_| ())
    }

    /// Commits, with churn after the table that the transaction makes.
    pub(super) fn end_with_churn(self, session: &mut dyn Session) -> Result<(), TargetError> {
        if let Some(churn) = self.churn {
            session.execute(churn, &[])?;
        }
        self.end(session)
    }
}

/// The statements of a delivery.
pub(super) struct Deliveries {
    transaction: Transaction,
    districts: u32,
    oldest: StatementId,
    delete: StatementId,
    carry: StatementId,
    deliver: StatementId,
    sum: StatementId,
    credit: StatementId,
}

impl Deliveries {
    pub(super) fn prepare(
        session: &mut dyn Session,
        transaction: Transaction,
        districts: u32,
    ) -> Result<Deliveries, TargetError> {
        let mut p = |text: &str, parameters: &str| session.prepare(text, parameters);
        Ok(Deliveries {
            transaction,
            districts,
            oldest: p(
                "SELECT TOP (1) no_o_id FROM dbo.new_order WITH (UPDLOCK) WHERE no_w_id = @w_id AND \
                 no_d_id = @d_id ORDER BY no_o_id;",
                "@w_id int, @d_id tinyint",
            )?,
            delete: p(
                "DELETE dbo.new_order WHERE no_w_id = @w_id AND no_d_id = @d_id AND no_o_id = @o_id;",
                OF_ORDER,
            )?,
            carry: p(
                "UPDATE dbo.orders SET o_carrier_id = @carrier OUTPUT inserted.o_c_id \
                 WHERE o_w_id = @w_id AND o_d_id = @d_id AND o_id = @o_id;",
                &format!("{OF_ORDER}, @carrier tinyint"),
            )?,
            deliver: p(
                "UPDATE dbo.order_line SET ol_delivery_d = GETDATE() \
                 WHERE ol_w_id = @w_id AND ol_d_id = @d_id AND ol_o_id = @o_id;",
                OF_ORDER,
            )?,
            sum: p(
                "SELECT SUM(ol_amount) FROM dbo.order_line \
                 WHERE ol_w_id = @w_id AND ol_d_id = @d_id AND ol_o_id = @o_id;",
                OF_ORDER,
            )?,
            credit: p(
                &format!(
                    "UPDATE dbo.customer SET c_balance = c_balance + @total, c_delivery_cnt = \
                     c_delivery_cnt + 1 \
                     {WHERE_CUSTOMER};"
                ),
                &format!("{OF_CUSTOMER}, @total decimal(12, 2)"),
            )?,
        })
    }

    /// Delivers the oldest order of each district of a warehouse, a transaction for each. One that is a
    /// deadlock's victim is run again; those before it have committed.
    pub(super) fn run(
        &self,
        session: &mut dyn Session,
        w: u32,
        carrier: u32,
    ) -> Result<Outcome, TargetError> {
        let (mut bits, mut deadlocks, mut d) = (0, 0, 1);
        while d <= self.districts {
            match self.in_transaction(session, (w, d), carrier) {
                Ok(was_one) => {
                    bits |= u32::from(was_one) << (d - 1);
                    d += 1;
                }
                Err(error) if error.number == DEADLOCK && deadlocks < TRIES => {
                    session.batch(ROLLBACK)?;
                    deadlocks += 1;
                }
                Err(error) => return Err(error),
            }
        }
        Ok(Outcome::Delivered { bits, deadlocks })
    }

    fn in_transaction(
        &self,
        session: &mut dyn Session,
        (w, d): (u32, u32),
        carrier: u32,
    ) -> Result<bool, TargetError> {
        self.transaction.begin(session)?;
        let was_one = self.deliver(session, (w, d), carrier)?;
        match d == self.districts {
            true => self.transaction.end_with_churn(session)?,
            false => self.transaction.end(session)?,
        }
        Ok(was_one)
    }

    /// Delivers the oldest order of a district; whether there was one.
    fn deliver(
        &self,
        session: &mut dyn Session,
        (w, d): (u32, u32),
        carrier: u32,
    ) -> Result<bool, TargetError> {
        let oldest = session.query(self.oldest, &[w, d].map(int))?;
        if oldest.rows.is_empty() {
            return Ok(false);
        }
        let order = [int(w), int(d), first(&oldest, 0)?];
        session.execute(self.delete, &order)?;
        let mut values = order.to_vec();
        values.push(int(carrier));
        let customer = first(&session.query(self.carry, &values)?, 0)?;
        session.execute(self.deliver, &order)?;
        let total = first(&session.query(self.sum, &order)?, 0)?;
        session.execute(self.credit, &[int(w), int(d), customer, total])?;
        Ok(true)
    }
}
