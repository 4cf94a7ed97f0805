//! Functions that take a text and give a part of it, its length or its letters in another form.

use furrow_types::{
    Collation, DataType, Family, TypeId, Value, character_weight, decode_1252, encode_1252,
};

use super::bind::{Binding, Call, INT, length, number, same_length, text, text_result};
use crate::error::{SqlResult, message};
use crate::room;
use crate::text::{slice, units, value};

/// The type of a position or length in a text: `bigint` where the text is `(max)`.
pub(super) fn count_type(of: &DataType) -> DataType {
    let id = if of.is_max() {
        TypeId::BigInt
    } else {
        TypeId::Int
    };
    DataType::simple(id)
}

/// A position or length as a value of [`count_type`].
pub(super) fn count(n: usize, of: &DataType) -> Value {
    if of.is_max() {
        Value::BigInt(i64::try_from(n).unwrap_or(i64::MAX))
    } else {
        Value::Int(i32::try_from(n).unwrap_or(i32::MAX))
    }
}

pub(super) fn len(call: &Call<'_>) -> SqlResult<Binding> {
    let from = call.get(0).data_type;
    if from.id.family() == Family::Lob {
        return Err(call.refuse(0));
    }
    if matches!(from.id, TypeId::Binary | TypeId::VarBinary) {
        return Ok(Binding::new(
            vec![None],
            count_type(&from),
            move |_, values| {
                let bytes = values.first().and_then(|value| value.as_bytes());
                let bytes = bytes.unwrap_or_default();
                let blanks = bytes.iter().rev().take_while(|&&byte| byte == b' ').count();
                Ok(count(bytes.len() - blanks, &from))
            },
        ));
    }
    let of = call.text(0)?;
    Ok(Binding::new(
        vec![Some(of)],
        count_type(&of),
        move |_, values| {
            let trimmed = text(values, 0).trim_end_matches(' ');
            Ok(count(units(trimmed, of.id.is_unicode()), &of))
        },
    ))
}

pub(super) fn datalength(call: &Call<'_>) -> SqlResult<Binding> {
    let from = call.get(0).data_type;
    Ok(Binding::new(
        vec![None],
        count_type(&from),
        move |_, values| {
            let bytes = values.first().map_or(0, |value| bytes_of(value, &from));
            Ok(count(bytes, &from))
        },
    ))
}

/// Bytes that a value takes by itself.
fn bytes_of(value: &Value, from: &DataType) -> usize {
    match value {
        Value::Null => 0,
        Value::VarChar(text) => units(text, false),
        Value::NVarChar(text) => 2 * units(text, true),
        Value::Binary(bytes) => bytes.len(),
        Value::Variant(inner) => bytes_of(&inner.1, &inner.0),
        _ => usize::from(from.fixed_len().unwrap_or(0)),
    }
}

pub(super) fn left(call: &Call<'_>) -> SqlResult<Binding> {
    side(call, 537, |text, most, unicode| {
        slice(text, 0, most, unicode)
    })
}

pub(super) fn right(call: &Call<'_>) -> SqlResult<Binding> {
    side(call, 536, |text, most, unicode| {
        let all = units(text, unicode);
        slice(text, all.saturating_sub(most), all, unicode)
    })
}

fn side(call: &Call<'_>, error: u32, take: fn(&str, usize, bool) -> String) -> SqlResult<Binding> {
    let of = call.text(0)?;
    let unicode = of.id.is_unicode();
    let parameters = vec![Some(of), Some(call.int(1)?)];
    Ok(Binding::new(
        parameters,
        same_length(&of),
        move |_, values| {
            let most = number(values, 1);
            if most < 0 {
                let names = if error == 536 {
                    vec!["RIGHT".into()]
                } else {
                    vec![]
                };
                return Err(message(error, &names));
            }
            Ok(value(take(text(values, 0), length(most), unicode), unicode))
        },
    ))
}

