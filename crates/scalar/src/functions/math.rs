//! Functions of numbers.

use furrow_types::{DataType, Decimal, Family, TypeId, Value, cast};

use super::bind::{BIGINT, Binding, Call, FLOAT, INT, float, number};
use crate::error::{SqlResult, message, of_type_error, overflow};
use crate::exact::power_of_ten;
use crate::ops::{approximate, float_of};
use crate::types::exact;

/// What kind of number an argument is, and the type it is computed in: small integers are `int`, `real` is
/// `float`, `smallmoney` is `money`, text is `float`.
fn numeric(call: &Call<'_>, place: usize) -> SqlResult<DataType> {
    let from = call.get(place).data_type;
    Ok(match from.id {
        _ if call.get(place).is_null_literal => INT,
        TypeId::TinyInt | TypeId::SmallInt | TypeId::Int => INT,
        TypeId::BigInt => BIGINT,
        TypeId::Money | TypeId::SmallMoney => DataType::simple(TypeId::Money),
        TypeId::Decimal | TypeId::Numeric => from,
        TypeId::Real | TypeId::Float | TypeId::Bit => FLOAT,
        _ if from.id.has_collation() && from.id.family() != Family::Lob => FLOAT,
        _ => return Err(call.refuse(place)),
    })
}

/// An integer result of a type.
fn whole(n: Option<i64>, id: TypeId) -> SqlResult<Value> {
    let n = n.ok_or_else(|| overflow(id))?;
    match id {
        TypeId::BigInt => Ok(Value::BigInt(n)),
        TypeId::Money => Ok(Value::Money(n)),
        _ => i32::try_from(n).map(Value::Int).map_err(|_| overflow(id)),
    }
}

/// The integer, or the ten-thousandths of money.
fn units(value: &Value) -> i64 {
    match value {
        Value::Money(n) => *n,
        _ => value.as_i64().unwrap_or(0),
    }
}

/// A function of one number that keeps its type.
fn same_type(
    call: &Call<'_>,
    result: fn(DataType) -> DataType,
    apply: fn(&Value, &DataType) -> SqlResult<Value>,
) -> SqlResult<Binding> {
    let of = numeric(call, 0)?;
    let result = result(of);
    Ok(Binding::new(
        vec![Some(of)],
        result,
        move |_, values| match values.first() {
            Some(value) => apply(value, &result),
            None => Ok(Value::Null),
        },
    ))
}

const fn as_it_is(of: DataType) -> DataType {
    of
}

fn scale_zero(of: DataType) -> DataType {
    match of.id {
        TypeId::Decimal | TypeId::Numeric => {
            DataType::decimal(of.id, of.precision, 0).unwrap_or(of)
        }
        _ => of,
    }
}

pub(super) fn abs(call: &Call<'_>) -> SqlResult<Binding> {
    same_type(call, as_it_is, |value, to| match value {
        Value::Decimal(n) => Ok(Value::Decimal(Decimal {
            unscaled: n.unscaled.abs(),
            scale: n.scale,
        })),
        Value::Float(x) => Ok(Value::Float(x.abs())),
        _ => whole(units(value).checked_abs(), to.id),
    })
}

pub(super) fn sign(call: &Call<'_>) -> SqlResult<Binding> {
    same_type(call, as_it_is, |value, to| match value {
        Value::Decimal(n) => Ok(Value::Decimal(Decimal {
            unscaled: n.unscaled.signum() * power_of_ten(n.scale).cast_signed(),
            scale: n.scale,
        })),
        Value::Float(x) if *x == 0.0 => Ok(Value::Float(0.0)),
        Value::Float(x) => Ok(Value::Float(x.signum())),
        Value::Money(n) => Ok(Value::Money(10_000 * n.signum())),
        _ => whole(Some(units(value).signum()), to.id),
    })
}

pub(super) fn floor(call: &Call<'_>) -> SqlResult<Binding> {
    same_type(call, scale_zero, |value, to| match value {
        Value::Float(x) => Ok(Value::Float(x.floor())),
        _ => down(value, to, 0),
    })
}

pub(super) fn ceiling(call: &Call<'_>) -> SqlResult<Binding> {
    same_type(call, scale_zero, |value, to| match value {
        Value::Float(x) => Ok(Value::Float(x.ceil())),
        _ => down(value, to, 1),
    })
}

