//! The rows of a table, at a terminal.

use super::super::{FAILED, Failure};
use super::Opened;
use furrow_datafile::{Table, TableColumn};
use std::io::Write;

/// The columns of a table whose values are stored in its rows. Computed columns that are not persisted
/// have none.
pub(super) fn shown_columns<'t>(
    opened: &Opened<'_>,
    table: &'t Table,
) -> Vec<(usize, &'t TableColumn)> {
    let stored = |column: &TableColumn| {
        let mut layouts = table
            .rowsets
            .iter()
            .filter_map(|rowset| opened.database.layout(rowset.rowsetid));
        !column.computed
            || layouts.any(|layout| {
                layout
                    .iter()
                    .any(|place| place.column_id == column.id && !place.is_dropped())
            })
    };
    let (shown, left): (Vec<_>, Vec<_>) = table
        .columns
        .iter()
        .enumerate()
        .partition(|(_, column)| stored(column));
    for (_, column) in left {
        eprintln!(
            "furrow: column {} is left out: it is computed, and its values are not in the file",
            column.name
        );
    }
    shown
}

pub(super) fn show(
    opened: &Opened<'_>,
    name: &str,
    most: usize,
    out: &mut impl Write,
) -> Result<u8, Failure> {
    let table = opened.find(name)?;
    let columns = shown_columns(opened, &table);
    let names: Vec<&str> = columns
        .iter()
        .map(|(_, column)| column.name.as_str())
        .collect();
    let rows = opened
        .database
        .rows(&table)
        .map_err(|e| Failure::new(FAILED, e.to_string()))?;
    writeln!(out, "{}", names.join("\t")).map_err(Failure::of_printing)?;
    // In a damaged catalog even the list of columns may be incomplete.
    let mut code = if opened.lost > 0 { FAILED } else { 0 };
    let mut shown = 0;
    for row in rows {
        if shown == most {
            break;
        }
        match row {
            Ok(values) => {
                let words: Vec<String> = columns
                    .iter()
                    .filter_map(|(at, _)| values.get(*at))
                    .map(|value| value.to_string().replace(['\t', '\n', '\r'], " "))
                    .collect();
                writeln!(out, "{}", words.join("\t")).map_err(Failure::of_printing)?;
                shown += 1;
            }
            // The next row may be intact, so a damaged row does not end the listing.
            Err(error) => {
                opened.report(&error);
                code = FAILED;
            }
        }
    }
    Ok(code)
}
