//! `+ - * / %` and the bit operators: binding to operand types, and the kernels.
//!
//! Binding decides the result's type, which side is converted, and the kernel: a function for one operator
//! on one family of types. Integers of different sizes and exact numbers of different scales meet in the
//! kernel without a conversion.

use furrow_types::{DataType, Decimal, Family, TypeId, Value};

use super::{bits, moment, text};
use crate::convert::Conversion;
use crate::env::{Settings, Switches};
use crate::error::{SqlResult, clash, divide_by_zero, incompatible, invalid_operand, overflow};
use crate::exact::{self, Fault};
use crate::operand::{Coercibility, Operand, meet};
use crate::types::{Allowed, DecimalForm, allowed, concat_type, decimal_form, higher};

/// An operator of two operands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum BinaryOp {
    /// `+`: numbers, dates, strings, byte strings.
    Add,
    /// `-`.
    Subtract,
    /// `*`.
    Multiply,
    /// `/`.
    Divide,
    /// `%`.
    Modulo,
    /// `&`.
    BitAnd,
    /// `|`.
    BitOr,
    /// `^`.
    BitXor,
}

impl BinaryOp {
    /// As messages name it.
    pub const fn name(self) -> &'static str {
        match self {
            BinaryOp::Add => "add",
            BinaryOp::Subtract => "subtract",
            BinaryOp::Multiply => "multiply",
            BinaryOp::Divide => "divide",
            BinaryOp::Modulo => "modulo",
            BinaryOp::BitAnd => "'&'",
            BinaryOp::BitOr => "'|'",
            BinaryOp::BitXor => "'^'",
        }
    }

    const fn is_bitwise(self) -> bool {
        matches!(self, BinaryOp::BitAnd | BinaryOp::BitOr | BinaryOp::BitXor)
    }
}

/// An operator of one operand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum UnaryOp {
    /// `-`.
    Minus,
    /// `+`: nothing happens, to whatever type.
    Plus,
    /// `~`.
    BitNot,
}

pub(super) type Kernel = fn(&BoundBinary, &Value, &Value) -> SqlResult<Value>;

/// An operator bound to the types of its operands.
#[derive(Debug, Clone)]
pub struct BoundBinary {
    /// The operator.
    pub op: BinaryOp,
    /// The result's type.
    pub result: DataType,
    /// Where the result's collation comes from.
    pub coercibility: Coercibility,
    left: Option<Conversion>,
    right: Option<Conversion>,
    kernel: Kernel,
}

impl BoundBinary {
    /// The result of two whole numbers, if the operator adds, subtracts or multiplies whole numbers and the
    /// result is in the range of its type; otherwise [`BoundBinary::eval`] returns the result or the error.
    #[inline]
    pub fn eval_whole(&self, left: i64, right: i64) -> Option<i64> {
        let result = match self.op {
            BinaryOp::Add => left.checked_add(right)?,
            BinaryOp::Subtract => left.checked_sub(right)?,
            BinaryOp::Multiply => left.checked_mul(right)?,
            _ => return None,
        };
        let fits = match self.result.id {
            TypeId::Int => i32::try_from(result).is_ok(),
            TypeId::BigInt => true,
            _ => false,
        };
        fits.then_some(result)
    }

    /// Whether [`BoundBinary::eval_whole`] answers for it.
    pub fn is_whole(&self) -> bool {
        let op = matches!(
            self.op,
            BinaryOp::Add | BinaryOp::Subtract | BinaryOp::Multiply
        );
        let result = matches!(self.result.id, TypeId::Int | TypeId::BigInt);
        op && result && self.left.is_none() && self.right.is_none()
    }

    /// The result; NULL where an operand is NULL.
    #[inline]
    pub fn eval(&self, left: &Value, right: &Value, settings: &Settings) -> SqlResult<Value> {
        if left.is_null() || right.is_null() {
            return self.of_null(left, right, settings);
        }
        match (&self.left, &self.right) {
            (None, None) => (self.kernel)(self, left, right),
            (Some(convert), None) => (self.kernel)(self, &convert.apply(left, settings)?, right),
            (None, Some(convert)) => (self.kernel)(self, left, &convert.apply(right, settings)?),
            (Some(first), Some(second)) => {
                let left = first.apply(left, settings)?;
                (self.kernel)(self, &left, &second.apply(right, settings)?)
            }
        }
    }

