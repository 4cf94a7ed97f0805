//! What the rows' binders share: a call's arguments, the types they may have, the binding they make.

use std::sync::Arc;

use furrow_types::{Collation, DataType, Family, TypeId, Value};

use super::{Eval, Function};
use crate::env::Env;
use crate::error::{SqlResult, invalid_argument};
use crate::operand::Operand;
use crate::types::{Allowed, allowed, is_text, string_type, width};

/// A call to be bound.
pub(super) struct Call<'a> {
    pub(super) function: &'static Function,
    pub(super) arguments: &'a [Operand<'a>],
}

/// What a row's binder answers.
pub(super) struct Binding {
    /// The type each argument is converted to; `None` or missing: none.
    pub(super) parameters: Vec<Option<DataType>>,
    pub(super) result: DataType,
    pub(super) null_in_null_out: bool,
    pub(super) eval: Arc<Eval>,
}

impl Binding {
    pub(super) fn new(
        parameters: Vec<Option<DataType>>,
        result: DataType,
        eval: impl Fn(&mut Env<'_>, &[&Value]) -> SqlResult<Value> + Send + Sync + 'static,
    ) -> Binding {
        Binding {
            parameters,
            result,
            null_in_null_out: true,
            eval: Arc::new(eval),
        }
    }

    /// With a function that looks at NULL itself.
    pub(super) fn sees_null(mut self) -> Binding {
        self.null_in_null_out = false;
        self
    }
}

pub(super) const INT: DataType = DataType::simple(TypeId::Int);
pub(super) const BIGINT: DataType = DataType::simple(TypeId::BigInt);
pub(super) const FLOAT: DataType = DataType::simple(TypeId::Float);

impl<'a> Call<'a> {
    /// The argument, from 0. A missing one is the literal NULL.
    pub(super) fn get(&self, place: usize) -> Operand<'a> {
        self.arguments
            .get(place)
            .copied()
            .unwrap_or(Operand::null())
    }

    pub(super) fn len(&self) -> usize {
        self.arguments.len()
    }

    /// 8116 for an argument.
    pub(super) fn refuse(&self, place: usize) -> furrow_messages::Message {
        invalid_argument(self.get(place).data_type.id, place + 1, self.function.name)
    }

    /// The type in which an argument is text: its own, or that of its conversion. LOBs become `(max)`.
    pub(super) fn text(&self, place: usize) -> SqlResult<DataType> {
        let operand = self.get(place);
        let from = operand.data_type;
        if operand.is_null_literal {
            return Ok(DataType::sized(TypeId::VarChar, 1));
        }
        match from.id {
            id if is_text(id) => Ok(from),
            TypeId::Text => Ok(string_type(TypeId::VarChar, 1, true)),
            TypeId::NText => Ok(string_type(TypeId::NVarChar, 1, true)),
            id if allowed(id, TypeId::VarChar) == Allowed::Implicit => Ok(string_type(
                TypeId::VarChar,
                width(&from, TypeId::VarChar),
                from.is_max(),
            )),
            _ => Err(self.refuse(place)),
        }
    }

    /// Checks that an argument becomes a type by itself, and gives the type.
    pub(super) fn becomes(&self, place: usize, to: DataType) -> SqlResult<DataType> {
        let operand = self.get(place);
        let fits =
            operand.is_null_literal || allowed(operand.data_type.id, to.id) == Allowed::Implicit;
        if fits {
            Ok(to)
        } else {
            Err(self.refuse(place))
        }
    }

    /// An argument that counts something: numbers, and text that reads as one.
    pub(super) fn int(&self, place: usize) -> SqlResult<DataType> {
        match self.get(place).data_type.id.family() {
            Family::DateTime | Family::Binary => Err(self.refuse(place)),
            _ => self.becomes(place, INT),
        }
    }

    /// An argument that is a floating-point number.
    pub(super) fn float(&self, place: usize) -> SqlResult<DataType> {
        match self.get(place).data_type.id.family() {
            Family::DateTime | Family::Binary | Family::Guid => Err(self.refuse(place)),
            _ => self.becomes(place, FLOAT),
        }
    }

    /// Whether any of the texts is Unicode.
    pub(super) fn any_unicode(&self) -> bool {
        let is_unicode = |operand: &Operand<'_>| operand.data_type.id.is_unicode();
        self.arguments.iter().any(is_unicode)
    }

    /// The collation under which the texts among the arguments are compared.
    pub(super) fn collation(&self) -> SqlResult<Collation> {
        let mut texts = self
            .arguments
            .iter()
            .filter(|operand| operand.data_type.id.has_collation());
        let Some(mut first) = texts.next().copied() else {
            return Ok(Collation::DEFAULT);
        };
        for other in texts {
            let operation = self.function.name.to_ascii_lowercase();
            let collation = crate::operand::comparison_collation(&first, other, &operation)?;
            first.coercibility = first.coercibility.max(other.coercibility);
            first.data_type = first.data_type.with_collation(collation);
        }
        Ok(first.data_type.collation)
    }
}

/// The text of an argument that was bound as text.
pub(super) fn text<'v>(arguments: &[&'v Value], place: usize) -> &'v str {
    arguments
        .get(place)
        .and_then(|value| value.as_str())
        .unwrap_or_default()
}

/// The number of an argument that was bound as an integer.
pub(super) fn number(arguments: &[&Value], place: usize) -> i64 {
    arguments
        .get(place)
        .and_then(|value| value.as_i64())
        .unwrap_or_default()
}

/// The number of an argument that was bound as `float`.
pub(super) fn float(arguments: &[&Value], place: usize) -> f64 {
    arguments
        .get(place)
        .and_then(|value| crate::ops::approximate(value))
        .unwrap_or_default()
}

/// A number of units as a length: none where it is negative.
pub(super) fn length(n: i64) -> usize {
    usize::try_from(n).unwrap_or(0)
}

/// The variable type of the same kind as a string type, so long.
pub(super) fn variable(from: &DataType, units: u32) -> DataType {
    let id = match from.id {
        TypeId::Char | TypeId::VarChar | TypeId::Text => TypeId::VarChar,
        TypeId::NChar | TypeId::NVarChar | TypeId::NText => TypeId::NVarChar,
        TypeId::Binary | TypeId::VarBinary | TypeId::Image => TypeId::VarBinary,
        id => id,
    };
    string_type(id, units, from.is_max()).with_collation(from.collation)
}

/// [`variable`], as long as it is.
pub(super) fn same_length(from: &DataType) -> DataType {
    variable(from, width(from, from.id))
}

/// Units that a value of the type may have; `None` for `(max)`.
pub(super) fn limit(data_type: &DataType) -> Option<usize> {
    if data_type.is_max() {
        return None;
    }
    let bytes = usize::from(data_type.length.max(0).unsigned_abs());
    Some(if data_type.id.is_unicode() {
        bytes / 2
    } else {
        bytes
    })
}

/// A text as the result of a function: cut to its type.
pub(super) fn text_result(mut text: String, data_type: &DataType) -> Value {
    let unicode = data_type.id.is_unicode();
    if let Some(most) = limit(data_type) {
        crate::text::cut(&mut text, most, unicode);
    }
    crate::text::value(text, unicode)
}
