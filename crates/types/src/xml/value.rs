//! Tokens of values, in the forms that XML Schema has for them. Columns without a schema hold text alone.

use super::super::calendar::{DateTime, SmallDateTime};
use super::super::{DataType, Decimal, Guid, TypeId, Value, code_page, codec};
use super::scanner::Input;

/// A qualified name as a value: its number follows, which only a reader with the table of names can use.
pub(super) const QUALIFIED_NAME: u8 = 0x8C;

/// The code page of `varchar` values that can be read here.
const WINDOWS_1252: u32 = 1252;

/// The text of the value that this token begins.
pub(super) fn text(token: u8, input: &mut Input<'_>) -> Option<String> {
    Some(match token {
        // smallint, int, bit, tinyint, bigint; byte, unsignedShort, unsignedInt, unsignedLong.
        0x01 => i16::from_le_bytes(input.array()?).to_string(),
        0x02 => i32::from_le_bytes(input.array()?).to_string(),
        0x06 | 0x07 => input.byte()?.to_string(),
        0x08 => i64::from_le_bytes(input.array()?).to_string(),
        0x88 => i8::from_le_bytes(input.array()?).to_string(),
        0x89 => u16::from_le_bytes(input.array()?).to_string(),
        0x8A => u32::from_le_bytes(input.array()?).to_string(),
        0x8B => u64::from_le_bytes(input.array()?).to_string(),
        // boolean.
        0x86 => (input.byte()? != 0).to_string(),
        // real, float.
        0x03 => {
            let number = f32::from_le_bytes(input.array()?);
            float(f64::from(number), &format!("{number:E}"))
        }
        0x04 => {
            let number = f64::from_le_bytes(input.array()?);
            float(number, &format!("{number:E}"))
        }
        // money, smallmoney.
        0x05 => money(i64::from_le_bytes(input.array()?)),
        0x14 => money(i64::from(i32::from_le_bytes(input.array()?))),
        // decimal, numeric; the decimal of XML Schema, which ends with its last digit.
        0x0A | 0x0B => decimal(input)?,
        0x87 => {
            let text = decimal(input)?;
            match text.contains('.') {
                true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
                false => text,
            }
        }
        // uniqueidentifier.
        0x09 => Value::Guid(Guid(input.array()?)).to_string(),
        // binary, varbinary, image, UDTs, base64Binary; hexBinary.
        0x0C | 0x0F | 0x17 | 0x1B | 0x85 => base64(sized(input)?),
        0x84 => sized(input)?
            .iter()
            .map(|byte| format!("{byte:02X}"))
            .collect(),
        // char, varchar, text; nchar, nvarchar, ntext.
        0x0D | 0x10 | 0x16 => narrow(sized(input)?)?,
        0x0E | 0x11 | 0x18 => input.text()?,
        token => moment(token, input)?,
    })
}

/// Bytes with their number before them.
fn sized<'b>(input: &mut Input<'b>) -> Option<&'b [u8]> {
    let length = input.count()?;
    input.bytes(length)
}

/// Text of a code page, whose number comes first.
fn narrow(bytes: &[u8]) -> Option<String> {
    let (page, text) = bytes.split_first_chunk()?;
    let can_be_read = u32::from_le_bytes(*page) == WINDOWS_1252 || text.is_ascii();
    can_be_read.then(|| code_page::decode_1252(text))
}

fn float(number: f64, scientific: &str) -> String {
    match number {
        _ if number.is_nan() => "NaN".to_owned(),
        _ if number.is_infinite() => if number < 0.0 { "-INF" } else { "INF" }.to_owned(),
        _ => scientific.to_owned(),
    }
}

/// At least two digits after the point, at most four.
fn money(ten_thousandths: i64) -> String {
    let sign = if ten_thousandths < 0 { "-" } else { "" };
    let digits = ten_thousandths.unsigned_abs();
    let fraction = format!("{:04}", digits % 10_000);
    let (two, more) = fraction.split_at_checked(2).unwrap_or((&fraction, ""));
    let more = more.trim_end_matches('0');
    format!("{sign}{}.{two}{more}", digits / 10_000)
}

/// Length, precision, scale, sign (1 = not negative), and the digits in fours, lowest first.
fn decimal(input: &mut Input<'_>) -> Option<String> {
    let (&[_, scale, sign], digits) = sized(input)?.split_first_chunk()?;
    if scale > 38 || !matches!(digits.len(), 4 | 8 | 12 | 16) {
        return None;
    }
    let number = digits.iter().rev();
    let number = number.fold(0_u128, |sum, &byte| sum << 8 | u128::from(byte));
    let number = i128::try_from(number).ok()?;
    let unscaled = if sign == 0 { -number } else { number };
    let text = Decimal { unscaled, scale }.to_string();
    Some(match text.strip_prefix('-') {
        Some(rest) if rest.starts_with('.') => format!("-0{rest}"),
        None if text.starts_with('.') => format!("0{text}"),
        _ => text,
    })
}

