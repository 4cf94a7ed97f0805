//! Values to bytes on disk and back.

use super::calendar::{
    Date, DateTime, DateTime2, DateTimeOffset, SmallDateTime, Time, ticks_per_unit,
};
use super::code_page::{decode_1252, decode_utf16, encode_1252, encode_utf16};
use super::compare::magnitude;
use super::convert::cast;
use super::data_type::{decimal_len, time_len};
use super::{DataType, Decimal, Family, Guid, TypeError, TypeId, Value, variant, xml};

/// Appends a value in its form on disk, converting it to the type first where SQL Server would.
///
/// `char` and `binary` are padded. NULL has no bytes of its own (the null bitmap says it): fixed types get
/// zeros, variable ones nothing. `text`, `ntext`, `image` and `(max)` give the value itself, to be placed in
/// the row or on LOB pages by the caller. A `bit` is one byte, 0 or 1.
pub fn encode_into(
    data_type: &DataType,
    value: &Value,
    out: &mut Vec<u8>,
) -> Result<(), TypeError> {
    if value.is_null() {
        let zeros = data_type.fixed_len().map_or(0, usize::from);
        out.resize(out.len() + zeros, 0);
        return Ok(());
    }
    if encode_same(data_type, value, out)? {
        return Ok(());
    }
    let converted = cast(value, data_type)?;
    if encode_same(data_type, &converted, out)? {
        return Ok(());
    }
    let from = value.type_id().map_or("NULL", TypeId::name);
    Err(TypeError::Clash {
        from,
        to: data_type.id.name(),
    })
}

/// [`encode_into`] a new buffer.
pub fn encode(data_type: &DataType, value: &Value) -> Result<Vec<u8>, TypeError> {
    let mut out = Vec::new();
    encode_into(data_type, value, &mut out)?;
    Ok(out)
}

/// Encodes a value that is of the type already; `false` (and nothing appended) when it isn't.
fn encode_same(data_type: &DataType, value: &Value, out: &mut Vec<u8>) -> Result<bool, TypeError> {
    use TypeId as T;
    match (data_type.id, value) {
        (T::Bit, Value::Bit(bit)) => out.push(u8::from(*bit)),
        (T::TinyInt, Value::TinyInt(n)) => out.push(*n),
        (T::SmallInt, Value::SmallInt(n)) => out.extend(n.to_le_bytes()),
        (T::Int, Value::Int(n)) => out.extend(n.to_le_bytes()),
        (T::BigInt, Value::BigInt(n)) => out.extend(n.to_le_bytes()),
        (T::Decimal | T::Numeric, Value::Decimal(d)) if d.scale == data_type.scale => {
            encode_decimal(data_type, *d, out)?;
        }
        (T::Money, Value::Money(n)) => out.extend(n.to_le_bytes()),
        (T::SmallMoney, Value::SmallMoney(n)) => out.extend(n.to_le_bytes()),
        (T::Real, Value::Real(x)) if x.is_finite() => out.extend(x.to_le_bytes()),
        (T::Float, Value::Float(x)) if x.is_finite() => out.extend(x.to_le_bytes()),
        (T::Char | T::VarChar | T::Text, Value::VarChar(text))
        | (T::Char | T::VarChar | T::Text, Value::NVarChar(text)) => {
            let start = out.len();
            encode_1252(text, out);
            fit(data_type, start, out)?;
        }
        (T::NChar | T::NVarChar | T::NText, Value::VarChar(text) | Value::NVarChar(text)) => {
            let start = out.len();
            encode_utf16(text, out);
            fit(data_type, start, out)?;
        }
        (T::Binary | T::VarBinary | T::RowVersion | T::Image | T::Udt, Value::Binary(b)) => {
            let start = out.len();
            out.extend_from_slice(b);
            fit(data_type, start, out)?;
        }
        (T::Xml, Value::NVarChar(text)) => xml::encode(text, out),
        (T::Date, Value::Date(date)) => encode_date(*date, out),
        (T::Time, Value::Time(time)) if time.scale() == data_type.scale => encode_time(*time, out),
        (T::DateTime, Value::DateTime(moment)) => {
            out.extend(moment.ticks().to_le_bytes());
            out.extend(moment.days().to_le_bytes());
        }
        (T::DateTime2, Value::DateTime2(m)) if m.time.scale() == data_type.scale => {
            encode_time(m.time, out);
            encode_date(m.date, out);
        }
        (T::DateTimeOffset, Value::DateTimeOffset(m)) if m.utc.time.scale() == data_type.scale => {
            encode_time(m.utc.time, out);
            encode_date(m.utc.date, out);
            out.extend(m.offset_minutes.to_le_bytes());
        }
        (T::SmallDateTime, Value::SmallDateTime(moment)) => {
            out.extend(moment.minutes().to_le_bytes());
            out.extend(moment.days().to_le_bytes());
        }
        (T::UniqueIdentifier, Value::Guid(guid)) => out.extend(guid.0),
        (T::SqlVariant, Value::Variant(inner)) => variant::encode(&inner.0, &inner.1, out)?,
        _ => return Ok(false),
    }
    Ok(true)
}

