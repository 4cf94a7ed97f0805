//! An index created for one statement: rows that a correlated subquery finds by equality where the table has
//! no index for it.
//!
//! A subquery that is run for each row around it would read all of its table each time. The first run does.
//! At the second run, the rows that do not depend on the row around the subquery are stored by the columns
//! that are compared with that row, and from then on rows are looked up. Where there is no memory for them,
//! every run reads the table.

use super::expr::Expr;
use super::key::{KeyTable, Place};
use super::once::SubqueryResult;
use super::operator::{Cursor, Operator, Plan};
use furrow_context::context::Context;
use furrow_context::error::Result;
use furrow_context::memory::{Grant, row_bytes};
use furrow_types::{DataType, Value};
use std::sync::Arc;

/// Rows by key.
#[derive(Debug, Clone)]
pub struct SpoolPlan {
    /// Its number in the statement.
    pub number: u64,
    /// All rows; they look at nothing around them.
    pub input: Plan,
    /// The key of a row.
    pub keys: Vec<Expr>,
    /// The key that is looked up: on no row, but the frame.
    pub wanted: Vec<Expr>,
    /// The types that keys are compared as.
    pub types: Vec<DataType>,
    /// The rows with that key, found by reading.
    pub direct: Plan,
}

/// The rows, once they are stored.
#[derive(Debug)]
pub struct Spool {
    rows: Vec<Vec<Value>>,
    keys: KeyTable,
    /// For each key its rows.
    by_key: Vec<Vec<u32>>,
    /// What the rows take.
    grant: Grant,
}

/// What a row's number takes.
const NUMBER_BYTES: usize = 8;

impl SpoolPlan {
    pub(crate) fn open<'p>(&'p self, cx: &mut Context) -> Result<Cursor<'p>> {
        let spool = match cx.subqueries.get::<SubqueryResult>(&self.number) {
            Some(SubqueryResult::Spool(spool)) => Arc::clone(spool),
            Some(SubqueryResult::NoRoom) => return self.direct.open(cx),
            Some(_) => {
                let Some(spool) = self.build(cx)? else {
                    cx.subqueries.insert(self.number, SubqueryResult::NoRoom);
                    return self.direct.open(cx);
                };
                let kept = SubqueryResult::Spool(Arc::clone(&spool));
                cx.subqueries.insert(self.number, kept);
                spool
            }
            None => {
                cx.subqueries.insert(self.number, SubqueryResult::Begun);
                return self.direct.open(cx);
            }
        };
        let mut key = Vec::with_capacity(self.wanted.len());
        for wanted in &self.wanted {
            key.push(wanted.eval(&[], cx)?.into_owned());
        }
        let found = match key.iter().any(Value::is_null) {
            true => None,
            false => spool.keys.find(&key),
        };
        Ok(Cursor::new(SpoolCursor {
            spool,
            key: found,
            next: 0,
        }))
    }

    /// Stores the rows; `None` where there is no memory for them.
    fn build(&self, cx: &mut Context) -> Result<Option<Arc<Spool>>> {
        let mut spool = Spool {
            rows: Vec::new(),
            keys: KeyTable::new(self.types.clone(), Grant::new(&cx.memory)),
            by_key: Vec::new(),
            grant: Grant::new(&cx.memory),
        };
        let mut cursor = self.input.open(cx)?;
        let done = self.fill(&mut spool, &mut cursor, cx);
        cursor.close(cx);
        Ok(done?.then(|| Arc::new(spool)))
    }

    fn fill(&self, spool: &mut Spool, rows: &mut Cursor<'_>, cx: &mut Context) -> Result<bool> {
        let mut row = Vec::new();
        let mut key = Vec::with_capacity(self.keys.len());
        while rows.next(cx, &mut row)? {
            key.clear();
            for expr in &self.keys {
                key.push(expr.eval(&row, cx)?.into_owned());
            }
            // NULL equals nothing.
            if key.iter().any(Value::is_null) {
                continue;
            }
            if !spool.grant.fits(row_bytes(&row) + NUMBER_BYTES, 0) {
                return Ok(false);
            }
            let number = spool.rows.len() as u32;
            spool.rows.push(row.clone());
            let (Place::Known(at) | Place::New(at)) = spool.keys.place(&key) else {
                return Ok(false);
            };
            match spool.by_key.get_mut(at) {
                Some(numbers) => numbers.push(number),
                None => spool.by_key.push(vec![number]),
            }
        }
        Ok(true)
    }
}

struct SpoolCursor {
    spool: Arc<Spool>,
    key: Option<usize>,
    next: usize,
}

impl Operator for SpoolCursor {
    fn next(&mut self, _: &mut Context, out: &mut Vec<Value>) -> Result<bool> {
        let numbers = self.key.and_then(|key| self.spool.by_key.get(key));
        let number = numbers.and_then(|numbers| numbers.get(self.next));
        let Some(row) = number.and_then(|&number| self.spool.rows.get(number as usize)) else {
            return Ok(false);
        };
        self.next += 1;
        out.clone_from(row);
        Ok(true)
    }

    fn close(&mut self, _: &mut Context) {}
}
