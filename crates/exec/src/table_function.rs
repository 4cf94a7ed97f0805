//! Rows that table functions make of their arguments: STRING_SPLIT, GENERATE_SERIES, OPENJSON.

use super::Expr;
use super::openjson::OpenJson;
use super::operator::{Cursor, Operator, Ready};
use furrow_context::context::Context;
use furrow_context::error::{Result, refuse};
use furrow_context::memory::Grant;
use furrow_scalar::functions;
use furrow_types::{DataType, Decimal, TypeId, Value};

/// A table function with its arguments.
#[derive(Debug, Clone)]
pub enum TableFunctionPlan {
    /// STRING_SPLIT.
    Split {
        /// The text that is split.
        text: Expr,
        /// The separator.
        separator: Expr,
        /// Whether each part comes with its place.
        ordinal: bool,
        /// Whether the parts are `nvarchar`.
        unicode: bool,
    },
    /// Arguments of one type, which is that of the rows.
    Series {
        /// The first value.
        start: Expr,
        /// The last value that there can be.
        stop: Expr,
        /// The step; 1 or -1 where none is given.
        step: Option<Expr>,
        /// The type of the values.
        data_type: DataType,
    },
    /// The members of a JSON text.
    Json(OpenJson),
}

impl TableFunctionPlan {
    pub(crate) fn open<'p>(&'p self, cx: &mut Context) -> Result<Cursor<'p>> {
        match self {
            TableFunctionPlan::Json(open) => open.open(cx),
            TableFunctionPlan::Split {
                text,
                separator,
                ordinal,
                unicode,
            } => {
                let text = text.eval(&[], cx)?.into_owned();
                let separator = separator.eval(&[], cx)?;
                let parts =
                    functions::string_split(text.as_str(), separator.as_str().unwrap_or(""))?;
                let mut grant = Grant::new(&cx.memory);
                let mut rows = Vec::new();
                for (at, part) in (1..).zip(parts) {
                    cx.check_cancel()?;
                    let part = match unicode {
                        true => Value::NVarChar(part.to_owned()),
                        false => Value::VarChar(part.to_owned()),
                    };
                    let row = match ordinal {
                        true => vec![part, Value::BigInt(at)],
                        false => vec![part],
                    };
                    grant.row(&row)?;
                    rows.push(row);
                }
                Ok(Cursor::new(Ready::kept(rows, grant)))
            }
            TableFunctionPlan::Series {
                start,
                stop,
                step,
                data_type,
            } => {
                let mut number = |of: &Expr| -> Result<Option<i128>> {
                    Ok(whole(of.eval(&[], cx)?.as_ref(), data_type.scale))
                };
                let (start, stop) = (number(start)?, number(stop)?);
                let step = match step {
                    Some(step) => number(step)?,
                    None => {
                        let one = 10_i128.pow(u32::from(data_type.scale));
                        Some(if start > stop { -one } else { one })
                    }
                };
                if step == Some(0) {
                    return refuse(4199, &[0.into(), 3.into(), "generate_series".into()]);
                }
                // A NULL anywhere: no rows.
                let known = start.zip(stop).zip(step);
                let ((start, stop), step) = known.unwrap_or(((1, 0), 1));
                Ok(Cursor::new(Series {
                    next: Some(start),
                    stop,
                    step,
                    data_type: *data_type,
                }))
            }
        }
    }
}

/// A number of a series in steps of its scale.
fn whole(value: &Value, scale: u8) -> Option<i128> {
    match value {
        Value::Decimal(decimal) => {
            let more = u32::from(scale.checked_sub(decimal.scale)?);
            decimal.unscaled.checked_mul(10_i128.checked_pow(more)?)
        }
        other => other.as_i64().map(i128::from),
    }
}

/// A number of a series in its type; `None` where that does not go so far.
fn as_value(number: i128, of: &DataType) -> Option<Value> {
    Some(match of.id {
        TypeId::TinyInt => Value::TinyInt(number.try_into().ok()?),
        TypeId::SmallInt => Value::SmallInt(number.try_into().ok()?),
        TypeId::Int => Value::Int(number.try_into().ok()?),
        TypeId::BigInt => Value::BigInt(number.try_into().ok()?),
        _ => Value::Decimal(Decimal {
            unscaled: number,
            scale: of.scale,
        }),
    })
}

/// Numbers from one to another.
struct Series {
    next: Option<i128>,
    stop: i128,
    step: i128,
    data_type: DataType,
}

impl Operator for Series {
    fn next(&mut self, _: &mut Context, out: &mut Vec<Value>) -> Result<bool> {
        let Some(number) = self.next else {
            return Ok(false);
        };
        let beyond = match self.step > 0 {
            true => number > self.stop,
            false => number < self.stop,
        };
        let value = as_value(number, &self.data_type).filter(|_| !beyond);
        let Some(value) = value else {
            self.next = None;
            return Ok(false);
        };
        self.next = number.checked_add(self.step);
        out.clear();
        out.push(value);
        Ok(true)
    }

    fn close(&mut self, _: &mut Context) {}
}
