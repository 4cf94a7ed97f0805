//! The 12 consistency conditions, each a query that counts the rows that break it, and the counts of the
//! tables against what sessions got.
//!
//! Condition 11 is specified for the time before the first delivery. After a run it is checked with the
//! orders that sessions have delivered in each district added.

use super::audit::Asked;
use super::random::Kind;
use super::schema::Scale;
use crate::targets::{Session, Target, TargetError, Value};
use crate::workloads::prepared::session_in;
use furrow_io::thread;
use parking_lot::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// When conditions are checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Moment<'a> {
    /// Before the first delivery.
    Loaded,
    /// After the loads in which sessions got this, all of them since the tables were loaded.
    Run(&'a Asked),
    /// At any time: condition 11 is left out, as it is not known what was delivered.
    Any,
}

/// A condition: its number, what holds, and a query of the rows for which it does not hold.
struct Condition {
    number: u32,
    holds: &'static str,
    broken: &'static str,
}

impl Condition {
    fn query(&self) -> String {
        format!("SELECT COUNT_BIG(*) FROM ({}) AS broken;", self.broken)
    }

    /// How many rows break it; of condition 11 how many districts.
    fn count(
        &self,
        session: &mut dyn Session,
        scale: Scale,
        moment: Moment<'_>,
    ) -> Result<u64, TargetError> {
        match (self.number == OF_DELIVERIES, moment) {
            (false, _) => {
                let reply = session.batch(&self.query())?;
                Ok(reply.scalar().map_or(0, Value::count))
            }
            (true, Moment::Any) => Ok(0),
            (true, Moment::Loaded) => not_delivered(session, scale, &Asked::default()),
            (true, Moment::Run(asked)) => not_delivered(session, scale, asked),
        }
    }
}

/// Districts in which other orders are delivered than those at the beginning and those that sessions got.
fn not_delivered(
    session: &mut dyn Session,
    scale: Scale,
    asked: &Asked,
) -> Result<u64, TargetError> {
    let at_first = u64::from(scale.delivered());
    let number = |value: &Value| u32::try_from(value.count()).unwrap_or(0);
    let holds = |row: &&Vec<Value>| match row.as_slice() {
        [w, d, delivered] => {
            let of_district = asked.by_district.get(&(number(w), number(d)));
            delivered.count() == at_first + of_district.copied().unwrap_or(0)
        }
        _ => false,
    };
    let reply = session.batch(DELIVERED)?;
    let districts = u64::from(scale.warehouses) * u64::from(scale.districts);
    // One without any order is not among the rows.
    Ok(districts.saturating_sub(reply.rows.iter().filter(holds).count() as u64))
}

/// Number and query of each condition that holds at any time: all but the eleventh. A query counts the rows
/// that break its condition: another program can check with them what a run has left.
pub fn queries() -> Vec<(u32, String)> {
    let always = CONDITIONS.iter().filter(|c| c.number != OF_DELIVERIES);
    always.map(|c| (c.number, c.query())).collect()
}

/// The condition about how many orders are delivered.
const OF_DELIVERIES: u32 = 11;
/// Delivered orders of each district.
const DELIVERED: &str = "SELECT o_w_id, o_d_id, orders - ISNULL(new_orders, 0) AS delivered FROM \
    (SELECT o_w_id, o_d_id, COUNT(*) AS orders FROM dbo.orders GROUP BY o_w_id, o_d_id) AS o LEFT JOIN \
    (SELECT no_w_id, no_d_id, COUNT(*) AS new_orders FROM dbo.new_order GROUP BY no_w_id, no_d_id) AS n \
    ON no_w_id = o_w_id AND no_d_id = o_d_id;";

/// Customers with the sums of their delivered lines and their payments.
macro_rules! of_customers {
    ($broken:literal) => {
        concat!(
            "SELECT c_id FROM dbo.customer \
             LEFT JOIN (SELECT o_w_id, o_d_id, o_c_id, SUM(amount) AS amount FROM dbo.orders JOIN \
             (SELECT ol_w_id, ol_d_id, ol_o_id, SUM(ol_amount) AS amount FROM dbo.order_line \
             WHERE ol_delivery_d IS NOT NULL GROUP BY ol_w_id, ol_d_id, ol_o_id) AS l \
             ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id GROUP BY o_w_id, o_d_id, o_c_id) \
             AS o \
             ON o_w_id = c_w_id AND o_d_id = c_d_id AND o_c_id = c_id \
             LEFT JOIN (SELECT h_c_w_id, h_c_d_id, h_c_id, SUM(h_amount) AS paid FROM dbo.history \
             GROUP BY h_c_w_id, h_c_d_id, h_c_id) AS h \
             ON h_c_w_id = c_w_id AND h_c_d_id = c_d_id AND h_c_id = c_id WHERE ",
            $broken
        )
    };
}

