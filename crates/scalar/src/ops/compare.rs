//! Comparison: `=`, `<` and the like, the order of ORDER BY, MIN and MAX, and hashes that agree with `=`.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::hash::Hasher;

use furrow_types::{
    DataType, DateTimeOffset, Family, Guid, TypeId, Value, compare_text, compare_units, hash_text,
    hash_units,
};

use super::arithmetic::approximate;
use super::logic::Truth;
use crate::convert::Conversion;
use crate::env::Settings;
use crate::error::{SqlResult, clash, incompatible, message};
use crate::exact;
use crate::operand::{Operand, comparison_collation};
use crate::room::{self, LONG_BYTES};
use crate::types::{Allowed, allowed, exact, higher, unify_two};

/// A comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CompareOp {
    /// `=`.
    Equal,
    /// `<>`, `!=`.
    NotEqual,
    /// `<`, `!>=`.
    Less,
    /// `<=`, `!>`.
    LessOrEqual,
    /// `>`.
    Greater,
    /// `>=`, `!<`.
    GreaterOrEqual,
}

impl CompareOp {
    /// As messages name it.
    pub const fn name(self) -> &'static str {
        match self {
            CompareOp::Equal => "equal to",
            CompareOp::NotEqual => "not equal to",
            CompareOp::Less => "less than",
            CompareOp::LessOrEqual => "less than or equal to",
            CompareOp::Greater => "greater than",
            CompareOp::GreaterOrEqual => "greater than or equal to",
        }
    }

    /// Whether an order satisfies it.
    #[inline]
    pub const fn holds(self, order: Ordering) -> bool {
        match self {
            CompareOp::Equal => order.is_eq(),
            CompareOp::NotEqual => order.is_ne(),
            CompareOp::Less => order.is_lt(),
            CompareOp::LessOrEqual => order.is_le(),
            CompareOp::Greater => order.is_gt(),
            CompareOp::GreaterOrEqual => order.is_ge(),
        }
    }

    /// The comparison with its sides exchanged.
    pub const fn mirrored(self) -> CompareOp {
        match self {
            CompareOp::Less => CompareOp::Greater,
            CompareOp::LessOrEqual => CompareOp::GreaterOrEqual,
            CompareOp::Greater => CompareOp::Less,
            CompareOp::GreaterOrEqual => CompareOp::LessOrEqual,
            same => same,
        }
    }
}

/// A comparison bound to the types of its operands.
#[derive(Debug, Clone)]
pub struct BoundCompare {
    /// The comparison.
    pub op: CompareOp,
    /// The type in which both sides meet.
    pub common: DataType,
    /// The conversion that is applied to the left side first: a hash join converts its keys by this.
    pub left: Option<Conversion>,
    /// The conversion that is applied to the right side first.
    pub right: Option<Conversion>,
}

impl BoundCompare {
    /// Whether it holds; unknown where an operand is NULL.
    #[inline]
    pub fn eval(&self, left: &Value, right: &Value, settings: &Settings) -> SqlResult<Truth> {
        if let (Value::Int(left), Value::Int(right)) = (left, right)
            && self.left.is_none()
            && self.right.is_none()
        {
            return Ok(Some(self.op.holds(left.cmp(right))));
        }
        if left.is_null() || right.is_null() {
            return Ok(None);
        }
        let side = |convert: &Option<Conversion>, value| match convert {
            Some(convert) => convert.apply(value, settings).map(Cow::Owned),
            None => Ok(Cow::Borrowed(value)),
        };
        let (a, b): (Cow<'_, Value>, Cow<'_, Value>) =
            (side(&self.left, left)?, side(&self.right, right)?);
        Ok(Some(self.op.holds(polled_order(&a, &b, &self.common))))
    }
}

/// Binds a comparison: in which type both sides meet, or why they cannot.
pub fn bind_compare(
    op: CompareOp,
    left: &Operand<'_>,
    right: &Operand<'_>,
) -> SqlResult<BoundCompare> {
    let (mut a, mut b) = (left.data_type, right.data_type);
    if left.is_null_literal {
        a = b;
    } else if right.is_null_literal {
        b = a;
    }
    let id = higher(a.id, b.id);
    let is_lob = |id: TypeId| id.family() == Family::Lob;
    match (a.id, b.id) {
        (TypeId::Xml, _) | (_, TypeId::Xml) => return Err(message(305, &[])),
        (x, y) if is_lob(x) && is_lob(y) => return Err(message(306, &[])),
        (x, y) if is_lob(x) || is_lob(y) => return Err(incompatible(&a, &b, op.name())),
        (TypeId::Udt, _) | (_, TypeId::Udt) => {
            let args = [op.name().into(), a.id.name().into()];
            return Err(message(403, &args));
        }
        _ => {}
    }
    for side in [&a, &b] {
        if allowed(side.id, id) != Allowed::Implicit {
            return Err(clash(a.id, b.id));
        }
    }
    let mut common = unify_two(&a, &b)?;
    if common.id.has_collation() {
        let both = a.id.has_collation() && b.id.has_collation();
        let collation = if both {
            comparison_collation(left, right, op.name())?
        } else {
            common.collation
        };
        common = common.with_collation(collation);
    }
    let convert = |from: &DataType| {
        if meets_as_it_is(from, &common) {
            Ok(None)
        } else {
            Conversion::implicit(*from, common)
        }
    };
    Ok(BoundCompare {
        op,
        common,
        left: convert(&a)?,
        right: convert(&b)?,
    })
}

