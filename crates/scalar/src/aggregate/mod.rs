//! Aggregates: COUNT, SUM, AVG, MIN, MAX, STDEV, VAR, CHECKSUM_AGG, STRING_AGG.
//!
//! [`resolve`] binds an aggregate to its argument's type and gives the type of the result;
//! [`BoundAggregate::start`] makes an [`Accumulator`] for each group, which takes values one by one, can
//! take in another one (parallel or partial aggregation), and gives its result. NULL is left out; of no
//! value at all everything but a count is NULL. DISTINCT is the executor's business: it feeds each value
//! once.

mod accumulate;

use std::cmp::Ordering;

use furrow_types::{DataType, Family, TypeId, Value};

pub use accumulate::Accumulator;

use crate::convert::Conversion;
use crate::error::{SqlResult, invalid_argument, invalid_operand, message};
use crate::operand::Operand;
use crate::types::{Allowed, allowed, string_type};

/// A row of the table of aggregates.
#[derive(Debug)]
pub struct AggregateInfo {
    /// The name.
    pub name: &'static str,
    /// The aggregate.
    pub aggregate: Aggregate,
    /// The result's type, in words.
    pub returns: &'static str,
    /// What it does, in a sentence.
    pub summary: &'static str,
}

const fn row(
    name: &'static str,
    aggregate: Aggregate,
    returns: &'static str,
    summary: &'static str,
) -> AggregateInfo {
    AggregateInfo {
        name,
        aggregate,
        returns,
        summary,
    }
}

const WIDE: &str = "int, bigint, numeric(38,s), money or float";

static ROWS: &[AggregateInfo] = &[
    row(
        "AVG",
        Aggregate::Avg,
        WIDE,
        "The mean; of integers an integer.",
    ),
    row(
        "CHECKSUM_AGG",
        Aggregate::ChecksumAgg,
        "int",
        "A hash of all values, in any order.",
    ),
    row(
        "COUNT",
        Aggregate::Count,
        "int",
        "How many rows, or values that are not NULL.",
    ),
    row("COUNT_BIG", Aggregate::CountBig, "bigint", "As COUNT."),
    row(
        "MAX",
        Aggregate::Max,
        "the argument's type",
        "The largest value.",
    ),
    row(
        "MIN",
        Aggregate::Min,
        "the argument's type",
        "The smallest value.",
    ),
    row(
        "STDEV",
        Aggregate::StDev,
        "float",
        "Standard deviation of a sample.",
    ),
    row(
        "STDEVP",
        Aggregate::StDevP,
        "float",
        "Standard deviation of all values.",
    ),
    row(
        "STRING_AGG",
        Aggregate::StringAgg,
        "varchar or nvarchar",
        "Texts joined by a separator.",
    ),
    row(
        "SUM",
        Aggregate::Sum,
        WIDE,
        "The sum; error 8115 where it overflows its type.",
    ),
    row("VAR", Aggregate::Var, "float", "Variance of a sample."),
    row("VARP", Aggregate::VarP, "float", "Variance of all values."),
];

/// All aggregates, by name.
pub fn all() -> &'static [AggregateInfo] {
    ROWS
}

/// The aggregate of a name, in any case.
pub fn find(name: &str) -> Option<Aggregate> {
    let row = ROWS
        .iter()
        .find(|row| row.name.eq_ignore_ascii_case(name))?;
    Some(row.aggregate)
}

impl Aggregate {
    /// The name, in lower case, as messages print it.
    pub fn name(self) -> String {
        let row = ROWS.iter().find(|row| row.aggregate == self);
        row.map_or_else(String::new, |row| row.name.to_ascii_lowercase())
    }
}