/// The whole number below, and one more (`up`) where something was cut off.
fn down(value: &Value, to: &DataType, up: i128) -> SqlResult<Value> {
    let Some(n) = exact(value) else {
        return Ok(Value::Null);
    };
    let unit = power_of_ten(n.scale).cast_signed();
    let cut = n.unscaled.rem_euclid(unit) != 0;
    let result = n.unscaled.div_euclid(unit) + if cut { up } else { 0 };
    match value {
        Value::Decimal(_) if result.unsigned_abs() >= power_of_ten(to.precision) => {
            Err(overflow(to.id))
        }
        Value::Decimal(_) => Ok(Value::Decimal(Decimal {
            unscaled: result,
            scale: 0,
        })),
        Value::Money(_) => whole(
            i64::try_from(result)
                .ok()
                .and_then(|n| n.checked_mul(10_000)),
            to.id,
        ),
        _ => Ok(value.clone()),
    }
}

pub(super) fn round(call: &Call<'_>) -> SqlResult<Binding> {
    let of = numeric(call, 0)?;
    let mut parameters = vec![Some(of), Some(call.int(1)?)];
    if call.len() == 3 {
        parameters.push(Some(call.int(2)?));
    }
    let has_third = call.len() == 3;
    Ok(Binding::new(parameters, of, move |_, values| {
        let places = number(values, 1);
        let truncate = has_third && number(values, 2) != 0;
        match values.first() {
            Some(Value::Float(x)) => float_of(round_float(*x, places, truncate), of.id),
            Some(value) => round_exact(value, places, truncate, &of),
            None => Ok(Value::Null),
        }
    }))
}

fn round_float(x: f64, places: i64, truncate: bool) -> f64 {
    let unit = libm::pow(10.0, places.clamp(-400, 400) as f64);
    if unit == 0.0 {
        return 0.0;
    }
    let scaled = x * unit;
    if !scaled.is_finite() || unit.is_infinite() {
        return x;
    }
    let rounded = if truncate {
        scaled.trunc()
    } else {
        scaled.round()
    };
    rounded / unit
}

/// Exact numbers keep their scale: digits behind the rounding place become zero.
fn round_exact(value: &Value, places: i64, truncate: bool, of: &DataType) -> SqlResult<Value> {
    let Some(n) = exact(value) else {
        return Ok(Value::Null);
    };
    let dropped = i64::from(n.scale) - places;
    let result = if dropped <= 0 {
        n.unscaled
    } else if dropped > 38 {
        0
    } else {
        let unit = power_of_ten(dropped as u8).cast_signed();
        let (kept, rest) = (n.unscaled / unit, n.unscaled % unit);
        let up = !truncate && rest.unsigned_abs() >= (unit / 2).unsigned_abs();
        let kept = kept + if up { n.unscaled.signum() } else { 0 };
        kept.checked_mul(unit).ok_or_else(|| overflow(of.id))?
    };
    match value {
        Value::Decimal(_) if result.unsigned_abs() >= power_of_ten(of.precision) => {
            Err(overflow(of.id))
        }
        Value::Decimal(_) => Ok(Value::Decimal(Decimal {
            unscaled: result,
            scale: n.scale,
        })),
        _ => whole(i64::try_from(result).ok(), of.id),
    }
}

pub(super) fn power(call: &Call<'_>) -> SqlResult<Binding> {
    let of = numeric(call, 0)?;
    let result = match of.id {
        TypeId::Decimal | TypeId::Numeric => DataType::decimal(of.id, 38, of.scale).unwrap_or(of),
        _ => of,
    };
    let parameters = vec![Some(of), Some(call.float(1)?)];
    Ok(Binding::new(parameters, result, move |_, values| {
        let (base, exponent) = (float(values, 0), float(values, 1));
        // Whole numbers to whole powers are exact.
        if let (Some(Value::Int(_) | Value::BigInt(_)), true) = (
            values.first(),
            exponent.fract() == 0.0 && (0.0..=64.0).contains(&exponent),
        ) {
            let n = number(values, 0).checked_pow(exponent as u32);
            if let Some(n) = n {
                return converted(Value::BigInt(n), &result);
            }
        }
        if base == 0.0 && exponent < 0.0 {
            return Err(crate::error::divide_by_zero());
        }
        let raised = libm::pow(base, exponent);
        if raised.is_nan() {
            return Err(message(3623, &[]));
        }
        converted(float_of(raised, TypeId::Float)?, &result)
    }))
}

/// A computed number in the type of the argument; out of range as a floating-point number is.
fn converted(value: Value, to: &DataType) -> SqlResult<Value> {
    let value = match (&value, to.id) {
        (Value::BigInt(n), TypeId::Int) if i32::try_from(*n).is_err() => Value::Float(*n as f64),
        _ => value,
    };
    cast(&value, to).map_err(|error| of_type_error(&error))
}