    /// The result where an operand is NULL: the other one, where strings are joined with
    /// CONCAT_NULL_YIELDS_NULL OFF.
    #[inline]
    fn of_null(&self, left: &Value, right: &Value, settings: &Settings) -> SqlResult<Value> {
        let yields_null = settings.switches.has(Switches::CONCAT_NULL_YIELDS_NULL);
        if yields_null || self.op != BinaryOp::Add || !is_string(self.result.id) {
            return Ok(Value::Null);
        }
        let empty = match self.result.id.family() {
            Family::Binary => Value::Binary(Vec::new()),
            _ => crate::text::value(String::new(), self.result.id.is_unicode()),
        };
        let given = |value| if Value::is_null(value) { &empty } else { value };
        (self.kernel)(self, given(left), given(right))
    }
}

/// Binds an operator: its result type and conversions, or why it cannot be.
pub fn bind_binary(
    op: BinaryOp,
    left: &Operand<'_>,
    right: &Operand<'_>,
) -> SqlResult<BoundBinary> {
    let (left, right) = &typed_nulls(left, right);
    let (a, b) = (&left.data_type, &right.data_type);
    if op == BinaryOp::Add && is_string(a.id) && is_string(b.id) {
        return bind_concat(left, right);
    }
    let id = higher(a.id, b.id);
    if op.is_bitwise() {
        return bits::bind(op, left, right);
    }
    let (result, kernel) = match id.family() {
        Family::Integer if id != TypeId::Bit => (DataType::simple(id), integers(op)),
        Family::Exact if matches!(id, TypeId::Money | TypeId::SmallMoney) => {
            (DataType::simple(id), money(op))
        }
        Family::Exact => {
            let form = exact_form(op, left, right);
            (form.data_type(), exact(op))
        }
        Family::Approximate if op != BinaryOp::Modulo => (DataType::simple(id), floats as Kernel),
        Family::DateTime => {
            if !moment::takes(op, a, b) {
                return Err(refused(op, a, b));
            }
            (DataType::simple(id), moment::kernel(op))
        }
        _ => return Err(refused(op, a, b)),
    };
    // Exact numbers meet as they are; text and bytes become the other side's type first.
    let convert = |from: &DataType, other: &DataType| -> SqlResult<Option<Conversion>> {
        if from.id == id || (is_exact(from.id) && id.family() != Family::DateTime) {
            return Ok(None);
        }
        if matches!(from.id.family(), Family::Approximate) && id == TypeId::Float {
            return Ok(None);
        }
        if allowed(from.id, id) != Allowed::Implicit {
            return Err(refused(op, a, b));
        }
        let to = if is_string(from.id) {
            *other
        } else {
            DataType::simple(id)
        };
        Conversion::implicit(*from, to)
    };
    Ok(BoundBinary {
        op,
        result,
        coercibility: Coercibility::Default,
        left: convert(a, b)?,
        right: convert(b, a)?,
        kernel,
    })
}

/// The literal NULL takes the other side's type.
fn typed_nulls<'a>(left: &Operand<'a>, right: &Operand<'a>) -> (Operand<'a>, Operand<'a>) {
    let (mut left, mut right) = (*left, *right);
    if left.is_null_literal && !right.is_null_literal {
        left.data_type = right.data_type;
    } else if right.is_null_literal && !left.is_null_literal {
        right.data_type = left.data_type;
    }
    (left, right)
}

fn is_string(id: TypeId) -> bool {
    matches!(id.family(), Family::Char | Family::NChar)
        || matches!(id, TypeId::Binary | TypeId::VarBinary)
}

const fn is_exact(id: TypeId) -> bool {
    matches!(id.family(), Family::Integer | Family::Exact)
}

