//! Types of columns, with their T-SQL names.

use furrow_types::{DataType, TypeId};

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
/// `float`.
pub const FLOAT: DataType = DataType::simple(TypeId::Float);
/// `real`.
pub const REAL: DataType = DataType::simple(TypeId::Real);
/// `money`.
pub const MONEY: DataType = DataType::simple(TypeId::Money);
/// `date`.
pub const DATE: DataType = DataType::simple(TypeId::Date);
/// `datetime`.
pub const DATETIME: DataType = DataType::simple(TypeId::DateTime);
/// `smalldatetime`.
pub const SMALLDATETIME: DataType = DataType::simple(TypeId::SmallDateTime);
/// `smallmoney`.
pub const SMALLMONEY: DataType = DataType::simple(TypeId::SmallMoney);
/// `uniqueidentifier`.
pub const UNIQUEIDENTIFIER: DataType = DataType::simple(TypeId::UniqueIdentifier);

/// `char(length)`; at most 8000.
pub const fn char(length: u16) -> DataType {
    DataType::sized(TypeId::Char, clamp(length, 8000))
}

/// `varchar(length)`; at most 8000.
pub const fn varchar(length: u16) -> DataType {
    DataType::sized(TypeId::VarChar, clamp(length, 8000))
}

/// `nchar(length)`; at most 4000.
pub const fn nchar(length: u16) -> DataType {
    DataType::sized(TypeId::NChar, 2 * clamp(length, 4000))
}

/// `nvarchar(length)`; at most 4000.
pub const fn nvarchar(length: u16) -> DataType {
    DataType::sized(TypeId::NVarChar, 2 * clamp(length, 4000))
}

/// `binary(length)`; at most 8000.
pub const fn binary(length: u16) -> DataType {
    DataType::sized(TypeId::Binary, clamp(length, 8000))
}

/// `varbinary(length)`; at most 8000.
pub const fn varbinary(length: u16) -> DataType {
    DataType::sized(TypeId::VarBinary, clamp(length, 8000))
}

/// `time(digits)`: digits of a second, at most 7.
pub fn time(digits: u8) -> DataType {
    scaled(TypeId::Time, digits)
}

/// `datetime2(digits)`: digits of a second, at most 7.
pub fn datetime2(digits: u8) -> DataType {
    scaled(TypeId::DateTime2, digits)
}

/// `datetimeoffset(digits)`: digits of a second, at most 7.
pub fn datetimeoffset(digits: u8) -> DataType {
    scaled(TypeId::DateTimeOffset, digits)
}

/// The digits are within their range: there is always such a type.
fn scaled(id: TypeId, digits: u8) -> DataType {
    DataType::scaled(id, digits.min(7)).unwrap_or(DATETIME)
}

/// `decimal(precision, scale)`; arguments out of range give `decimal(38, 0)`.
pub fn decimal(precision: u8, scale: u8) -> DataType {
    let widest = || DataType::decimal(TypeId::Decimal, 38, 0);
    let found = DataType::decimal(TypeId::Decimal, precision, scale).or_else(|_| widest());
    found.unwrap_or(FLOAT)
}

/// Limits a length to 1 to `most`: no type has the length 0.
const fn clamp(length: u16, most: u16) -> i16 {
    let length = if length == 0 { 1 } else { length };
    (if length > most { most } else { length }) as i16
}
