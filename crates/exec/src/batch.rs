//! Rows of a table, a page at a time: the columns that are wanted are taken from the records where they lie,
//! under the latch of their page, into lanes that are used again for the next page.
//!
//! Conditions that compare a column of whole numbers with a value that is known before the scan begins, and
//! LIKE with a constant pattern, are tested there too ([`Quick`]), as far as they come first in the filter.
//! So no condition is tested for a row that an earlier one has rejected, and a condition that may raise an
//! error is tested with no latch held.

use super::expr::{Cond, Expr, Like};
use super::scan::ScanPlan;
use furrow_context::context::Context;
use furrow_context::error::{Result, SqlError};
use furrow_engine::{EngineError, LeafRow, LeafRows, Number, NumberColumn, OpenScan};
use furrow_scalar::Settings;
use furrow_scalar::ops::{CompareOp, LikeBytes};
use furrow_types::{Family, TypeId, Value};

/// Rows of a batch after which no page is begun.
const MOST: usize = 1024;

/// A column's values, one for each row.
#[derive(Debug)]
pub(crate) enum Lane {
    Whole(Whole),
    /// Of any other type.
    Other(Vec<Value>),
}

/// Whole numbers of one type.
#[derive(Debug)]
pub(crate) struct Whole {
    kind: TypeId,
    pub values: Vec<i64>,
    /// Which are NULL; those have the value 0.
    pub nulls: Vec<bool>,
    pub(crate) any_null: bool,
}

/// Whether values of a type go into a lane of whole numbers.
fn is_whole(kind: TypeId) -> bool {
    matches!(
        kind,
        TypeId::Int | TypeId::BigInt | TypeId::SmallInt | TypeId::TinyInt
    )
}

impl Lane {
    /// The value of a row.
    pub(crate) fn value(&self, row: usize) -> Value {
        match self {
            Lane::Whole(lane) => lane.value(row),
            Lane::Other(values) => values.get(row).cloned().unwrap_or(Value::Null),
        }
    }

    /// Whether any value is NULL.
    pub(crate) fn any_null(&self) -> bool {
        match self {
            Lane::Whole(lane) => lane.any_null,
            Lane::Other(values) => values.iter().any(Value::is_null),
        }
    }
}

impl Whole {
    #[inline]
    fn value(&self, row: usize) -> Value {
        let (Some(&value), Some(false)) = (self.values.get(row), self.nulls.get(row)) else {
            return Value::Null;
        };
        self.value_of(value)
    }

    /// A number as a value of the column's type.
    #[inline]
    pub(crate) fn value_of(&self, value: i64) -> Value {
        match self.kind {
            TypeId::Int => Value::Int(value as i32),
            TypeId::SmallInt => Value::SmallInt(value as i16),
            TypeId::TinyInt => Value::TinyInt(value as u8),
            _ => Value::BigInt(value),
        }
    }

    #[inline]
    fn push(&mut self, value: Option<i64>) {
        self.any_null |= value.is_none();
        self.values.push(value.unwrap_or(0));
        self.nulls.push(value.is_none());
    }
}

/// A whole number of a row; its place in the row is known once the scan is open.
#[inline]
fn number_of(
    row: LeafRow<'_>,
    column: usize,
    place: Option<&NumberColumn>,
) -> std::result::Result<Option<i64>, EngineError> {
    match place.map_or(Number::Unclear, |place| row.number(place)) {
        Number::Is(value) => Ok(Some(value)),
        Number::Null => Ok(None),
        Number::Unclear => Ok(row.row()?.value(column)?.as_i64()),
    }
}

/// A condition that can be tested for a row where it lies.
#[derive(Debug)]
enum Quick {
    Number(QuickNumber),
    Like(QuickLike),
}

impl Quick {
    /// The scan is open.
    fn open(&mut self, scan: &OpenScan) {
        if let Quick::Number(quick) = self {
            quick.place = scan.number_column(quick.column);
        }
    }

    #[inline]
    fn holds(&self, row: LeafRow<'_>) -> std::result::Result<bool, EngineError> {
        match self {
            Quick::Number(quick) => quick.holds(row),
            Quick::Like(quick) => quick.holds(row),
        }
    }
}

/// `column op number`, or nothing at all where the number is NULL.
#[derive(Debug)]
struct QuickNumber {
    column: usize,
    place: Option<NumberColumn>,
    op: CompareOp,
    value: Option<i64>,
}

impl QuickNumber {
    #[inline]
    fn holds(&self, row: LeafRow<'_>) -> std::result::Result<bool, EngineError> {
        let value = number_of(row, self.column, self.place.as_ref())?;
        Ok(match (value, self.value) {
            (Some(a), Some(b)) => self.op.holds(a.cmp(&b)),
            _ => false,
        })
    }
}

/// `column [NOT] LIKE pattern`, of text in code page 1252.
#[derive(Debug)]
struct QuickLike {
    column: usize,
    pattern: LikeBytes,
    not: bool,
}