/// Why two types have no such operator: no conversion (206), the same type twice (8117), or two types that
/// do not go together (402).
fn refused(op: BinaryOp, a: &DataType, b: &DataType) -> furrow_messages::Message {
    let converts = |from: TypeId, to: TypeId| allowed(from, to) == Allowed::Implicit;
    if a.id == b.id || a.id == TypeId::SqlVariant {
        return invalid_operand(a.id, op.name());
    }
    let winner = higher(a.id, b.id);
    if !converts(a.id, winner) || !converts(b.id, winner) {
        return clash(a.id, b.id);
    }
    let only_add = !matches!(op, BinaryOp::Add | BinaryOp::Subtract);
    if only_add && matches!(winner, TypeId::DateTime | TypeId::SmallDateTime) {
        return invalid_operand(winner, op.name());
    }
    incompatible(a, b, op.name())
}

fn bind_concat(left: &Operand<'_>, right: &Operand<'_>) -> SqlResult<BoundBinary> {
    let (a, b) = (&left.data_type, &right.data_type);
    let (bytes_a, bytes_b) = (
        a.id.family() == Family::Binary,
        b.id.family() == Family::Binary,
    );
    if bytes_a != bytes_b {
        return Err(incompatible(a, b, BinaryOp::Add.name()));
    }
    let (collation, coercibility) = meet(left, right, "add")?;
    Ok(BoundBinary {
        op: BinaryOp::Add,
        result: concat_type(a, b).with_collation(collation),
        coercibility,
        left: None,
        right: None,
        kernel: if bytes_a {
            text::join_bytes
        } else {
            text::join
        },
    })
}

fn exact_form(op: BinaryOp, left: &Operand<'_>, right: &Operand<'_>) -> DecimalForm {
    let (a, b) = match (decimal_form(left), decimal_form(right)) {
        (Some(a), Some(b)) => (a, b),
        // Text beside a number is read at the number's own precision and scale.
        (Some(form), None) | (None, Some(form)) => (form, form),
        (None, None) => (DecimalForm::new(18, 0), DecimalForm::new(18, 0)),
    };
    match op {
        BinaryOp::Multiply => a.product(b),
        BinaryOp::Divide => a.quotient(b),
        BinaryOp::Modulo => a.remainder(b),
        _ => a.sum(b),
    }
}

/// A number in one of the integer types.
#[inline]
pub(super) fn narrow(n: i64, id: TypeId) -> SqlResult<Value> {
    let value = match id {
        TypeId::TinyInt => u8::try_from(n).map(Value::TinyInt),
        TypeId::SmallInt => i16::try_from(n).map(Value::SmallInt),
        TypeId::Int => i32::try_from(n).map(Value::Int),
        TypeId::Bit => return Ok(Value::Bit(n != 0)),
        _ => return Ok(Value::BigInt(n)),
    };
    value.map_err(|_| overflow(id))
}

macro_rules! integer_kernel {
    ($name:ident, $checked:ident) => {
        fn $name(bound: &BoundBinary, a: &Value, b: &Value) -> SqlResult<Value> {
            if let (Value::Int(a), Value::Int(b)) = (a, b)
                && bound.result.id == TypeId::Int
            {
                let result = a.$checked(*b).map(Value::Int);
                return result.ok_or_else(|| overflow(TypeId::Int));
            }
            let id = bound.result.id;
            let (Some(a), Some(b)) = (a.as_i64(), b.as_i64()) else {
                return Err(incompatible_values(bound));
            };
            narrow(a.$checked(b).ok_or_else(|| overflow(id))?, id)
        }
    };
}

integer_kernel!(add_integers, checked_add);
integer_kernel!(subtract_integers, checked_sub);
integer_kernel!(multiply_integers, checked_mul);

fn divide_integers(bound: &BoundBinary, a: &Value, b: &Value) -> SqlResult<Value> {
    let (Some(a), Some(b)) = (a.as_i64(), b.as_i64()) else {
        return Err(incompatible_values(bound));
    };
    let id = bound.result.id;
    match (bound.op, b) {
        (_, 0) => Err(divide_by_zero()),
        (BinaryOp::Divide, _) => narrow(a.checked_div(b).ok_or_else(|| overflow(id))?, id),
        _ => narrow(a.wrapping_rem(b), id),
    }
}

