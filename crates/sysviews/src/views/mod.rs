//! System views and table functions: the state of the engine as rows.
//!
//! Each is a row of a table: schema, name, columns with their types, parameters of functions, and the
//! function that returns its rows from the engine's own state at the time of the query.

mod absent;
mod address;
mod constraints;
mod cost;
mod counters;
mod files;
mod foreign;
mod host;
mod indexes;
mod information;
mod locks;
mod memory;
mod objects;
mod pages;
mod parameters;
mod physical;
mod principals;
mod processes;
mod routines;
mod server;
mod sessions;
mod statistics;
mod storage;
mod system;
mod transactions;
mod types;
mod waits;

use furrow_bind::Binder;
use furrow_context::error::Result;
use furrow_context::parse::read;
use furrow_context::sink::ResultColumn;
pub(crate) use furrow_context::system::{Rows, SystemView, ViewColumn, ViewContext};
use furrow_engine::{ColumnSpec, Module, ModuleKind};
use furrow_tsql::ast::Statement;
pub(crate) use objects::{Object, objects_of};
pub(crate) use server::{COLLATION, FILE_VERSION, recovery_model};
pub(crate) use sessions::date_format;
use std::collections::BTreeMap;
use std::sync::Arc;
pub(crate) use storage::parity;
pub(crate) use system::of_system;
pub(crate) use types::number;

/// The columns of a view that begins with those of another view. `N` is their total number.
pub(crate) const fn joined<const N: usize>(
    first: &[ViewColumn],
    own: &[ViewColumn],
) -> [ViewColumn; N] {
    assert!(first.len() + own.len() == N);
    let mut all = [first[0]; N];
    let mut at = 0;
    while at < N {
        all[at] = if at < first.len() {
            first[at]
        } else {
            own[at - first.len()]
        };
        at += 1;
    }
    all
}

/// The columns of the views of the database: those that are stored. A view without stored columns is bound;
/// it has none if it can no longer be bound, because its tables have changed.
fn view_columns(view: &mut ViewContext<'_>) -> Result<Vec<(Arc<Module>, Vec<ResultColumn>)>> {
    let db = Arc::clone(&view.database);
    let modules = view.cx.sessions.of(&db)?.modules();
    let bracketed = |name: &str| format!("[{}]", name.replace(']', "]]"));
    let mut all = Vec::new();
    for module in modules {
        if module.kind() != ModuleKind::View {
            continue;
        }
        if !module.columns().is_empty() {
            let columns = module.columns().iter().map(stored_column).collect();
            all.push((module, columns));
            continue;
        }
        let parts = [db.name(), module.schema(), module.name()];
        let text = format!("SELECT * FROM {}", parts.map(bracketed).join("."));
        let text = read(&text, view.cx)?;
        let Some(Statement::Select(query)) = text.statements.first().map(|s| &s.kind) else {
            continue;
        };
        if let Ok(bound) = Binder::new(view.cx).query(query) {
            all.push((module, bound.columns));
        }
    }
    Ok(all)
}

fn stored_column(column: &ColumnSpec) -> ResultColumn {
    ResultColumn {
        name: column.name.clone(),
        data_type: column.data_type,
        nullable: column.nullable,
    }
}

/// Number of a schema, by its name.
fn schema_id(schemas: &BTreeMap<i32, String>, name: &str) -> i32 {
    let found = schemas.iter().find(|(_, s)| s.eq_ignore_ascii_case(name));
    found.map_or(1, |(id, _)| *id)
}

/// Columns of a view: `"name" TYPE;`, with `null` behind the type if it can be NULL. A type is a constant
/// in scope.
macro_rules! columns {
    (@one $name:literal $type:ident null) => { furrow_context::system::nullable($name, $type) };
    (@one $name:literal $type:ident) => { furrow_context::system::column($name, $type) };
    ($( $name:literal $type:ident $($null:ident)? ; )+) => {
        &[ $( $crate::views::columns!(@one $name $type $($null)?), )+ ]
    };
}
pub(crate) use columns;

/// The tables of all views.
static TABLES: &[&[SystemView]] = &[
    server::VIEWS,
    files::VIEWS,
    foreign::VIEWS,
    objects::VIEWS,
    types::VIEWS,
    indexes::VIEWS,
    waits::VIEWS,
    counters::VIEWS,
    storage::VIEWS,
    sessions::VIEWS,
    locks::VIEWS,
    parameters::VIEWS,
    pages::VIEWS,
    physical::VIEWS,
    information::VIEWS,
    constraints::VIEWS,
    system::VIEWS,
    absent::VIEWS,
    cost::VIEWS,
    host::VIEWS,
    memory::VIEWS,
    principals::VIEWS,
    processes::VIEWS,
    routines::VIEWS,
    statistics::VIEWS,
    transactions::VIEWS,
];

/// All views, by table.
pub(crate) fn all() -> impl Iterator<Item = &'static SystemView> {
    TABLES.iter().flat_map(|table| table.iter())
}

/// The view with this name in a database; case does not matter. Compatibility views are in `sys` and `dbo`.
pub(crate) fn find(database: &str, schema: &str, name: &str) -> Option<&'static SystemView> {
    let of_old = schema.eq_ignore_ascii_case("sys");
    all().find(|view| {
        let here = view.schema.eq_ignore_ascii_case(schema) || (of_old && view.schema == "dbo");
        here && view.name.eq_ignore_ascii_case(name) && system::is_in(view, database)
    })
}
