//! Views of users: the columns that a text defines, and what a statement that names the view gets.
//!
//! # Rules
//! 1. CREATE VIEW, ALTER VIEW and `sp_refreshview` store the columns of the view. From then on their number,
//!    order and names are fixed. Types and nullability are those of the query as it is bound now, so that no
//!    value is cut after ALTER COLUMN.
//! 2. Stored names belong to the columns of the query by position. Columns that the query has besides,
//!    because a `*` in it has become longer, stay without a name: nothing finds them.
//! 3. A view that reads itself, also through other views, is refused (4429).
//! 4. A query with fewer columns than are stored is refused (4502).
//! 5. A view without stored columns, which an older version created, has the columns of its query.

use super::from::{give_names, shown};
use super::query::BoundQuery;
use super::resolve::Home;
use super::scope::Binder;
use furrow_context::error::{Result, SqlError, refuse};
use furrow_context::sink::ResultColumn;
use furrow_engine::{ColumnSpec, Database, Module, repeated_name};
use furrow_messages::Message;
use furrow_tsql::ast::Statement;
use furrow_tsql::ast::module::{ModuleAction, View};
use furrow_tsql::ast::name::ObjectName;
use std::sync::Arc;

/// Views that a view may be nested in.
const NESTING: usize = 32;

/// Columns that a view may have.
const MAX_COLUMNS: usize = 1024;

impl Binder<'_> {
    /// Binds the query of a view, in the view's database. `name`: the view as the statement names it.
    pub(super) fn user_view(
        &mut self,
        db: Arc<Database>,
        view: &Module,
        name: &ObjectName,
    ) -> Result<BoundQuery> {
        let written = self.view_text(view)?;
        let mut bound = self.within_view((db, view), name, |binder| {
            let levels = std::mem::take(&mut binder.levels);
            let bound = binder
                .define(&written.query.ctes)
                .and_then(|()| binder.nested_query(&written.query));
            binder.levels = levels;
            Ok(bound?.0)
        })?;
        match view.columns() {
            [] => bound.rename(&written.columns, view.name())?,
            stored => bound.name_as_stored(stored, name)?,
        }
        Ok(bound)
    }

    /// Binds something of a view's text, in the view's database. An error of a name there is followed by 4413
    /// for the outermost view, the one that the statement names.
    pub(super) fn within_view<T>(
        &mut self,
        (db, view): (Arc<Database>, &Module),
        name: &ObjectName,
        bind: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<T> {
        let this = (db.id().0, view.id().0);
        if self.views.contains(&this) || self.altered == Some(this) {
            return refuse(4429, &[view.name().into()]);
        }
        if self.views.len() >= NESTING {
            return refuse(217, &[NESTING.into()]);
        }
        let ctes = std::mem::take(&mut self.ctes);
        let home = self.home.replace(Home {
            db,
            schema: view.schema().to_owned(),
        });
        self.views.push(this);
        let bound = bind(self);
        self.views.pop();
        (self.ctes, self.home) = (ctes, home);
        bound.map_err(|error| match self.views.is_empty() {
            true => unusable(error, name),
            false => error,
        })
    }

    /// The definition of a view.
    pub fn view_text(&mut self, view: &Module) -> Result<Box<View>> {
        let parsed = furrow_context::parse::parse_module(view)?;
        let written = parsed.into_iter().find_map(|s| match s.kind {
            Statement::View(written) => Some(written),
            _ => None,
        });
        match written {
            Some(written) => Ok(written),
            None => refuse(208, &[view.name().into()]),
        }
    }

    /// The columns that are stored for a view with this definition: each has a name (4511, 8158, 8159) of its
    /// own (4506), and there are not too many (4505). The view is in this database and schema, and its query
    /// does not read the view itself (4429).
    pub fn view_columns(&mut self, home: Home, written: &View) -> Result<Vec<ColumnSpec>> {
        let view = written.name.name();
        if written.action != ModuleAction::Create {
            let session = self.cx.sessions.of(&home.db)?;
            let old = session.module(&home.schema, view);
            self.altered = old.map(|old| (home.db.id().0, old.id().0));
        }
        self.home = Some(home);
        self.hints(&written.query.options)?;
        self.define(&written.query.ctes)?;
        let mut columns = self.nested_query(&written.query)?.0.columns;
        give_names(&mut columns, &written.columns, view)?;
        if let Some(at) = columns.iter().position(|c| c.name.is_empty()) {
            return refuse(4511, &[(at + 1).into()]);
        }
        if let Some(column) = columns.get(MAX_COLUMNS) {
            let args = [column.name.as_str().into(), view.into(), MAX_COLUMNS.into()];
            return refuse(4505, &args);
        }
        if let Some(name) = repeated_name(columns.iter().map(|c| c.name.as_str())) {
            return refuse(4506, &[name.into(), view.into()]);
        }
        let spec = |column: &ResultColumn| ColumnSpec {
            nullable: column.nullable,
            ..ColumnSpec::new(&column.name, column.data_type)
        };
        Ok(columns.iter().map(spec).collect())
    }
}

impl BoundQuery {
    /// Gives its columns the stored names of a view, by position.
    fn name_as_stored(&mut self, stored: &[ColumnSpec], view: &ObjectName) -> Result<()> {
        let own = self.columns.len().saturating_sub(self.hidden);
        if own < stored.len() {
            return refuse(4502, &[shown(view).into()]);
        }
        let names = stored.iter().map(|c| c.name.as_str());
        let names = names.chain(std::iter::repeat(""));
        for (column, name) in self.columns.iter_mut().zip(names) {
            name.clone_into(&mut column.name);
        }
        Ok(())
    }
}

/// Adds 4413 to an error that comes from a change of the objects that a view reads: names that are gone or
/// have become ambiguous, types that no longer fit.
fn unusable(mut error: Box<SqlError>, view: &ObjectName) -> Box<SqlError> {
    if matches!(error.number(), 205..=209 | 402 | 4104 | 8117 | 8120) {
        let message = Message::new(4413, &[shown(view).into()]);
        error.messages.push(message);
    }
    error
}
