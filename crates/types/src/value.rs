//! A value of any type, and how it prints.

use std::fmt;

use super::calendar::{Date, DateTime, DateTime2, DateTimeOffset, SmallDateTime, Time};
use super::{DataType, TypeId};

/// An exact number: `unscaled / 10^scale`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Decimal {
    /// The digits as an integer, 38 of them at most.
    pub unscaled: i128,
    /// Digits after the point.
    pub scale: u8,
}

/// A GUID in the byte order of the disk: the first three groups little-endian.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Guid(pub [u8; 16]);

/// A value, whatever its type. Types that differ only in how they are stored share a variant.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// No value.
    Null,
    /// `bit`.
    Bit(bool),
    /// `tinyint`.
    TinyInt(u8),
    /// `smallint`.
    SmallInt(i16),
    /// `int`.
    Int(i32),
    /// `bigint`.
    BigInt(i64),
    /// `decimal` and `numeric`.
    Decimal(Decimal),
    /// `money`, in ten-thousandths.
    Money(i64),
    /// `smallmoney`, in ten-thousandths.
    SmallMoney(i32),
    /// `real`.
    Real(f32),
    /// `float`.
    Float(f64),
    /// `char`, `varchar`, `text`.
    VarChar(String),
    /// `nchar`, `nvarchar`, `ntext`; the text of `xml`.
    NVarChar(String),
    /// `binary`, `varbinary`, `image`, and types that are stored as bytes: `timestamp`, UDTs.
    Binary(Vec<u8>),
    /// `date`.
    Date(Date),
    /// `time`.
    Time(Time),
    /// `datetime`.
    DateTime(DateTime),
    /// `datetime2`.
    DateTime2(DateTime2),
    /// `datetimeoffset`.
    DateTimeOffset(DateTimeOffset),
    /// `smalldatetime`.
    SmallDateTime(SmallDateTime),
    /// `uniqueidentifier`.
    Guid(Guid),
    /// `sql_variant`: a value with the type it brought along.
    Variant(Box<(DataType, Value)>),
}

impl Value {
    /// Whether this is NULL.
    pub const fn is_null(&self) -> bool {
        matches!(self, Value::Null)
    }

    /// The text of a character value.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Value::VarChar(text) | Value::NVarChar(text) => Some(text),
            _ => None,
        }
    }

    /// The bytes of a binary value.
    pub fn as_bytes(&self) -> Option<&[u8]> {
        match self {
            Value::Binary(bytes) => Some(bytes),
            _ => None,
        }
    }

    /// The number of an integer value, `bit` included.
    pub fn as_i64(&self) -> Option<i64> {
        match self {
            Value::Bit(bit) => Some(i64::from(*bit)),
            Value::TinyInt(n) => Some(i64::from(*n)),
            Value::SmallInt(n) => Some(i64::from(*n)),
            Value::Int(n) => Some(i64::from(*n)),
            Value::BigInt(n) => Some(*n),
            _ => None,
        }
    }

    /// The type that messages name for this value; NULL has none.
    pub fn type_id(&self) -> Option<TypeId> {
        Some(match self {
            Value::Null => return None,
            Value::Bit(_) => TypeId::Bit,
            Value::TinyInt(_) => TypeId::TinyInt,
            Value::SmallInt(_) => TypeId::SmallInt,
            Value::Int(_) => TypeId::Int,
            Value::BigInt(_) => TypeId::BigInt,
            Value::Decimal(_) => TypeId::Numeric,
            Value::Money(_) => TypeId::Money,
            Value::SmallMoney(_) => TypeId::SmallMoney,
            Value::Real(_) => TypeId::Real,
            Value::Float(_) => TypeId::Float,
            Value::VarChar(_) => TypeId::VarChar,
            Value::NVarChar(_) => TypeId::NVarChar,
            Value::Binary(_) => TypeId::VarBinary,
            Value::Date(_) => TypeId::Date,
            Value::Time(_) => TypeId::Time,
            Value::DateTime(_) => TypeId::DateTime,
            Value::DateTime2(_) => TypeId::DateTime2,
            Value::DateTimeOffset(_) => TypeId::DateTimeOffset,
            Value::SmallDateTime(_) => TypeId::SmallDateTime,
            Value::Guid(_) => TypeId::UniqueIdentifier,
            Value::Variant(_) => TypeId::SqlVariant,
        })
    }
}

macro_rules! from {
    ($($source:ty => $variant:ident;)*) => {
        $(impl From<$source> for Value {
            fn from(value: $source) -> Value {
                Value::$variant(value.into())
            }
        })*
    };
}

from! {
    bool => Bit; u8 => TinyInt; i16 => SmallInt; i32 => Int; i64 => BigInt; f32 => Real; f64 => Float;
    &str => NVarChar; String => NVarChar; Vec<u8> => Binary; &[u8] => Binary; Guid => Guid;
    Decimal => Decimal; Date => Date; DateTime => DateTime; DateTime2 => DateTime2;
    Time => Time; SmallDateTime => SmallDateTime; DateTimeOffset => DateTimeOffset;
}

impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Value {
        value.map_or(Value::Null, Into::into)
    }
}

/// As sqlcmd prints values: money with four digits, no zero before the point of an exact number under 1,
/// bytes as `0x...`, GUIDs in upper case, `NULL`. Floating point prints its shortest exact form.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Null => f.write_str("NULL"),
            Value::Bit(bit) => u8::from(*bit).fmt(f),
            Value::TinyInt(n) => n.fmt(f),
            Value::SmallInt(n) => n.fmt(f),
            Value::Int(n) => n.fmt(f),
            Value::BigInt(n) => n.fmt(f),
            Value::Decimal(decimal) => decimal.fmt(f),
            Value::Money(n) => Decimal {
                unscaled: i128::from(*n),
                scale: 4,
            }
            .fmt(f),
            Value::SmallMoney(n) => Decimal {
                unscaled: i128::from(*n),
                scale: 4,
            }
            .fmt(f),
            Value::Real(x) => write_float(f, f64::from(*x), &x.to_string(), &format!("{x:e}")),
            Value::Float(x) => write_float(f, *x, &x.to_string(), &format!("{x:e}")),
            Value::VarChar(text) | Value::NVarChar(text) => f.write_str(text),
            Value::Binary(bytes) => write_hex(f, bytes),
            Value::Date(date) => date.fmt(f),
            Value::Time(time) => time.fmt(f),
            Value::DateTime(moment) => moment.fmt(f),
            Value::DateTime2(moment) => moment.fmt(f),
            Value::DateTimeOffset(moment) => moment.fmt(f),
            Value::SmallDateTime(moment) => moment.fmt(f),
            Value::Guid(guid) => guid.fmt(f),
            Value::Variant(inner) => inner.1.fmt(f),
        }
    }
}

/// Plain digits in the middle range, `1.5E+20` outside of it.
fn write_float(
    f: &mut fmt::Formatter<'_>,
    value: f64,
    plain: &str,
    scientific: &str,
) -> fmt::Result {
    let size = value.abs();
    if value == 0.0 || (1e-5..1e15).contains(&size) {
        return f.write_str(plain);
    }
    match scientific.split_once('e') {
        Some((digits, power)) if !power.starts_with('-') => write!(f, "{digits}E+{power}"),
        Some((digits, power)) => write!(f, "{digits}E{power}"),
        None => f.write_str(plain),
    }
}

fn write_hex(f: &mut fmt::Formatter<'_>, bytes: &[u8]) -> fmt::Result {
    f.write_str("0x")?;
    bytes.iter().try_for_each(|byte| write!(f, "{byte:02X}"))
}

impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.unscaled < 0 { "-" } else { "" };
        let digits = self.unscaled.unsigned_abs();
        if self.scale == 0 {
            return write!(f, "{sign}{digits}");
        }
        let scale = u32::from(self.scale);
        let unit = 10u128.checked_pow(scale).unwrap_or(u128::MAX);
        let (whole, fraction) = (digits / unit, digits % unit);
        let width = usize::from(self.scale);
        if whole == 0 {
            write!(f, "{sign}.{fraction:0width$}")
        } else {
            write!(f, "{sign}{whole}.{fraction:0width$}")
        }
    }
}

impl fmt::Display for Guid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, g, h, i, rest @ ..] = self.0;
        let first = u32::from_le_bytes([a, b, c, d]);
        let (second, third) = (u16::from_le_bytes([e, g]), u16::from_le_bytes([h, i]));
        write!(f, "{first:08X}-{second:04X}-{third:04X}-")?;
        for (at, byte) in rest.iter().enumerate() {
            let dash = if at == 2 { "-" } else { "" };
            write!(f, "{dash}{byte:02X}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_print_as_sqlcmd_prints_them() {
        let decimal = |unscaled, scale| Value::Decimal(Decimal { unscaled, scale }).to_string();
        assert_eq!(decimal(1050, 2), "10.50");
        assert_eq!(decimal(-5, 2), "-.05");
        assert_eq!(decimal(0, 3), ".000");
        assert_eq!(decimal(42, 0), "42");
        assert_eq!(Value::Money(-649_426_900).to_string(), "-64942.6900");
        assert_eq!(Value::Float(0.1).to_string(), "0.1");
        assert_eq!(Value::Float(1.5e20).to_string(), "1.5E+20");
        assert_eq!(Value::Real(1.5e-7).to_string(), "1.5E-7");
        assert_eq!(Value::Real(0.15).to_string(), "0.15");
    }

    #[test]
    fn bytes_and_guids_print_in_upper_case_hex() {
        assert_eq!(Value::Binary(vec![0x0A, 0xFF]).to_string(), "0x0AFF");
        let bytes = [
            0xFF, 0x19, 0x96, 0x6F, 0x86, 0x8B, 0x11, 0xD0, 0xB4, 0x2D, 0, 0xC0, 0x4F, 0xC9, 0x64,
            0xFF,
        ];
        assert_eq!(
            Guid(bytes).to_string(),
            "6F9619FF-8B86-D011-B42D-00C04FC964FF"
        );
    }
}
