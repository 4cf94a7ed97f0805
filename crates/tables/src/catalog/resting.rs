//! The catalog of a database at rest: base tables of any version that can be read, kept in memory, and the
//! tables that they describe.
//!
//! What cannot be read does not keep the rest from being read:
//! - a base table with further details only (texts, references) is left empty;
//! - an index of an unknown kind is left out;
//! - a table whose rows are stored in an unknown way is listed, and reading it returns an error.
//!
//! Each such case is a line in [`Catalog::open_resting`]'s second result.

#![deny(clippy::indexing_slicing)]

use super::bases::Bases;
use super::load::{by_object, by_rowset, take};
use super::rowsets::damaged;
use super::{Catalog, Module, ModuleKind};
use crate::error::EngineError;
use crate::table::{Body, Rowset, Table, TableRows};
use furrow_access::{Heap, HeapParts, Shape, Tree, TreeParts};
use furrow_datafile::{Database as MdfDatabase, MdfError};
use furrow_format::catalog::{
    self, AllocUnit, BaseRow, ClassObject, Column, DatabaseFile, IndexColumn, IndexStat,
    MultiReference, ObjectValue, Owner, PhysicalFilegroup, RowsetColumn, RowsetValue, ScalarType,
    SchemaObject, SingleReference, class, index_kind, index_status, layout_status, object_type,
    unit_kind, value_class,
};
use furrow_format::{AllocUnitId, PageId, RowForm, RowLayout, RowsetId};
use furrow_space::Space;
use furrow_txn::Store;
use furrow_types::{Collation, DataType, MAX_LENGTH, TypeId, Value, decode};
use std::collections::HashMap;
use std::sync::Arc;

/// Reads a base table that all depends on.
fn keep<R: BaseRow>(bases: &mut Bases, database: &MdfDatabase<'_>) -> Result<(), MdfError> {
    bases.keep(&database.base_rows::<R>()?);
    Ok(())
}

/// Reads a base table that may be missing or damaged.
fn keep_if_sound<R: BaseRow>(
    bases: &mut Bases,
    database: &MdfDatabase<'_>,
    words: &mut Vec<String>,
) {
    if let Err(error) = keep::<R>(bases, database) {
        words.push(unread::<R>(&error));
    }
}

fn unread<R: BaseRow>(error: &MdfError) -> String {
    format!("{} cannot be read: {error}", R::TABLE.name)
}

/// Texts are stored with eight bits per letter; ours are UTF-8.
fn in_our_letters(mut row: ObjectValue) -> ObjectValue {
    let text = DataType::sized(TypeId::VarChar, MAX_LENGTH);
    if row.valclass == value_class::TEXT
        && let Some(bytes) = &row.imageval
        && !bytes.is_ascii()
        && let Ok(Value::VarChar(letters)) = decode(&text, bytes)
    {
        row.imageval = Some(letters.into_bytes());
    }
    row
}

/// The base tables as rows in memory.
fn read_bases(database: &MdfDatabase<'_>, words: &mut Vec<String>) -> Result<Bases, MdfError> {
    let mut bases = Bases::at_rest();
    keep::<AllocUnit>(&mut bases, database)?;
    keep::<catalog::Rowset>(&mut bases, database)?;
    keep::<RowsetColumn>(&mut bases, database)?;
    keep::<SchemaObject>(&mut bases, database)?;
    keep::<Column>(&mut bases, database)?;
    keep::<IndexStat>(&mut bases, database)?;
    keep::<IndexColumn>(&mut bases, database)?;
    keep::<ClassObject>(&mut bases, database)?;
    keep::<DatabaseFile>(&mut bases, database)?;
    keep_if_sound::<RowsetValue>(&mut bases, database, words);
    match database.base_rows::<ObjectValue>() {
        Ok(rows) => bases.keep(&rows.into_iter().map(in_our_letters).collect::<Vec<_>>()),
        Err(error) => words.push(unread::<ObjectValue>(&error)),
    }
    keep_if_sound::<ScalarType>(&mut bases, database, words);
    keep_if_sound::<PhysicalFilegroup>(&mut bases, database, words);
    keep_if_sound::<Owner>(&mut bases, database, words);
    keep_if_sound::<SingleReference>(&mut bases, database, words);
    keep_if_sound::<MultiReference>(&mut bases, database, words);
    Ok(bases)
}

