//! What a table asks of its rows: CHECK constraints, and defaults that are expressions.
//!
//! The engine keeps their texts. Here they are bound over the table's columns, when a statement that changes
//! the table is: a row for which a check is false is refused (547), and the statement undone; unknown passes.

use crate::bind::Binder;
use crate::context::Context;
use crate::ddl::{condition, expression};
use crate::error::{Result, unsupported};
use crate::exec::{Cond, Expr};
use furrow_engine::{Database, Table};
use furrow_format::types::{DataType, TypeId, Value};
use furrow_observe::messages::Message;
use furrow_scalar::convert::Conversion;
use furrow_tsql::ast::name::{Ident, ObjectName};
use furrow_tsql::ast::query::{TableRef, TableSource};

/// A check that is asked.
struct Check {
    name: String,
    /// `, column 'a'`, or nothing.
    column: String,
    fails: Cond,
}

/// The checks of a table that are asked.
#[derive(Default)]
pub(super) struct Checks(Vec<Check>);

impl Checks {
    /// Binds the checks of a table.
    pub(super) fn bind(cx: &mut Context, db: &Database, table: &Table) -> Result<Checks> {
        let mut checks = Vec::new();
        for check in table.checks().iter().filter(|c| !c.disabled) {
            let mut binder = Binder::new(cx);
            let parts = [db.name(), table.schema(), table.name()];
            let source = [TableRef::Table(Box::new(TableSource {
                name: ObjectName {
                    parts: parts.into_iter().map(Ident::new).collect(),
                },
                system_time: None,
                alias: None,
                sample: None,
                hints: Vec::new(),
            }))];
            binder.from(&source)?;
            let holds = binder.cond(&condition(&check.text)?)?;
            let column = table.columns().iter().find(|c| c.id == check.column);
            checks.push(Check {
                name: check.name.clone(),
                column: column.map_or_else(String::new, |c| format!(", column '{}'", c.name)),
                fails: Cond::Not(Box::new(holds)),
            });
        }
        Ok(Checks(checks))
    }

    /// Whether there are none.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// 547 when the row, all columns in order, fails one.
    pub(super) fn hold(
        &self,
        cx: &mut Context,
        row: &[Value],
        (statement, db, table): (&str, &Database, &Table),
    ) -> Result<()> {
        for check in &self.0 {
            if check.fails.holds(row, cx)? {
                let text = format!(
                    "The {statement} statement conflicted with the CHECK constraint \"{}\". The conflict \
                    occurred in database \"{}\", table \"{}\"{}.",
                    check.name,
                    db.name(),
                    table.full_name(),
                    check.column
                );
                return Err(Message::custom(547, 16, 0, &text).into());
            }
        }
        Ok(())
    }
}

/// What an INSERT adds to the rows that it is given.
pub(super) struct Completion {
    /// The columns that get values, those that were given first.
    pub(super) columns: Vec<usize>,
    defaults: Vec<Filled>,
    checks: Checks,
}

/// A default that is given as a value.
enum Filled {
    /// The engine's own: a constant, the time, a new GUID.
    Own(usize),
    /// An expression.
    Of(Expr),
}

impl Completion {
    /// For an INSERT that gives these columns.
    pub(super) fn bind(
        cx: &mut Context,
        db: &Database,
        table: &Table,
        given: &[usize],
    ) -> Result<Completion> {
        let checks = Checks::bind(cx, db, table)?;
        let mut columns = given.to_vec();
        let mut defaults = Vec::new();
        for (at, column) in table.columns().iter().enumerate() {
            if given.contains(&at) || !column.has_default() {
                continue;
            }
            match (&column.default, &column.default_text) {
                // A check must see the very value that is stored.
                (Some(_), _) if !checks.is_empty() => defaults.push(Filled::Own(at)),
                (Some(_), _) | (None, None) => continue,
                (None, Some(text)) => {
                    defaults.push(Filled::Of(default(cx, text, column.data_type)?));
                }
            }
            columns.push(at);
        }
        Ok(Completion {
            columns,
            defaults,
            checks,
        })
    }

    /// Adds the defaults to the values of a row.
    pub(super) fn complete(
        &self,
        cx: &mut Context,
        table: &Table,
        row: &[Value],
    ) -> Result<Option<Vec<Value>>> {
        if self.defaults.is_empty() {
            return Ok(None);
        }
        let mut values = row.to_vec();
        for filled in &self.defaults {
            values.push(match filled {
                Filled::Own(at) => table.columns()[*at].default_value()?,
                Filled::Of(expr) => expr.eval(&[], cx)?.into_owned(),
            });
        }
        Ok(Some(values))
    }

    /// 547 when the row that was inserted fails a check.
    pub(super) fn hold(
        &self,
        cx: &mut Context,
        (db, table): (&Database, &Table),
        (row, identity): (&[Value], Option<i64>),
    ) -> Result<()> {
        if self.checks.is_empty() {
            return Ok(());
        }
        let mut whole = vec![Value::Null; table.columns().len()];
        for (&column, value) in self.columns.iter().zip(row) {
            if let Some(place) = whole.get_mut(column) {
                place.clone_from(value);
            }
        }
        let settings = cx.settings();
        for (place, column) in whole.iter_mut().zip(table.columns()) {
            if let (true, Some(number)) = (column.identity && place.is_null(), identity) {
                let from = DataType::simple(TypeId::BigInt);
                *place = match Conversion::implicit(from, column.data_type)? {
                    Some(conversion) => conversion.apply(&Value::BigInt(number), &settings)?,
                    None => Value::BigInt(number),
                };
            }
        }
        self.checks.hold(cx, &whole, ("INSERT", db, table))
    }
}

/// A default that is an expression, as a value of the column's type.
pub(super) fn default(cx: &mut Context, text: &str, of: DataType) -> Result<Expr> {
    let written = expression(text)?;
    let mut binder = Binder::new(cx);
    let bound = binder.expr(&written)?;
    binder
        .coerce(bound, of)
        .map_err(|_| unsupported(&format!("the default {text}")))
}
