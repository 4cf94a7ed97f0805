//! Types and values as views, DBCC and system procedures need them.

use furrow_io::time::WallTime;
use furrow_types::{DataType, Date, DateTime, DateTime2, Decimal, Guid, Time, TypeId, Value};

/// `bit`.
pub(crate) const BIT: DataType = DataType::simple(TypeId::Bit);
/// `tinyint`.
pub(crate) const TINYINT: DataType = DataType::simple(TypeId::TinyInt);
/// `smallint`.
pub(crate) const SMALLINT: DataType = DataType::simple(TypeId::SmallInt);
/// `int`.
pub(crate) const INT: DataType = DataType::simple(TypeId::Int);
/// `bigint`.
pub(crate) const BIGINT: DataType = DataType::simple(TypeId::BigInt);
/// `real`.
pub(crate) const REAL: DataType = DataType::simple(TypeId::Real);
/// `float`.
pub(crate) const FLOAT: DataType = DataType::simple(TypeId::Float);
/// `datetime`.
pub(crate) const DATETIME: DataType = DataType::simple(TypeId::DateTime);
/// `uniqueidentifier`.
pub(crate) const GUID: DataType = DataType::simple(TypeId::UniqueIdentifier);
/// `sysname`.
pub(crate) const SYSNAME: DataType = nvarchar(128);
/// `nvarchar(60)`, as descriptions are.
pub(crate) const DESC: DataType = nvarchar(60);
/// `nvarchar(max)`.
pub(crate) const NTEXT: DataType = DataType::sized(TypeId::NVarChar, -1);
/// `numeric(25, 0)`, as log sequence numbers are.
pub(crate) const LSN: DataType = DataType {
    precision: 25,
    length: 13,
    ..DataType::simple(TypeId::Numeric)
};

/// `nvarchar(characters)`.
pub(crate) const fn nvarchar(characters: i16) -> DataType {
    DataType::sized(TypeId::NVarChar, characters * 2)
}

/// `varchar(characters)`.
pub(crate) const fn varchar(characters: i16) -> DataType {
    DataType::sized(TypeId::VarChar, characters)
}

/// `char(characters)`.
pub(crate) const fn char(characters: i16) -> DataType {
    DataType::sized(TypeId::Char, characters)
}

/// `nchar(characters)`.
pub(crate) const fn nchar(characters: i16) -> DataType {
    DataType::sized(TypeId::NChar, characters * 2)
}

/// `varbinary(bytes)`.
pub(crate) const fn varbinary(bytes: i16) -> DataType {
    DataType::sized(TypeId::VarBinary, bytes)
}

/// Unicode text.
pub(crate) fn text(text: impl Into<String>) -> Value {
    Value::NVarChar(text.into())
}

/// Unicode text, or NULL.
pub(crate) fn maybe_text(text: Option<impl Into<String>>) -> Value {
    text.map_or(Value::Null, |t| Value::NVarChar(t.into()))
}

/// Text of one byte a character.
pub(crate) fn ascii(text: impl Into<String>) -> Value {
    Value::VarChar(text.into())
}

/// `nchar(width)`: padded with blanks.
pub(crate) fn padded(text: &str, width: usize) -> Value {
    Value::NVarChar(format!("{text:<width$}"))
}

/// `int`; what does not fit is the largest.
pub(crate) fn int(n: impl TryInto<i32>) -> Value {
    Value::Int(n.try_into().unwrap_or(i32::MAX))
}

/// `bigint`; what does not fit is the largest.
pub(crate) fn big(n: impl TryInto<i64>) -> Value {
    Value::BigInt(n.try_into().unwrap_or(i64::MAX))
}

/// `smallint`; what does not fit is the largest.
pub(crate) fn small(n: impl TryInto<i16>) -> Value {
    Value::SmallInt(n.try_into().unwrap_or(i16::MAX))
}

/// `tinyint`.
pub(crate) fn tiny(n: u8) -> Value {
    Value::TinyInt(n)
}

/// `bit`.
pub(crate) fn bit(on: bool) -> Value {
    Value::Bit(on)
}

/// `uniqueidentifier`.
pub(crate) fn guid(guid: Guid) -> Value {
    Value::Guid(guid)
}

/// `numeric(25, 0)`.
pub(crate) fn lsn(lsn: furrow_format::Lsn) -> Value {
    Value::Decimal(Decimal {
        unscaled: i128::try_from(lsn.to_numeric()).unwrap_or(i128::MAX),
        scale: 0,
    })
}

/// `datetime`: the moment in UTC, to 1/300 s.
pub(crate) fn datetime(at: WallTime) -> Value {
    let civil = at.civil();
    let seconds = u64::from(civil.hour * 3600 + civil.minute * 60 + civil.second);
    let ticks = seconds * 10_000_000 + u64::from(civil.microsecond) * 10;
    let year = u32::try_from(civil.year).unwrap_or(0);
    let date = Date::from_ymd(year, civil.month, civil.day);
    let both = date.zip(Time::new(ticks, 7));
    let at = both.and_then(|(date, time)| DateTime::from_datetime2(DateTime2 { date, time }));
    at.map_or(Value::Null, Value::DateTime)
}