pub(super) fn substring(call: &Call<'_>) -> SqlResult<Binding> {
    let from = call.get(0).data_type;
    if call.get(0).is_null_literal {
        return Err(message(
            8116,
            &["NULL".into(), 1.into(), "substring".into()],
        ));
    }
    let (start, most) = (call.int(1)?, call.int(2)?);
    let is_bytes = matches!(from.id, TypeId::Binary | TypeId::VarBinary | TypeId::Image);
    let of = if is_bytes { from } else { call.text(0)? };
    // Numbers and dates are no text here.
    if !is_bytes && !from.id.has_collation() {
        return Err(call.refuse(0));
    }
    let parameters = vec![(!is_bytes).then_some(of), Some(start), Some(most)];
    let unicode = of.id.is_unicode();
    Ok(Binding::new(
        parameters,
        same_length(&of),
        move |_, values| {
            let (start, most) = (number(values, 1), number(values, 2));
            if most < 0 {
                return Err(message(537, &[]));
            }
            // A start before the text uses up some of the length.
            let end = start.saturating_add(most);
            let start = start.max(1);
            let (skip, take) = (length(start - 1), length(end - start));
            Ok(match values.first() {
                Some(Value::Binary(bytes)) => {
                    let end = skip.saturating_add(take).min(bytes.len());
                    let part = bytes.get(skip.min(end)..end).unwrap_or_default();
                    Value::Binary(part.to_vec())
                }
                _ => value(slice(text(values, 0), skip, take, unicode), unicode),
            })
        },
    ))
}

pub(super) fn upper(call: &Call<'_>) -> SqlResult<Binding> {
    letters(call, |c| {
        c.to_uppercase()
            .next()
            .filter(|_| c.to_uppercase().count() == 1)
    })
}

pub(super) fn lower(call: &Call<'_>) -> SqlResult<Binding> {
    letters(call, |c| {
        c.to_lowercase()
            .next()
            .filter(|_| c.to_lowercase().count() == 1)
    })
}

/// Letter by letter; one whose other form is longer, or outside of the code page, stays.
fn letters(call: &Call<'_>, form: fn(char) -> Option<char>) -> SqlResult<Binding> {
    let of = call.text(0)?;
    let unicode = of.id.is_unicode();
    Ok(Binding::new(
        vec![Some(of)],
        same_length(&of),
        move |_, values| {
            let changed = text(values, 0).chars().map(|c| match form(c) {
                Some(other) if unicode || is_in_code_page(other) => other,
                _ => c,
            });
            let length = text(values, 0).len();
            Ok(value(room::collected(length, changed)?, unicode))
        },
    ))
}

/// Whether code page 1252 has the character.
pub(super) fn is_in_code_page(c: char) -> bool {
    if c.is_ascii() {
        return true;
    }
    let mut bytes = Vec::with_capacity(1);
    encode_1252(c.encode_utf8(&mut [0; 4]), &mut bytes);
    decode_1252(&bytes).chars().eq([c])
}

pub(super) fn ltrim(call: &Call<'_>) -> SqlResult<Binding> {
    trimmed(call, 0, 1, true, false)
}

pub(super) fn rtrim(call: &Call<'_>) -> SqlResult<Binding> {
    trimmed(call, 0, 1, false, true)
}

pub(super) fn trim(call: &Call<'_>) -> SqlResult<Binding> {
    // TRIM(characters FROM text) comes with the characters first.
    if call.len() == 2 {
        trimmed(call, 1, 0, true, true)
    } else {
        trimmed(call, 0, 1, true, true)
    }
}

fn trimmed(
    call: &Call<'_>,
    text_at: usize,
    set_at: usize,
    start: bool,
    end: bool,
) -> SqlResult<Binding> {
    let of = call.text(text_at)?;
    let unicode = of.id.is_unicode();
    let mut parameters = vec![Some(of)];
    let collation = call.collation()?;
    if call.len() == 2 {
        parameters.insert(set_at, Some(call.text(set_at)?));
    }
    let has_set = call.len() == 2;
    Ok(Binding::new(
        parameters,
        same_length(&of),
        move |_, values| {
            let whole = text(values, text_at);
            let set = if has_set { text(values, set_at) } else { " " };
            let within = |c: char| {
                set.chars()
                    .any(|member| same_character(member, c, collation))
            };
            let mut rest = whole;
            if start {
                rest = rest.trim_start_matches(within);
            }
            if end {
                rest = rest.trim_end_matches(within);
            }
            Ok(value(rest.to_owned(), unicode))
        },
    ))
}

