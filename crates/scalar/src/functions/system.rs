//! NULL and choices, identifiers.

use furrow_types::{DataType, Family, TypeId, Value};

use super::bind::{Binding, Call, INT, number};
use crate::env::Settings;
use crate::error::{SqlResult, message};
use crate::operand::Operand;
use crate::ops::{CompareOp, bind_compare};
use crate::types::unify;

pub(super) fn isnull(call: &Call<'_>) -> SqlResult<Binding> {
    // The first argument's type, and the second's where the first is the literal NULL.
    let first = call.get(0);
    let of = if first.is_null_literal {
        call.get(1).data_type
    } else {
        first.data_type
    };
    let parameters = vec![None, Some(call.becomes(1, of)?)];
    let binding = Binding::new(parameters, of, |_, values| {
        let chosen = values.iter().find(|value| !value.is_null());
        Ok(chosen.map_or(Value::Null, |value| (*value).clone()))
    });
    Ok(binding.sees_null())
}

pub(super) fn coalesce(call: &Call<'_>) -> SqlResult<Binding> {
    if call.arguments.iter().all(|operand| operand.is_null_literal) {
        return Err(message(4127, &[]));
    }
    let of = unify(call.arguments)?;
    let parameters = vec![Some(of); call.len()];
    let binding = Binding::new(parameters, of, |_, values| {
        let chosen = values.iter().find(|value| !value.is_null());
        Ok(chosen.map_or(Value::Null, |value| (*value).clone()))
    });
    Ok(binding.sees_null())
}

pub(super) fn nullif(call: &Call<'_>) -> SqlResult<Binding> {
    let compare = bind_compare(CompareOp::Equal, &call.get(0), &call.get(1))?;
    let of = call.get(0).data_type;
    let binding = Binding::new(vec![], of, move |env, values| {
        let settings: Settings = env.settings;
        let [first, second] = values else {
            return Ok(Value::Null);
        };
        Ok(match compare.eval(first, second, &settings)? {
            Some(true) => Value::Null,
            _ => (*first).clone(),
        })
    });
    Ok(binding.sees_null())
}

pub(super) fn iif(call: &Call<'_>) -> SqlResult<Binding> {
    let of = unify(call.arguments.get(1..).unwrap_or_default())?;
    let condition = call.becomes(0, DataType::simple(TypeId::Bit))?;
    let parameters = vec![Some(condition), Some(of), Some(of)];
    let binding = Binding::new(parameters, of, |_, values| {
        let place = if values.first() == Some(&&Value::Bit(true)) {
            1
        } else {
            2
        };
        Ok(values
            .get(place)
            .map_or(Value::Null, |value| (*value).clone()))
    });
    Ok(binding.sees_null())
}

pub(super) fn choose(call: &Call<'_>) -> SqlResult<Binding> {
    let of = unify(call.arguments.get(1..).unwrap_or_default())?;
    let mut parameters = vec![Some(of); call.len()];
    if let Some(first) = parameters.first_mut() {
        *first = Some(call.int(0)?);
    }
    let binding = Binding::new(parameters, of, |_, values| {
        let index = number(values, 0);
        let chosen = match usize::try_from(index) {
            Ok(index @ 1..) => values.get(index),
            _ => None,
        };
        Ok(chosen.map_or(Value::Null, |value| (*value).clone()))
    });
    Ok(binding.sees_null())
}

pub(super) fn greatest(call: &Call<'_>) -> SqlResult<Binding> {
    extreme(call, CompareOp::Greater)
}

pub(super) fn least(call: &Call<'_>) -> SqlResult<Binding> {
    extreme(call, CompareOp::Less)
}

/// The value that compares so with each of the others.
fn extreme(call: &Call<'_>, op: CompareOp) -> SqlResult<Binding> {
    for (place, operand) in call.arguments.iter().enumerate() {
        if matches!(operand.data_type.id.family(), Family::Lob)
            || operand.data_type.id == TypeId::Xml
        {
            return Err(call.refuse(place));
        }
    }
    let of = match call.arguments.iter().all(|operand| operand.is_null_literal) {
        true => INT,
        false => unify(call.arguments)?,
    };
    let compare = bind_compare(op, &Operand::of(of), &Operand::of(of))?;
    let binding = Binding::new(vec![Some(of); call.len()], of, move |env, values| {
        let settings: Settings = env.settings;
        let mut best: Option<&Value> = None;
        for value in values.iter().copied().filter(|value| !value.is_null()) {
            let better = match best {
                Some(best) => compare.eval(value, best, &settings)? == Some(true),
                None => true,
            };
            if better {
                best = Some(value);
            }
        }
        Ok(best.cloned().unwrap_or(Value::Null))
    });
    Ok(binding.sees_null())
}

pub(super) fn isnumeric(call: &Call<'_>) -> SqlResult<Binding> {
    let from = call.get(0).data_type;
    let number = matches!(
        from.id.family(),
        Family::Integer | Family::Exact | Family::Approximate
    ) && !call.get(0).is_null_literal;
    let parameter = if from.id.has_collation() {
        Some(call.text(0)?)
    } else {
        None
    };
    let binding = Binding::new(vec![parameter], INT, move |_, values| {
        let answer = match values.first() {
            Some(Value::VarChar(text) | Value::NVarChar(text)) => reads_as_number(text),
            Some(value) => number && !value.is_null(),
            None => false,
        };
        Ok(Value::Int(i32::from(answer)))
    });
    Ok(binding.sees_null())
}

/// Characters other than a blank that may be around a number.
const AROUND_NUMBERS: [char; 6] = ['\t', '\n', '\u{B}', '\u{C}', '\r', '\u{A0}'];

/// Whether a text reads as a number of some type: blanks around it, a sign, a currency sign, commas, a point,
/// an exponent. A sign, a point or a currency sign alone counts as one, too, as it does in SQL Server, and so
/// do a tab and the like.
fn reads_as_number(text: &str) -> bool {
    let text = text.trim_matches(' ');
    if text.is_empty() {
        return false;
    }
    let trimmed = text.trim_matches(|c| c == ' ' || AROUND_NUMBERS.contains(&c));
    let signs = ['+', '-', '$', '\\', '\u{A3}', '\u{A5}', '\u{20AC}'];
    let unsigned = trimmed.trim_start_matches(signs);
    let marks = trimmed.chars().count() - unsigned.chars().count();
    if marks > 2 {
        return false;
    }
    let (mantissa, exponent) = match unsigned.find(['e', 'E', 'd', 'D']) {
        Some(at) => (
            unsigned.get(..at).unwrap_or_default(),
            unsigned.get(at + 1..),
        ),
        None => (unsigned, None),
    };
    let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let whole = whole.replace(',', "");
    let has_digits = whole.len() + fraction.len() > 0;
    let exponent_reads = exponent.is_none_or(|exponent| {
        let bare = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
        has_digits && !bare.is_empty() && digits(bare)
    });
    digits(&whole) && digits(fraction) && exponent_reads && (has_digits || exponent.is_none())
}

pub(super) fn newid(_: &Call<'_>) -> SqlResult<Binding> {
    let of = DataType::simple(TypeId::UniqueIdentifier);
    Ok(Binding::new(vec![], of, |env, _| {
        Ok(Value::Guid(env.new_guid()))
    }))
}

/// Only a column's default may call it, and the engine does that by itself.
pub(super) fn newsequentialid(_: &Call<'_>) -> SqlResult<Binding> {
    Err(message(302, &["newsequentialid".into()]))
}