/// Rows of the base tables by what they belong to.
struct Pieces {
    columns: HashMap<i32, Vec<Column>>,
    indexes: HashMap<i32, Vec<IndexStat>>,
    members: HashMap<i32, Vec<IndexColumn>>,
    values: HashMap<i32, Vec<ObjectValue>>,
    rowsets: HashMap<i32, Vec<catalog::Rowset>>,
    layouts: HashMap<i64, Vec<RowsetColumn>>,
    units: HashMap<i64, Vec<AllocUnit>>,
    children: HashMap<i32, Vec<SchemaObject>>,
    references: HashMap<i32, Vec<SingleReference>>,
    schemas: HashMap<i32, String>,
}

impl Pieces {
    /// The rows of a table; `None` for an object without rows anywhere, such as two that 2012 has.
    fn table(&mut self, object: SchemaObject) -> Option<TableRows> {
        let id = object.id;
        let mut rowsets = take(&mut self.rowsets, &id);
        rowsets.retain(|r| r.ownertype <= 1 || r.idminor <= 1);
        if !rowsets.iter().any(|r| (0..=1).contains(&r.idminor)) {
            return None;
        }
        rowsets.sort_by_key(|r| (r.idminor, r.numpart));
        let mut columns = take(&mut self.columns, &id);
        columns.retain(|c| c.number == 0);
        columns.sort_by_key(|c| c.colid);
        let children = take(&mut self.children, &id);
        let (mut layouts, mut units, mut values) = (Vec::new(), Vec::new(), Vec::new());
        let mut references = Vec::new();
        for rowset in &rowsets {
            layouts.extend(take(&mut self.layouts, &rowset.rowsetid));
            units.extend(take(&mut self.units, &rowset.rowsetid));
        }
        for child in &children {
            values.extend(take(&mut self.values, &child.id));
            references.extend(take(&mut self.references, &child.id));
        }
        Some(TableRows {
            schema: self.schema_of(&object),
            columns,
            indexes: take(&mut self.indexes, &id),
            index_columns: take(&mut self.members, &id),
            rowsets,
            layouts,
            units,
            children,
            values,
            references,
            object,
        })
    }

    fn schema_of(&self, object: &SchemaObject) -> String {
        let schema = self.schemas.get(&object.nsid).cloned();
        schema.unwrap_or_else(|| format!("schema {}", object.nsid))
    }

    fn module(&mut self, object: SchemaObject) -> Option<Module> {
        let texts = take(&mut self.values, &object.id);
        let schema = self.schema_of(&object);
        let columns = take(&mut self.columns, &object.id);
        Module::from_rows(object, &schema, &texts, columns)
    }
}

/// Whether an object is one of SQL Server's own catalog views, functions and procedures. A database
/// usually finds these in the server it is attached to. Some files contain rows of them, which do not
/// apply to this server. Their numbers are below zero; those of user objects are not.
fn is_of_system(object: &SchemaObject) -> bool {
    object.id < 0
}

impl Catalog {
    /// Opens the catalog of a database at rest. Gives what of it cannot be used, in words, besides.
    pub fn open_resting(
        store: &Arc<Store>,
        space: &Arc<Space>,
        database: &MdfDatabase<'_>,
    ) -> Result<(Catalog, Vec<String>), MdfError> {
        let mut words = Vec::new();
        let bases = read_bases(database, &mut words)?;
        let catalog = Catalog::over(store, space, bases);
        let loaded = catalog.load_resting(&mut words);
        loaded.map_err(|e| MdfError::Catalog {
            what: e.to_string(),
        })?;
        Ok((catalog, words))
    }

