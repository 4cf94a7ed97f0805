//! Functions that look for a text in another one, under the collation of both.

use furrow_observe::task;
use furrow_types::{Collation, DataType, TypeId, Value, character_weight};

use super::bind::{Binding, Call, limit, number, same_length, text, text_result, variable};
use super::string::{count, count_type, same_character};
use crate::error::{SqlResult, message};
use crate::ops::LikePattern;
use crate::room;
use crate::text::value;

/// A text by the weights of its units.
fn weights(text: &str, collation: Collation) -> SqlResult<Vec<u32>> {
    let mut weights = room::list(text.len())?;
    weights.extend(
        text.encode_utf16()
            .map_while(room::polled())
            .map(|unit| character_weight(unit, collation)),
    );
    Ok(weights)
}

/// Units compared between two looks whether the statement is to end.
const CHECK_UNITS: usize = 1 << 20;

/// The place of `sought` in `within`, from `start` on, in units from 0.
fn position(sought: &[u32], within: &[u32], start: usize) -> Option<usize> {
    let tail = within.get(start..)?;
    let mut looked_at = 0_usize;
    let between = (CHECK_UNITS / sought.len().max(1)).max(1);
    let at = tail.windows(sought.len()).position(|window| {
        looked_at += 1;
        // When the statement is to end, any answer will do: nothing looks at it.
        let ends = looked_at.is_multiple_of(between) && task::is_cancelled();
        ends || window == sought
    })?;
    Some(start + at)
}

pub(super) fn charindex(call: &Call<'_>) -> SqlResult<Binding> {
    let (sought, within) = (call.text(0)?, call.text(1)?);
    let mut parameters = vec![Some(sought), Some(within)];
    if call.len() == 3 {
        let is_big = call.get(2).data_type.id == TypeId::BigInt;
        parameters.push(if is_big { None } else { Some(call.int(2)?) });
    }
    let collation = call.collation()?;
    let has_start = call.len() == 3;
    Ok(Binding::new(
        parameters,
        count_type(&within),
        move |_, values| {
            let start = if has_start { number(values, 2) } else { 1 };
            let start = usize::try_from(start - 1).unwrap_or(0);
            let sought = weights(text(values, 0), collation)?;
            if sought.is_empty() {
                return Ok(count(0, &within));
            }
            let found = position(&sought, &weights(text(values, 1), collation)?, start);
            Ok(count(found.map_or(0, |at| at + 1), &within))
        },
    ))
}

pub(super) fn patindex(call: &Call<'_>) -> SqlResult<Binding> {
    let (pattern, within) = (call.text(0)?, call.text(1)?);
    let collation = call.collation()?;
    let unicode = call.any_unicode();
    // A constant pattern is compiled once.
    let compiled = match call.get(0).constant.and_then(Value::as_str) {
        Some(pattern) => Some(LikePattern::new(pattern, None, collation, unicode)?),
        None => None,
    };
    let parameters = vec![Some(pattern), Some(within)];
    Ok(Binding::new(
        parameters,
        count_type(&within),
        move |_, values| {
            let position = match &compiled {
                Some(pattern) => pattern.position(text(values, 1)),
                None => LikePattern::new(text(values, 0), None, collation, unicode)?
                    .position(text(values, 1)),
            };
            Ok(count(position, &within))
        },
    ))
}

pub(super) fn replace(call: &Call<'_>) -> SqlResult<Binding> {
    let parameters = vec![
        Some(call.text(0)?),
        Some(call.text(1)?),
        Some(call.text(2)?),
    ];
    let collation = call.collation()?;
    let any_max = parameters.iter().flatten().any(DataType::is_max);
    let id = if call.any_unicode() {
        TypeId::NVarChar
    } else {
        TypeId::VarChar
    };
    let result = crate::types::string_type(id, 8000, any_max).with_collation(collation);
    Ok(Binding::new(parameters, result, move |_, values| {
        let (whole, sought, by) = (text(values, 0), text(values, 1), text(values, 2));
        let most = limit(&result);
        let replaced = replaced(whole, sought, by, collation, result.id.is_unicode(), most)?;
        Ok(text_result(replaced, &result))
    }))
}

/// A text with each `sought` in it replaced. `most`: units of which no more are kept.
pub(super) fn replaced(
    whole: &str,
    sought: &str,
    by: &str,
    collation: Collation,
    unicode: bool,
    most: Option<usize>,
) -> SqlResult<String> {
    let pattern = weights(sought, collation)?;
    if pattern.is_empty() {
        return room::joined(std::iter::once(whole), unicode);
    }
    let within = weights(whole, collation)?;
    let mut units: Vec<u16> = room::list(within.len())?;
    units.extend(whole.encode_utf16().map_while(room::polled()));
    if units.len() != within.len() {
        // The statement is cancelled.
        return Ok(String::new());
    }
    let by: Vec<u16> = by.encode_utf16().collect();
    let length = |times: usize| {
        let rest = units.len() - times * pattern.len();
        times.saturating_mul(by.len()).saturating_add(rest)
    };
    let mut times = units.len() / pattern.len();
    if most.is_none() && room::check_units(length(times), unicode).is_err() {
        times = places(&pattern, &within).count();
        room::check_units(length(times), unicode)?;
    }
    let mut out: Vec<u16> = room::list(units.len())?;
    let mut at = 0;
    for place in places(&pattern, &within) {
        room::more_of(&mut out, place - at + by.len())?;
        out.extend_from_slice(units.get(at..place).unwrap_or_default());
        out.extend_from_slice(&by);
        at = place + pattern.len();
        if most.is_some_and(|most| out.len() > most) {
            return room::from_utf16(&out);
        }
    }
    room::more_of(&mut out, units.len() - at)?;
    out.extend_from_slice(units.get(at..).unwrap_or_default());
    room::from_utf16(&out)
}

/// The places of `sought` in `within`, from left to right.
fn places<'w>(sought: &'w [u32], within: &'w [u32]) -> impl Iterator<Item = usize> + 'w {
    let mut at = 0;
    std::iter::from_fn(move || {
        let place = position(sought, within, at)?;
        at = place + sought.len();
        Some(place)
    })
}

pub(super) fn translate(call: &Call<'_>) -> SqlResult<Binding> {
    let of = call.text(0)?;
    let parameters = vec![Some(of), Some(call.text(1)?), Some(call.text(2)?)];
    let collation = call.collation()?;
    let unicode = call.any_unicode();
    let kind = if unicode {
        DataType::sized(TypeId::NVarChar, 2)
    } else {
        of
    };
    let result = if kind.id.is_unicode() == of.id.is_unicode() {
        same_length(&of)
    } else {
        variable(&kind, crate::types::width(&of, TypeId::NVarChar))
    };
    Ok(Binding::new(parameters, result, move |_, values| {
        let from: Vec<char> = text(values, 1).chars().collect();
        let to: Vec<char> = text(values, 2).chars().collect();
        if from.len() != to.len() {
            return Err(message(9828, &["TRANSLATE".into()]));
        }
        let changed = text(values, 0).chars().map(|c| {
            let place = from
                .iter()
                .position(|&known| same_character(known, c, collation));
            place.and_then(|at| to.get(at).copied()).unwrap_or(c)
        });
        let length = text(values, 0).len();
        Ok(value(room::collected(length, changed)?, unicode))
    }))
}
