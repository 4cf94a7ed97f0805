//! System views and table functions: what the engine knows, as rows.
//!
//! Each is a row of a table: schema, name, columns with their types, parameters of functions, and the function
//! that gives its rows from the engine's own state at the moment of the query.

pub(crate) mod value;

use crate::context::Context;
use crate::error::Result;
use crate::exec::operator::{Operator, Ready};
use crate::exec::{Cursor, Expr};
use crate::sink::ResultColumn;
use furrow_engine::Database;
use furrow_format::types::{DataType, Value};
use furrow_scalar::functions;
use std::sync::Arc;
pub(crate) use value::{INT, SYSNAME};

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

impl From<&ViewColumn> for ResultColumn {
    fn from(column: &ViewColumn) -> ResultColumn {
        ResultColumn {
            name: column.name.to_owned(),
            data_type: column.data_type,
            nullable: column.nullable,
        }
    }
}

/// All of them.
static VIEWS: &[SystemView] = &[
    SystemView {
        schema: "sys",
        name: "databases",
        columns: &[column("name", SYSNAME), column("database_id", INT)],
        parameters: None,
        rows: databases,
    },
    SystemView {
        schema: "sys",
        name: "tables",
        columns: &[column("name", SYSNAME), column("object_id", INT)],
        parameters: None,
        rows: tables,
    },
    SystemView {
        schema: "sys",
        name: "string_split",
        columns: &[nullable("value", TEXT)],
        parameters: Some(&[TEXT, SYSNAME]),
        rows: string_split,
    },
];

/// `nvarchar(max)`.
const TEXT: DataType = value::NTEXT;

fn tables(view: &mut ViewContext<'_>, rows: Rows<'_>) -> Result<()> {
    for table in view.database.catalog().tables() {
        rows(vec![
            Value::NVarChar(table.name().to_owned()),
            Value::Int(table.id().0),
        ]);
    }
    Ok(())
}

fn string_split(view: &mut ViewContext<'_>, rows: Rows<'_>) -> Result<()> {
    let text = |at: usize| view.arguments.get(at).and_then(Value::as_str);
    for part in functions::string_split(text(0), text(1).unwrap_or(""))? {
        rows(vec![Value::NVarChar(part.to_owned())]);
    }
    Ok(())
}

fn databases(view: &mut ViewContext<'_>, rows: Rows<'_>) -> Result<()> {
    for database in view.cx.server.instance().databases() {
        rows(vec![
            Value::NVarChar(database.name),
            Value::Int(i32::from(database.id.0)),
        ]);
    }
    Ok(())
}

/// The view of a name, in any case of letters.
pub(crate) fn find(schema: &str, name: &str) -> Option<&'static SystemView> {
    VIEWS.iter().find(|view| {
        view.schema.eq_ignore_ascii_case(schema) && view.name.eq_ignore_ascii_case(name)
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
        (self.view.rows)(&mut context, &mut |row| rows.push(row))?;
        let ready: Box<dyn Operator> = Box::new(Ready::new(rows));
        Ok(ready)
    }
}
