//! How sqlcmd prints a result: the text of each value, the width of each column, and its alignment.

use std::fmt::Write;

use furrow_types::{DataType, Family, TypeId, Value};

/// Characters that columns without a limit of their own get: `(max)`, `text`, `xml`, `sql_variant`.
pub(crate) const UNLIMITED_WIDTH: u32 = 256;

/// Characters that a column of the type takes on the screen, its heading aside.
pub fn display_width(data_type: &DataType) -> u32 {
    match data_type.id {
        TypeId::Money => 21,
        TypeId::SmallMoney => 12,
        TypeId::Float => 24,
        TypeId::Real => 14,
        TypeId::SmallDateTime => 19,
        TypeId::RowVersion => 18,
        TypeId::SqlVariant
        | TypeId::Xml
        | TypeId::Udt
        | TypeId::Text
        | TypeId::NText
        | TypeId::Image => UNLIMITED_WIDTH,
        TypeId::Binary | TypeId::VarBinary if !data_type.is_max() => {
            2 * u32::from(data_type.length.unsigned_abs()) + 2
        }
        _ if data_type.is_max() => UNLIMITED_WIDTH,
        _ => text_width(data_type),
    }
}

/// Characters that a value of the type takes as text, at most: the length of its implicit conversion.
pub(crate) fn text_width(data_type: &DataType) -> u32 {
    match data_type.id {
        TypeId::Bit => 1,
        TypeId::TinyInt => 3,
        TypeId::SmallInt => 6,
        TypeId::Int => 11,
        TypeId::BigInt => 20,
        TypeId::Decimal | TypeId::Numeric => u32::from(data_type.precision) + 2,
        TypeId::Money => 30,
        TypeId::SmallMoney => 30,
        TypeId::Float | TypeId::Real => 23,
        TypeId::UniqueIdentifier => 36,
        TypeId::Date => 10,
        TypeId::Time | TypeId::DateTime2 | TypeId::DateTimeOffset => u32::from(data_type.precision),
        TypeId::DateTime => 23,
        TypeId::SmallDateTime => 19,
        TypeId::NChar | TypeId::NVarChar => u32::from(data_type.length.unsigned_abs()) / 2,
        _ => u32::from(data_type.length.unsigned_abs()),
    }
}

/// Whether values are aligned to the right of their column: numbers are.
pub const fn is_right_aligned(id: TypeId) -> bool {
    matches!(
        id.family(),
        Family::Integer | Family::Exact | Family::Approximate
    )
}

/// Appends a value as sqlcmd prints it.
///
/// `datetime` with three digits of a second, `smalldatetime` without, money with four, exact numbers under 1
/// without a zero before the point, bytes as `0x...`, `NULL`; floating-point numbers in the shortest
/// form that reads back as the same number.
pub fn write_value(value: &Value, out: &mut String) {
    // Writing to a string cannot fail.
    let _infallible = write!(out, "{value}");
}

/// Appends a value at its place in a column of so many characters: cut where it is longer.
pub fn write_cell(value: &Value, id: TypeId, width: usize, out: &mut String) {
    let start = out.len();
    write_value(value, out);
    let text = out.split_off(start);
    let length = text.chars().count();
    if length >= width {
        out.extend(text.chars().take(width));
    } else if is_right_aligned(id) {
        out.extend(std::iter::repeat_n(' ', width - length));
        out.push_str(&text);
    } else {
        out.push_str(&text);
        out.extend(std::iter::repeat_n(' ', width - length));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::data_type;
    use furrow_types::{cast, parse_value};

    #[test]
    fn columns_have_the_widths_sqlcmd_gives_them() {
        for (of, width) in [
            ("bit", 1),
            ("tinyint", 3),
            ("smallint", 6),
            ("int", 11),
            ("bigint", 20),
            ("numeric(18,0)", 20),
            ("money", 21),
            ("float", 24),
            ("real", 14),
            ("date", 10),
            ("time(7)", 16),
            ("time(0)", 8),
            ("datetime", 23),
            ("datetime2(7)", 27),
            ("datetime2(0)", 19),
            ("datetimeoffset(7)", 34),
            ("smalldatetime", 19),
            ("uniqueidentifier", 36),
            ("char(10)", 10),
            ("nvarchar(50)", 50),
            ("varbinary(4)", 10),
            ("varchar(max)", 256),
        ] {
            assert_eq!(display_width(&data_type(of)), width, "{of}");
        }
    }

    /// No value of a bounded type is longer than its column.
    #[test]
    fn the_longest_values_fit_their_columns() {
        for (of, text) in [
            ("bit", "1"),
            ("tinyint", "255"),
            ("smallint", "-32768"),
            ("int", "-2147483648"),
            ("bigint", "-9223372036854775808"),
            ("numeric(5,5)", "-0.99999"),
            ("numeric(5,2)", "-999.99"),
            ("money", "-922337203685477.5808"),
            ("smallmoney", "-214748.3648"),
            ("datetime", "9999-12-31 23:59:59.997"),
            ("datetime2(7)", "9999-12-31 23:59:59.9999999"),
            ("datetimeoffset(7)", "9999-12-31 23:59:59.9999999 +00:00"),
            ("time(3)", "23:59:59.999"),
            ("float", "-1.7976931348623157E+308"),
            ("real", "-3.4028235E+38"),
        ] {
            let data_type = data_type(of);
            let value = cast(&parse_value(&data_type, text).unwrap(), &data_type).unwrap();
            let mut out = String::new();
            write_value(&value, &mut out);
            assert!(
                out.len() <= display_width(&data_type) as usize,
                "{of}: {out}"
            );
        }
    }

    #[test]
    fn numbers_stand_right_and_text_left() {
        let mut out = String::new();
        write_cell(&Value::Int(42), TypeId::Int, 5, &mut out);
        write_cell(&Value::Null, TypeId::Int, 6, &mut out);
        write_cell(&"ab".into(), TypeId::NVarChar, 4, &mut out);
        write_cell(&"abcdef".into(), TypeId::NVarChar, 3, &mut out);
        assert_eq!(out, "   42  NULLab  abc");
    }
}
