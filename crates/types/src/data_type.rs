//! A column's declared type.

use std::fmt;

use super::{Collation, Family, TypeId};

/// Length of a `(max)` type in [`DataType::length`].
pub const MAX_LENGTH: i16 = -1;

/// A declared type: id, length in bytes, precision, scale, collation.
///
/// The fields hold what `syscolpars` holds: for strings `length` is bytes (-1 for `(max)`), for other types
/// the bytes on disk; `precision` and `scale` are 0 for types that have none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct DataType {
    /// The system type.
    pub id: TypeId,
    /// Bytes, or [`MAX_LENGTH`].
    pub length: i16,
    /// Decimal digits.
    pub precision: u8,
    /// Digits after the point, or of fractional seconds.
    pub scale: u8,
    /// Collation of character types; [`Collation::NONE`] otherwise.
    pub collation: Collation,
}

impl DataType {
    /// A type that takes no length, precision or scale; the others get SQL Server's defaults
    /// (`char(1)`, `decimal(18,0)`, `datetime2(7)`).
    pub const fn simple(id: TypeId) -> DataType {
        match id {
            TypeId::Decimal | TypeId::Numeric => DataType::decimal_unchecked(id, 18, 0),
            TypeId::Time | TypeId::DateTime2 | TypeId::DateTimeOffset => {
                DataType::scaled_unchecked(id, 7)
            }
            TypeId::Char | TypeId::VarChar | TypeId::Binary | TypeId::VarBinary => {
                DataType::sized(id, 1)
            }
            TypeId::NChar | TypeId::NVarChar => DataType::sized(id, 2),
            TypeId::SqlVariant => DataType::sized(id, 8016),
            TypeId::Xml | TypeId::Udt => DataType::sized(id, MAX_LENGTH),
            _ => {
                let (precision, scale) = implied_precision(id);
                let length = match id.implied_len() {
                    Some(length) => length as i16,
                    None => 0,
                };
                let collation = collation_of(id);
                DataType {
                    id,
                    length,
                    precision,
                    scale,
                    collation,
                }
            }
        }
    }

    /// A string, byte string or LOB type of `length` bytes, [`MAX_LENGTH`] for `(max)`. Not validated: for
    /// lengths from a user see [`string`](DataType::string).
    pub const fn sized(id: TypeId, length: i16) -> DataType {
        DataType {
            id,
            length,
            precision: 0,
            scale: 0,
            collation: collation_of(id),
        }
    }

    pub(super) const fn decimal_unchecked(id: TypeId, precision: u8, scale: u8) -> DataType {
        let length = decimal_len(precision) as i16;
        DataType {
            id,
            length,
            precision,
            scale,
            collation: Collation::NONE,
        }
    }

    pub(super) const fn scaled_unchecked(id: TypeId, scale: u8) -> DataType {
        let extra = match id {
            TypeId::Time => 0,
            TypeId::DateTime2 => 3,
            _ => 5,
        };
        let point = if scale == 0 { 0 } else { scale + 1 };
        let width = match id {
            TypeId::Time => 8,
            TypeId::DateTime2 => 19,
            _ => 26,
        };
        let length = time_len(scale) as i16 + extra;
        DataType {
            id,
            length,
            precision: width + point,
            scale,
            collation: Collation::NONE,
        }
    }

    /// The same type under another collation; no change for types without one.
    pub const fn with_collation(mut self, collation: Collation) -> DataType {
        if self.id.has_collation() {
            self.collation = collation;
        }
        self
    }

    /// Whether this is a `(max)` type, `xml` or a UDT of that length.
    pub const fn is_max(&self) -> bool {
        self.length == MAX_LENGTH
    }

    /// Bytes in the fixed part of a row, or `None` for a variable column. A `bit` counts one byte.
    pub const fn fixed_len(&self) -> Option<u16> {
        if self.id.is_variable() {
            None
        } else if let Some(length) = self.id.implied_len() {
            Some(length)
        } else if self.length < 0 {
            Some(0)
        } else {
            Some(self.length as u16)
        }
    }

