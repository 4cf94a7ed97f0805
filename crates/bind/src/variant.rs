//! SQL_VARIANT_PROPERTY: what a value's type is. The type is known when the statement is bound, but for
//! values of type `sql_variant` itself, which are refused.

use super::Bound;
use super::scope::Binder;
use furrow_context::error::{Result, refuse, unsupported};
use furrow_exec::{Cond, Expr};
use furrow_types::{DataType, Family, TypeId, Value};

/// Digits of the types that have no precision of their own.
fn precision(of: DataType) -> i32 {
    match of.id {
        TypeId::Bit => 1,
        TypeId::TinyInt => 3,
        TypeId::SmallInt => 5,
        TypeId::Int | TypeId::SmallMoney => 10,
        TypeId::BigInt | TypeId::Money => 19,
        TypeId::Real => 24,
        TypeId::Float => 53,
        TypeId::Decimal | TypeId::Numeric => i32::from(of.precision),
        _ => 0,
    }
}

/// A property of a type: name or number; `None` for one that there is not.
fn property(of: DataType, name: &str) -> Option<(Value, DataType)> {
    let int = |n: i32| Some((Value::Int(n), DataType::simple(TypeId::Int)));
    let text = |text: String| {
        let of = DataType::sized(TypeId::NVarChar, 256);
        Some((Value::NVarChar(text), of))
    };
    match name.to_ascii_lowercase().as_str() {
        "basetype" => text(of.id.name().to_owned()),
        "precision" => int(precision(of)),
        "scale" => match of.id {
            TypeId::Money | TypeId::SmallMoney => int(4),
            TypeId::Decimal | TypeId::Numeric => int(i32::from(of.scale)),
            _ => int(0),
        },
        "maxlength" => int(i32::from(of.length)),
        _ => None,
    }
}

impl Binder<'_> {
    /// Binds a call of it: NULL of NULL and for names that are no property's.
    pub(super) fn variant_property(&mut self, mut arguments: Vec<Bound>) -> Result<Bound> {
        let (name, value) = (arguments.pop(), arguments.pop());
        let (Some(value), Some(name), []) = (value, name, arguments.as_slice()) else {
            return refuse(174, &["SQL_VARIANT_PROPERTY".into(), 2.into()]);
        };
        if value.data_type.id.family() == Family::Variant {
            return Err(unsupported("SQL_VARIANT_PROPERTY of sql_variant"));
        }
        let Expr::Const(name) = &name.expr else {
            return Err(unsupported(
                "SQL_VARIANT_PROPERTY with a name that is no constant",
            ));
        };
        let found = property(value.data_type, name.as_str().unwrap_or_default());
        let Some((found, of)) = found.filter(|_| !value.is_null_literal) else {
            let of = DataType::sized(TypeId::NVarChar, 256);
            return Ok(Bound::constant(Value::Null, of));
        };
        let is_null = Cond::IsNull(Box::new(value.expr), false);
        let arms = vec![(is_null, Expr::Const(Value::Null))];
        let otherwise = Some(Box::new(Expr::Const(found)));
        Ok(Bound::of(Expr::Case(arms, otherwise), of))
    }
}
