//! The operator that reads a system view or table function.

use crate::expr::Expr;
use crate::operator::{Cursor, Ready};
use furrow_context::context::Context;
use furrow_context::error::Result;
use furrow_context::memory::Grant;
use furrow_context::system::{SystemView, ViewContext};
use furrow_engine::Database;
use std::sync::Arc;

/// A view with its arguments.
#[derive(Debug, Clone)]
pub struct ViewPlan {
    /// The view.
    pub view: &'static SystemView,
    /// The database that it describes.
    pub database: Arc<Database>,
    /// The arguments of a function.
    pub arguments: Vec<Expr>,
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
        let mut grant = Grant::new(&context.cx.memory);
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