impl QuickLike {
    fn of(plan: &ScanPlan, like: &Like, not: bool) -> Option<QuickLike> {
        let Expr::Column(column) = like.text else {
            return None;
        };
        let of = plan.table.columns().get(column)?.data_type;
        // Large values lie elsewhere.
        let here = matches!(of.id, TypeId::Char | TypeId::VarChar) && of.length > 0;
        let pattern = like.compiled.as_ref().filter(|_| here)?.of_bytes()?;
        Some(QuickLike {
            column,
            pattern,
            not,
        })
    }

    #[inline]
    fn holds(&self, row: LeafRow<'_>) -> std::result::Result<bool, EngineError> {
        let row = row.row()?;
        if let Some(text) = row.bytes(self.column) {
            return Ok(self.pattern.matches(text) != self.not);
        }
        // NULL, for which no condition is true; or a value that cannot be read, which is an error.
        row.value(self.column).map(|_| false)
    }
}

/// The conditions of a filter, in their order.
fn parts(filter: Option<&Cond>) -> &[Cond] {
    match filter {
        None => &[],
        Some(Cond::And(parts)) => parts,
        Some(one) => std::slice::from_ref(one),
    }
}

/// A value that is the same for all rows of a scan.
fn is_settled(expr: &Expr) -> bool {
    match expr {
        Expr::Const(_) | Expr::Variable(_) | Expr::Outer(_) => true,
        Expr::Convert(parts) => is_settled(&parts.1),
        _ => false,
    }
}

fn quick(plan: &ScanPlan, cond: &Cond, cx: &mut Context) -> Option<Quick> {
    let compared = match cond {
        Cond::Compare(compared) => compared,
        Cond::Like(like) => return QuickLike::of(plan, like, false).map(Quick::Like),
        Cond::Not(part) => match &**part {
            Cond::Like(like) => return QuickLike::of(plan, like, true).map(Quick::Like),
            _ => return None,
        },
        _ => return None,
    };
    let (compare, left, right) = &**compared;
    if compare.common.id.family() != Family::Integer
        || compare.left.is_some()
        || compare.right.is_some()
    {
        return None;
    }
    let (column, op, value) = match (left, right) {
        (Expr::Column(at), value) if is_settled(value) => (*at, compare.op, value),
        (value, Expr::Column(at)) if is_settled(value) => (*at, compare.op.mirrored(), value),
        _ => return None,
    };
    let kind = plan.table.columns().get(column)?.data_type.id;
    // The filter itself reports what cannot be converted.
    let value = value.eval(&[], cx).ok()?;
    let number = value.as_i64();
    (is_whole(kind) && number.is_some() != value.is_null()).then_some(Quick::Number(QuickNumber {
        column,
        place: None,
        op,
        value: number,
    }))
}

/// A scan by pages, and the rows of the last one.
#[derive(Debug)]
pub struct Batches<'p> {
    plan: &'p ScanPlan,
    quick: Vec<Quick>,
    /// What is left of the filter.
    pub rest: &'p [Cond],
    /// The columns that are wanted behind the conditions tested here.
    columns: Vec<usize>,
    /// For each of them.
    lanes: Vec<Lane>,
    /// Where those of whole numbers are, once the scan is open.
    places: Vec<Option<NumberColumn>>,
    opened: bool,
    /// After so many rows no further page is begun: one page at first, for a caller that wants only a few
    /// rows.
    most: usize,
    rows: usize,
    /// The row that is given next.
    next: usize,
}