/// Whether values of a type compare with those of the common type without a conversion.
fn meets_as_it_is(from: &DataType, common: &DataType) -> bool {
    use Family as F;
    match (from.id.family(), common.id.family()) {
        (F::Integer | F::Exact, F::Integer | F::Exact)
        | (F::Char | F::NChar, F::Char | F::NChar)
        | (F::Binary, F::Binary) => true,
        (a, b) => a == b && from.id == common.id,
    }
}

/// [`order`] for a single comparison: one of long texts ends early when the statement is cancelled, with an
/// order that is not looked at then. A sort must not use it: its order has to be total to the end.
fn polled_order(a: &Value, b: &Value, data_type: &DataType) -> Ordering {
    match (a, b) {
        (Value::VarChar(a) | Value::NVarChar(a), Value::VarChar(b) | Value::NVarChar(b))
            if a.len().max(b.len()) >= LONG_BYTES =>
        {
            let a = a.encode_utf16().map_while(room::polled());
            let b = b.encode_utf16().map_while(room::polled());
            compare_units(a, b, data_type.collation, data_type.id.is_unicode())
        }
        _ => order(a, b, data_type),
    }
}

/// Order of two values of one type; NULL comes first. Exact numbers of any types compare by value.
#[inline]
pub fn order(a: &Value, b: &Value, data_type: &DataType) -> Ordering {
    match (a, b) {
        (Value::Int(a), Value::Int(b)) => a.cmp(b),
        (Value::BigInt(a), Value::BigInt(b)) => a.cmp(b),
        (Value::VarChar(a) | Value::NVarChar(a), Value::VarChar(b) | Value::NVarChar(b)) => {
            compare_text(a, b, data_type.collation, data_type.id.is_unicode())
        }
        _ => order_rest(a, b, data_type),
    }
}

fn order_rest(a: &Value, b: &Value, data_type: &DataType) -> Ordering {
    match (a, b) {
        (Value::Null, _) | (_, Value::Null) => b.is_null().cmp(&a.is_null()),
        (Value::Date(a), Value::Date(b)) => a.cmp(b),
        (Value::Time(a), Value::Time(b)) => a.ticks().cmp(&b.ticks()),
        (Value::DateTime(a), Value::DateTime(b)) => a.cmp(b),
        (Value::SmallDateTime(a), Value::SmallDateTime(b)) => a.cmp(b),
        (Value::DateTime2(a), Value::DateTime2(b)) => moment_key(a).cmp(&moment_key(b)),
        (Value::DateTimeOffset(a), Value::DateTimeOffset(b)) => offset_key(a).cmp(&offset_key(b)),
        (Value::Guid(a), Value::Guid(b)) => guid_key(a).cmp(&guid_key(b)),
        (Value::Binary(a), Value::Binary(b)) => without_zeros(a).cmp(without_zeros(b)),
        (Value::Variant(a), Value::Variant(b)) => order_variants(a, b),
        (Value::Real(_) | Value::Float(_), _) | (_, Value::Real(_) | Value::Float(_)) => {
            let number = |value| approximate(value).unwrap_or(f64::NAN) + 0.0;
            number(a).total_cmp(&number(b))
        }
        _ => match (exact(a), exact(b)) {
            (Some(a), Some(b)) => exact::compare(a, b),
            // Values of two families: the binder's mistake; still an order.
            _ => {
                debug_assert!(false, "{a:?} and {b:?} are not both {data_type}");
                a.type_id().cmp(&b.type_id())
            }
        },
    }
}

fn moment_key(at: &furrow_types::DateTime2) -> (u32, u64) {
    (at.date.days(), at.time.ticks())
}

fn offset_key(at: &DateTimeOffset) -> (u32, u64) {
    moment_key(&at.utc)
}

/// The last six bytes count first, then two by two towards the front.
fn guid_key(guid: &Guid) -> [u8; 16] {
    const ORDER: [usize; 16] = [10, 11, 12, 13, 14, 15, 8, 9, 6, 7, 4, 5, 0, 1, 2, 3];
    ORDER.map(|at| guid.0.get(at).copied().unwrap_or(0))
}

