//! JSON_VALUE and its like: how their calls are bound. What they do to the text is in [`crate::json`].

use furrow_types::{DataType, Family, TypeId, Value};

use super::bind::{Binding, Call, INT, text};
use crate::convert::{decimal_text, money_text};
use crate::error::{SqlResult, message};
use crate::json::{Kind, Path, find, is_json, modify, quote, scientific};
use crate::room;
use crate::text::{units, value};
use crate::types::string_type;
use furrow_messages::Message;
use furrow_observe::task;

/// The longest text that JSON_VALUE gives, in UTF-16 units.
const MOST: usize = 4000;

/// Characters that STRING_ESCAPE takes at a time.
const PIECE: usize = 1 << 20;

/// The message of STRING_ESCAPE for another type.
const ONLY_JSON: &str = "STRING_ESCAPE for types other than 'json' is not supported.";

/// An argument that is text, of any length.
fn any_text(call: &Call<'_>, place: usize) -> SqlResult<DataType> {
    let operand = call.get(place);
    let of = operand.data_type;
    if operand.is_null_literal {
        return Ok(string_type(TypeId::NVarChar, 1, true));
    }
    match of.id.family() {
        Family::Char | Family::NChar => Ok(of),
        _ if matches!(of.id, TypeId::Text | TypeId::NText) => call.text(place),
        _ => Err(call.refuse(place)),
    }
}

/// What a call reads its document by. A path that is a constant is read once.
struct Way {
    known: Option<Path>,
    may_append: bool,
}

impl Way {
    fn of(call: &Call<'_>, may_append: bool) -> Way {
        let written = call.get(1).constant.and_then(Value::as_str);
        // An invalid path is reported when the call is evaluated: there may be no row for it.
        let known = written.and_then(|path| Path::parse(path, may_append).ok());
        Way { known, may_append }
    }

    fn follow<T>(&self, values: &[&Value], of: impl FnOnce(&Path) -> SqlResult<T>) -> SqlResult<T> {
        match &self.known {
            Some(path) => of(path),
            None => of(&Path::parse(text(values, 1), self.may_append)?),
        }
    }
}

pub(super) fn isjson(call: &Call<'_>) -> SqlResult<Binding> {
    let parameters = vec![Some(any_text(call, 0)?)];
    Ok(Binding::new(parameters, INT, |_, values| {
        Ok(Value::Int(i32::from(is_json(text(values, 0)))))
    }))
}

pub(super) fn json_value(call: &Call<'_>) -> SqlResult<Binding> {
    let of = any_text(call, 0)?;
    let result = string_type(TypeId::NVarChar, MOST as u32, false).with_collation(of.collation);
    let parameters = vec![Some(of), Some(any_text(call, 1)?)];
    let way = Way::of(call, false);
    Ok(Binding::new(parameters, result, move |_, values| {
        way.follow(values, |path| scalar(text(values, 0), path))
    }))
}

/// 13608 for a strict path that leads nowhere, NULL for a lax one.
fn missing(path: &Path) -> SqlResult<Value> {
    match path.strict {
        true => Err(message(13608, &[])),
        false => Ok(Value::Null),
    }
}

fn refused(path: &Path, number: u32) -> SqlResult<Value> {
    match path.strict {
        true => Err(message(number, &[])),
        false => Ok(Value::Null),
    }
}

fn scalar(json: &str, path: &Path) -> SqlResult<Value> {
    let found = find(json, &path.steps).map_err(|bad| bad.message(json, 1))?;
    let Some(node) = found else {
        return missing(path);
    };
    match node.scalar(json) {
        Some(text) if units(&text, true) > MOST => refused(path, 13625),
        Some(text) => Ok(Value::NVarChar(text.into_owned())),
        None if node.kind == Kind::Null => Ok(Value::Null),
        None => refused(path, 13623),
    }
}

pub(super) fn json_query(call: &Call<'_>) -> SqlResult<Binding> {
    let of = any_text(call, 0)?;
    let result = string_type(TypeId::NVarChar, 1, true).with_collation(of.collation);
    let mut parameters = vec![Some(of)];
    let mut way = Way::of(call, false);
    if call.len() == 2 {
        parameters.push(Some(any_text(call, 1)?));
    } else {
        way.known = Some(Path::default());
    }
    Ok(Binding::new(parameters, result, move |_, values| {
        way.follow(values, |path| part(text(values, 0), path))
    }))
}

