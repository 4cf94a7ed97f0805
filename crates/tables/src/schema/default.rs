//! Defaults of columns, and their text in the catalog.

use furrow_io::random;
use furrow_io::time::WallTime;
use furrow_types::{
    DataType, Date, DateTime2, Guid, Time, Value, decode_1252, encode, encode_1252, parse_value,
};

/// What a column gets when an insert does not name it.
#[derive(Debug, Clone, PartialEq)]
pub enum DefaultValue {
    /// A constant.
    Constant(Value),
    /// `getdate()`, and `sysdatetime()`: the time of the statement's row, as the column's type takes
    /// it. The clock of this engine is UTC throughout.
    CurrentTime,
    /// `newid()`.
    NewGuid,
}

impl<V: Into<Value>> From<V> for DefaultValue {
    fn from(value: V) -> DefaultValue {
        DefaultValue::Constant(value.into())
    }
}

/// This moment.
pub(crate) fn now() -> Value {
    let at = WallTime::now().civil();
    let date = Date::from_ymd(at.year.clamp(1, 9999) as u32, at.month, at.day);
    let seconds = u64::from(at.hour * 3600 + at.minute * 60 + at.second);
    let ticks = seconds * 10_000_000 + u64::from(at.microsecond) * 10;
    match (date, Time::new(ticks, 7)) {
        (Some(date), Some(time)) => Value::DateTime2(DateTime2 { date, time }),
        _ => Value::Null,
    }
}

/// Whether this is a number as T-SQL writes constants, or bytes: `-5`, `1.5E3`, `$2.50`, `0xFF`.
fn is_number(text: &str) -> bool {
    if let Some(digits) = text.strip_prefix("0x") {
        return digits.bytes().all(|b| b.is_ascii_hexdigit());
    }
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    let digits = digits.strip_prefix('$').unwrap_or(digits);
    let mut before = b'0';
    digits.bytes().all(|b| {
        let fits = match b {
            b'0'..=b'9' | b'.' => true,
            b'e' | b'E' => before.is_ascii_digit() || before == b'.',
            b'+' | b'-' => matches!(before, b'e' | b'E'),
            _ => false,
        };
        before = b;
        fits
    }) && digits.bytes().any(|b| b.is_ascii_digit())
}

/// A text in which the characters that code page 1252 lacks are replaced, as in a conversion.
fn in_code_page(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    encode_1252(text, &mut bytes);
    decode_1252(&bytes)
}

impl DefaultValue {
    /// The value for a new row.
    pub fn value(&self) -> Value {
        match self {
            DefaultValue::Constant(value) => value.clone(),
            DefaultValue::CurrentTime => now(),
            DefaultValue::NewGuid => Value::Guid(Guid(random::guid_v4())),
        }
    }

    /// The text that the catalog keeps, as SQL Server writes it: `((5))`, `('abc')`, `(getdate())`.
    pub fn text(&self) -> String {
        match self {
            DefaultValue::CurrentTime => "(getdate())".to_owned(),
            DefaultValue::NewGuid => "(newid())".to_owned(),
            DefaultValue::Constant(value) => match value {
                Value::Null => "(NULL)".to_owned(),
                Value::VarChar(text) => format!("('{}')", text.replace('\'', "''")),
                Value::NVarChar(text) => format!("(N'{}')", text.replace('\'', "''")),
                Value::Binary(_) => format!("({value})"),
                Value::Bit(_)
                | Value::TinyInt(_)
                | Value::SmallInt(_)
                | Value::Int(_)
                | Value::BigInt(_)
                | Value::Decimal(_)
                | Value::Money(_)
                | Value::SmallMoney(_)
                | Value::Real(_)
                | Value::Float(_) => format!("(({value}))"),
                other => format!("('{other}')"),
            },
        }
    }

    /// From the catalog's text; `None` for an expression that this engine does not support as a default.
    pub fn parse(text: &str, data_type: &DataType) -> Option<DefaultValue> {
        let mut text = text.trim();
        while let Some(inner) = text.strip_prefix('(').and_then(|t| t.strip_suffix(')')) {
            if inner.is_empty() {
                break;
            }
            text = inner.trim();
        }
        let lower = text.to_ascii_lowercase();
        match lower.as_str() {
            "getdate()" | "sysdatetime()" | "getutcdate()" | "sysutcdatetime()" => {
                return Some(DefaultValue::CurrentTime);
            }
            "newid()" => return Some(DefaultValue::NewGuid),
            "null" => return Some(DefaultValue::Constant(Value::Null)),
            _ => {}
        }
        let quoted = text.strip_prefix('N').unwrap_or(text);
        let literal = match quoted.strip_prefix('\'').and_then(|t| t.strip_suffix('\'')) {
            // A single quote inside the text ends the constant: then this is an expression.
            Some(inner) if inner.replace("''", "").contains('\'') => return None,
            // Without N the constant is of `varchar`: it has the characters of the code page alone.
            Some(inner) if quoted.len() == text.len() => in_code_page(&inner.replace("''", "'")),
            Some(inner) => inner.replace("''", "'"),
            None if !is_number(text) => return None,
            None => text.to_owned(),
        };
        parse_value(data_type, &literal)
            .ok()
            .map(DefaultValue::Constant)
    }

    /// Whether the column's type takes it.
    pub(crate) fn suits(&self, data_type: &DataType) -> bool {
        match self {
            DefaultValue::Constant(value) => encode(data_type, value).is_ok(),
            other => encode(data_type, &other.value()).is_ok(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use furrow_types::TypeId;

    #[test]
    fn the_catalog_text_of_a_default_gives_the_default_again() {
        let int = DataType::simple(TypeId::Int);
        let text = DataType::sized(TypeId::VarChar, 20);
        let wide = DataType::sized(TypeId::NVarChar, 40);
        for (data_type, default) in [
            (int, DefaultValue::from(-5)),
            (
                text,
                DefaultValue::Constant(Value::VarChar("it's (so)".to_owned())),
            ),
            (wide, DefaultValue::from("")),
            (
                DataType::simple(TypeId::DateTime),
                DefaultValue::CurrentTime,
            ),
            (
                DataType::simple(TypeId::UniqueIdentifier),
                DefaultValue::NewGuid,
            ),
            (
                DataType::sized(TypeId::VarBinary, 8),
                DefaultValue::from(vec![1, 255]),
            ),
            (int, DefaultValue::Constant(Value::Null)),
        ] {
            assert_eq!(
                DefaultValue::parse(&default.text(), &data_type),
                Some(default)
            );
        }
        for expression in [
            "(user_name())",
            "('a'+'b')",
            "(current_user)",
            "((1)+(2))",
            "(1+2)",
        ] {
            assert_eq!(DefaultValue::parse(expression, &text), None, "{expression}");
        }
    }
}
