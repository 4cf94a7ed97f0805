//! System views and metadata functions: an interface that a crate above implements.
//!
//! The binder looks a name up in [`SystemObjects`]; the entry has the columns and the function that returns
//! the rows or the value. `sysviews` implements the trait, and the context has a reference to it.

use crate::context::Context;
use crate::error::Result;
use crate::sink::ResultColumn;
use furrow_engine::{Database, Table};
use furrow_format::DatabaseId;
use furrow_types::{DataType, Value};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// The system views and metadata functions of a server.
pub trait SystemObjects: fmt::Debug + Send + Sync {
    /// The view or table function with this name in a database; case does not matter.
    fn view(&self, database: &str, schema: &str, name: &str) -> Option<&'static SystemView>;
    /// The metadata function with this name; case does not matter.
    fn function(&self, name: &str) -> Option<&'static MetadataFunction>;
}

/// No system views and no metadata functions: for a server that only runs plans.
#[derive(Debug)]
pub struct NoSystemObjects;

impl SystemObjects for NoSystemObjects {
    fn view(&self, _: &str, _: &str, _: &str) -> Option<&'static SystemView> {
        None
    }

    fn function(&self, _: &str) -> Option<&'static MetadataFunction> {
        None
    }
}

/// Calls a metadata function with the values of its arguments.
pub type MetadataCall = fn(&mut Context, &[Cow<'_, Value>]) -> Result<Value>;

/// A function that reads the connection, the server or the catalog: `@@ROWCOUNT`, `DB_ID`, `OBJECT_ID`.
#[derive(Debug)]
pub struct MetadataFunction {
    /// Its name, in capitals; with `@@` if that is part of the name.
    pub name: &'static str,
    /// The fewest arguments that it takes.
    pub least: usize,
    /// The most arguments that it takes.
    pub most: usize,
    /// The type of its value.
    pub result: DataType,
    /// Returns its value.
    pub call: MetadataCall,
}

/// A column of a system view.
#[derive(Debug, Clone, Copy)]
pub struct ViewColumn {
    /// Its name.
    pub name: &'static str,
    /// Its type.
    pub data_type: DataType,
    /// Whether it can be NULL.
    pub nullable: bool,
}

/// Receives the rows of a view.
pub type Rows<'a> = &'a mut dyn FnMut(Vec<Value>);

/// The arguments from which a view computes its rows.
pub struct ViewContext<'a> {
    /// The context of the query.
    pub cx: &'a mut Context,
    /// The database whose objects the view shows.
    pub database: Arc<Database>,
    /// Arguments of a function.
    pub arguments: Vec<Value>,
}

/// A system view or table function.
#[derive(Debug)]
pub struct SystemView {
    /// `sys`, `dbo` or `INFORMATION_SCHEMA`.
    pub schema: &'static str,
    /// Its name.
    pub name: &'static str,
    /// Its columns, in order.
    pub columns: &'static [ViewColumn],
    /// Types of the parameters; `None` for a view.
    pub parameters: Option<&'static [DataType]>,
    /// Description in one sentence.
    pub text: &'static str,
    /// Returns its rows, one value for each column.
    pub rows: fn(&mut ViewContext<'_>, Rows<'_>) -> Result<()>,
}

/// A column that is never NULL.
pub const fn column(name: &'static str, data_type: DataType) -> ViewColumn {
    ViewColumn {
        name,
        data_type,
        nullable: false,
    }
}

/// A column that can be NULL.
pub const fn nullable(name: &'static str, data_type: DataType) -> ViewColumn {
    ViewColumn {
        name,
        data_type,
        nullable: true,
    }
}

impl ViewContext<'_> {
    /// The tables of its database, as the session sees them.
    pub fn tables(&mut self) -> Result<Vec<Arc<Table>>> {
        let db = Arc::clone(&self.database);
        Ok(self.cx.sessions.of(&db)?.tables())
    }

    /// Schema names by number.
    pub fn schemas(&mut self) -> Result<BTreeMap<i32, String>> {
        let db = Arc::clone(&self.database);
        Ok(self.cx.sessions.of(&db)?.schemas())
    }

    /// The open databases, by number.
    pub fn databases(&self) -> Vec<Arc<Database>> {
        let instance = self.cx.server.instance();
        let all = instance.databases().into_iter();
        all.filter_map(|d| instance.database_by_id(d.id)).collect()
    }

    /// An argument as a number.
    pub fn number(&self, at: usize) -> Option<i64> {
        self.arguments.get(at).and_then(Value::as_i64)
    }

    /// The database whose number is the argument; the current one for NULL.
    pub fn database_argument(&self, at: usize) -> Option<Arc<Database>> {
        match self.number(at) {
            None => Some(Arc::clone(&self.database)),
            Some(id) => {
                let id = DatabaseId(u16::try_from(id).ok()?);
                self.cx.server.instance().database_by_id(id)
            }
        }
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

impl fmt::Debug for ViewContext<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ViewContext")
            .field("database", &self.database.name())
            .finish_non_exhaustive()
    }
}
