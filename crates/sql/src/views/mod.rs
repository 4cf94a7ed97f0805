//! System views and table functions: what the engine knows, as rows.
//!
//! Each is a row of a table: schema, name, columns with their types, parameters of functions, and the
//! function that gives its rows from the engine's own state at the moment of the query.

mod absent;
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
pub(crate) mod value;
mod waits;

use crate::bind::Binder;
use crate::context::Context;
use crate::error::Result;
use crate::exec::memory::Grant;
use crate::exec::operator::Ready;
use crate::exec::{Cursor, Expr};
use crate::interp::read;
use crate::sink::ResultColumn;
use furrow_engine::{Database, Module, ModuleKind, Table};
use furrow_format::DatabaseId;
use furrow_tsql::ast::Statement;
use furrow_types::{DataType, Value};
pub(crate) use objects::{Object, objects_of};
pub(crate) use server::{COLLATION, FILE_VERSION, recovery_model};
pub(crate) use sessions::{date_format, handle};
use std::collections::BTreeMap;
use std::sync::Arc;
pub(crate) use system::of_system;
pub(crate) use types::number;
pub(crate) use value::INT;

/// A column of a system view.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ViewColumn {
    pub(crate) name: &'static str,
    pub(crate) data_type: DataType,
    pub(crate) nullable: bool,
}

/// Takes the rows of a view.
pub(crate) type Rows<'a> = &'a mut dyn FnMut(Vec<Value>);

/// What a view shows its rows from.
pub(crate) struct ViewContext<'a> {
    pub(crate) cx: &'a mut Context,
    /// The database that it is about.
    pub(crate) database: Arc<Database>,
    /// Arguments of a function.
    pub(crate) arguments: Vec<Value>,
}

/// A system view or table function.
#[derive(Debug)]
pub(crate) struct SystemView {
    pub(crate) schema: &'static str,
    pub(crate) name: &'static str,
    pub(crate) columns: &'static [ViewColumn],
    /// Types of the parameters; `None` of a view.
    pub(crate) parameters: Option<&'static [DataType]>,
    /// What it shows, in one sentence.
    pub(crate) text: &'static str,
    pub(crate) rows: fn(&mut ViewContext<'_>, Rows<'_>) -> Result<()>,
}

/// A column that is never NULL.
pub(crate) const fn column(name: &'static str, data_type: DataType) -> ViewColumn {
    ViewColumn {
        name,
        data_type,
        nullable: false,
    }
}

/// A column that can be NULL.
pub(crate) const fn nullable(name: &'static str, data_type: DataType) -> ViewColumn {
    ViewColumn {
        name,
        data_type,
        nullable: true,
    }
}

/// The columns of a view that has those of another before its own. `N` is how many there are together.
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

impl ViewContext<'_> {
    /// The tables of its database, as the session sees them.
    fn tables(&mut self) -> Result<Vec<Arc<Table>>> {
        let db = Arc::clone(&self.database);
        Ok(self.cx.sessions.of(&db)?.tables())
    }

    /// Number of a schema by its name.
    fn schemas(&mut self) -> Result<BTreeMap<i32, String>> {
        let db = Arc::clone(&self.database);
        Ok(self.cx.sessions.of(&db)?.schemas())
    }

    /// The columns of the views of its database. One whose tables have changed under it so that it can't be
    /// bound has none to show.
    fn view_columns(&mut self) -> Result<Vec<(Arc<Module>, Vec<ResultColumn>)>> {
        let db = Arc::clone(&self.database);
        let modules = self.cx.sessions.of(&db)?.modules();
        let bracketed = |name: &str| format!("[{}]", name.replace(']', "]]"));
        let mut all = Vec::new();
        for module in modules {
            if module.kind() != ModuleKind::View {
                continue;
            }
            let parts = [db.name(), module.schema(), module.name()];
            let text = format!("SELECT * FROM {}", parts.map(bracketed).join("."));
            let text = read(&text, self.cx)?;
            let Some(Statement::Select(query)) = text.statements.first().map(|s| &s.kind) else {
                continue;
            };
            if let Ok(bound) = Binder::new(self.cx).query(query) {
                all.push((module, bound.columns));
            }
        }
        Ok(all)
    }

    /// The open databases, by number.
    fn databases(&self) -> Vec<Arc<Database>> {
        let instance = self.cx.server.instance();
        let all = instance.databases().into_iter();
        all.filter_map(|d| instance.database_by_id(d.id)).collect()
    }

    /// An argument as a number.
    fn number(&self, at: usize) -> Option<i64> {
        self.arguments.get(at).and_then(Value::as_i64)
    }

    /// The database that an argument names by its number; the current one for NULL.
    fn database_argument(&self, at: usize) -> Option<Arc<Database>> {
        match self.number(at) {
            None => Some(Arc::clone(&self.database)),
            Some(id) => {
                let id = DatabaseId(u16::try_from(id).ok()?);
                self.cx.server.instance().database_by_id(id)
            }
        }
    }
}

/// Number of a schema by its name.
fn schema_id(schemas: &BTreeMap<i32, String>, name: &str) -> i32 {
    let found = schemas.iter().find(|(_, s)| s.eq_ignore_ascii_case(name));
    found.map_or(1, |(id, _)| *id)
}

impl From<&ViewColumn> for ResultColumn {
    fn from(column: &ViewColumn) -> ResultColumn {
        ResultColumn {
            name: column.name.to_owned(),
            data_type: column.data_type,
            nullable: column.nullable,
        }
    }
}

/// Columns of a view: `"name" TYPE;`, with `null` behind the type where it can be NULL. A type is a constant
/// in scope.
macro_rules! columns {
    (@one $name:literal $type:ident null) => { $crate::views::nullable($name, $type) };
    (@one $name:literal $type:ident) => { $crate::views::column($name, $type) };
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

/// All of them, by table.
pub(crate) fn all() -> impl Iterator<Item = &'static SystemView> {
    TABLES.iter().flat_map(|table| table.iter())
}

/// The view of a name in a database, in any case of letters. The views of old are in `sys` and in `dbo`.
pub(crate) fn find(database: &str, schema: &str, name: &str) -> Option<&'static SystemView> {
    let of_old = schema.eq_ignore_ascii_case("sys");
    all().find(|view| {
        let here = view.schema.eq_ignore_ascii_case(schema) || (of_old && view.schema == "dbo");
        here && view.name.eq_ignore_ascii_case(name) && system::is_in(view, database)
    })
}

/// A view with its arguments.
#[derive(Debug, Clone)]
pub(crate) struct ViewPlan {
    pub(crate) view: &'static SystemView,
    pub(crate) database: Arc<Database>,
    pub(crate) arguments: Vec<Expr>,
}

impl ViewPlan {
    pub(crate) fn open<'p>(&'p self, cx: &mut Context) -> Result<Cursor<'p>> {
        let mut arguments = Vec::new();
        for argument in &self.arguments {
            arguments.push(argument.eval(&[], cx)?.into_owned());
        }
        let mut context = ViewContext {
            cx,
            database: Arc::clone(&self.database),
            arguments,
        };
        let mut rows = Vec::new();
        let mut grant = Grant::new(context.cx);
        let mut refused = None;
        (self.view.rows)(&mut context, &mut |row| {
            debug_assert_eq!(row.len(), self.view.columns.len(), "{}", self.view.name);
            if refused.is_none() {
                refused = grant.row(&row).err();
                rows.push(row);
            }
        })?;
        match refused {
            Some(refused) => Err(refused),
            None => Ok(Cursor::new(Ready::kept(rows, grant))),
        }
    }
}
