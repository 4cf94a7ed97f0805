//! `sp_helptext`: the text with which an object was created.

use super::{Fallback, SystemProcedure, parameter};
use crate::names::split_name;
use crate::value::{SYSNAME, nvarchar, text};
use furrow_context::error::{Result, refuse};
use furrow_context::run::Run;
use furrow_context::system::{ViewColumn, nullable};
use furrow_types::{DataType, Value};
use std::sync::Arc;

const NAME: DataType = nvarchar(776);

pub(super) static PROCEDURES: &[SystemProcedure] = &[SystemProcedure {
    name: "sp_helptext",
    parameters: &[
        parameter("@objname", NAME, Fallback::Required),
        parameter("@columnname", SYSNAME, Fallback::Null),
    ],
    extended: false,
    text: "Shows the text of a procedure, view, check or default, a line to a row.",
    body: help_text,
}];

static COLUMNS: &[ViewColumn] = &[nullable("Text", nvarchar(255))];

/// Characters in a row; a longer line takes several rows.
const WIDTH: usize = 255;

fn help_text(run: &mut Run<'_>, values: &[Value]) -> Result<i32> {
    let written = values
        .first()
        .and_then(Value::as_str)
        .unwrap_or("")
        .to_owned();
    if values.get(1).is_some_and(|column| !column.is_null()) {
        return Err(furrow_context::error::unsupported(
            "the text of a computed column",
        ));
    }
    let (schema, name) = split_name(&written);
    let db = Arc::clone(run.cx.sessions.database());
    let session = run.cx.sessions.of(&db)?;
    let module = session.module(&schema, &name).map(|m| m.text().to_owned());
    let tables = session.tables();
    let same = |a: &str| a.eq_ignore_ascii_case(&name);
    let of_table = || {
        let here = tables
            .iter()
            .filter(|t| t.schema().eq_ignore_ascii_case(&schema));
        here.clone().find_map(|table| {
            let check = table.checks().iter().find(|c| same(&c.name));
            let default = || {
                let columns = table.columns().iter();
                let of = |c: &&furrow_engine::Column| c.default_name.as_deref().is_some_and(same);
                columns.into_iter().find(of)?.default_text.clone()
            };
            check.map(|c| c.text.clone()).or_else(default)
        })
    };
    let Some(found) = module.or_else(of_table) else {
        let known = tables
            .iter()
            .any(|t| t.schema().eq_ignore_ascii_case(&schema) && same(t.name()));
        return match known {
            true => refuse(15197, &[written.into()]),
            false => refuse(15009, &[written.into(), db.name().into()]),
        };
    };
    let rows = lines(&found).into_iter().map(|line| vec![text(line)]);
    run.show(COLUMNS, rows.collect());
    Ok(0)
}

/// The lines of a text with their line ends, split into pieces that fit a row.
fn lines(text: &str) -> Vec<String> {
    let mut all = Vec::new();
    for line in text.split_inclusive('\n') {
        let characters: Vec<char> = line.chars().collect();
        all.extend(
            characters
                .chunks(WIDTH)
                .map(|c| c.iter().collect::<String>()),
        );
    }
    all
}

#[cfg(test)]
mod tests {
    use super::lines;

    #[test]
    fn a_text_is_cut_at_the_ends_of_its_lines_and_where_a_row_is_full() {
        assert_eq!(lines("a\r\nb\n"), ["a\r\n", "b\n"]);
        let long = "x".repeat(300);
        assert_eq!(
            lines(&long).iter().map(String::len).collect::<Vec<_>>(),
            [255, 45]
        );
        assert!(lines("").is_empty());
    }
}
