//! What can be wrong with a value, as SQL Server's messages.

use super::DataType;

/// A floating-point number by its bits, so that errors can be compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FloatBits(u64);

impl From<f64> for FloatBits {
    fn from(number: f64) -> FloatBits {
        FloatBits(number.to_bits())
    }
}

impl std::fmt::Display for FloatBits {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f64::from_bits(self.0).fmt(f)
    }
}

/// A value that a type can't hold, or bytes that aren't a value of a type.
///
/// [`number`](TypeError::number) is SQL Server's message number; the text is that message's text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TypeError {
    /// 220: an integer outside `tinyint` or `smallint`.
    #[error("Arithmetic overflow error for data type {to}, value = {value}.")]
    IntegerOverflow {
        /// Target type's name.
        to: &'static str,
        /// The value, printed.
        value: String,
    },
    /// 8115: any other number outside its target.
    #[error("Arithmetic overflow error converting {from} to data type {to}.")]
    Overflow {
        /// Source type's name, as the message prints it.
        from: &'static str,
        /// Target type's name.
        to: &'static str,
    },
    /// 8152 (2628 once table and column are known): a string or byte string that is too long.
    #[error("String or binary data would be truncated.")]
    Truncated {
        /// The part that would fit, printed: the "truncated value" of message 2628.
        kept: String,
    },
    /// 242: a date outside the target's range.
    #[error(
        "The conversion of a {from} data type to a {to} data type resulted in an out-of-range value."
    )]
    DateOutOfRange {
        /// Source type's name.
        from: &'static str,
        /// Target type's name.
        to: &'static str,
    },
    /// 241: text that is no date.
    #[error("Conversion failed when converting date and/or time from character string.")]
    NotADate,
    /// 245: text that is no integer.
    #[error("Conversion failed when converting the {from} value '{text}' to data type {to}.")]
    NotAnInteger {
        /// Source type's name.
        from: &'static str,
        /// The text.
        text: String,
        /// Target type's name.
        to: &'static str,
    },
    /// 244 and 248: digits too many for `tinyint`, `smallint` or `int`.
    #[error(
        "The conversion of the {from} value '{text}' overflowed an {column} column.{}",
        if *column == "int" { "" } else { " Use a larger integer column." }
    )]
    TextOverflow {
        /// Source type's name.
        from: &'static str,
        /// The text.
        text: String,
        /// What the message calls the target: `INT1`, `INT2`, `int`.
        column: &'static str,
    },
    /// 232: a floating-point number outside an integer type.
    #[error("Arithmetic overflow error for type {to}, value = {value:.6}.")]
    FloatOverflow {
        /// Target type's name.
        to: &'static str,
        /// The number.
        value: FloatBits,
    },
    /// 295: text that is no `smalldatetime`.
    #[error("Conversion failed when converting character string to smalldatetime data type.")]
    NotASmallDateTime,
    /// 293: text that is no `smallmoney`.
    #[error("Cannot convert char value to smallmoney. The char value has incorrect syntax.")]
    NotSmallMoney,
    /// 8114: text that is no number of another kind.
    #[error("Error converting data type {from} to {to}.")]
    NotANumber {
        /// Source type's name.
        from: &'static str,
        /// Target type's name.
        to: &'static str,
    },
    /// 235: text that is no amount of money.
    #[error("Cannot convert a char value to money. The char value has incorrect syntax.")]
    NotMoney,
    /// 8169: text that is no GUID.
    #[error("Conversion failed when converting from a character string to uniqueidentifier.")]
    NotAGuid,
    /// 206: types between which there is no conversion.
    #[error("Operand type clash: {from} is incompatible with {to}")]
    Clash {
        /// Source type's name.
        from: &'static str,
        /// Target type's name.
        to: &'static str,
    },
    /// 131, 192, 1001, 1002, 2717, 2750: a declared type that doesn't exist.
    #[error("{text}")]
    BadType {
        /// Message number.
        number: u32,
        /// Message text.
        text: String,
    },
    /// Bytes of a file that are no value of the column's type: damage, no user's error.
    #[error("{length} bytes are no value of type {data_type}")]
    Malformed {
        /// The column's type.
        data_type: DataType,
        /// How many bytes there were.
        length: usize,
    },
}

impl TypeError {
    /// SQL Server's message number; for bytes that are no value that of DBCC's finding, 2570.
    pub const fn number(&self) -> u32 {
        match self {
            TypeError::IntegerOverflow { .. } => 220,
            TypeError::Overflow { .. } => 8115,
            TypeError::Truncated { .. } => 8152,
            TypeError::DateOutOfRange { .. } => 242,
            TypeError::NotADate => 241,
            TypeError::NotAnInteger { .. } => 245,
            TypeError::TextOverflow { column, .. } => match column.as_bytes() {
                b"int" => 248,
                _ => 244,
            },
            TypeError::FloatOverflow { .. } => 232,
            TypeError::NotASmallDateTime => 295,
            TypeError::NotSmallMoney => 293,
            TypeError::NotANumber { .. } => 8114,
            TypeError::NotMoney => 235,
            TypeError::NotAGuid => 8169,
            TypeError::Clash { .. } => 206,
            TypeError::BadType { number, .. } => *number,
            TypeError::Malformed { .. } => 2570,
        }
    }
}
