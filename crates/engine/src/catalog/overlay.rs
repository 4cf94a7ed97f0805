//! What a session has changed in the catalog and not committed.

use super::name_key;
use crate::table::Table;
use furrow_format::catalog::AllocUnit;
use furrow_format::{ObjectId, RowsetId};
use std::sync::Arc;

/// A table made, changed (a new definition) or dropped (none).
#[derive(Debug, Clone)]
pub(crate) struct DdlChange {
    pub(crate) id: ObjectId,
    pub(crate) name: String,
    pub(crate) table: Option<Arc<Table>>,
}

/// A unit that was made, or that is to go.
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
}

/// A place in [`DdlChanges`] to roll back to.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct DdlMark {
    changes: usize,
    units: usize,
}

impl DdlChanges {
    pub(crate) fn is_empty(&self) -> bool {
        self.changes.is_empty() && self.units.is_empty()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &DdlChange> {
        self.changes.iter()
    }

    pub(crate) fn mark(&self) -> DdlMark {
        DdlMark {
            changes: self.changes.len(),
            units: self.units.len(),
        }
    }

    pub(crate) fn note(&mut self, id: ObjectId, name: String, table: Option<Arc<Table>>) {
        self.changes.push(DdlChange { id, name, table });
    }

    pub(crate) fn note_unit(&mut self, unit: &AllocUnit, made: bool) {
        self.units.push(UnitChange {
            unit: unit.clone(),
            made,
        });
    }

    /// What this session sees under a name: `None` when it has not touched it, `Some(None)` when it has
    /// dropped it.
    pub(crate) fn named(&self, schema: &str, name: &str) -> Option<Option<Arc<Table>>> {
        let key = name_key(schema, name);
        self.changes
            .iter()
            .rev()
            .find(|c| c.name == key)
            .map(|c| c.table.clone())
    }

    /// The same by number.
    pub(crate) fn by_id(&self, id: ObjectId) -> Option<Option<&Arc<Table>>> {
        self.changes
            .iter()
            .rev()
            .find(|c| c.id == id)
            .map(|c| c.table.as_ref())
    }

    /// Forgets what came after `mark`; gives the units that were made since, newest first.
    pub(crate) fn roll_back(&mut self, mark: DdlMark) -> Vec<AllocUnit> {
        self.changes.truncate(mark.changes);
        let gone = self.units.split_off(mark.units.min(self.units.len()));
        gone.into_iter()
            .rev()
            .filter(|u| u.made)
            .map(|u| u.unit)
            .collect()
    }

    /// The units that a commit lets go.
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
    }
}

/// The rowset of a unit.
pub(crate) fn rowset_of(unit: &AllocUnit) -> RowsetId {
    RowsetId(unit.ownerid as u64)
}