    /// Most bytes a value takes within a row (`maxinrowlen`): 8,000 for `(max)`, 16 for a LOB pointer.
    pub const fn max_in_row_len(&self) -> u16 {
        match self.fixed_len() {
            Some(length) => length,
            None if self.length < 0 => 8000,
            None => self.length as u16,
        }
    }

    /// The word `ti` of `sysrscols`: id in the low byte, then length, or precision and scale.
    pub const fn to_ti(&self) -> i32 {
        let detail = match self.id {
            TypeId::Decimal | TypeId::Numeric => self.precision as u32 | (self.scale as u32) << 8,
            TypeId::Time | TypeId::DateTime2 | TypeId::DateTimeOffset => self.scale as u32,
            _ if self.length < 0 => 0,
            _ => match self.id.family() {
                Family::Char | Family::NChar | Family::Binary | Family::Lob => {
                    self.length as u16 as u32
                }
                _ => 0,
            },
        };
        (self.id as u32 | detail << 8) as i32
    }

    /// From the word `ti` of `sysrscols` and the column's collation; `None` for an unknown type.
    pub fn from_ti(ti: i32, collation: Collation) -> Option<DataType> {
        let ti = ti as u32;
        let id = TypeId::from_u8(ti as u8)?;
        let (low, high) = ((ti >> 8) as u8, (ti >> 16) as u8);
        let data_type = match id {
            TypeId::Decimal | TypeId::Numeric => DataType::decimal(id, low, high).ok()?,
            TypeId::Time | TypeId::DateTime2 | TypeId::DateTimeOffset => {
                DataType::scaled(id, low).ok()?
            }
            _ => match id.family() {
                Family::Char | Family::NChar | Family::Binary if id.implied_len().is_none() => {
                    let length = (ti >> 8) as u16;
                    let length = if length == 0 {
                        MAX_LENGTH
                    } else {
                        length.min(8016) as i16
                    };
                    DataType::sized(id, length)
                }
                _ => DataType::simple(id),
            },
        };
        Some(data_type.with_collation(collation))
    }
}

/// Bytes of a decimal of this precision.
pub(super) const fn decimal_len(precision: u8) -> u8 {
    match precision {
        0..=9 => 5,
        10..=19 => 9,
        20..=28 => 13,
        _ => 17,
    }
}

/// Bytes of a time of this scale.
pub(super) const fn time_len(scale: u8) -> u8 {
    match scale {
        0..=2 => 3,
        3..=4 => 4,
        _ => 5,
    }
}

const fn collation_of(id: TypeId) -> Collation {
    if id.has_collation() {
        Collation::DEFAULT
    } else {
        Collation::NONE
    }
}

/// Precision and scale that the catalog shows for a type that was declared without them.
const fn implied_precision(id: TypeId) -> (u8, u8) {
    match id {
        TypeId::Bit => (1, 0),
        TypeId::TinyInt => (3, 0),
        TypeId::SmallInt => (5, 0),
        TypeId::Int => (10, 0),
        TypeId::BigInt => (19, 0),
        TypeId::Real => (24, 0),
        TypeId::Float => (53, 0),
        TypeId::Money => (19, 4),
        TypeId::SmallMoney => (10, 4),
        TypeId::Date => (10, 0),
        TypeId::SmallDateTime => (16, 0),
        TypeId::DateTime => (23, 3),
        _ => (0, 0),
    }
}

