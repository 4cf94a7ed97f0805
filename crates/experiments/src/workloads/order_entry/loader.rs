//! The load of the tables: parts in parallel, many rows a statement, many statements a transaction.

use super::population::{Part, Population};
use super::random::Random;
use super::schema::{
    CUSTOMER, DISTRICT, HISTORY, HotRows, INDEXES, ITEM, NEW_ORDER, ORDER_LINE, ORDERS, STOCK,
    Table, WAREHOUSE, create,
};
use crate::targets::{Session, StatementId, Target, TargetError, Value};
use crate::workloads::place::failed;
use crate::workloads::prepared::session_in;
use furrow_io::thread;
use furrow_io::time::{Duration, sleep};
use furrow_lab::experiment::StepError;
use parking_lot::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

/// Values of one statement, at most: a row of the widest table has 21.
const VALUES_A_STATEMENT: usize = 640;
/// Rows of a transaction: fewer than those at which row locks turn into a table's.
const ROWS_A_TRANSACTION: usize = 2000;
/// Threads at most, whatever the machine has.
const MOST_THREADS: usize = 16;

/// Inserts rows of one table, many a statement.
struct Rows {
    columns: usize,
    rows: usize,
    many: StatementId,
    one: StatementId,
    values: Vec<Value>,
}

impl Rows {
    fn new(session: &mut dyn Session, table: &Table) -> Result<Rows, TargetError> {
        let columns = table.columns.len();
        let rows = (VALUES_A_STATEMENT / columns).max(1);
        Ok(Rows {
            columns,
            rows,
            many: prepare(session, table, rows)?,
            one: prepare(session, table, 1)?,
            values: Vec::with_capacity(rows * columns),
        })
    }

    fn add(&mut self, session: &mut dyn Session, row: Vec<Value>) -> Result<(), TargetError> {
        debug_assert_eq!(row.len(), self.columns, "a value for each column");
        self.values.extend(row);
        if self.values.len() < self.rows * self.columns {
            return Ok(());
        }
        session.execute(self.many, &self.values)?;
        self.values.clear();
        Ok(())
    }

    fn flush(&mut self, session: &mut dyn Session) -> Result<(), TargetError> {
        for row in self.values.chunks(self.columns) {
            session.execute(self.one, row)?;
        }
        self.values.clear();
        Ok(())
    }
}

fn prepare(
    session: &mut dyn Session,
    table: &Table,
    rows: usize,
) -> Result<StatementId, TargetError> {
    let names: Vec<&str> = table.columns.iter().map(|(name, _)| *name).collect();
    let mut parameters = Vec::new();
    let mut values = Vec::new();
    for row in 0..rows {
        let name = |column: usize| format!("@r{row}c{column}");
        let places: Vec<String> = (0..names.len()).map(name).collect();
        for (place, (_, of)) in places.iter().zip(table.columns) {
            parameters.push(format!("{place} {}", of.trim_end_matches(" NULL")));
        }
        values.push(format!("({})", places.join(", ")));
    }
    let text = format!(
        "INSERT INTO dbo.{} ({}) VALUES {};",
        table.name,
        names.join(", "),
        values.join(", ")
    );
    session.prepare(&text, &parameters.join(", "))
}

/// A part under way on one session.
struct Filling<'a> {
    session: Box<dyn Session>,
    population: &'a Population,
    shared: &'a Shared<'a>,
    open: usize,
}

struct Shared<'a> {
    parts: Vec<Part>,
    next: AtomicUsize,
    rows: AtomicU64,
    cancel: &'a AtomicBool,
    error: Mutex<Option<StepError>>,
    running: AtomicUsize,
}