/// Whether two characters are the same under a collation.
pub(super) fn same_character(a: char, b: char, collation: Collation) -> bool {
    if a == b {
        return true;
    }
    let unit = |c: char| u16::try_from(u32::from(c)).ok();
    match (unit(a), unit(b)) {
        (Some(a), Some(b)) => character_weight(a, collation) == character_weight(b, collation),
        _ => false,
    }
}

pub(super) fn reverse(call: &Call<'_>) -> SqlResult<Binding> {
    let of = call.text(0)?;
    Ok(Binding::new(
        vec![Some(of)],
        same_length(&of),
        move |_, values| {
            let whole = text(values, 0);
            let reversed = room::collected(whole.len(), whole.chars().rev())?;
            Ok(text_result(reversed, &of))
        },
    ))
}

pub(super) fn ascii(call: &Call<'_>) -> SqlResult<Binding> {
    let of = call.text(0)?;
    Ok(Binding::new(vec![Some(of)], INT, |_, values| {
        let mut bytes = Vec::with_capacity(1);
        let first = text(values, 0).chars().next();
        let Some(first) = first else {
            return Ok(Value::Null);
        };
        encode_1252(first.encode_utf8(&mut [0; 4]), &mut bytes);
        Ok(bytes
            .first()
            .map_or(Value::Null, |&byte| Value::Int(i32::from(byte))))
    }))
}

pub(super) fn unicode(call: &Call<'_>) -> SqlResult<Binding> {
    let of = call.text(0)?;
    Ok(Binding::new(vec![Some(of)], INT, |_, values| {
        let first = text(values, 0).encode_utf16().next();
        Ok(first.map_or(Value::Null, |unit| Value::Int(i32::from(unit))))
    }))
}

pub(super) fn soundex(call: &Call<'_>) -> SqlResult<Binding> {
    let of = call.text(0)?;
    let result = DataType::sized(TypeId::VarChar, 4);
    Ok(Binding::new(vec![Some(of)], result, |_, values| {
        Ok(Value::VarChar(sound(text(values, 0))))
    }))
}

pub(super) fn difference(call: &Call<'_>) -> SqlResult<Binding> {
    let parameters = vec![Some(call.text(0)?), Some(call.text(1)?)];
    Ok(Binding::new(parameters, INT, |_, values| {
        let (a, b) = (sound(text(values, 0)), sound(text(values, 1)));
        let agree = a.bytes().zip(b.bytes()).filter(|(a, b)| a == b).count();
        Ok(Value::Int(i32::try_from(agree).unwrap_or(0)))
    }))
}

/// The first letter, then three digits for the consonants that follow. H and W do not part equal digits,
/// vowels do.
fn sound(text: &str) -> String {
    let code = |c: char| match c.to_ascii_uppercase() {
        'B' | 'F' | 'P' | 'V' => '1',
        'C' | 'G' | 'J' | 'K' | 'Q' | 'S' | 'X' | 'Z' => '2',
        'D' | 'T' => '3',
        'L' => '4',
        'M' | 'N' => '5',
        'R' => '6',
        'H' | 'W' => 'h',
        _ => '0',
    };
    let mut letters = text.chars().take_while(char::is_ascii_alphabetic);
    let Some(first) = letters.next() else {
        return "0000".to_owned();
    };
    let mut out = String::from(first.to_ascii_uppercase());
    let mut last = code(first);
    for letter in letters {
        match code(letter) {
            'h' => {}
            digit => {
                if digit != last && digit != '0' && out.len() < 4 {
                    out.push(digit);
                }
                last = digit;
            }
        }
    }
    while out.len() < 4 {
        out.push('0');
    }
    out
}
