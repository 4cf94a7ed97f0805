//! What a session has changed in the catalog and not committed.

use super::{Module, name_key};
use crate::table::Table;
use furrow_format::catalog::{AllocUnit, ClassObject};
use furrow_format::{ObjectId, RowsetId};
use std::sync::Arc;

/// An object created or changed (a new definition), or dropped (none).
#[derive(Debug, Clone)]
pub(crate) struct DdlChange {
    pub(crate) id: ObjectId,
    pub(crate) name: String,
    pub(crate) table: Option<Arc<Table>>,
    pub(crate) module: Option<Arc<Module>>,
}

impl DdlChange {
    /// Whether the object is there after it.
    pub(crate) fn is_there(&self) -> bool {
        self.table.is_some() || self.module.is_some()
    }
}

/// A schema created or dropped.
#[derive(Debug, Clone)]
struct SchemaChange {
    row: ClassObject,
    made: bool,
}

/// A unit that was created, or that is to be dropped.
#[derive(Debug, Clone)]
pub(crate) struct UnitChange {
    pub(crate) unit: AllocUnit,
    pub(crate) made: bool,
}

/// The changes of a transaction, in order.
#[derive(Debug, Default)]
pub(crate) struct DdlChanges {
    changes: Vec<DdlChange>,
    units: Vec<UnitChange>,
    schemas: Vec<SchemaChange>,
}

/// A place in [`DdlChanges`] to roll back to.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct DdlMark {
    changes: usize,
    units: usize,
    schemas: usize,
}

impl DdlChanges {
    pub(crate) fn is_empty(&self) -> bool {
        self.changes.is_empty() && self.units.is_empty() && self.schemas.is_empty()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &DdlChange> {
        self.changes.iter()
    }

    pub(crate) fn mark(&self) -> DdlMark {
        DdlMark {
            changes: self.changes.len(),
            units: self.units.len(),
            schemas: self.schemas.len(),
        }
    }

    pub(crate) fn note(&mut self, id: ObjectId, name: String, table: Option<Arc<Table>>) {
        self.changes.push(DdlChange {
            id,
            name,
            table,
            module: None,
        });
    }

    pub(crate) fn note_module(&mut self, id: ObjectId, name: String, module: Option<Arc<Module>>) {
        self.changes.push(DdlChange {
            id,
            name,
            table: None,
            module,
        });
    }

    pub(crate) fn note_schema(&mut self, row: ClassObject, made: bool) {
        self.schemas.push(SchemaChange { row, made });
    }

    /// Makes of the committed schemas those that this session sees.
    pub(crate) fn apply_schemas(&self, schemas: &mut Vec<ClassObject>) {
        for change in &self.schemas {
            schemas.retain(|s| s.class != change.row.class || s.id != change.row.id);
            if change.made {
                schemas.push(change.row.clone());
            }
        }
    }

    pub(crate) fn note_unit(&mut self, unit: &AllocUnit, made: bool) {
        self.units.push(UnitChange {
            unit: unit.clone(),
            made,
        });
    }

    /// The last change of what bears a name, by its key.
    pub(crate) fn object_named(&self, key: &str) -> Option<&DdlChange> {
        self.changes.iter().rev().find(|c| c.name == key)
    }

    /// The last change of an object.
    pub(crate) fn object(&self, id: ObjectId) -> Option<&DdlChange> {
        self.changes.iter().rev().find(|c| c.id == id)
    }

    /// The last changes of all objects that were changed.
    pub(crate) fn objects(&self) -> impl Iterator<Item = &DdlChange> {
        let last = |at: usize, id: ObjectId| self.changes.iter().skip(at + 1).all(|c| c.id != id);
        let all = self.changes.iter().enumerate();
        all.filter(move |(at, c)| last(*at, c.id)).map(|(_, c)| c)
    }

    /// What this session sees under a name: `None` when it has not touched it, `Some(None)` when it has
    /// dropped it.
    pub(crate) fn named(&self, schema: &str, name: &str) -> Option<Option<Arc<Table>>> {
        let change = self.object_named(&name_key(schema, name))?;
        Some(change.table.clone())
    }

    /// The same by number.
    pub(crate) fn by_id(&self, id: ObjectId) -> Option<Option<&Arc<Table>>> {
        Some(self.object(id)?.table.as_ref())
    }

    /// Forgets what came after `mark`; returns the units that were created since, newest first.
    pub(crate) fn roll_back(&mut self, mark: DdlMark) -> Vec<AllocUnit> {
        self.changes.truncate(mark.changes);
        self.schemas.truncate(mark.schemas);
        let gone = self.units.split_off(mark.units.min(self.units.len()));
        gone.into_iter()
            .rev()
            .filter(|u| u.made)
            .map(|u| u.unit)
            .collect()
    }

    /// The units that a commit drops.
    pub(crate) fn dropped(&self) -> Vec<AllocUnit> {
        self.units
            .iter()
            .filter(|u| !u.made)
            .map(|u| u.unit.clone())
            .collect()
    }

    pub(crate) fn clear(&mut self) {
        self.changes.clear();
        self.units.clear();
        self.schemas.clear();
    }
}

/// The rowset of a unit.
pub(crate) fn rowset_of(unit: &AllocUnit) -> RowsetId {
    RowsetId(unit.ownerid as u64)
}