impl<'p> Batches<'p> {
    /// A scan that fills these columns.
    pub fn new(plan: &'p ScanPlan, columns: Vec<usize>, cx: &mut Context) -> Batches<'p> {
        let parts = parts(plan.filter.as_ref());
        let quick: Vec<Quick> = parts.iter().map_while(|c| quick(plan, c, cx)).collect();
        let lane = |&column: &usize| {
            let kind = plan.table.columns().get(column).map(|c| c.data_type.id);
            match kind.filter(|kind| is_whole(*kind)) {
                Some(kind) => Lane::Whole(Whole {
                    kind,
                    values: Vec::new(),
                    nulls: Vec::new(),
                    any_null: false,
                }),
                None => Lane::Other(Vec::new()),
            }
        };
        Batches {
            plan,
            rest: parts.get(quick.len()..).unwrap_or_default(),
            quick,
            lanes: columns.iter().map(lane).collect(),
            columns,
            places: Vec::new(),
            opened: false,
            most: 0,
            rows: 0,
            next: 0,
        }
    }

    /// How many rows the last page had.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The values of a column of the table.
    pub(crate) fn lane(&self, column: usize) -> Option<&Lane> {
        let at = self.columns.iter().position(|c| *c == column)?;
        self.lanes.get(at)
    }

    /// Whether an expression can be computed by columns: sums, differences and products of whole numbers.
    pub fn can(expr: &Expr) -> bool {
        match expr {
            Expr::Column(_) => true,
            Expr::Binary(parts) => {
                let part = |side: &Expr| match side {
                    Expr::Const(value) => value.as_i64().is_some(),
                    side => Batches::can(side),
                };
                parts.0.is_whole() && part(&parts.1) && part(&parts.2)
            }
            _ => false,
        }
    }

    /// Adds the columns that such an expression looks at.
    pub fn columns_of(expr: &Expr, columns: &mut Vec<usize>) {
        match expr {
            Expr::Column(at) if !columns.contains(at) => columns.push(*at),
            Expr::Binary(parts) => {
                Batches::columns_of(&parts.1, columns);
                Batches::columns_of(&parts.2, columns);
            }
            _ => {}
        }
    }

    /// The values of an expression for which [`Batches::can`] returns `true`.
    pub(crate) fn compute(&self, expr: &Expr, settings: &Settings) -> Result<Lane> {
        let mut lane = Whole {
            kind: match expr {
                Expr::Binary(parts) => parts.0.result.id,
                _ => TypeId::BigInt,
            },
            values: Vec::with_capacity(self.rows),
            nulls: Vec::with_capacity(self.rows),
            any_null: false,
        };
        for row in 0..self.rows {
            lane.push(self.compute_row(expr, row, settings)?);
        }
        Ok(Lane::Whole(lane))
    }

    fn compute_row(&self, expr: &Expr, row: usize, settings: &Settings) -> Result<Option<i64>> {
        Ok(match expr {
            Expr::Const(value) => value.as_i64(),
            Expr::Column(column) => match self.lane(*column) {
                Some(Lane::Whole(lane)) => {
                    let null = lane.nulls.get(row) == Some(&true);
                    lane.values.get(row).copied().filter(|_| !null)
                }
                lane => lane.and_then(|lane| lane.value(row).as_i64()),
            },
            Expr::Binary(parts) => {
                let (op, left, right) = &**parts;
                let left = self.compute_row(left, row, settings)?;
                let right = self.compute_row(right, row, settings)?;
                let (Some(a), Some(b)) = (left, right) else {
                    return Ok(None);
                };
                match op.eval_whole(a, b) {
                    Some(result) => Some(result),
                    // This returns the error.
                    None => op
                        .eval(&Value::BigInt(a), &Value::BigInt(b), settings)?
                        .as_i64(),
                }
            }
            _ => None,
        })
    }

    /// Takes the rows of the next page; `false` at the end.
    pub fn fill(&mut self, scan: &mut OpenScan, cx: &mut Context) -> Result<bool> {
        cx.check_cancel()?;
        self.clear();
        let session = cx.sessions.by_table(self.plan.db, &self.plan.table)?;
        if self.lanes.is_empty() && self.quick.is_empty() {
            let mut rows = 0_u64;
            let more = session.step_leaf(scan, LeafRows::Count(&mut rows))?;
            self.rows = rows as usize;
            return Ok(more);
        }
        if !self.opened {
            self.opened = true;
            let columns = self.columns.iter();
            self.places = columns.map(|column| scan.number_column(*column)).collect();
            for quick in &mut self.quick {
                quick.open(scan);
            }
        }
        let mut failed = None;
        let most = std::mem::replace(&mut self.most, MOST);
        let mut each = |row: LeafRow<'_>| {
            if failed.is_none() {
                failed = self.take(row).err();
            }
        };
        let more = session.step_leaf(scan, LeafRows::Each(&mut each, most))?;
        match failed {
            Some(error) => Err(Box::<SqlError>::from(error)),
            None => Ok(more),
        }
    }

    fn clear(&mut self) {
        (self.rows, self.next) = (0, 0);
        for lane in &mut self.lanes {
            match lane {
                Lane::Whole(lane) => {
                    lane.values.clear();
                    lane.nulls.clear();
                    lane.any_null = false;
                }
                Lane::Other(values) => values.clear(),
            }
        }
    }

    #[inline]
    fn take(&mut self, row: LeafRow<'_>) -> std::result::Result<(), EngineError> {
        for quick in &self.quick {
            if !quick.holds(row)? {
                return Ok(());
            }
        }
        let mut whole = None;
        for ((lane, &column), place) in self.lanes.iter_mut().zip(&self.columns).zip(&self.places) {
            match lane {
                Lane::Whole(lane) => lane.push(number_of(row, column, place.as_ref())?),
                Lane::Other(values) => {
                    let row = match whole {
                        Some(row) => row,
                        None => *whole.insert(row.row()?),
                    };
                    values.push(row.value(column)?);
                }
            }
        }
        self.rows += 1;
        Ok(())
    }

    /// Moves the next row's values to their places in `out`; `false` where the page has no more.
    #[inline]
    pub fn give(&mut self, out: &mut [Value]) -> bool {
        let at = self.next;
        if at >= self.rows {
            return false;
        }
        self.next += 1;
        for (lane, &column) in self.lanes.iter_mut().zip(&self.columns) {
            let Some(place) = out.get_mut(column) else {
                continue;
            };
            *place = match lane {
                Lane::Whole(lane) => lane.value(at),
                Lane::Other(values) => {
                    let value = values.get_mut(at);
                    value.map_or(Value::Null, |value| std::mem::replace(value, Value::Null))
                }
            };
        }
        true
    }
}
