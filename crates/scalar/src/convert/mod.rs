//! CAST, CONVERT, TRY_CONVERT, PARSE, and the conversions that operators do by themselves.
//!
//! What values turn into without a style is `furrow_format`'s business where an assignment does it, too; here
//! comes what only expressions do: the form of text (styles), lengths (text is cut, `char` is padded, a
//! number that does not fit is `*` or an error), bytes, and numbers as dates.
//!
//! A [`Conversion`] is made when an expression is bound, and says then whether the two types allow it.
//! Applied to values it fails with the value's error only.

mod binary;
mod date;
mod number;
mod style;
mod text;
mod xml;

use furrow_types::{DataType, Family, TypeId, Value, cast_with};

use crate::env::{Settings, Switches};
use crate::error::{SqlResult, message, of_type_error};
use crate::types::{require_explicit, require_implicit};

pub(crate) use date::is_date;
pub(crate) use text::{decimal_text, money_text};

/// A conversion from one type to another, bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Conversion {
    /// What values come as.
    pub from: DataType,
    /// What they become.
    pub to: DataType,
    /// The style of CONVERT; `None` is the default of the types.
    pub style: Option<i32>,
    /// Whether a value that does not convert is NULL: TRY_CAST and TRY_CONVERT.
    pub or_null: bool,
}

impl Conversion {
    /// The conversion an operator or assignment does by itself: 257 or 206 where there is none, `None` where
    /// nothing is to be done.
    pub fn implicit(from: DataType, to: DataType) -> SqlResult<Option<Conversion>> {
        require_implicit(from.id, to.id)?;
        if from == to {
            return Ok(None);
        }
        Ok(Some(Conversion {
            from,
            to,
            style: None,
            or_null: false,
        }))
    }

    /// CAST and CONVERT: 529 where the types have no conversion.
    pub fn explicit(from: DataType, to: DataType, style: Option<i32>) -> SqlResult<Conversion> {
        require_explicit(from.id, to.id)?;
        Ok(Conversion {
            from,
            to,
            style,
            or_null: false,
        })
    }

    /// TRY_CAST and TRY_CONVERT: types without a conversion are an error all the same.
    pub fn try_explicit(from: DataType, to: DataType, style: Option<i32>) -> SqlResult<Conversion> {
        Ok(Conversion {
            or_null: true,
            ..Conversion::explicit(from, to, style)?
        })
    }

    /// The value as the other type. NULL stays NULL.
    pub fn apply(&self, value: &Value, settings: &Settings) -> SqlResult<Value> {
        match self.convert(value, settings) {
            Err(_) if self.or_null => Ok(Value::Null),
            result => result,
        }
    }

    fn convert(&self, value: &Value, settings: &Settings) -> SqlResult<Value> {
        let to = &self.to;
        if let Value::Variant(inner) = value
            && to.id != TypeId::SqlVariant
        {
            let inner_type = inner.0;
            let unpacked = Conversion::explicit(inner_type, *to, self.style)?;
            return unpacked.convert(&inner.1, settings);
        }
        if value.is_null() {
            return Ok(Value::Null);
        }
        if to.id == TypeId::Xml {
            return xml::to_xml(self, value);
        }
        if self.from.id == TypeId::Xml {
            return xml::from_xml(self, value);
        }
        match to.id.family() {
            Family::Char | Family::NChar => text::to_text(self, value),
            Family::Lob if to.id != TypeId::Image => text::to_text(self, value),
            Family::Binary | Family::Lob => binary::to_bytes(self, value),
            Family::Variant if !matches!(value, Value::Variant(_)) => {
                Ok(Value::Variant(Box::new((self.from, value.clone()))))
            }
            _ => match value {
                Value::Binary(bytes) => binary::from_bytes(bytes, self),
                Value::VarChar(text) | Value::NVarChar(text)
                    if to.id.family() == Family::DateTime =>
                {
                    date::from_text(text, self, settings)
                }
                Value::DateTime(_) | Value::SmallDateTime(_)
                    if to.id.family() != Family::DateTime =>
                {
                    number::from_moment(value, to)
                }
                _ if matches!(to.id, TypeId::DateTime | TypeId::SmallDateTime)
                    && crate::types::exact(value).is_some() =>
                {
                    number::to_moment(value, to)
                }
                Value::Float(_) | Value::Real(_)
                    if matches!(to.id, TypeId::DateTime | TypeId::SmallDateTime) =>
                {
                    number::to_moment(value, to)
                }
                Value::Decimal(from) if settings.switches.has(Switches::NUMERIC_ROUNDABORT) => {
                    number::exactly(*from, to)?;
                    cast_with(value, to, settings.date_order).map_err(|error| of_type_error(&error))
                }
                _ => {
                    cast_with(value, to, settings.date_order).map_err(|error| of_type_error(&error))
                }
            },
        }
    }
}

/// The local moment of a value that is one.
pub(crate) fn moment_parts(value: &Value) -> Option<furrow_types::DateTime2> {
    style::parts(value).map(|(at, _)| at)
}

/// The length that CAST and CONVERT give a string type without one: 30 units.
pub fn default_length(id: TypeId) -> DataType {
    let units = if id.is_unicode() { 60 } else { 30 };
    match id {
        TypeId::Char
        | TypeId::VarChar
        | TypeId::NChar
        | TypeId::NVarChar
        | TypeId::Binary
        | TypeId::VarBinary => DataType::sized(id, units),
        _ => DataType::simple(id),
    }
}

/// PARSE: text as a number or a moment in the manner of a culture, of which `en-US` is known. 9818 for
/// another one, 9819 for text that is none.
pub fn parse(
    text: &str,
    to: &DataType,
    culture: Option<&str>,
    settings: &Settings,
) -> SqlResult<Value> {
    let culture = culture.unwrap_or("en-US");
    if !culture.eq_ignore_ascii_case("en-US") {
        return Err(message(9818, &[culture.into()]));
    }
    let trimmed = text.trim();
    let cleaned = match to.id.family() {
        Family::DateTime => trimmed.to_owned(),
        _ => trimmed
            .chars()
            .filter(|c| !matches!(c, ',' | '$'))
            .collect(),
    };
    let failed = || message(9819, &[text.into(), to.id.name().into(), culture.into()]);
    if cleaned.is_empty() {
        return Err(failed());
    }
    let value = Value::NVarChar(cleaned);
    cast_with(&value, to, settings.date_order).map_err(|_| failed())
}

#[cfg(test)]
mod tests;