pub(super) fn degrees(call: &Call<'_>) -> SqlResult<Binding> {
    angle(call, |x| x * (180.0 / std::f64::consts::PI))
}

pub(super) fn radians(call: &Call<'_>) -> SqlResult<Binding> {
    angle(call, |x| x * (std::f64::consts::PI / 180.0))
}

fn angle(call: &Call<'_>, apply: fn(f64) -> f64) -> SqlResult<Binding> {
    let of = numeric(call, 0)?;
    let result = match of.id {
        TypeId::Decimal | TypeId::Numeric => {
            DataType::decimal(of.id, 38, of.scale.max(18)).unwrap_or(of)
        }
        _ => of,
    };
    Ok(Binding::new(vec![Some(of)], result, move |_, values| {
        let turned = float_of(apply(float(values, 0)), TypeId::Float)?;
        cast(&turned, &result).map_err(|error| of_type_error(&error))
    }))
}

/// A function of one `float`; 3623 where it has no value.
fn of_float(call: &Call<'_>, apply: fn(f64) -> f64) -> SqlResult<Binding> {
    let parameters = vec![Some(call.float(0)?)];
    Ok(Binding::new(parameters, FLOAT, move |_, values| {
        let result = apply(float(values, 0));
        if result.is_nan() {
            return Err(message(3623, &[]));
        }
        float_of(result, TypeId::Float)
    }))
}

pub(super) fn sqrt(call: &Call<'_>) -> SqlResult<Binding> {
    of_float(call, f64::sqrt)
}

pub(super) fn square(call: &Call<'_>) -> SqlResult<Binding> {
    of_float(call, |x| x * x)
}

pub(super) fn exp(call: &Call<'_>) -> SqlResult<Binding> {
    of_float(call, f64::exp)
}

pub(super) fn log10(call: &Call<'_>) -> SqlResult<Binding> {
    of_float(call, |x| if x > 0.0 { libm::log10(x) } else { f64::NAN })
}

pub(super) fn sin(call: &Call<'_>) -> SqlResult<Binding> {
    of_float(call, libm::sin)
}

pub(super) fn cos(call: &Call<'_>) -> SqlResult<Binding> {
    of_float(call, libm::cos)
}

pub(super) fn tan(call: &Call<'_>) -> SqlResult<Binding> {
    of_float(call, libm::tan)
}

pub(super) fn cot(call: &Call<'_>) -> SqlResult<Binding> {
    of_float(call, |x| 1.0 / libm::tan(x))
}

pub(super) fn asin(call: &Call<'_>) -> SqlResult<Binding> {
    of_float(call, libm::asin)
}

pub(super) fn acos(call: &Call<'_>) -> SqlResult<Binding> {
    of_float(call, libm::acos)
}

pub(super) fn atan(call: &Call<'_>) -> SqlResult<Binding> {
    of_float(call, libm::atan)
}

pub(super) fn atn2(call: &Call<'_>) -> SqlResult<Binding> {
    let parameters = vec![Some(call.float(0)?), Some(call.float(1)?)];
    Ok(Binding::new(parameters, FLOAT, |_, values| {
        Ok(Value::Float(libm::atan2(
            float(values, 0),
            float(values, 1),
        )))
    }))
}

pub(super) fn log(call: &Call<'_>) -> SqlResult<Binding> {
    let mut parameters = vec![Some(call.float(0)?)];
    if call.len() == 2 {
        parameters.push(Some(call.float(1)?));
    }
    Ok(Binding::new(parameters, FLOAT, |_, values| {
        let x = float(values, 0);
        let base = values.get(1).and_then(|value| approximate(value));
        let divisor = base.map_or(1.0, libm::log);
        if x <= 0.0 || base.is_some_and(|base| base <= 0.0 || divisor == 0.0) {
            return Err(message(3623, &[]));
        }
        Ok(Value::Float(libm::log(x) / divisor))
    }))
}

pub(super) fn pi(_: &Call<'_>) -> SqlResult<Binding> {
    Ok(Binding::new(vec![], FLOAT, |_, _| {
        Ok(Value::Float(std::f64::consts::PI))
    }))
}

pub(super) fn rand(call: &Call<'_>) -> SqlResult<Binding> {
    let mut parameters = Vec::new();
    if call.len() == 1 {
        parameters.push(Some(call.int(0)?));
    }
    let binding = Binding::new(parameters, FLOAT, |env, values| {
        if let Some(seed) = values.first() {
            let seed = seed.as_i64().and_then(|n| i32::try_from(n).ok());
            env.rand = crate::env::RandState::seeded(seed.unwrap_or(0));
        }
        Ok(Value::Float(env.rand.next_number()))
    });
    Ok(binding.sees_null())
}
