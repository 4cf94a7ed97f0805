//! Errors of expressions: SQL Server's messages, each created in one place.

use furrow_messages::{Arg, Message};
use furrow_types::{DataType, TypeError, TypeId};

/// A result whose error is a message for the client.
pub type SqlResult<T> = Result<T, Message>;

/// The message of a value that a type does not take.
pub fn of_type_error(error: &TypeError) -> Message {
    let state = match error {
        TypeError::Overflow { to: "numeric", .. } => 8,
        TypeError::IntegerOverflow { to: "tinyint", .. }
        | TypeError::Overflow { .. }
        | TypeError::Clash { .. }
        | TypeError::NotAGuid => 2,
        TypeError::FloatOverflow { .. }
        | TypeError::DateOutOfRange { .. }
        | TypeError::NotASmallDateTime => 3,
        TypeError::NotANumber { .. } => 5,
        TypeError::NotMoney | TypeError::NotSmallMoney => 0,
        _ => 1,
    };
    Message::custom(error.number(), 16, state, &error.to_string())
}

/// The name that messages print for a type: both names of the exact type are `numeric`.
pub fn message_name(id: TypeId) -> &'static str {
    match id {
        TypeId::Decimal => TypeId::Numeric.name(),
        _ => id.name(),
    }
}

/// 8115: the result of arithmetic is outside its type.
#[cold]
pub fn overflow(to: TypeId) -> Message {
    overflow_from("expression", to)
}

/// 8115: a value of type `from` is outside `to`.
#[cold]
pub(crate) fn overflow_from(from: &str, to: TypeId) -> Message {
    Message::new(8115, &[from.into(), message_name(to).into()]).with_state(2)
}

/// 8134.
#[cold]
pub(crate) fn divide_by_zero() -> Message {
    Message::new(8134, &[])
}

/// 206: no conversion between two types.
pub fn clash(from: TypeId, to: TypeId) -> Message {
    Message::new(206, &[from.name().into(), to.name().into()])
}

/// 402: two types that an operator does not take together.
pub fn incompatible(left: &DataType, right: &DataType, operator: &str) -> Message {
    let args = [
        left.id.name().into(),
        right.id.name().into(),
        operator.into(),
    ];
    Message::new(402, &args)
}

/// 8117: a type that an operator does not take.
pub(crate) fn invalid_operand(id: TypeId, operator: &str) -> Message {
    Message::new(8117, &[message_name(id).into(), operator.into()])
}

/// 8116: a type that a function does not take as its argument `place` (from 1).
pub fn invalid_argument(id: TypeId, place: usize, function: &str) -> Message {
    let name = function.to_ascii_lowercase();
    Message::new(8116, &[id.name().into(), place.into(), name.into()])
}

/// 8114: a value that can't become the type.
pub(crate) fn cannot_convert(from: TypeId, to: TypeId) -> Message {
    Message::new(8114, &[from.name().into(), message_name(to).into()])
}

/// 517: date arithmetic out of the calendar.
pub(crate) fn date_overflow(id: TypeId) -> Message {
    Message::new(517, &[id.name().into()])
}

/// Any message by its number.
pub fn message(number: u32, args: &[Arg]) -> Message {
    Message::new(number, args)
}