fn moment(token: u8, input: &mut Input<'_>) -> Option<String> {
    Some(match token {
        // datetime and smalldatetime: days before the time, other than in a row.
        0x12 => {
            let days = i32::from_le_bytes(input.array()?);
            let ticks = u32::from_le_bytes(input.array()?);
            joined(&DateTime::new(days, ticks)?.to_string())
        }
        0x13 => {
            let days = u16::from_le_bytes(input.array()?);
            let minutes = u16::from_le_bytes(input.array()?);
            joined(&SmallDateTime::new(days, minutes)?.to_string())
        }
        // The types of XML Schema as SQL Server 2005 wrote them.
        0x81 => schema_time(number(input)?)?,
        0x82 => schema_moment(number(input)?)?,
        0x83 => schema_date(number(input)?)?,
        // Those of SQL Server 2008: as in a row, with the scale before them; a date alone has none.
        0x7F => codec::decode(&DataType::simple(TypeId::Date), input.bytes(3)?)
            .ok()?
            .to_string(),
        0x7E => joined(&scaled(TypeId::DateTime2, 3, input)?),
        0x7D => part(&scaled(TypeId::DateTime2, 3, input)?, 1)?,
        0x7C => {
            let text = scaled(TypeId::DateTimeOffset, 5, input)?;
            part(&text, 0)? + &part(&text, 2)?
        }
        0x7B => {
            let text = scaled(TypeId::DateTimeOffset, 5, input)?;
            part(&text, 0)? + "T" + &part(&text, 1)? + &part(&text, 2)?
        }
        0x7A => {
            let text = scaled(TypeId::DateTimeOffset, 5, input)?;
            part(&text, 1)? + &part(&text, 2)?
        }
        _ => return None,
    })
}

/// A moment as it prints here: its scale, its time, and so many bytes more.
fn scaled(id: TypeId, more: usize, input: &mut Input<'_>) -> Option<String> {
    let scale = input.byte().filter(|scale| *scale <= 7)?;
    let time = usize::from(super::super::data_type::time_len(scale));
    let of = DataType::scaled(id, scale).ok()?;
    let value = codec::decode(&of, input.bytes(time + more)?).ok()?;
    Some(value.to_string())
}

/// Date (0), time (1) or offset (2) of a moment as it prints here, in the form of XML Schema.
fn part(text: &str, which: usize) -> Option<String> {
    let part = text.split(' ').nth(which)?;
    Some(match which {
        1 if part.contains('.') => part.trim_end_matches('0').trim_end_matches('.').to_owned(),
        2 if part == "+00:00" => "Z".to_owned(),
        _ => part.to_owned(),
    })
}

fn joined(text: &str) -> String {
    match (part(text, 0), part(text, 1)) {
        (Some(date), Some(time)) => format!("{date}T{time}"),
        _ => text.to_owned(),
    }
}

/// A number of 64 bits, without the two bits that give its kind.
fn number(input: &mut Input<'_>) -> Option<u64> {
    let number = i64::from_le_bytes(input.array()?);
    u64::try_from(number).ok().map(|number| number / 4)
}

/// Takes the last place of a number in mixed radix.
fn place(number: &mut u64, radix: u64) -> u64 {
    let digit = *number % radix;
    *number /= radix;
    digit
}

/// Milliseconds, seconds, minutes and hours, taken off a number.
fn clock(number: &mut u64) -> String {
    let milliseconds = place(number, 1000);
    let seconds = place(number, 60);
    let minutes = place(number, 60);
    let hours = place(number, 24);
    match milliseconds {
        0 => format!("{hours:02}:{minutes:02}:{seconds:02}"),
        _ => format!("{hours:02}:{minutes:02}:{seconds:02}.{milliseconds:03}"),
    }
}

/// Days, months and years, which begin at the year -9999.
fn days(mut number: u64) -> Option<String> {
    let day = place(&mut number, 31) + 1;
    let month = place(&mut number, 12) + 1;
    let year = i64::try_from(number).ok()? - 9999;
    if year > 9999 {
        return None;
    }
    let sign = if year < 0 { "-" } else { "" };
    Some(format!(
        "{sign}{:04}-{month:02}-{day:02}",
        year.unsigned_abs()
    ))
}

fn schema_time(mut number: u64) -> Option<String> {
    let time = clock(&mut number);
    (number == 0).then(|| format!("{time}Z"))
}

fn schema_moment(mut number: u64) -> Option<String> {
    let time = clock(&mut number);
    Some(format!("{}T{time}Z", days(number)?))
}

/// A date with its zone in minutes, from 14 hours before to 15 after.
fn schema_date(mut number: u64) -> Option<String> {
    let zone = i64::try_from(place(&mut number, 29 * 60)).ok()? - 14 * 60;
    let date = days(number)?;
    // The number grows to the west.
    let sign = if zone < 0 { '+' } else { '-' };
    let minutes = zone.unsigned_abs();
    Some(match minutes {
        0 => format!("{date}Z"),
        _ => format!("{date}{sign}{:02}:{:02}", minutes / 60, minutes % 60),
    })
}

/// Bytes in base 64.
pub fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let byte = |at: usize| u32::from(group.get(at).copied().unwrap_or(0));
        let bits = (byte(0) << 16) | (byte(1) << 8) | byte(2);
        for at in 0..4_usize {
            let digit = DIGITS.get(((bits >> (18 - 6 * at)) & 63) as usize);
            out.push(match digit {
                Some(digit) if at <= group.len() => char::from(*digit),
                _ => '=',
            });
        }
    }
    out
}