/// As T-SQL declares the type: `decimal(9,2)`, `nvarchar(50)`, `varbinary(max)`, `datetime2(7)`.
impl fmt::Display for DataType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.id.name();
        match self.id {
            TypeId::Decimal | TypeId::Numeric => {
                write!(f, "{name}({},{})", self.precision, self.scale)
            }
            TypeId::Time | TypeId::DateTime2 | TypeId::DateTimeOffset => {
                write!(f, "{name}({})", self.scale)
            }
            TypeId::Char | TypeId::VarChar | TypeId::Binary | TypeId::VarBinary => {
                if self.is_max() {
                    write!(f, "{name}(max)")
                } else {
                    write!(f, "{name}({})", self.length)
                }
            }
            TypeId::NChar | TypeId::NVarChar => {
                if self.is_max() {
                    write!(f, "{name}(max)")
                } else {
                    write!(f, "{name}({})", self.length / 2)
                }
            }
            _ => f.write_str(name),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TypeError;

    #[test]
    fn types_print_as_they_are_declared() {
        let decimal = DataType::decimal(TypeId::Decimal, 9, 2).unwrap();
        assert_eq!(decimal.to_string(), "decimal(9,2)");
        assert_eq!(
            DataType::string(TypeId::NVarChar, Some(50))
                .unwrap()
                .to_string(),
            "nvarchar(50)"
        );
        assert_eq!(
            DataType::string(TypeId::VarBinary, None)
                .unwrap()
                .to_string(),
            "varbinary(max)"
        );
        assert_eq!(
            DataType::simple(TypeId::DateTime2).to_string(),
            "datetime2(7)"
        );
        assert_eq!(DataType::simple(TypeId::Int).to_string(), "int");
    }

    #[test]
    fn lengths_follow_precision_and_scale() {
        for (precision, bytes) in [
            (1, 5),
            (9, 5),
            (10, 9),
            (19, 9),
            (20, 13),
            (28, 13),
            (29, 17),
        ] {
            let decimal = DataType::decimal(TypeId::Numeric, precision, 0).unwrap();
            assert_eq!(decimal.fixed_len(), Some(bytes));
        }
        for (scale, bytes) in [(0, 6), (2, 6), (3, 7), (4, 7), (5, 8), (7, 8)] {
            let datetime2 = DataType::scaled(TypeId::DateTime2, scale).unwrap();
            assert_eq!(datetime2.fixed_len(), Some(bytes));
        }
        assert_eq!(
            DataType::simple(TypeId::DateTimeOffset).fixed_len(),
            Some(10)
        );
        assert_eq!(DataType::simple(TypeId::DateTimeOffset).precision, 34);
        assert_eq!(DataType::simple(TypeId::DateTime2).precision, 27);
    }

    #[test]
    fn the_layout_word_and_the_type_are_each_others_inverse() {
        let types = TypeId::ALL.iter().map(|&id| DataType::simple(id)).chain([
            DataType::decimal(TypeId::Decimal, 38, 10).unwrap(),
            DataType::scaled(TypeId::Time, 3).unwrap(),
            DataType::string(TypeId::NVarChar, None).unwrap(),
            DataType::string(TypeId::Char, Some(8000)).unwrap(),
        ]);
        for data_type in types {
            let back = DataType::from_ti(data_type.to_ti(), data_type.collation);
            assert_eq!(back, Some(data_type), "{data_type}");
        }
        assert_eq!(DataType::from_ti(1, Collation::NONE), None);
    }

    #[test]
    fn impossible_declarations_get_their_message_number() {
        let number = |result: Result<DataType, TypeError>| result.unwrap_err().number();
        assert_eq!(number(DataType::decimal(TypeId::Decimal, 39, 0)), 2750);
        assert_eq!(number(DataType::decimal(TypeId::Decimal, 5, 6)), 192);
        assert_eq!(number(DataType::scaled(TypeId::Time, 8)), 1002);
        assert_eq!(number(DataType::string(TypeId::Char, Some(8001))), 131);
        assert_eq!(number(DataType::string(TypeId::NChar, Some(4001))), 2717);
        assert_eq!(number(DataType::string(TypeId::VarChar, Some(0))), 1001);
        assert_eq!(number(DataType::string(TypeId::Binary, None)), 131);
    }
}