fn integers(op: BinaryOp) -> Kernel {
    match op {
        BinaryOp::Add => add_integers,
        BinaryOp::Subtract => subtract_integers,
        BinaryOp::Multiply => multiply_integers,
        _ => divide_integers,
    }
}

/// A value that is not of the type it was bound with: the executor's mistake, shown as an error.
#[cold]
pub(super) fn incompatible_values(bound: &BoundBinary) -> furrow_messages::Message {
    debug_assert!(
        false,
        "operands are not of the types {bound:?} was bound to"
    );
    invalid_operand(bound.result.id, bound.op.name())
}

fn fault(fault: Fault, id: TypeId) -> furrow_messages::Message {
    match fault {
        Fault::Overflow => overflow(id),
        Fault::DivideByZero => divide_by_zero(),
    }
}

fn exact(op: BinaryOp) -> Kernel {
    match op {
        BinaryOp::Add => |bound, a, b| exactly(bound, a, b, exact::add),
        BinaryOp::Subtract => |bound, a, b| exactly(bound, a, b, exact::subtract),
        BinaryOp::Multiply => |bound, a, b| exactly(bound, a, b, exact::multiply),
        BinaryOp::Divide => |bound, a, b| exactly(bound, a, b, exact::divide),
        _ => |bound, a, b| exactly(bound, a, b, exact::remainder),
    }
}

#[inline]
fn exactly(
    bound: &BoundBinary,
    a: &Value,
    b: &Value,
    apply: fn(Decimal, Decimal, DecimalForm) -> Result<Decimal, Fault>,
) -> SqlResult<Value> {
    let exact = crate::types::exact;
    let (Some(a), Some(b)) = (exact(a), exact(b)) else {
        return Err(incompatible_values(bound));
    };
    let form = DecimalForm::new(bound.result.precision, bound.result.scale);
    apply(a, b, form)
        .map(Value::Decimal)
        .map_err(|error| fault(error, bound.result.id))
}

fn money(op: BinaryOp) -> Kernel {
    match op {
        BinaryOp::Add => |bound, a, b| moneys(bound, a, b, |a, b| Ok(a + b)),
        BinaryOp::Subtract => |bound, a, b| moneys(bound, a, b, |a, b| Ok(a - b)),
        // SQL Server has eight digits behind the point: rounded to four.
        BinaryOp::Multiply => |bound, a, b| {
            moneys(bound, a, b, |a, b| {
                let product = a * b;
                Ok((product.abs() + 5_000) / 10_000 * product.signum())
            })
        },
        BinaryOp::Divide => |bound, a, b| {
            moneys(bound, a, b, |a, b| match b {
                0 => Err(divide_by_zero()),
                _ => Ok(a * 10_000 / b),
            })
        },
        _ => |bound, a, b| {
            moneys(bound, a, b, |a, b| match b {
                0 => Err(divide_by_zero()),
                _ => Ok(a % b),
            })
        },
    }
}

/// Money in ten-thousandths: 64 bits each, so that no product leaves 128.
fn moneys(
    bound: &BoundBinary,
    a: &Value,
    b: &Value,
    apply: fn(i128, i128) -> SqlResult<i128>,
) -> SqlResult<Value> {
    let ten_thousandths = |value: &Value| match value {
        Value::Money(n) => Some(i128::from(*n)),
        Value::SmallMoney(n) => Some(i128::from(*n)),
        _ => value.as_i64().map(|n| i128::from(n) * 10_000),
    };
    let (Some(a), Some(b)) = (ten_thousandths(a), ten_thousandths(b)) else {
        return Err(incompatible_values(bound));
    };
    let id = bound.result.id;
    // A bigint becomes money first.
    if i64::try_from(a).is_err() || i64::try_from(b).is_err() {
        return Err(overflow(id));
    }
    let result = apply(a, b)?;
    let value = match id {
        TypeId::SmallMoney => i32::try_from(result).ok().map(Value::SmallMoney),
        _ => i64::try_from(result).ok().map(Value::Money),
    };
    value.ok_or_else(|| overflow(id))
}