impl Filling<'_> {
    /// Counts a row; commits when there are enough.
    fn step(&mut self, rows: &mut [&mut Rows]) -> Result<(), StepError> {
        self.open += 1;
        if self.open >= ROWS_A_TRANSACTION {
            self.commit(rows)?;
            self.begin()?;
        }
        Ok(())
    }

    fn begin(&mut self) -> Result<(), StepError> {
        if self.shared.cancel.load(Ordering::Relaxed) {
            return Err(StepError::Cancelled);
        }
        let begun = self.session.batch("BEGIN TRANSACTION;");
        begun.map(|_| ()).map_err(failed)
    }

    fn commit(&mut self, rows: &mut [&mut Rows]) -> Result<(), StepError> {
        for rows in rows {
            rows.flush(self.session.as_mut()).map_err(failed)?;
        }
        self.session.batch("COMMIT TRANSACTION;").map_err(failed)?;
        let done = std::mem::take(&mut self.open) as u64;
        self.shared.rows.fetch_add(done, Ordering::Relaxed);
        Ok(())
    }

    fn rows(&mut self, table: &Table) -> Result<Rows, StepError> {
        Rows::new(self.session.as_mut(), table).map_err(failed)
    }

    fn part(&mut self, part: Part) -> Result<(), StepError> {
        let mut random = self.population.random(part);
        match part {
            Part::Items => self.items(&mut random),
            Part::Stock(w) => self.stock(&mut random, w),
            Part::Customers(w) => self.customers(&mut random, w),
            Part::Orders(w) => self.orders(&mut random, w),
        }
    }

    fn items(&mut self, random: &mut Random) -> Result<(), StepError> {
        let mut items = self.rows(&ITEM)?;
        self.begin()?;
        for id in 1..=self.population.scale.items {
            let row = Population::item(random, id);
            items.add(self.session.as_mut(), row).map_err(failed)?;
            self.step(&mut [&mut items])?;
        }
        self.commit(&mut [&mut items])
    }

    fn stock(&mut self, random: &mut Random, w: u32) -> Result<(), StepError> {
        let (mut warehouse, mut district) = (self.rows(&WAREHOUSE)?, self.rows(&DISTRICT)?);
        let mut stock = self.rows(&STOCK)?;
        self.begin()?;
        let session = self.session.as_mut();
        let row = self.population.warehouse(random, w);
        warehouse.add(session, row).map_err(failed)?;
        for d in 1..=self.population.scale.districts {
            let row = self.population.district(random, (w, d));
            district.add(session, row).map_err(failed)?;
        }
        for item in 1..=self.population.scale.items {
            let row = Population::stock(random, (w, item));
            stock.add(self.session.as_mut(), row).map_err(failed)?;
            self.step(&mut [&mut warehouse, &mut district, &mut stock])?;
        }
        self.commit(&mut [&mut warehouse, &mut district, &mut stock])
    }

    fn customers(&mut self, random: &mut Random, w: u32) -> Result<(), StepError> {
        let (mut customers, mut history) = (self.rows(&CUSTOMER)?, self.rows(&HISTORY)?);
        self.begin()?;
        for d in 1..=self.population.scale.districts {
            for c in 1..=self.population.scale.customers {
                let row = self.population.customer(random, (w, d, c));
                customers.add(self.session.as_mut(), row).map_err(failed)?;
                self.step(&mut [&mut customers, &mut history])?;
                let row = Population::history(random, (w, d, c));
                history.add(self.session.as_mut(), row).map_err(failed)?;
                self.step(&mut [&mut customers, &mut history])?;
            }
        }
        self.commit(&mut [&mut customers, &mut history])
    }

    fn orders(&mut self, random: &mut Random, w: u32) -> Result<(), StepError> {
        let (mut orders, mut lines) = (self.rows(&ORDERS)?, self.rows(&ORDER_LINE)?);
        let mut new_orders = self.rows(&NEW_ORDER)?;
        self.begin()?;
        for d in 1..=self.population.scale.districts {
            let customers = self.population.ordering(random);
            for (o, customer) in (1..).zip(customers) {
                let rows = self.population.order(random, (w, d), (o, customer));
                let session = self.session.as_mut();
                orders.add(session, rows.order).map_err(failed)?;
                let of_order = rows.lines.len() + usize::from(rows.new_order.is_some());
                for row in rows.lines {
                    lines.add(session, row).map_err(failed)?;
                }
                if let Some(row) = rows.new_order {
                    new_orders.add(session, row).map_err(failed)?;
                }
                self.open += of_order;
                self.step(&mut [&mut orders, &mut lines, &mut new_orders])?;
            }
        }
        self.commit(&mut [&mut orders, &mut lines, &mut new_orders])
    }
}

/// A thread that works; counted until it ends, by a panic too.
struct Running<'a>(&'a AtomicUsize);

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Release);
    }
}

fn work(session: Box<dyn Session>, population: &Population, shared: &Shared<'_>) {
    let _running = Running(&shared.running);
    let mut filling = Filling {
        session,
        population,
        shared,
        open: 0,
    };
    while shared.error.lock().is_none() {
        let place = shared.next.fetch_add(1, Ordering::Relaxed);
        let Some(&part) = shared.parts.get(place) else {
            break;
        };
        if let Err(error) = filling.part(part) {
            shared.error.lock().get_or_insert(error);
        }
    }
}

/// Makes the tables of the load in a database, fills them, makes their indexes, and ends with a
/// checkpoint. `live` is called with the share that is done.
pub(crate) fn load(
    target: &dyn Target,
    database: &str,
    population: &Population,
    hot_rows: HotRows,
    cancel: &AtomicBool,
    live: &mut dyn FnMut(f64),
) -> Result<(), StepError> {
    let mut session = session_in(target, database).map_err(failed)?;
    create(session.as_mut(), hot_rows).map_err(failed)?;
    let parts = population.parts();
    let threads = thread::available_cpus().min(MOST_THREADS).min(parts.len());
    let sessions: Result<Vec<_>, _> = (0..threads).map(|_| session_in(target, database)).collect();
    let sessions = sessions.map_err(failed)?;
    let shared = Shared {
        parts,
        next: AtomicUsize::new(0),
        rows: AtomicU64::new(0),
        cancel,
        error: Mutex::new(None),
        running: AtomicUsize::new(threads),
    };
    let shared = &shared;
    thread::scope(|scope| {
        for (n, session) in sessions.into_iter().enumerate() {
            let body = move || work(session, population, shared);
            if let Err(e) = thread::spawn_scoped(scope, format!("loader {n}"), body) {
                let text = format!("cannot start a thread: {e}");
                shared.error.lock().get_or_insert(StepError::Failed(text));
                shared.running.fetch_sub(1, Ordering::Release);
            }
        }
        let all = population.scale.rows().max(1) as f64;
        while shared.running.load(Ordering::Acquire) > 0 {
            live((shared.rows.load(Ordering::Relaxed) as f64 / all).min(1.0));
            sleep(Duration::from_millis(20));
        }
    });
    if let Some(error) = shared.error.lock().take() {
        return Err(error);
    }
    for index in INDEXES {
        session.batch(index).map_err(failed)?;
    }
    session.batch("CHECKPOINT;").map(|_| ()).map_err(failed)
}