/// Binds an aggregate; `argument` is `None` for `COUNT(*)`. STRING_AGG is bound by [`resolve_string_agg`].
pub fn resolve(aggregate: Aggregate, argument: Option<&Operand<'_>>) -> SqlResult<BoundAggregate> {
    let int = DataType::simple(TypeId::Int);
    let Some(operand) = argument else {
        let result = match aggregate {
            Aggregate::CountBig => DataType::simple(TypeId::BigInt),
            _ => int,
        };
        return Ok(bound(aggregate, result, int, None));
    };
    let of = operand.data_type;
    let name = aggregate.name();
    if operand.is_null_literal {
        return Err(message(8117, &["NULL".into(), name.into()]));
    }
    match aggregate {
        Aggregate::Count => Ok(bound(aggregate, int, of, None)),
        Aggregate::CountBig => Ok(bound(aggregate, DataType::simple(TypeId::BigInt), of, None)),
        Aggregate::Min | Aggregate::Max => match of.id.family() {
            Family::Lob => Err(invalid_operand(of.id, &name)),
            _ if matches!(of.id, TypeId::Bit | TypeId::Xml | TypeId::Udt) => {
                Err(invalid_operand(of.id, &name))
            }
            _ => Ok(bound(aggregate, of, of, None)),
        },
        Aggregate::Sum | Aggregate::Avg => {
            let result = total_type(aggregate, &of).ok_or_else(|| invalid_operand(of.id, &name))?;
            Ok(bound(aggregate, result, of, None))
        }
        Aggregate::StringAgg => resolve_string_agg(operand, ""),
        Aggregate::ChecksumAgg => {
            if of.id.family() != Family::Integer {
                return Err(invalid_operand(of.id, &name));
            }
            Ok(bound(aggregate, int, of, Conversion::implicit(of, int)?))
        }
        _ => {
            if total_type(Aggregate::Sum, &of).is_none() {
                return Err(invalid_operand(of.id, &name));
            }
            Ok(bound(aggregate, DataType::simple(TypeId::Float), of, None))
        }
    }
}

/// Binds STRING_AGG: 9829 comes later, where the result grows over 8,000 bytes and is not `(max)`.
pub fn resolve_string_agg(argument: &Operand<'_>, separator: &str) -> SqlResult<BoundAggregate> {
    let of = argument.data_type;
    let is_text = of.id.has_collation();
    if !is_text && allowed(of.id, TypeId::NVarChar) != Allowed::Implicit {
        return Err(invalid_argument(of.id, 1, "string_agg"));
    }
    let id = match of.id {
        TypeId::Char | TypeId::VarChar | TypeId::Text => TypeId::VarChar,
        _ => TypeId::NVarChar,
    };
    let result = string_type(id, 8000, of.is_max()).with_collation(of.collation);
    let conversion = if is_text {
        None
    } else {
        Conversion::implicit(of, result)?
    };
    let mut bound = bound(Aggregate::StringAgg, result, of, conversion);
    separator.clone_into(&mut bound.separator);
    Ok(bound)
}

fn bound(
    aggregate: Aggregate,
    result: DataType,
    argument: DataType,
    conversion: Option<Conversion>,
) -> BoundAggregate {
    BoundAggregate {
        aggregate,
        result,
        conversion,
        argument,
        separator: String::new(),
    }
}

/// The type of a sum or a mean; `None` for types that have none.
fn total_type(aggregate: Aggregate, of: &DataType) -> Option<DataType> {
    Some(match of.id {
        TypeId::TinyInt | TypeId::SmallInt | TypeId::Int => DataType::simple(TypeId::Int),
        TypeId::BigInt => DataType::simple(TypeId::BigInt),
        TypeId::Money | TypeId::SmallMoney => DataType::simple(TypeId::Money),
        TypeId::Float | TypeId::Real => DataType::simple(TypeId::Float),
        TypeId::Decimal | TypeId::Numeric => {
            let scale = match aggregate {
                Aggregate::Avg => of.scale.max(6),
                _ => of.scale,
            };
            DataType::decimal(of.id, 38, scale).ok()?
        }
        _ => return None,
    })
}

impl BoundAggregate {
    /// Whether leaving out a NULL causes a warning: in every aggregate but STRING_AGG.
    pub fn warns(&self) -> bool {
        self.aggregate != Aggregate::StringAgg
    }

    /// An accumulator for a group.
    pub fn start(&self) -> Accumulator {
        Accumulator::new(self)
    }

    /// Whether a value replaces the best one so far.
    fn replaces(&self, value: &Value, best: &Value) -> bool {
        let order = crate::ops::order(value, best, &self.argument);
        match self.aggregate {
            Aggregate::Min => order == Ordering::Less,
            _ => order == Ordering::Greater,
        }
    }
}

mod bound;
#[cfg(test)]
mod tests;

pub use bound::{Aggregate, BoundAggregate};
