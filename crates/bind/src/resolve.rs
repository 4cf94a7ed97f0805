//! Resolution of the name of a table, view or common table expression.
//!
//! # Rules
//! 1. A name of one part is looked up among the common table expressions first.
//! 2. A name that begins with `#` or `@` is looked up in `tempdb`.
//! 3. A name of one part is looked up in the schema of the module that it is written in, then in `dbo`. In a
//!    batch, and in a text that EXEC or `sp_executesql` runs, only `dbo` is searched.
//! 4. Names in a view are looked up in the database of the view. A temporary table there is refused (4508).

use super::from::shown;
use super::scope::{Binder, CteDef};
use furrow_context::error::{Result, refuse, unsupported};
use furrow_context::system::SystemView;
use furrow_context::system_databases::TEMPDB;
use furrow_context::temp::{TempKind, is_temp};
use furrow_engine::{Database, Module, ModuleKind, Table};
use furrow_tsql::ast::name::ObjectName;
use std::rc::Rc;
use std::sync::Arc;

/// The schema of objects that are named without one.
pub const DEFAULT_SCHEMA: &str = "dbo";

/// The database and schema that names in a view are looked up in.
#[derive(Debug)]
pub struct Home {
    /// The database that names without one are looked up in.
    pub db: Arc<Database>,
    /// The schema that names without one are looked up in first.
    pub schema: String,
}

/// The object that a name in FROM refers to.
#[derive(Debug)]
pub enum Resolved {
    /// A table.
    Table(Arc<Database>, Arc<Table>),
    /// A system view.
    View(Arc<Database>, &'static SystemView),
    /// A common table expression of the statement.
    Cte(CteDef),
    /// A view of a user.
    Module(Arc<Database>, Arc<Module>),
}

impl Resolved {
    /// Whether both are the same object.
    pub fn is(&self, other: &Resolved) -> bool {
        match (self, other) {
            (Resolved::Table(db, table), Resolved::Table(other_db, other)) => {
                db.id() == other_db.id() && table.id() == other.id()
            }
            (Resolved::Module(db, view), Resolved::Module(other_db, other)) => {
                db.id() == other_db.id() && view.id() == other.id()
            }
            (Resolved::View(db, view), Resolved::View(other_db, other)) => {
                db.id() == other_db.id() && std::ptr::eq(*view, *other)
            }
            (Resolved::Cte(cte), Resolved::Cte(other)) => Rc::ptr_eq(&cte.query, &other.query),
            _ => false,
        }
    }
}

impl Binder<'_> {
    /// The database that a name is looked up in.
    pub fn database_of(&mut self, name: &ObjectName) -> Result<Arc<Database>> {
        if name.server().is_some() {
            return Err(unsupported("a linked server's table"));
        }
        if is_temp(name.name()) {
            return Ok(self.cx.server.instance().database(TEMPDB)?);
        }
        match name.database() {
            Some(database) => {
                self.basis.other();
                let found = self.cx.server.instance().database(&database.value);
                match found {
                    Ok(db) => Ok(db),
                    Err(e) if e.number() == 911 => refuse(208, &[shown(name).into()]),
                    Err(e) => Err(e.into()),
                }
            }
            None => match &self.home {
                Some(home) => Ok(Arc::clone(&home.db)),
                None => Ok(Arc::clone(self.cx.sessions.database())),
            },
        }
    }

    /// The schemas that a name is looked up in, in their order.
    pub fn schemas_of(&self, name: &ObjectName) -> Vec<String> {
        if let Some(schema) = name.schema() {
            return vec![schema.value.to_string()];
        }
        let of_module = match &self.home {
            Some(home) => Some(home.schema.as_str()),
            None => self.cx.module_schema.as_deref(),
        };
        let own = of_module
            .filter(|_| name.database().is_none())
            .filter(|schema| !schema.eq_ignore_ascii_case(DEFAULT_SCHEMA));
        own.into_iter()
            .chain([DEFAULT_SCHEMA])
            .map(str::to_owned)
            .collect()
    }

    /// The object that a name in FROM refers to: 208 if there is none.
    pub fn resolve(&mut self, name: &ObjectName) -> Result<Resolved> {
        if name.parts.len() == 1
            && let Some(cte) = self
                .ctes
                .iter()
                .rev()
                .find(|c| c.name.eq_ignore_ascii_case(name.name()))
        {
            return Ok(Resolved::Cte(cte.clone()));
        }
        let db = self.database_of(name)?;
        if is_temp(name.name()) {
            return self.resolve_temp(db, name);
        }
        let schemas = self.schemas_of(name);
        let view = schemas
            .iter()
            .find_map(|schema| self.cx.system_objects.view(db.name(), schema, name.name()));
        if self.cx.sessions.asks_snapshot() && view.is_none() {
            return refuse(3952, &[db.name().into()]);
        }
        if let Some(view) = view.filter(|view| view.parameters.is_none()) {
            return Ok(Resolved::View(db, view));
        }
        for schema in &schemas {
            if let Some(found) = self.object_in(&db, schema, name.name())? {
                return Ok(found);
            }
            self.basis.absent(schema, name.name());
        }
        refuse(208, &[shown(name).into()])
    }

    /// The table or view of a user that has this name in a schema.
    fn object_in(
        &mut self,
        db: &Arc<Database>,
        schema: &str,
        name: &str,
    ) -> Result<Option<Resolved>> {
        let session = self.cx.sessions.of(db)?;
        match session.table_in(schema, name) {
            Ok(table) => {
                self.basis.table(db.id(), &table);
                Ok(Some(Resolved::Table(Arc::clone(db), table)))
            }
            Err(e) if e.number() == 208 => match session.module(schema, name) {
                Some(view) if view.kind() == ModuleKind::View => {
                    self.basis.module(schema, name, &view);
                    Ok(Some(Resolved::Module(Arc::clone(db), view)))
                }
                _ => Ok(None),
            },
            Err(e) => Err(e.into()),
        }
    }

    fn resolve_temp(&mut self, db: Arc<Database>, name: &ObjectName) -> Result<Resolved> {
        let own = self.cx.temp_name(name.name()).map(str::to_owned);
        let (inner, number) = match TempKind::of(name.name()) {
            Some(TempKind::Variable) => (own, 1087),
            // Or by its name in `tempdb`, as definitions of it are bound.
            Some(TempKind::Local) => (own.or_else(|| Some(name.name().to_owned())), 208),
            Some(TempKind::Shared) | None => (Some(name.name().to_owned()), 208),
        };
        let Some(inner) = inner else {
            return refuse(number, &[name.name().into()]);
        };
        let session = self.cx.sessions.of_table(&db, &inner)?;
        match session.table_in(DEFAULT_SCHEMA, &inner) {
            Ok(_) if self.home.is_some() => refuse(4508, &[]),
            Ok(table) => {
                self.basis.table(db.id(), &table);
                Ok(Resolved::Table(db, table))
            }
            Err(e) if e.number() == 208 => refuse(number, &[name.name().into()]),
            Err(e) => Err(e.into()),
        }
    }
}