fn part(json: &str, path: &Path) -> SqlResult<Value> {
    let found = find(json, &path.steps).map_err(|bad| bad.message(json, 1))?;
    let Some(node) = found else {
        return missing(path);
    };
    match node.kind {
        Kind::Array | Kind::Object => Ok(Value::NVarChar(node.text(json).to_owned())),
        Kind::Null => Ok(Value::Null),
        _ => refused(path, 13624),
    }
}

pub(super) fn json_path_exists(call: &Call<'_>) -> SqlResult<Binding> {
    let parameters = vec![Some(any_text(call, 0)?), Some(any_text(call, 1)?)];
    let way = Way::of(call, false);
    Ok(Binding::new(parameters, INT, move |_, values| {
        way.follow(values, |path| {
            let json = text(values, 0);
            let there = is_json(json) && matches!(find(json, &path.steps), Ok(Some(_)));
            Ok(Value::Int(i32::from(there)))
        })
    }))
}

pub(super) fn json_modify(call: &Call<'_>) -> SqlResult<Binding> {
    let of = any_text(call, 0)?;
    let result = string_type(TypeId::NVarChar, 1, true).with_collation(of.collation);
    let new = call.get(2);
    let raw = new.is_json;
    match new.data_type.id.family() {
        Family::Char | Family::NChar | Family::Integer | Family::Exact | Family::Approximate => {}
        _ if new.is_null_literal => {}
        _ => return Err(call.refuse(2)),
    }
    let parameters = vec![Some(of), Some(any_text(call, 1)?), None];
    let way = Way::of(call, true);
    let binding = Binding::new(parameters, result, move |_, values| {
        let [json, path, new] = values else {
            return Ok(Value::Null);
        };
        if json.is_null() || path.is_null() {
            return Ok(Value::Null);
        }
        let new = written(new, raw);
        way.follow(values, |path| {
            modify(text(values, 0), path, new.as_deref()).map(Value::NVarChar)
        })
    });
    Ok(binding.sees_null())
}

/// A value as JSON; `None` of NULL.
fn written(value: &Value, raw: bool) -> Option<String> {
    Some(match value {
        Value::Null => return None,
        Value::Bit(bit) => bit.to_string(),
        Value::VarChar(text) | Value::NVarChar(text) if raw => text.clone(),
        Value::VarChar(text) | Value::NVarChar(text) => {
            let mut out = String::with_capacity(text.len() + 2);
            out.push('"');
            quote(text, true, &mut out);
            out.push('"');
            out
        }
        Value::Money(n) => money_text(*n, 2),
        Value::SmallMoney(n) => money_text(i64::from(*n), 2),
        Value::Decimal(decimal) => decimal_text(*decimal),
        Value::Float(number) => scientific(*number, 15),
        Value::Real(number) => scientific(f64::from(*number), 7),
        other => other.to_string(),
    })
}

pub(super) fn string_escape(call: &Call<'_>) -> SqlResult<Binding> {
    let of = any_text(call, 0)?;
    let result = string_type(TypeId::NVarChar, 1, true).with_collation(of.collation);
    let parameters = vec![Some(of), Some(any_text(call, 1)?)];
    Ok(Binding::new(parameters, result, |_, values| {
        if !text(values, 1).eq_ignore_ascii_case("json") {
            return Err(Message::custom(40_514, 16, 1, ONLY_JSON));
        }
        let mut out = String::new();
        let mut rest = text(values, 0);
        while !rest.is_empty() {
            // Piece by piece: a result that becomes too long is refused before it is created.
            let end = rest.char_indices().nth(PIECE).map_or(rest.len(), |at| at.0);
            let (piece, behind) = rest.split_at(end);
            // A control character becomes six.
            room::more(&mut out, piece.len().saturating_mul(6))?;
            quote(piece, true, &mut out);
            if task::is_cancelled() {
                break;
            }
            room::check_texts(std::iter::once(&*out), true)?;
            rest = behind;
        }
        Ok(value(out, true))
    }))
}
