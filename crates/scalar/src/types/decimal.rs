//! Precision and scale of exact arithmetic.
//!
//! Each operator wants a precision and a scale that lose nothing. Where that precision is over 38, digits
//! behind the point give way: addition keeps all digits before the point; multiplication and division keep
//! at least six behind it (or all they had), even if the digits before it then do not fit.

use furrow_types::{DataType, Decimal, TypeId, Value};

use crate::operand::Operand;

/// Digits behind the point that a product or a quotient keeps.
const KEPT_SCALE: i32 = 6;

/// Precision and scale.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DecimalForm {
    /// Digits.
    pub precision: u8,
    /// Digits behind the point.
    pub scale: u8,
}

impl DecimalForm {
    /// A form as given.
    pub const fn new(precision: u8, scale: u8) -> DecimalForm {
        DecimalForm { precision, scale }
    }

    const fn whole(self) -> i32 {
        self.precision as i32 - self.scale as i32
    }

    /// Of a sum or a difference.
    pub fn sum(self, other: DecimalForm) -> DecimalForm {
        let scale = i32::from(self.scale.max(other.scale));
        let whole = self.whole().max(other.whole());
        if whole + scale + 1 > 38 {
            return of(38, scale.min(38 - whole));
        }
        of(whole + scale + 1, scale)
    }

    /// Of a product.
    pub fn product(self, other: DecimalForm) -> DecimalForm {
        let precision = i32::from(self.precision) + i32::from(other.precision) + 1;
        capped(precision, i32::from(self.scale) + i32::from(other.scale))
    }

    /// Of a quotient.
    pub(crate) fn quotient(self, other: DecimalForm) -> DecimalForm {
        let (s1, s2) = (i32::from(self.scale), i32::from(other.scale));
        let scale = (s1 + i32::from(other.precision) + 1).max(KEPT_SCALE);
        capped(self.whole() + s2 + scale, scale)
    }

    /// Of a remainder.
    pub fn remainder(self, other: DecimalForm) -> DecimalForm {
        let scale = i32::from(self.scale.max(other.scale));
        capped(self.whole().min(other.whole()) + scale, scale)
    }

    /// That holds values of both, as the result of CASE or UNION: at most 38 digits, those before the
    /// point first.
    pub fn union(self, other: DecimalForm) -> DecimalForm {
        let scale = i32::from(self.scale.max(other.scale));
        let whole = self.whole().max(other.whole());
        if whole + scale > 38 {
            return of(38, 38 - whole);
        }
        of(whole + scale, scale)
    }

    /// As a type.
    pub fn data_type(self) -> DataType {
        DataType::decimal(TypeId::Numeric, self.precision, self.scale)
            .unwrap_or(DataType::simple(TypeId::Numeric))
    }
}

fn capped(precision: i32, scale: i32) -> DecimalForm {
    if precision <= 38 {
        return of(precision, scale);
    }
    let whole = precision - scale;
    of(38, scale.min(38 - whole).max(scale.min(KEPT_SCALE)))
}

fn of(precision: i32, scale: i32) -> DecimalForm {
    DecimalForm {
        precision: precision.clamp(1, 38) as u8,
        scale: scale.clamp(0, 38) as u8,
    }
}

/// The form of an exact operand: an integer's follows from its type, a literal integer's from its digits.
pub(crate) fn decimal_form(operand: &Operand<'_>) -> Option<DecimalForm> {
    if let (Some(value), TypeId::Int | TypeId::BigInt) = (operand.constant, operand.data_type.id) {
        let digits = value
            .as_i64()
            .map_or(1, |n| n.unsigned_abs().checked_ilog10().unwrap_or(0) + 1);
        return Some(DecimalForm::new(digits as u8, 0));
    }
    of_type(&operand.data_type)
}

/// The form of an exact type.
pub(crate) fn of_type(data_type: &DataType) -> Option<DecimalForm> {
    Some(match data_type.id {
        TypeId::Decimal | TypeId::Numeric => DecimalForm::new(data_type.precision, data_type.scale),
        TypeId::Money => DecimalForm::new(19, 4),
        TypeId::SmallMoney => DecimalForm::new(10, 4),
        TypeId::BigInt => DecimalForm::new(19, 0),
        TypeId::Int => DecimalForm::new(10, 0),
        TypeId::SmallInt => DecimalForm::new(5, 0),
        TypeId::TinyInt => DecimalForm::new(3, 0),
        TypeId::Bit => DecimalForm::new(1, 0),
        _ => return None,
    })
}

/// An exact value as a decimal: integers and money, too.
#[inline]
pub(crate) fn exact(value: &Value) -> Option<Decimal> {
    let (unscaled, scale) = match value {
        Value::Decimal(decimal) => return Some(*decimal),
        Value::Money(n) => (i128::from(*n), 4),
        Value::SmallMoney(n) => (i128::from(*n), 4),
        _ => (i128::from(value.as_i64()?), 0),
    };
    Some(Decimal { unscaled, scale })
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn form(precision: u8, scale: u8) -> DecimalForm {
        DecimalForm::new(precision, scale)
    }

    #[test]
    fn results_have_the_documented_precision_and_scale() {
        assert_eq!(form(5, 2).sum(form(3, 1)), form(6, 2));
        assert_eq!(form(5, 2).product(form(3, 1)), form(9, 3));
        // 1.0 / 3 with the 3 a literal, and with it an int column.
        assert_eq!(form(2, 1).quotient(form(1, 0)), form(7, 6));
        assert_eq!(form(2, 1).quotient(form(10, 0)), form(13, 12));
        assert_eq!(form(5, 2).remainder(form(3, 1)), form(4, 2));
        assert_eq!(form(5, 2).union(form(10, 0)), form(12, 2));
    }

    #[test]
    fn over_38_digits_the_scale_gives_way_by_the_operators_own_rule() {
        // The three cases of the documentation: 61 digits of which 20 behind the point, and so on.
        assert_eq!(form(30, 10).product(form(30, 10)), form(38, 6));
        assert_eq!(form(30, 20).product(form(30, 20)), form(38, 17));
        assert_eq!(form(38, 2).product(form(38, 2)), form(38, 4));
        assert_eq!(form(38, 10).sum(form(38, 10)), form(38, 10));
        assert_eq!(form(38, 0).sum(form(20, 10)), form(38, 0));
        assert_eq!(form(38, 20).quotient(form(38, 20)), form(38, 6));
        assert_eq!(form(38, 0).union(form(38, 10)), form(38, 0));
    }

    #[test]
    fn an_integer_literal_has_as_many_digits_as_are_written() {
        let int = DataType::simple(TypeId::Int);
        let three = Value::Int(3);
        let literal = Operand::constant(int, &three);
        assert_eq!(decimal_form(&literal), Some(form(1, 0)));
        assert_eq!(decimal_form(&Operand::of(int)), Some(form(10, 0)));
        let zero = Value::Int(0);
        assert_eq!(
            decimal_form(&Operand::constant(int, &zero)),
            Some(form(1, 0))
        );
    }
}