    fn load_resting(&self, words: &mut Vec<String>) -> Result<(), EngineError> {
        let mut objects: Vec<SchemaObject> = self.bases.all()?;
        let schemas: Vec<ClassObject> = self.bases.all()?;
        objects.retain(|o| !is_of_system(o));
        let is_table = |o: &SchemaObject| o.kind == object_type::USER_TABLE && o.nsclass == 0;
        let (tables, others): (Vec<_>, Vec<_>) = objects.into_iter().partition(is_table);
        let is_module = |o: &SchemaObject| ModuleKind::of_code(o.kind).is_some() && o.nsclass == 0;
        let (modules, others): (Vec<_>, Vec<_>) = others.into_iter().partition(is_module);
        let of_schema = schemas.iter().filter(|s| s.class == class::SCHEMA);
        let mut pieces = Pieces {
            columns: by_object(self.bases.all::<Column>()?, |c| c.id),
            indexes: by_object(self.bases.all::<IndexStat>()?, |i| i.id),
            members: by_object(self.bases.all::<IndexColumn>()?, |c| c.idmajor),
            values: by_object(self.bases.all::<ObjectValue>()?, |v| v.objid),
            rowsets: by_object(self.bases.all::<catalog::Rowset>()?, |r| r.idmajor),
            layouts: by_rowset(self.bases.all::<RowsetColumn>()?, |l| l.rsid),
            units: by_rowset(self.bases.all::<AllocUnit>()?, |u| u.ownerid),
            children: by_object(others, |o| o.pid),
            references: by_object(self.bases.all::<SingleReference>()?, |r| r.depid),
            schemas: of_schema.map(|s| (s.id, s.name.clone())).collect(),
        };
        let older: Vec<RowsetValue> = self.bases.all()?;
        let mut named = self.named.write();
        for object in modules {
            if let Some(module) = pieces.module(object) {
                named.put_module(Arc::new(module));
            }
        }
        for object in tables {
            let Some(rows) = pieces.table(object) else {
                continue;
            };
            let mut open = |rows: &TableRows, id| self.open_resting_rowset(rows, id);
            let nothing = self.no_rows()?;
            let table = Table::resting(rows, &older, &nothing, &mut open, words);
            named.put_table(Arc::new(table));
        }
        drop(named);
        *self.schemas.write() = schemas;
        Ok(())
    }

    /// Opens a rowset; its layout has the columns only that lie in its rows.
    fn open_resting_rowset(
        &self,
        rows: &TableRows,
        id: RowsetId,
    ) -> Result<Arc<Rowset>, EngineError> {
        let number = id.0 as i64;
        let missing = |what: &str| damaged(format!("rowset {number:#x} has no {what}"));
        let rowset = rows.rowsets.iter().find(|r| r.rowsetid == number);
        let rowset = rowset.ok_or_else(|| missing("row in sysrowsets"))?;
        let mut units = rows.units.iter();
        let unit = units.find(|u| u.ownerid == number && u.kind == unit_kind::IN_ROW);
        let unit = unit.ok_or_else(|| missing("allocation unit"))?;
        let columns: Vec<RowsetColumn> = rows.stored_columns(number).cloned().collect();
        let form = match rowset.idminor {
            0 => RowForm::Heap,
            1 => RowForm::ClusteredLeaf,
            _ => RowForm::IndexLeaf,
        };
        let unique = rows
            .indexes
            .iter()
            .any(|i| i.indid == rowset.idminor && i.status & index_status::UNIQUE != 0);
        let minleaf = fixed_end(&columns, form, 0).max(rowset.minleaf as u16);
        let minint = fixed_end(&columns, RowForm::IndexNode, 16).max(rowset.minint as u16);
        let shape = Shape::from_catalog(form, &columns, minleaf, minint, unique)
            .map_err(|e| damaged(format!("rowset {number:#x}: {e}")))?
            .resting();
        let opened = self.open_unit(unit)?;
        let (store, space) = (Arc::clone(&self.store), Arc::clone(&self.space));
        let body = match form {
            RowForm::Heap => Body::Heap(Box::new(Heap::open(HeapParts {
                store,
                space,
                unit: opened,
                rowset: id,
                shape,
            }))),
            _ => Body::Tree(Tree::open(TreeParts {
                store,
                space,
                unit: opened,
                rowset: id,
                index_id: rowset.idminor as u32,
                root: unit.pgroot,
                shape,
            })),
        };
        Ok(Arc::new(Rowset::new(body, rowset.rcrows, true)))
    }

