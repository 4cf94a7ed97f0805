//! Types and values for views, DBCC and system procedures.

use furrow_io::time::WallTime;
use furrow_types::{DataType, Date, DateTime, DateTime2, Decimal, Guid, Time, TypeId, Value};

/// `bit`.
pub const BIT: DataType = DataType::simple(TypeId::Bit);
/// `tinyint`.
pub const TINYINT: DataType = DataType::simple(TypeId::TinyInt);
/// `smallint`.
pub const SMALLINT: DataType = DataType::simple(TypeId::SmallInt);
/// `int`.
pub const INT: DataType = DataType::simple(TypeId::Int);
/// `bigint`.
pub const BIGINT: DataType = DataType::simple(TypeId::BigInt);
/// `real`.
pub const REAL: DataType = DataType::simple(TypeId::Real);
/// `float`.
pub const FLOAT: DataType = DataType::simple(TypeId::Float);
/// `datetime`.
pub const DATETIME: DataType = DataType::simple(TypeId::DateTime);
/// `uniqueidentifier`.
pub const GUID: DataType = DataType::simple(TypeId::UniqueIdentifier);
/// `sysname`.
pub const SYSNAME: DataType = nvarchar(128);
/// `nvarchar(60)`, the type of descriptions.
pub const DESC: DataType = nvarchar(60);
/// `nvarchar(max)`.
pub const NTEXT: DataType = DataType::sized(TypeId::NVarChar, -1);
/// `numeric(25, 0)`, the type of log sequence numbers.
pub const LSN: DataType = DataType {
    precision: 25,
    length: 13,
    ..DataType::simple(TypeId::Numeric)
};

/// `nvarchar(characters)`.
pub const fn nvarchar(characters: i16) -> DataType {
    DataType::sized(TypeId::NVarChar, characters * 2)
}

/// `varchar(characters)`.
pub const fn varchar(characters: i16) -> DataType {
    DataType::sized(TypeId::VarChar, characters)
}

/// `char(characters)`.
pub const fn char(characters: i16) -> DataType {
    DataType::sized(TypeId::Char, characters)
}

/// `nchar(characters)`.
pub const fn nchar(characters: i16) -> DataType {
    DataType::sized(TypeId::NChar, characters * 2)
}

/// `varbinary(bytes)`.
pub const fn varbinary(bytes: i16) -> DataType {
    DataType::sized(TypeId::VarBinary, bytes)
}

/// Unicode text.
pub fn text(text: impl Into<String>) -> Value {
    Value::NVarChar(text.into())
}

/// Unicode text, or NULL.
pub(crate) fn maybe_text(text: Option<impl Into<String>>) -> Value {
    text.map_or(Value::Null, |t| Value::NVarChar(t.into()))
}

/// Text with one byte per character.
pub fn ascii(text: impl Into<String>) -> Value {
    Value::VarChar(text.into())
}

/// `nchar(width)`: padded with blanks.
pub fn padded(text: &str, width: usize) -> Value {
    Value::NVarChar(format!("{text:<width$}"))
}

/// `int`; a number that does not fit becomes the largest value.
pub fn int(n: impl TryInto<i32>) -> Value {
    Value::Int(n.try_into().unwrap_or(i32::MAX))
}

/// `bigint`; a number that does not fit becomes the largest value.
pub fn big(n: impl TryInto<i64>) -> Value {
    Value::BigInt(n.try_into().unwrap_or(i64::MAX))
}

/// `smallint`; a number that does not fit becomes the largest value.
pub fn small(n: impl TryInto<i16>) -> Value {
    Value::SmallInt(n.try_into().unwrap_or(i16::MAX))
}

/// `tinyint`.
pub fn tiny(n: u8) -> Value {
    Value::TinyInt(n)
}

/// `bit`.
pub fn bit(on: bool) -> Value {
    Value::Bit(on)
}

/// `uniqueidentifier`.
pub fn guid(guid: Guid) -> Value {
    Value::Guid(guid)
}

/// `numeric(25, 0)`.
pub fn lsn(lsn: furrow_format::Lsn) -> Value {
    Value::Decimal(Decimal {
        unscaled: i128::try_from(lsn.to_numeric()).unwrap_or(i128::MAX),
        scale: 0,
    })
}

/// `datetime`: the time in UTC, to 1/300 s.
pub fn datetime(at: WallTime) -> Value {
    let civil = at.civil();
    let seconds = u64::from(civil.hour * 3600 + civil.minute * 60 + civil.second);
    let ticks = seconds * 10_000_000 + u64::from(civil.microsecond) * 10;
    let year = u32::try_from(civil.year).unwrap_or(0);
    let date = Date::from_ymd(year, civil.month, civil.day);
    let both = date.zip(Time::new(ticks, 7));
    let at = both.and_then(|(date, time)| DateTime::from_datetime2(DateTime2 { date, time }));
    at.map_or(Value::Null, Value::DateTime)
}