/// Byte strings compare as if the shorter one ended in zeros.
fn without_zeros(bytes: &[u8]) -> &[u8] {
    let zeros = bytes.iter().rev().take_while(|&&byte| byte == 0).count();
    bytes.get(..bytes.len() - zeros).unwrap_or(bytes)
}

/// Variants compare within their family by value, else by the rank of their families.
fn order_variants(a: &(DataType, Value), b: &(DataType, Value)) -> Ordering {
    let rank = |data_type: &DataType| match data_type.id.family() {
        Family::Binary => 0,
        Family::Guid => 1,
        Family::Char | Family::NChar | Family::Lob => 2,
        Family::Integer | Family::Exact => 3,
        Family::Approximate => 4,
        Family::DateTime => 5,
        Family::Variant => 6,
    };
    let ranks = rank(&a.0).cmp(&rank(&b.0));
    if ranks.is_ne() {
        return ranks;
    }
    match unify_two(&a.0, &b.0) {
        Ok(common) => {
            let side = |own: &(DataType, Value)| {
                if meets_as_it_is(&own.0, &common) {
                    return Some(own.1.clone());
                }
                let convert = Conversion::implicit(own.0, common).ok()?;
                convert.map_or(Some(own.1.clone()), |convert| {
                    convert.apply(&own.1, &Settings::US_ENGLISH).ok()
                })
            };
            match (side(a), side(b)) {
                (Some(a), Some(b)) => order(&a, &b, &common),
                _ => a.0.id.cmp(&b.0.id),
            }
        }
        Err(_) => a.0.id.cmp(&b.0.id),
    }
}