const CONDITIONS: [Condition; 12] = [
    Condition {
        number: 1,
        holds: "W_YTD is the sum of D_YTD",
        broken: "SELECT w_id FROM dbo.warehouse LEFT JOIN (SELECT d_w_id, SUM(d_ytd) AS ytd FROM \
            dbo.district \
                 GROUP BY d_w_id) AS d ON d_w_id = w_id WHERE w_ytd <> ISNULL(ytd, 0)",
    },
    Condition {
        number: 2,
        holds: "D_NEXT_O_ID - 1 is the highest O_ID and the highest NO_O_ID",
        broken: "SELECT d_id FROM dbo.district \
                 LEFT JOIN (SELECT o_w_id, o_d_id, MAX(o_id) AS last FROM dbo.orders GROUP BY o_w_id, \
                 o_d_id) AS o \
                 ON o_w_id = d_w_id AND o_d_id = d_id \
                 LEFT JOIN (SELECT no_w_id, no_d_id, MAX(no_o_id) AS last FROM dbo.new_order \
                 GROUP BY no_w_id, no_d_id) AS n ON no_w_id = d_w_id AND no_d_id = d_id \
                 WHERE d_next_o_id - 1 <> ISNULL(o.last, 0) OR d_next_o_id - 1 <> n.last",
    },
    Condition {
        number: 3,
        holds: "the numbers of new orders have no gap",
        broken: "SELECT no_d_id FROM dbo.new_order GROUP BY no_w_id, no_d_id \
                 HAVING MAX(no_o_id) - MIN(no_o_id) + 1 <> COUNT(*)",
    },
    Condition {
        number: 4,
        holds: "the sum of O_OL_CNT is the number of order lines",
        broken: "SELECT o_d_id FROM (SELECT o_w_id, o_d_id, SUM(CAST(o_ol_cnt AS bigint)) AS lines FROM \
            dbo.orders \
                 GROUP BY o_w_id, o_d_id) AS o FULL JOIN (SELECT ol_w_id, ol_d_id, COUNT_BIG(*) AS lines \
                 FROM dbo.order_line GROUP BY ol_w_id, ol_d_id) AS l ON ol_w_id = o_w_id AND ol_d_id = \
                 o_d_id \
                 WHERE ISNULL(o.lines, 0) <> ISNULL(l.lines, 0)",
    },
    Condition {
        number: 5,
        holds: "O_CARRIER_ID is NULL exactly where there is a row in NEW-ORDER",
        broken: "SELECT o_id FROM dbo.orders FULL JOIN dbo.new_order ON no_w_id = o_w_id AND no_d_id = \
            o_d_id \
                 AND no_o_id = o_id WHERE o_id IS NULL OR (o_carrier_id IS NULL AND no_o_id IS NULL) \
                 OR (o_carrier_id IS NOT NULL AND no_o_id IS NOT NULL)",
    },
    Condition {
        number: 6,
        holds: "O_OL_CNT is the number of the order's lines",
        broken: "SELECT o_id FROM dbo.orders FULL JOIN (SELECT ol_w_id, ol_d_id, ol_o_id, COUNT(*) AS lines \
                 FROM dbo.order_line GROUP BY ol_w_id, ol_d_id, ol_o_id) AS l \
                 ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id \
                 WHERE o_id IS NULL OR o_ol_cnt <> ISNULL(lines, 0)",
    },
    Condition {
        number: 7,
        holds: "OL_DELIVERY_D is NULL exactly where O_CARRIER_ID is",
        broken: "SELECT o_id FROM dbo.order_line JOIN dbo.orders ON o_w_id = ol_w_id AND o_d_id = ol_d_id \
            AND \
                 o_id = ol_o_id WHERE (ol_delivery_d IS NULL AND o_carrier_id IS NOT NULL) \
                 OR (ol_delivery_d IS NOT NULL AND o_carrier_id IS NULL)",
    },
    Condition {
        number: 8,
        holds: "W_YTD is the sum of H_AMOUNT",
        broken: "SELECT w_id FROM dbo.warehouse LEFT JOIN (SELECT h_w_id, SUM(h_amount) AS paid FROM \
            dbo.history \
                 GROUP BY h_w_id) AS h ON h_w_id = w_id WHERE w_ytd <> ISNULL(paid, 0)",
    },
    Condition {
        number: 9,
        holds: "D_YTD is the sum of H_AMOUNT",
        broken: "SELECT d_id FROM dbo.district LEFT JOIN (SELECT h_w_id, h_d_id, SUM(h_amount) AS paid \
                 FROM dbo.history GROUP BY h_w_id, h_d_id) AS h ON h_w_id = d_w_id AND h_d_id = d_id \
                 WHERE d_ytd <> ISNULL(paid, 0)",
    },
    Condition {
        number: 10,
        holds: "C_BALANCE is the sum of the delivered lines less the payments",
        broken: of_customers!("c_balance <> ISNULL(amount, 0) - ISNULL(paid, 0)"),
    },
    Condition {
        number: 11,
        holds: "in each district the orders of the beginning and those that sessions got are delivered",
        // Compared with what sessions got.
        broken: DELIVERED,
    },
    Condition {
        number: 12,
        holds: "C_BALANCE and C_YTD_PAYMENT come to the sum of the delivered lines",
        broken: of_customers!("c_balance + c_ytd_payment <> ISNULL(amount, 0)"),
    },
];