    /// The replacement for rows that cannot be read: a heap without pages.
    fn no_rows(&self) -> Result<Arc<Rowset>, EngineError> {
        let leaf = RowLayout::from_columns(RowForm::Heap, Vec::new(), 4);
        let shape = Shape {
            leaf: leaf.map_err(|e| damaged(e.to_string()))?,
            node: None,
            key: Vec::new(),
            unique: false,
            at_rest: true,
        };
        let groups = self.space.filegroups();
        let group = groups.first().map_or(1, |g| g.id);
        let id = AllocUnitId(0);
        let heap = Heap::open(HeapParts {
            store: Arc::clone(&self.store),
            space: Arc::clone(&self.space),
            unit: self.space.open_unit(id, group, PageId::NONE)?,
            rowset: RowsetId(0),
            shape,
        });
        let body = Body::Heap(Box::new(heap));
        Ok(Arc::new(Rowset::new(body, 0, true)))
    }
}

/// Least end of the fixed part of rows: behind the last fixed column, dropped ones included.
fn fixed_end(columns: &[RowsetColumn], form: RowForm, shift: u32) -> u16 {
    let header: u16 = if form.is_data() { 4 } else { 1 };
    let ends = columns.iter().filter_map(|c| {
        let offset = u16::try_from((c.offset >> shift) as i16)
            .ok()
            .filter(|&o| o > 0)?;
        let data_type = DataType::from_ti(c.ti, Collation::NONE)?;
        let bit = data_type.id == TypeId::Bit;
        let len = if bit {
            1
        } else {
            data_type.fixed_len().unwrap_or(0)
        };
        Some(offset.saturating_add(len))
    });
    let end = ends.max().unwrap_or(0).max(header);
    match form {
        RowForm::IndexNode => end + 6,
        _ => end,
    }
}

impl TableRows {
    /// The columns that lie in the rows of a rowset, in physical order; dropped ones included.
    pub(crate) fn stored_columns(&self, rowset: i64) -> impl Iterator<Item = &RowsetColumn> {
        self.layouts.iter().filter(move |l| {
            let sparse = l.status & layout_status::SPARSE != 0;
            l.rsid == rowset && !sparse && l.offset as i16 != 0
        })
    }

    /// Why the rows of an index cannot be read, where that is so.
    pub(crate) fn obstacle(&self, stat: &IndexStat) -> Option<String> {
        let mut parts = self.rowsets.iter().filter(|r| r.idminor == stat.indid);
        let Some(first) = parts.next() else {
            return Some("it has no rowset".to_owned());
        };
        if stat.status & index_status::FILTERED != 0 {
            return Some("it is filtered, so that it lacks rows".to_owned());
        }
        if stat.kind > index_kind::NONCLUSTERED {
            let kind = match stat.kind {
                3 => "an XML index",
                4 => "a spatial index",
                5 | 6 => "a column store",
                7 => "a hash index",
                _ => "an index of an unknown kind",
            };
            return Some(format!("it is {kind}"));
        }
        match first.cmprlevel {
            0 => {}
            1 => return Some("it has ROW compression".to_owned()),
            2 => return Some("it has PAGE compression".to_owned()),
            3 | 4 => return Some("it is a column store".to_owned()),
            other => return Some(format!("it has compression of an unknown kind ({other})")),
        }
        if parts.next().is_some() {
            return Some("it is partitioned".to_owned());
        }
        if !self.layouts.iter().any(|l| l.rsid == first.rowsetid) {
            return Some("a column of it has a type that is not known".to_owned());
        }
        None
    }
}