/// Pads a fixed string; cuts blanks (and, for bytes, nothing) off one that is too long, or refuses it.
fn fit(data_type: &DataType, start: usize, out: &mut Vec<u8>) -> Result<(), TypeError> {
    if data_type.id.family() == Family::Lob || data_type.is_max() {
        return Ok(());
    }
    let declared = data_type
        .id
        .implied_len()
        .unwrap_or(data_type.length.max(0) as u16);
    let end = start + usize::from(declared);
    let unicode = data_type.id.is_unicode();
    if let Some(excess) = out.get(end..).filter(|excess| !excess.is_empty()) {
        let blank = match data_type.id.family() {
            Family::Char => excess.iter().all(|&byte| byte == b' '),
            Family::NChar => excess.chunks(2).all(|unit| unit == [b' ', 0]),
            _ => false,
        };
        if !blank {
            let kept = out.get(start..end).unwrap_or_default();
            let kept = match data_type.id.family() {
                Family::Char => decode_1252(kept),
                Family::NChar => decode_utf16(kept),
                _ => Value::Binary(kept.to_vec()).to_string(),
            };
            out.truncate(start);
            return Err(TypeError::Truncated { kept });
        }
        out.truncate(end);
    }
    if !data_type.id.is_variable() {
        if unicode {
            while out.len() < end {
                out.extend([b' ', 0]);
            }
        } else {
            let pad = if data_type.id.family() == Family::Char {
                b' '
            } else {
                0
            };
            out.resize(end.max(out.len()), pad);
        }
    }
    Ok(())
}

fn encode_decimal(
    data_type: &DataType,
    value: Decimal,
    out: &mut Vec<u8>,
) -> Result<(), TypeError> {
    let digits = value.unscaled.unsigned_abs();
    if digits >= 10u128.pow(u32::from(data_type.precision.min(38))) {
        let name = data_type.id.name();
        return Err(TypeError::Overflow {
            from: "numeric",
            to: name,
        });
    }
    out.push(u8::from(value.unscaled >= 0));
    let length = usize::from(decimal_len(data_type.precision)) - 1;
    out.extend(digits.to_le_bytes().iter().take(length));
    Ok(())
}

fn encode_date(date: Date, out: &mut Vec<u8>) {
    out.extend(date.days().to_le_bytes().iter().take(3));
}

fn encode_time(time: Time, out: &mut Vec<u8>) {
    let units = time.ticks() / ticks_per_unit(time.scale());
    out.extend(
        units
            .to_le_bytes()
            .iter()
            .take(usize::from(time_len(time.scale()))),
    );
}

/// The value of bytes on disk.
///
/// For `text`, `ntext`, `image` and `(max)` types the bytes are the value itself, already fetched. Bytes that
/// are no value of the type give [`TypeError::Malformed`].
pub fn decode(data_type: &DataType, bytes: &[u8]) -> Result<Value, TypeError> {
    let malformed = || TypeError::Malformed {
        data_type: *data_type,
        length: bytes.len(),
    };
    decode_known(data_type, bytes).ok_or_else(malformed)
}

