//! Types as a declaration names them: precision, scale and size are checked.

use super::data_type::{DataType, MAX_LENGTH};
use super::error::TypeError;
use super::type_id::TypeId;

impl DataType {
    /// `decimal(precision, scale)` or `numeric(precision, scale)`.
    pub fn decimal(id: TypeId, precision: u8, scale: u8) -> Result<DataType, TypeError> {
        if precision == 0 {
            return Err(zero_length());
        }
        if precision > 38 {
            let text = format!(
                "Specified column precision {precision} is greater than the maximum precision of 38."
            );
            return Err(TypeError::BadType { number: 2750, text });
        }
        if scale > precision {
            let text = "The scale must be less than or equal to the precision.".to_owned();
            return Err(TypeError::BadType { number: 192, text });
        }
        Ok(DataType::decimal_unchecked(id, precision, scale))
    }

    /// `time(scale)`, `datetime2(scale)` or `datetimeoffset(scale)`.
    pub fn scaled(id: TypeId, scale: u8) -> Result<DataType, TypeError> {
        if scale > 7 {
            let text = format!("Specified scale {scale} is invalid.");
            return Err(TypeError::BadType { number: 1002, text });
        }
        Ok(DataType::scaled_unchecked(id, scale))
    }

    /// A string or byte string of `units` characters or bytes; `None` for `(max)`.
    pub fn string(id: TypeId, units: Option<u32>) -> Result<DataType, TypeError> {
        let unit = if id.is_unicode() { 2 } else { 1 };
        let fixed = matches!(id, TypeId::Char | TypeId::NChar | TypeId::Binary);
        match units {
            None if !fixed => Ok(DataType::sized(id, MAX_LENGTH)),
            Some(units @ 1..=8000) if units * unit <= 8000 => {
                Ok(DataType::sized(id, (units * unit) as i16))
            }
            Some(0) => Err(zero_length()),
            Some(units) if unit == 2 && units <= 8000 => {
                let text = format!(
                    "The size ({units}) given to the type '{id}' exceeds the maximum allowed (4000)."
                );
                Err(TypeError::BadType { number: 2717, text })
            }
            _ => {
                let units = units.map_or("max".to_owned(), |units| units.to_string());
                let text = format!(
                    "The size ({units}) given to the type '{id}' exceeds the maximum allowed for any \
                     data type (8000)."
                );
                Err(TypeError::BadType { number: 131, text })
            }
        }
    }
}

fn zero_length() -> TypeError {
    let text = "Length or precision specification 0 is invalid.".to_owned();
    TypeError::BadType { number: 1001, text }
}
