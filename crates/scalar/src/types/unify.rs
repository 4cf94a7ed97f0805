//! The one type of several expressions: CASE, COALESCE, UNION, VALUES; and the type of joined strings.

use furrow_types::{DataType, Family, MAX_LENGTH, TypeId};

use super::decimal::of_type;
use super::matrix::{is_text, require_implicit};
use super::precedence::higher;
use crate::error::{SqlResult, message};
use crate::operand::{Coercibility, Operand, meet};

/// The type of CASE, COALESCE and the like: the highest precedence, wide enough for all. Error 8133 where
/// all are the literal NULL.
pub fn unify(operands: &[Operand<'_>]) -> SqlResult<DataType> {
    let mut typed = operands.iter().filter(|operand| !operand.is_null_literal);
    let mut result = *typed.next().ok_or_else(|| message(8133, &[]))?;
    result.constant = None;
    for operand in typed {
        let (collation, coercibility) = meet(&result, operand, "CASE")?;
        let merged = unify_two(&result.data_type, &operand.data_type)?;
        result.data_type = merged.with_collation(collation);
        result.coercibility = coercibility;
    }
    let is_conflict = result.coercibility == Coercibility::Conflict;
    debug_assert!(!is_conflict || result.data_type.id.has_collation());
    Ok(result.data_type)
}

/// The type of two expressions of these types; collations aside.
pub fn unify_two(a: &DataType, b: &DataType) -> SqlResult<DataType> {
    let id = higher(a.id, b.id);
    for side in [a, b] {
        require_implicit(side.id, id)?;
    }
    if matches!(id, TypeId::Decimal | TypeId::Numeric) {
        // Text and bytes take the form of the number.
        return Ok(match (of_type(a), of_type(b)) {
            (Some(a), Some(b)) => a.union(b).data_type(),
            (Some(form), None) | (None, Some(form)) => form.data_type(),
            (None, None) => DataType::simple(id),
        });
    }
    if is_text(id) || matches!(id, TypeId::Binary | TypeId::VarBinary) {
        return Ok(
            string_type(id, width(a, id).max(width(b, id)), a.is_max() || b.is_max())
                .with_collation(if a.id.has_collation() {
                    a.collation
                } else {
                    b.collation
                }),
        );
    }
    if matches!(
        id,
        TypeId::Time | TypeId::DateTime2 | TypeId::DateTimeOffset
    ) {
        let scale = moment_scale(a).max(moment_scale(b));
        return Ok(DataType::scaled(id, scale).unwrap_or(DataType::simple(id)));
    }
    Ok(if a.id == id { *a } else { *b })
}

/// Digits of seconds that a type of moments has.
pub(crate) const fn moment_scale(data_type: &DataType) -> u8 {
    match data_type.id {
        TypeId::Time | TypeId::DateTime2 | TypeId::DateTimeOffset => data_type.scale,
        TypeId::DateTime => 3,
        _ => 0,
    }
}

/// Units (characters or bytes) that the value of a type takes as text or bytes `id`.
pub(crate) fn width(data_type: &DataType, id: TypeId) -> u32 {
    let length = u32::from(data_type.length.max(0) as u16);
    match data_type.id {
        TypeId::NChar | TypeId::NVarChar if id.is_unicode() => length / 2,
        TypeId::NChar | TypeId::NVarChar if !is_text(id) => length,
        TypeId::NChar | TypeId::NVarChar => length / 2,
        TypeId::Char | TypeId::VarChar => length,
        TypeId::Binary | TypeId::VarBinary if id.is_unicode() => length / 2,
        TypeId::Binary | TypeId::VarBinary => length,
        _ if is_text(id) => crate::display::text_width(data_type),
        _ => u32::from(data_type.max_in_row_len()),
    }
}

/// A string type of so many units, cut to what the type can have; `(max)` if `is_max`.
pub fn string_type(id: TypeId, units: u32, is_max: bool) -> DataType {
    let id = match id {
        TypeId::Char if is_max => TypeId::VarChar,
        TypeId::NChar if is_max => TypeId::NVarChar,
        TypeId::Binary if is_max => TypeId::VarBinary,
        id => id,
    };
    if is_max {
        return DataType::sized(id, MAX_LENGTH);
    }
    let most = if id.is_unicode() { 4000 } else { 8000 };
    let units = units.clamp(1, most);
    DataType::string(id, Some(units)).unwrap_or(DataType::sized(id, 8000))
}

/// The type of two strings joined: as long as both, `(max)` if one is.
pub(crate) fn concat_type(a: &DataType, b: &DataType) -> DataType {
    let id = higher(a.id, b.id);
    let units = width(a, id) + width(b, id);
    let joined = string_type(id, units, a.is_max() || b.is_max());
    if a.id.family() == Family::Binary {
        return joined;
    }
    joined.with_collation(a.collation)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> DataType {
        crate::testing::data_type(text)
    }

    #[test]
    fn two_types_meet_in_the_higher_one_wide_enough_for_both() {
        for (a, b, expected) in [
            ("int", "tinyint", "int"),
            ("int", "varchar(10)", "int"),
            ("varchar(10)", "nvarchar(5)", "nvarchar(10)"),
            ("varchar(10)", "char(20)", "varchar(20)"),
            ("varchar(max)", "nchar(3)", "nvarchar(max)"),
            ("numeric(5,2)", "int", "numeric(12,2)"),
            ("numeric(5,2)", "money", "numeric(19,4)"),
            ("numeric(5,2)", "varchar(10)", "numeric(5,2)"),
            ("datetime2(3)", "datetimeoffset(5)", "datetimeoffset(5)"),
            ("date", "datetime", "datetime"),
            ("datetime", "datetime2(0)", "datetime2(3)"),
            ("float", "numeric(38,10)", "float"),
            ("money", "bigint", "money"),
            ("binary(3)", "varbinary(7)", "varbinary(7)"),
        ] {
            for (a, b) in [(a, b), (b, a)] {
                let merged = unify_two(&of(a), &of(b)).unwrap();
                assert_eq!(merged.to_string(), expected, "{a} {b}");
            }
        }
        assert_eq!(unify_two(&of("int"), &of("date")).unwrap_err().number, 206);
        assert_eq!(
            unify_two(&of("uniqueidentifier"), &of("int"))
                .unwrap_err()
                .text,
            "Operand type clash: uniqueidentifier is incompatible with int"
        );
    }

    #[test]
    fn null_takes_any_type_and_alone_none() {
        let text = Operand::of(of("varchar(3)"));
        let merged = unify(&[Operand::null(), text, Operand::null()]).unwrap();
        assert_eq!(merged.to_string(), "varchar(3)");
        assert_eq!(unify(&[Operand::null()]).unwrap_err().number, 8133);
    }

    #[test]
    fn joined_strings_are_as_long_as_both_up_to_the_limit() {
        let join = |a, b| concat_type(&of(a), &of(b)).to_string();
        assert_eq!(join("varchar(10)", "varchar(5)"), "varchar(15)");
        assert_eq!(join("varchar(8000)", "varchar(5)"), "varchar(8000)");
        assert_eq!(join("varchar(8000)", "nvarchar(5)"), "nvarchar(4000)");
        assert_eq!(join("varchar(max)", "char(5)"), "varchar(max)");
        assert_eq!(join("binary(2)", "varbinary(5)"), "varbinary(7)");
    }
}