/// How many conditions there are.
#[cfg(test)]
pub(crate) const COUNT: usize = CONDITIONS.len();

/// Checks all conditions, several at a time; one sentence for each that does not hold.
pub(crate) fn broken(
    target: &dyn Target,
    database: &str,
    scale: Scale,
    moment: Moment<'_>,
) -> Result<Vec<String>, TargetError> {
    let next = AtomicUsize::new(0);
    let found = Mutex::new(Vec::new());
    let error = Mutex::new(None);
    let threads = thread::available_cpus().min(CONDITIONS.len());
    let sessions: Result<Vec<_>, _> = (0..threads).map(|_| session_in(target, database)).collect();
    let check = |session: &mut dyn Session, condition: &Condition| {
        let rows = condition.count(session, scale, moment)?;
        if rows > 0 {
            let text = format!(
                "condition {} ({}): {rows} rows break it",
                condition.number, condition.holds
            );
            found.lock().push((condition.number, text));
        }
        Ok(())
    };
    let work = |mut session: Box<dyn Session>| {
        while error.lock().is_none() {
            // The longest stand last.
            let place = next.fetch_add(1, Ordering::Relaxed);
            let Some(condition) = CONDITIONS.iter().rev().nth(place) else {
                break;
            };
            if let Err(e) = check(session.as_mut(), condition) {
                error.lock().get_or_insert(e);
            }
        }
    };
    thread::scope(|scope| {
        let work = &work;
        for (n, session) in sessions?.into_iter().enumerate() {
            let started =
                thread::spawn_scoped(scope, format!("conditions {n}"), move || work(session));
            started.map_err(|e| TargetError::other(e.to_string()))?;
        }
        Ok(())
    })?;
    if let Some(error) = error.into_inner() {
        return Err(error);
    }
    let mut found = found.into_inner();
    found.sort();
    Ok(found.into_iter().map(|(_, text)| text).collect())
}

/// Rows that transactions leave behind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Totals {
    /// Sum of D_NEXT_O_ID.
    pub(crate) next_orders: u64,
    /// Rows of HISTORY.
    pub(crate) payments: u64,
    /// Rows of NEW-ORDER.
    pub(crate) undelivered: u64,
}

/// Counts them.
pub(crate) fn totals(target: &dyn Target, database: &str) -> Result<Totals, TargetError> {
    let mut session = session_in(target, database)?;
    let reply = session.batch(
        "SELECT (SELECT SUM(CAST(d_next_o_id AS bigint)) FROM dbo.district), \
         (SELECT COUNT_BIG(*) FROM dbo.history), (SELECT COUNT_BIG(*) FROM dbo.new_order);",
    )?;
    match reply.rows.first().map(Vec::as_slice) {
        Some([orders, payments, undelivered]) => Ok(Totals {
            next_orders: orders.count(),
            payments: payments.count(),
            undelivered: undelivered.count(),
        }),
        _ => Err(TargetError::other(
            "the tables of the load cannot be counted",
        )),
    }
}

/// What the database has lost or made up, by what sessions got: one sentence each.
pub(crate) fn differences(before: Totals, after: Totals, asked: &Asked) -> Vec<String> {
    let mut found = Vec::new();
    let mut compare = |what: &str, stored: u64, got: u64| {
        if stored != got {
            found.push(format!(
                "{what}: the database has {stored} of this run, sessions got {got}"
            ));
        }
    };
    let grown = |of: fn(&Totals) -> u64| of(&after).wrapping_sub(of(&before));
    compare("new orders", grown(|t| t.next_orders), asked.new_orders);
    compare("payments", grown(|t| t.payments), asked.of(Kind::Payment));
    let undelivered = before.undelivered + asked.new_orders;
    compare(
        "undelivered orders",
        after.undelivered,
        undelivered.saturating_sub(asked.delivered),
    );
    found
}
