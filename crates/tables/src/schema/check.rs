//! The rules of DDL, each refusal with SQL Server's message.

use super::{ColumnSpec, ConstraintSpec, IndexSpec, KeyColumnSpec, TableSpec};
use crate::error::{EngineError, refuse};
use furrow_types::{Family, TypeId};
use std::collections::HashSet;

const MAX_NAME: usize = 128;
/// Most columns of a table.
pub(crate) const MAX_COLUMNS: usize = 1024;
const MAX_KEY_COLUMNS: usize = 16;
/// Most bytes of the key columns of an index: that of SQL Server 2012, whose page format is written.
pub(crate) const MAX_KEY_BYTES: usize = 900;

/// 1038 or 103 for a name that is empty or too long.
pub fn check_name(name: &str) -> Result<(), EngineError> {
    if name.is_empty() {
        let text = "An object or column name is missing or empty.";
        return Err(refuse(1038, 15, 4, text));
    }
    if name.encode_utf16().count() > MAX_NAME {
        let start: String = name.chars().take(MAX_NAME).collect();
        let text = format!(
            "The identifier that starts with '{start}' is too long. Maximum length is 128."
        );
        return Err(refuse(103, 15, 4, &text));
    }
    Ok(())
}

/// Whether two names are the same under the database's collation.
pub(crate) fn same_name(a: &str, b: &str) -> bool {
    a == b || a.to_lowercase() == b.to_lowercase()
}

/// The first name that is the same as one before it.
pub fn repeated_name<'n>(mut names: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    let mut seen = HashSet::new();
    names.find(|name| !seen.insert(name.to_lowercase()))
}

/// Checks a table to be created. Row sizes are checked when it is laid out.
pub(crate) fn check_table(spec: &TableSpec) -> Result<(), EngineError> {
    check_name(&spec.name)?;
    let count = spec.columns.len();
    if count == 0 {
        return Err(refuse(
            1766,
            16,
            1,
            "A table must have at least one column.",
        ));
    }
    if let Some(column) = spec.columns.get(MAX_COLUMNS) {
        return Err(too_many_columns(&spec.name, &column.name));
    }
    for column in &spec.columns {
        check_column(&spec.name, column)?;
    }
    if let Some(name) = repeated_name(spec.columns.iter().map(|c| c.name.as_str())) {
        let args = [name.into(), spec.name.as_str().into()];
        return Err(EngineError::refused(2705, &args));
    }
    if spec.columns.iter().filter(|c| c.identity.is_some()).count() > 1 {
        return Err(EngineError::refused(2744, &[spec.name.as_str().into()]));
    }
    check_constraints(spec)
}

/// 1702 for the first column that is one too many, of CREATE TABLE and of ALTER TABLE ADD.
pub(crate) fn too_many_columns(table: &str, column: &str) -> EngineError {
    let most = (MAX_COLUMNS as i32).into();
    EngineError::refused(1702, &[column.into(), table.into(), most])
}

/// Checks a column of a table of this name.
pub(crate) fn check_column(table: &str, column: &ColumnSpec) -> Result<(), EngineError> {
    check_name(&column.name)?;
    let data_type = &column.data_type;
    let large = data_type.is_max() || data_type.id.family() == Family::Lob;
    if large || matches!(data_type.id, TypeId::SqlVariant | TypeId::RowVersion) {
        let text = format!(
            "Column '{}' of table '{}': columns of type {data_type} can be read here, but not made yet.",
            column.name, table
        );
        return Err(refuse(40514, 16, 1, &text));
    }
    if let Some((seed, increment)) = column.identity {
        let fits = furrow_format::catalog::Identity::new(i128::from(seed), i128::from(increment))
            .encode(data_type);
        let integer = data_type.id != TypeId::Bit
            && (data_type.id.family() == Family::Integer
                || matches!(data_type.id, TypeId::Decimal | TypeId::Numeric)
                    && data_type.scale == 0);
        if !integer || column.nullable {
            return Err(EngineError::refused(2749, &[column.name.as_str().into()]));
        }
        if fits.is_none() || increment == 0 {
            let what = if increment == 0 { "increment" } else { "seed" };
            let number = if increment == 0 { 2753 } else { 2752 };
            let text = format!(
                "Identity column '{}' contains invalid {}.",
                column.name,
                what.to_uppercase()
            );
            return Err(refuse(number, 16, 2, &text));
        }
        if column.default.is_some() {
            let text = format!(
                "Defaults cannot be created on columns with an IDENTITY attribute. Table '{}', column '{}'.",
                table, column.name
            );
            return Err(refuse(1754, 16, 1, &text));
        }
    }
    match &column.default {
        Some(default) if !default.suits(data_type) => {
            let text = format!(
                "Operand type clash: the default of column '{}' is incompatible with {data_type}",
                column.name
            );
            Err(refuse(206, 16, 2, &text))
        }
        _ => Ok(()),
    }
}

