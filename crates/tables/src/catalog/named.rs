//! What is committed, by name and number.

use super::name_key;
use crate::catalog::module::Module;
use crate::table::Table;
use furrow_format::ObjectId;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// The committed objects. Tables, modules and the keys, checks and defaults of tables share their names and
/// their numbers.
#[derive(Debug, Default)]
pub(super) struct Named {
    tables: HashMap<ObjectId, Arc<Table>>,
    modules: HashMap<ObjectId, Arc<Module>>,
    /// Tables and modules.
    by_name: HashMap<String, ObjectId>,
    /// Keys, checks and defaults: the table they belong to.
    children: HashMap<String, ObjectId>,
    /// The same by number.
    child_ids: HashMap<i32, ObjectId>,
    /// Tables that some foreign key refers to, or did.
    referenced: HashSet<ObjectId>,
}

impl Named {
    pub(super) fn id_of(&self, key: &str) -> Option<ObjectId> {
        self.by_name.get(key).copied()
    }

    /// The table whose key, check or default has this name.
    pub(super) fn parent_of(&self, key: &str) -> Option<ObjectId> {
        self.children.get(key).copied()
    }

    pub(super) fn table(&self, id: ObjectId) -> Option<&Arc<Table>> {
        self.tables.get(&id)
    }

    pub(super) fn module(&self, id: ObjectId) -> Option<&Arc<Module>> {
        self.modules.get(&id)
    }

    pub(super) fn tables(&self) -> impl Iterator<Item = &Arc<Table>> {
        self.tables.values()
    }

    pub(super) fn modules(&self) -> impl Iterator<Item = &Arc<Module>> {
        self.modules.values()
    }

    /// Whether some object has this number.
    pub(super) fn has_number(&self, id: ObjectId) -> bool {
        self.tables.contains_key(&id)
            || self.modules.contains_key(&id)
            || self.child_ids.contains_key(&id.0)
    }

    /// Whether a foreign key may refer to a table.
    pub(super) fn is_referenced(&self, id: ObjectId) -> bool {
        self.referenced.contains(&id)
    }

    pub(super) fn put_table(&mut self, table: Arc<Table>) {
        let keys = table.foreign_keys().iter();
        self.referenced.extend(keys.map(|k| k.referenced));
        for child in &table.rows.children {
            let key = name_key(&table.schema, &child.name);
            self.children.insert(key, table.id);
            self.child_ids.insert(child.id, table.id);
        }
        self.by_name
            .insert(name_key(&table.schema, &table.name), table.id);
        self.tables.insert(table.id, table);
    }

    pub(super) fn put_module(&mut self, module: Arc<Module>) {
        let key = name_key(&module.schema, &module.name);
        self.by_name.insert(key, module.id);
        self.modules.insert(module.id, module);
    }

    /// Takes an object out; a table is superseded then.
    pub(super) fn remove(&mut self, id: ObjectId) {
        if let Some(old) = self.tables.remove(&id) {
            for child in &old.rows.children {
                self.children.remove(&name_key(&old.schema, &child.name));
                self.child_ids.remove(&child.id);
            }
            self.by_name.remove(&name_key(&old.schema, &old.name));
            old.supersede();
        }
        if let Some(old) = self.modules.remove(&id) {
            self.by_name.remove(&name_key(&old.schema, &old.name));
        }
    }
}