/// A number as a floating-point one.
pub(crate) fn approximate(value: &Value) -> Option<f64> {
    match value {
        Value::Float(x) => Some(*x),
        Value::Real(x) => Some(f64::from(*x)),
        _ => crate::types::exact(value).map(exact::to_f64),
    }
}

fn floats(bound: &BoundBinary, a: &Value, b: &Value) -> SqlResult<Value> {
    let (Some(a), Some(b)) = (approximate(a), approximate(b)) else {
        return Err(incompatible_values(bound));
    };
    let result = match bound.op {
        BinaryOp::Add => a + b,
        BinaryOp::Subtract => a - b,
        BinaryOp::Multiply => a * b,
        _ if b == 0.0 => return Err(divide_by_zero()),
        _ => a / b,
    };
    float_of(result, bound.result.id)
}

/// A result as `float` or `real`; 8115 where it is none.
pub(crate) fn float_of(result: f64, id: TypeId) -> SqlResult<Value> {
    match id {
        TypeId::Real if (result as f32).is_finite() => Ok(Value::Real(result as f32)),
        TypeId::Float if result.is_finite() => Ok(Value::Float(result)),
        _ => Err(overflow(id)),
    }
}

/// An operator of one operand, bound to its type.
#[derive(Debug, Clone)]
pub struct BoundUnary {
    /// The operator.
    pub op: UnaryOp,
    /// The result's type.
    pub result: DataType,
}

/// Binds an operator of one operand.
pub fn bind_unary(op: UnaryOp, operand: &Operand<'_>) -> SqlResult<BoundUnary> {
    let from = operand.data_type;
    let name = match op {
        UnaryOp::Minus => "minus",
        UnaryOp::Plus => "plus",
        UnaryOp::BitNot => "'~'",
    };
    let whole = from.id.family() == Family::Integer;
    let number = is_exact(from.id) || from.id.family() == Family::Approximate;
    let result = match op {
        UnaryOp::Plus => from,
        UnaryOp::BitNot if whole => from,
        // A tinyint has no sign to turn.
        UnaryOp::Minus if from.id == TypeId::TinyInt => DataType::simple(TypeId::SmallInt),
        UnaryOp::Minus if number && from.id != TypeId::Bit => from,
        _ => return Err(invalid_operand(from.id, name)),
    };
    Ok(BoundUnary { op, result })
}

impl BoundUnary {
    /// The result; NULL where the operand is NULL.
    pub fn eval(&self, operand: &Value) -> SqlResult<Value> {
        let id = self.result.id;
        match self.op {
            UnaryOp::Plus => Ok(operand.clone()),
            UnaryOp::BitNot => Ok(bits::not(operand)),
            UnaryOp::Minus => Ok(match operand {
                Value::Null => Value::Null,
                Value::Decimal(n) => Value::Decimal(Decimal {
                    unscaled: -n.unscaled,
                    scale: n.scale,
                }),
                Value::Float(x) => Value::Float(-x),
                Value::Real(x) => Value::Real(-x),
                Value::Money(n) => Value::Money(n.checked_neg().ok_or_else(|| overflow(id))?),
                Value::SmallMoney(n) => {
                    Value::SmallMoney(n.checked_neg().ok_or_else(|| overflow(id))?)
                }
                _ => {
                    let n = operand.as_i64().and_then(i64::checked_neg);
                    narrow(n.ok_or_else(|| overflow(id))?, id)?
                }
            }),
        }
    }
}

/// The parts that the bit operators need to bind themselves.
pub(super) fn bound(
    op: BinaryOp,
    result: DataType,
    left: Option<Conversion>,
    right: Option<Conversion>,
    kernel: Kernel,
) -> BoundBinary {
    BoundBinary {
        op,
        result,
        coercibility: Coercibility::Default,
        left,
        right,
        kernel,
    }
}

/// [`refused`] for the bit operators.
pub(super) fn refused_bits(op: BinaryOp, a: &DataType, b: &DataType) -> furrow_messages::Message {
    if a.id == b.id {
        return invalid_operand(a.id, op.name());
    }
    incompatible(a, b, op.name())
}