fn check_constraints(spec: &TableSpec) -> Result<(), EngineError> {
    let mut names: Vec<&str> = Vec::new();
    if spec.constraints.iter().filter(|c| c.primary).count() > 1 {
        return Err(EngineError::refused(8110, &[spec.name.as_str().into()]));
    }
    let clustered = spec.constraints.iter().filter(|c| c.clustered).count()
        + spec.indexes.iter().filter(|i| i.clustered).count();
    if clustered > 1 {
        return Err(EngineError::refused(8112, &[spec.name.as_str().into()]));
    }
    check_keys(&spec.columns, &spec.constraints, &spec.name)?;
    for constraint in &spec.constraints {
        if let Some(name) = &constraint.name {
            if names.iter().any(|n| same_name(n, name)) {
                return Err(EngineError::refused(8168, &[name.as_str().into()]));
            }
            names.push(name);
        }
    }
    for index in &spec.indexes {
        check_index(&spec.columns, index, &spec.name)?;
        if names.iter().any(|n| same_name(n, &index.name)) {
            let args = [
                index.name.as_str().into(),
                "table".into(),
                spec.name.as_str().into(),
            ];
            return Err(EngineError::refused(1913, &args));
        }
        names.push(&index.name);
    }
    Ok(())
}

/// Checks keys to be created on a table of these columns.
pub(crate) fn check_keys(
    columns: &[ColumnSpec],
    keys: &[ConstraintSpec],
    table: &str,
) -> Result<(), EngineError> {
    for constraint in keys {
        let name = constraint.name.as_deref().unwrap_or("");
        check_key(columns, &constraint.key, name, table)?;
        let nullable = |k: &&KeyColumnSpec| {
            columns
                .iter()
                .any(|c| same_name(&c.name, &k.name) && c.nullable)
        };
        if constraint.primary && constraint.key.iter().any(|k| nullable(&k)) {
            return Err(EngineError::refused(8111, &[table.into()]));
        }
        if let Some(name) = &constraint.name {
            check_name(name)?;
        }
    }
    Ok(())
}

/// Checks an index to be created on a table of these columns.
pub(crate) fn check_index(
    columns: &[ColumnSpec],
    index: &IndexSpec,
    table: &str,
) -> Result<(), EngineError> {
    check_name(&index.name)?;
    check_key(columns, &index.key, &index.name, table)?;
    for (at, name) in index.included.iter().enumerate() {
        if !columns.iter().any(|c| same_name(&c.name, name)) {
            return Err(no_column(name));
        }
        let before = index.included.iter().take(at);
        let twice = before
            .chain(index.key.iter().map(|k| &k.name))
            .any(|n| same_name(n, name));
        if twice {
            let text = format!(
                "Cannot use duplicate column names in index. Column name '{name}' listed more than once."
            );
            return Err(refuse(1909, 16, 2, &text));
        }
    }
    if index.clustered && !index.included.is_empty() {
        let text = "Cannot specify included columns for a clustered index.";
        return Err(refuse(10601, 16, 1, text));
    }
    Ok(())
}

fn no_column(name: &str) -> EngineError {
    let text = format!("Column name '{name}' does not exist in the target table or view.");
    refuse(1911, 16, 1, &text)
}

fn check_key(
    columns: &[ColumnSpec],
    key: &[KeyColumnSpec],
    index: &str,
    table: &str,
) -> Result<(), EngineError> {
    if key.is_empty() || key.len() > MAX_KEY_COLUMNS {
        let text = format!(
            "The index '{index}' on table '{table}' has {} columns in the key list. The maximum limit for \
             index key column list is 16.",
            key.len()
        );
        return Err(refuse(1904, 16, 1, &text));
    }
    let mut fixed = 0;
    for (at, part) in key.iter().enumerate() {
        let found = columns.iter().find(|c| same_name(&c.name, &part.name));
        let column = found.ok_or_else(|| no_column(&part.name))?;
        if key.iter().take(at).any(|k| same_name(&k.name, &part.name)) {
            let text = format!(
                "Cannot use duplicate column names in index. Column name '{}' listed more than once.",
                part.name
            );
            return Err(refuse(1909, 16, 1, &text));
        }
        if column.data_type.is_max() || column.data_type.id.family() == Family::Lob {
            let text = format!(
                "Column '{}' in table '{table}' is of a type that is invalid for use as a key \
                column in an index.",
                column.name
            );
            return Err(refuse(1919, 16, 1, &text));
        }
        fixed += usize::from(column.data_type.fixed_len().unwrap_or(0));
    }
    if fixed > MAX_KEY_BYTES {
        let text = format!(
            "Index '{index}' was not created. This index has a key length of at least {fixed} \
            bytes. The maximum \
             permissible key length is {MAX_KEY_BYTES} bytes."
        );
        return Err(refuse(1944, 16, 1, &text));
    }
    Ok(())
}