fn decode_known(data_type: &DataType, bytes: &[u8]) -> Option<Value> {
    use TypeId as T;
    Some(match data_type.id {
        T::Bit => Value::Bit(exactly::<1>(bytes)? != [0]),
        T::TinyInt => Value::TinyInt(u8::from_le_bytes(exactly(bytes)?)),
        T::SmallInt => Value::SmallInt(i16::from_le_bytes(exactly(bytes)?)),
        T::Int => Value::Int(i32::from_le_bytes(exactly(bytes)?)),
        T::BigInt => Value::BigInt(i64::from_le_bytes(exactly(bytes)?)),
        T::Decimal | T::Numeric => Value::Decimal(decode_decimal(data_type, bytes)?),
        T::Money => Value::Money(i64::from_le_bytes(exactly(bytes)?)),
        T::SmallMoney => Value::SmallMoney(i32::from_le_bytes(exactly(bytes)?)),
        T::Real => Value::Real(f32::from_le_bytes(exactly(bytes)?)),
        T::Float => Value::Float(f64::from_le_bytes(exactly(bytes)?)),
        T::Char | T::VarChar | T::Text => Value::VarChar(decode_1252(bytes)),
        T::NChar | T::NVarChar | T::NText => Value::NVarChar(decode_utf16(bytes)),
        T::Binary | T::VarBinary | T::RowVersion | T::Image | T::Udt => {
            Value::Binary(bytes.to_vec())
        }
        T::Xml => Value::NVarChar(xml::decode_xml(bytes)?),
        T::Date => Value::Date(decode_date(bytes)?),
        T::Time => Value::Time(decode_time(data_type.scale, bytes)?),
        T::DateTime => {
            let (ticks, days) = bytes.split_first_chunk::<4>()?;
            let days = i32::from_le_bytes(exactly(days)?);
            Value::DateTime(DateTime::new(days, u32::from_le_bytes(*ticks))?)
        }
        T::DateTime2 => Value::DateTime2(decode_datetime2(data_type.scale, bytes)?),
        T::DateTimeOffset => {
            let (moment, offset) = bytes.split_last_chunk::<2>()?;
            let utc = decode_datetime2(data_type.scale, moment)?;
            let offset_minutes = i16::from_le_bytes(*offset);
            if offset_minutes.unsigned_abs() > 840 {
                return None;
            }
            Value::DateTimeOffset(DateTimeOffset {
                utc,
                offset_minutes,
            })
        }
        T::SmallDateTime => {
            let [m0, m1, d0, d1] = exactly(bytes)?;
            let (days, minutes) = (u16::from_le_bytes([d0, d1]), u16::from_le_bytes([m0, m1]));
            Value::SmallDateTime(SmallDateTime::new(days, minutes)?)
        }
        T::UniqueIdentifier => Value::Guid(Guid(exactly(bytes)?)),
        T::SqlVariant => variant::decode(bytes)?,
    })
}

fn exactly<const N: usize>(bytes: &[u8]) -> Option<[u8; N]> {
    bytes.try_into().ok()
}

fn decode_decimal(data_type: &DataType, bytes: &[u8]) -> Option<Decimal> {
    let (&sign, digits) = bytes.split_first()?;
    if digits.len() != usize::from(decimal_len(data_type.precision)) - 1 || sign > 1 {
        return None;
    }
    let magnitude = i128::try_from(magnitude(digits)).ok()?;
    let unscaled = if sign == 0 { -magnitude } else { magnitude };
    Some(Decimal {
        unscaled,
        scale: data_type.scale,
    })
}

fn decode_date(bytes: &[u8]) -> Option<Date> {
    let [a, b, c] = exactly(bytes)?;
    Date::from_days(u32::from_le_bytes([a, b, c, 0]))
}

fn decode_time(scale: u8, bytes: &[u8]) -> Option<Time> {
    if bytes.len() != usize::from(time_len(scale)) {
        return None;
    }
    let units = u64::try_from(magnitude(bytes)).ok()?;
    Time::new(units.checked_mul(ticks_per_unit(scale))?, scale)
}

fn decode_datetime2(scale: u8, bytes: &[u8]) -> Option<DateTime2> {
    let (time, date) = bytes.split_last_chunk::<3>()?;
    Some(DateTime2 {
        time: decode_time(scale, time)?,
        date: decode_date(date)?,
    })
}
