//! Reference pages of system views, DBCC commands, system procedures and functions, generated from their
//! tables.

use crate::procs::Fallback;
use crate::{dbcc, functions, procs, views};
use std::fmt::Write;

/// The text of a table cell.
fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

fn views_page() -> String {
    let mut page = String::from(
        "# System views\n\nNames, types and order of columns are those of SQL Server, except where a value \
         of type `sql_variant` is shown under the type that it has here.\n",
    );
    let mut all: Vec<&views::SystemView> = views::all().collect();
    all.sort_by_key(|v| (v.schema != "sys", v.schema, v.name));
    for view in all {
        let arguments = view.parameters.map(|types| {
            let types: Vec<String> = types.iter().map(ToString::to_string).collect();
            format!("({})", types.join(", "))
        });
        let arguments = arguments.unwrap_or_default();
        let _ = writeln!(
            page,
            "\n## {}.{}{arguments}\n\n{}\n",
            view.schema, view.name, view.text
        );
        page.push_str("| column | type | NULL |\n|---|---|---|\n");
        for column in view.columns {
            let null = if column.nullable { "yes" } else { "no" };
            let _ = writeln!(page, "| {} | {} | {null} |", column.name, column.data_type);
        }
    }
    page
}

fn dbcc_page() -> String {
    let mut page =
        String::from("# DBCC\n\n| command | how it is written | what it does |\n|---|---|---|\n");
    let mut all: Vec<&dbcc::Command> = dbcc::all().collect();
    all.sort_by_key(|c| c.name);
    for command in all {
        let syntax = cell(command.syntax);
        let _ = writeln!(
            page,
            "| {} | `{syntax}` | {} |",
            command.name,
            cell(command.text)
        );
    }
    page
}

fn procedures_page() -> String {
    let mut rows: Vec<(&str, String, &str)> = Vec::new();
    for procedure in procs::all() {
        let parameters = procedure.parameters.iter().map(|p| {
            let default = match p.fallback {
                Fallback::Required => String::new(),
                Fallback::Null => " = NULL".to_owned(),
                Fallback::Int(n) => format!(" = {n}"),
                Fallback::Text(text) => format!(" = '{text}'"),
            };
            format!("{} {}{default}", p.name, p.data_type)
        });
        let parameters: Vec<String> = parameters.collect();
        rows.push((procedure.name, parameters.join(", "), procedure.text));
    }
    for script in procs::scripts::all() {
        rows.push((script.name, script.parameters().to_owned(), script.about));
    }
    rows.push((
        "sp_executesql",
        "@statement nvarchar(max), @params nvarchar(max) = NULL, ...".to_owned(),
        "Runs a text with parameters.",
    ));
    rows.sort_unstable();
    let mut page = String::from(
        "# System procedures\n\n| procedure | parameters | what it does |\n|---|---|---|\n",
    );
    for (name, parameters, text) in rows {
        let shown = match parameters.as_str() {
            "" => String::new(),
            some => format!("`{}`", cell(some)),
        };
        let _ = writeln!(page, "| {name} | {shown} | {text} |");
    }
    page
}

fn functions_page() -> String {
    let mut page = furrow_scalar::functions::render_markdown();
    page.push_str(
        "\n## About the connection, the server and the catalog\n\n\
         | function | arguments | returns |\n|---|---|---|\n",
    );
    let mut all: Vec<&furrow_context::system::MetadataFunction> = functions::all().collect();
    all.sort_by_key(|f| f.name);
    for function in all {
        let arguments = match (function.least, function.most) {
            (least, most) if least == most => least.to_string(),
            (least, most) => format!("{least} to {most}"),
        };
        let _ = writeln!(
            page,
            "| `{}` | {arguments} | {} |",
            function.name, function.result
        );
    }
    page.push_str(
        "\n## In FROM\n\nThe functions that give what the engine knows are with the \
         [system views](system-views.md).\n\n\
         | function | arguments | columns | what it gives |\n|---|---|---|---|\n",
    );
    for function in furrow_bind::TABLE_FUNCTIONS {
        let furrow_bind::TableFunctionInfo {
            name,
            arguments,
            columns,
            text,
            ..
        } = function;
        let _ = writeln!(page, "| `{name}` | `{arguments}` | {columns} | {text} |");
    }
    page
}

/// The file name of each page, and its Markdown.
pub fn reference_pages() -> Vec<(&'static str, String)> {
    vec![
        ("system-views.md", views_page()),
        ("dbcc.md", dbcc_page()),
        ("procedures.md", procedures_page()),
        ("functions.md", functions_page()),
    ]
}