/// Feeds a hash with what [`order`] looks at: values that are equal feed the same.
pub fn hash_value<H: Hasher>(value: &Value, data_type: &DataType, state: &mut H) {
    match value {
        Value::Null => state.write_u8(0),
        Value::VarChar(text) | Value::NVarChar(text) => {
            let (collation, unicode) = (data_type.collation, data_type.id.is_unicode());
            match text.len() {
                ..LONG_BYTES => hash_text(text, collation, unicode, state),
                _ => {
                    let units = text.trim_end_matches(' ').encode_utf16();
                    hash_units(units.map_while(room::polled()), collation, unicode, state);
                }
            }
        }
        Value::Real(_) | Value::Float(_) => {
            state.write_u64((approximate(value).unwrap_or(0.0) + 0.0).to_bits());
        }
        Value::Date(date) => state.write_u32(date.days()),
        Value::Time(time) => state.write_u64(time.ticks()),
        Value::DateTime(at) => {
            state.write_i32(at.days());
            state.write_u32(at.ticks());
        }
        Value::SmallDateTime(at) => {
            state.write_u16(at.days());
            state.write_u16(at.minutes());
        }
        Value::DateTime2(at) | Value::DateTimeOffset(DateTimeOffset { utc: at, .. }) => {
            state.write_u32(at.date.days());
            state.write_u64(at.time.ticks());
        }
        Value::Guid(guid) => state.write(&guid.0),
        Value::Binary(bytes) => {
            state.write(without_zeros(bytes));
            state.write_u8(0xFF);
        }
        // Numbers of one family may be of several types: only what they share is hashed.
        Value::Variant(inner) => match inner.0.id.family() {
            Family::Integer | Family::Exact | Family::Approximate => {
                let number = approximate(&inner.1).unwrap_or(0.0) as f32;
                state.write_u32((number + 0.0).to_bits());
            }
            family => state.write_u8(family as u8),
        },
        _ => {
            let Some(number) = exact(value) else { return };
            let (mut digits, mut scale) = (number.unscaled, number.scale);
            while scale > 0 && digits % 10 == 0 {
                digits /= 10;
                scale -= 1;
            }
            state.write_i128(digits);
            state.write_u8(scale);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{data_type, operand};
    use furrow_types::{Decimal, parse_value};
    use std::hash::DefaultHasher;

    const ENGLISH: Settings = Settings::US_ENGLISH;

    fn value(of: &str, text: &str) -> Value {
        let data_type = data_type(of);
        furrow_types::cast(&parse_value(&data_type, text).unwrap(), &data_type).unwrap()
    }

    fn holds(a: (&str, &str), op: CompareOp, b: (&str, &str)) -> Truth {
        let bound = bind_compare(op, &operand(a.0), &operand(b.0)).unwrap();
        bound
            .eval(&value(a.0, a.1), &value(b.0, b.1), &ENGLISH)
            .unwrap()
    }

    #[test]
    fn sides_of_two_types_meet_in_the_higher_one() {
        use CompareOp::{Equal, Greater, Less};
        for (a, op, b) in [
            (("int", "1"), Equal, ("varchar(5)", " 1 ")),
            (("int", "10"), Greater, ("varchar(5)", "9")),
            (("int", "1"), Equal, ("numeric(5,2)", "1.00")),
            (("bigint", "3000000000"), Greater, ("int", "1")),
            (("float", "0.1"), Equal, ("varchar(5)", "1e-1")),
            (("money", "1.5"), Equal, ("numeric(9,6)", "1.500000")),
            (("varchar(5)", "abc"), Equal, ("nchar(5)", "ABC  ")),
            (("varchar(5)", "abc"), Less, ("varchar(5)", "abd")),
            (
                ("datetime", "2020-01-01"),
                Equal,
                ("varchar(20)", "1 Jan 2020"),
            ),
            (
                ("date", "2020-01-01"),
                Less,
                ("datetime", "2020-01-01 00:00:01"),
            ),
            (
                ("datetime2(0)", "2020-01-01"),
                Equal,
                ("datetime2(7)", "2020-01-01"),
            ),
            (
                ("datetimeoffset(0)", "2020-01-01 02:00 +02:00"),
                Equal,
                ("datetimeoffset(7)", "2020-01-01 00:00 +00:00"),
            ),
            (("varbinary(3)", "0x0100"), Equal, ("varbinary(3)", "0x01")),
            (("bit", "1"), Equal, ("int", "1")),
        ] {
            assert_eq!(holds(a, op, b), Some(true), "{a:?} {op:?} {b:?}");
            assert_eq!(holds(b, op.mirrored(), a), Some(true), "{b:?} {op:?} {a:?}");
        }
    }

    #[test]
    fn null_makes_a_comparison_unknown() {
        let bound = bind_compare(CompareOp::Equal, &operand("int"), &Operand::null()).unwrap();
        assert_eq!(bound.eval(&Value::Int(1), &Value::Null, &ENGLISH), Ok(None));
        assert_eq!(bound.eval(&Value::Null, &Value::Null, &ENGLISH), Ok(None));
    }

    #[test]
    fn types_that_cannot_meet_get_their_message() {
        let fail = |a: &str, b: &str| {
            bind_compare(CompareOp::Equal, &operand(a), &operand(b))
                .unwrap_err()
                .text
        };
        assert_eq!(
            fail("date", "int"),
            "Operand type clash: date is incompatible with int"
        );
        assert_eq!(
            fail("text", "varchar(5)"),
            "The data types text and varchar are incompatible in the equal to operator."
        );
        assert!(fail("text", "text").starts_with("The text, ntext, and image data types cannot"));
        assert!(fail("xml", "int").starts_with("The XML data type cannot be compared"));
        let convert = bind_compare(CompareOp::Equal, &operand("int"), &operand("varchar(9)"));
        let error = convert
            .unwrap()
            .eval(&Value::Int(1), &"x".into(), &ENGLISH)
            .unwrap_err();
        assert_eq!(error.number, 245);
    }

    fn hash(value: &Value, data_type: &DataType) -> u64 {
        let mut state = DefaultHasher::new();
        hash_value(value, data_type, &mut state);
        state.finish()
    }

    #[test]
    fn equal_values_hash_alike_whatever_their_scale_and_padding() {
        let number = |unscaled, scale| Value::Decimal(Decimal { unscaled, scale });
        let numeric = data_type("numeric(9,4)");
        let same = [
            number(500, 2),
            number(5, 0),
            Value::Int(5),
            Value::Money(50_000),
        ];
        for a in &same {
            assert_eq!(order(a, &same[0], &numeric), Ordering::Equal);
            assert_eq!(hash(a, &numeric), hash(&same[0], &numeric), "{a:?}");
        }
        let text = data_type("varchar(9)");
        let (a, b) = (Value::VarChar("Abc".into()), Value::VarChar("aBC  ".into()));
        assert_eq!(hash(&a, &text), hash(&b, &text));
        let float = data_type("float");
        assert_eq!(
            hash(&Value::Float(0.0), &float),
            hash(&Value::Float(-0.0), &float)
        );
        assert_eq!(
            order(&Value::Float(0.0), &Value::Float(-0.0), &float),
            Ordering::Equal
        );
    }

    #[test]
    fn null_sorts_first() {
        let int = data_type("int");
        assert_eq!(
            order(&Value::Null, &Value::Int(i32::MIN), &int),
            Ordering::Less
        );
        assert_eq!(order(&Value::Null, &Value::Null, &int), Ordering::Equal);
        assert_eq!(order(&Value::Int(0), &Value::Null, &int), Ordering::Greater);
    }
}
