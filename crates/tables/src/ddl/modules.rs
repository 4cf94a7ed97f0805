//! Modules and schemas as statements, and what a session sees of the catalog.

use crate::catalog::{Catalog, DdlChanges, Module, ModuleDefinition, ModuleKind, name_key};
use crate::error::EngineError;
use crate::schema::ColumnSpec;
use crate::session::Session;
use crate::table::Table;
use furrow_access::By;
use furrow_format::catalog::SYSSCHOBJS;
use furrow_txn::lock::{LockMode, Resource};
use std::collections::BTreeMap;
use std::sync::Arc;
use twox_hash::XxHash3_64;

impl Session {
    /// Locks a name of the catalog: of two sessions that create the same one, the second waits.
    fn lock_key(&mut self, key: &str, mode: LockMode) -> Result<(), EngineError> {
        let hash = XxHash3_64::oneshot(key.as_bytes());
        let resource = Resource::key(self.db.id, SYSSCHOBJS.rowset_id(), hash);
        let locks = &self.db.locks;
        locks.lock(&self.owner, resource, mode, self.timeout)?;
        Ok(())
    }

    /// The X lock on an object's name; its schema stays while the transaction lasts.
    pub(super) fn lock_name(&mut self, schema: &str, name: &str) -> Result<(), EngineError> {
        self.lock_key(&name_key(schema, ""), LockMode::S)?;
        self.lock_key(&name_key(schema, name), LockMode::X)
    }

    /// A statement that changes what an object of the catalog is, under the lock of its name.
    fn change_named<T>(
        &mut self,
        (schema, name): (&str, &str),
        change: impl FnOnce(&Catalog, &mut By<'_>, &mut DdlChanges) -> Result<T, EngineError>,
    ) -> Result<T, EngineError> {
        self.statement(|session| {
            session.lock_name(schema, name)?;
            session.with_changes(change)
        })
    }

    /// A statement that changes which schemas there are: one at a time, for their numbers.
    fn change_schemas<T>(
        &mut self,
        name: &str,
        change: impl FnOnce(&Catalog, &mut By<'_>, &mut DdlChanges) -> Result<T, EngineError>,
    ) -> Result<T, EngineError> {
        self.statement(|session| {
            session.lock_key("", LockMode::X)?;
            session.lock_key(&name_key(name, ""), LockMode::X)?;
            session.with_changes(change)
        })
    }

    /// CREATE PROCEDURE, VIEW and the like. The text is stored as it is.
    pub fn create_module(
        &mut self,
        schema: &str,
        name: &str,
        definition: &ModuleDefinition<'_>,
    ) -> Result<Arc<Module>, EngineError> {
        self.change_named((schema, name), |catalog, by, changes| {
            catalog.create_module(by, changes, (schema, name), definition)
        })
    }

    /// ALTER PROCEDURE and the like: another definition (208, 2010).
    pub fn alter_module(
        &mut self,
        schema: &str,
        name: &str,
        definition: &ModuleDefinition<'_>,
    ) -> Result<Arc<Module>, EngineError> {
        self.change_named((schema, name), |catalog, by, changes| {
            catalog.alter_module(by, changes, (schema, name), definition)
        })
    }

    /// Gives a view the columns that its text defines now. Returns `false` if another session has altered or
    /// dropped the view since `view` was read; then nothing is changed.
    pub fn refresh_view(
        &mut self,
        view: &Arc<Module>,
        columns: &[ColumnSpec],
    ) -> Result<bool, EngineError> {
        self.change_named((view.schema(), view.name()), |catalog, by, changes| {
            catalog.refresh_view(by, changes, view, columns)
        })
    }

    /// DROP PROCEDURE and the like (3701).
    pub fn drop_module(
        &mut self,
        kind: ModuleKind,
        schema: &str,
        name: &str,
    ) -> Result<(), EngineError> {
        self.change_named((schema, name), |catalog, by, changes| {
            catalog.drop_module(by, changes, (schema, name), kind)
        })
    }

    /// The module of this name, as this session sees it.
    pub fn module(&self, schema: &str, name: &str) -> Option<Arc<Module>> {
        self.db.catalog.module_seen(&self.ddl, schema, name)
    }

    /// The tables as this session sees them, by name.
    pub fn tables(&self) -> Vec<Arc<Table>> {
        let mut all = self.db.catalog.tables();
        if !self.ddl.is_empty() {
            all.retain(|t| self.ddl.object(t.id()).is_none());
            all.extend(self.ddl.objects().filter_map(|c| c.table.clone()));
            all.sort_by_key(|t| name_key(t.schema(), t.name()));
        }
        all
    }

    /// The modules as this session sees them, by name.
    pub fn modules(&self) -> Vec<Arc<Module>> {
        let mut all = self.db.catalog.modules();
        if !self.ddl.is_empty() {
            all.retain(|m| self.ddl.object(m.id()).is_none());
            all.extend(self.ddl.objects().filter_map(|c| c.module.clone()));
            all.sort_by_key(|m| name_key(m.schema(), m.name()));
        }
        all
    }

    /// The schemas as this session sees them, by number.
    pub fn schemas(&self) -> BTreeMap<i32, String> {
        let all = self.db.catalog.schemas_seen(&self.ddl);
        all.into_iter().map(|s| (s.id, s.name)).collect()
    }

    /// CREATE SCHEMA; gives its number.
    pub fn create_schema(&mut self, name: &str) -> Result<i32, EngineError> {
        self.change_schemas(name, |catalog, by, changes| {
            catalog.create_schema(by, changes, name)
        })
    }

    /// DROP SCHEMA: nothing may be in it (3729).
    pub fn drop_schema(&mut self, name: &str) -> Result<(), EngineError> {
        self.change_schemas(name, |catalog, by, changes| {
            catalog.drop_schema(by, changes, name)
        })
    }
}
