//! A database over a source of pages: what tables there are, and their rows.

use std::collections::HashMap;

use crate::column::StoredColumn;
use crate::physical::{Damage, Physical, damaged_row, pick};
use crate::rows::Rows;
use crate::table::{Index, Owner, Part, Table, TableColumn, TableRows, table_column};
use crate::walk::{OwnedPages, owned_pages};
use crate::{MdfError, Pages};
use furrow_format::catalog::{
    AllocUnit, BaseRow, BaseTable, ClassObject, Column, DatabaseFile, IndexColumn, IndexStat,
    Rowset, RowsetValue, SYSCLSOBJS, SYSCOLPARS, SYSIDXSTATS, SYSISCOLS, SYSPRUFILES, SYSSCHOBJS,
    SYSSEOBJVALUES, SchemaObject, class, index_column_status, index_status, object_type, unit_kind,
};
use furrow_format::{AllocUnitId, PageType, Record, RowId};
use furrow_types::Value;

/// `sysdbfiles` of SQL Server 2005, where later versions have `sysprufiles`.
const SYSDBFILES_2005: i32 = 76;

/// A database.
pub struct Database<'s> {
    source: &'s Pages<'s>,
    physical: Physical,
    /// Names of columns by object and column id.
    columns: HashMap<i32, Vec<Column>>,
    objects: Vec<SchemaObject>,
    schemas: HashMap<i32, String>,
    indexes: Vec<IndexStat>,
    index_columns: Vec<IndexColumn>,
    rowset_values: Vec<RowsetValue>,
    files: Vec<DatabaseFile>,
}

impl std::fmt::Debug for Database<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Database")
            .field("version", &self.version())
            .field("rowsets", &self.physical.rowsets.len())
            .field("objects", &self.objects.len())
            .finish_non_exhaustive()
    }
}

impl<'s> Database<'s> {
    /// Reads the catalog.
    pub fn open(source: &'s Pages<'s>) -> Result<Database<'s>, MdfError> {
        Database::read(source, &mut Damage::default())
    }

    /// Reads as much of the catalog as can be read; returns the errors of the parts that were skipped beside
    /// it. Fails if too little is left to find any table.
    pub fn open_damaged(source: &'s Pages<'s>) -> Result<(Database<'s>, Vec<MdfError>), MdfError> {
        let mut damage = Damage::tolerated();
        let database = Database::read(source, &mut damage)?;
        Ok((database, damage.passed.unwrap_or_default()))
    }

    fn read(source: &'s Pages<'s>, damage: &mut Damage) -> Result<Database<'s>, MdfError> {
        let mut database = Database {
            source,
            physical: Physical::read(source, damage)?,
            columns: HashMap::new(),
            objects: Vec::new(),
            schemas: HashMap::new(),
            indexes: Vec::new(),
            index_columns: Vec::new(),
            rowset_values: Vec::new(),
            files: Vec::new(),
        };
        // The names of the columns of all tables, this one included, are in this one: it is read by place.
        for column in database.read_rows::<Column>(&SYSCOLPARS, SYSCOLPARS.id, damage)? {
            database.columns.entry(column.id).or_default().push(column);
        }
        database.objects = database.read_rows(&SYSSCHOBJS, SYSSCHOBJS.id, damage)?;
        database.indexes = database.read_rows(&SYSIDXSTATS, SYSIDXSTATS.id, damage)?;
        database.index_columns = database.read_rows(&SYSISCOLS, SYSISCOLS.id, damage)?;
        database.rowset_values = database.read_rows(&SYSSEOBJVALUES, SYSSEOBJVALUES.id, damage)?;
        let classes: Vec<ClassObject> = database.read_rows(&SYSCLSOBJS, SYSCLSOBJS.id, damage)?;
        let schemas = classes
            .into_iter()
            .filter(|object| object.class == class::SCHEMA);
        database.schemas = schemas.map(|schema| (schema.id, schema.name)).collect();
        database.files = database.read_rows(&SYSPRUFILES, SYSPRUFILES.id, damage)?;
        if database.files.is_empty() {
            database.files = database.read_rows(&SYSPRUFILES, SYSDBFILES_2005, damage)?;
        }
        Ok(database)
    }

    /// The version of the file format.
    pub fn version(&self) -> u16 {
        self.physical.version
    }

    /// The version that the database was created by.
    pub fn create_version(&self) -> u16 {
        self.physical.create_version
    }

    /// Files that the catalog lists, the log included.
    pub fn files(&self) -> &[DatabaseFile] {
        &self.files
    }

    /// Data files that are in use by the catalog and missing from the source.
    pub fn missing_files(&self) -> Vec<&DatabaseFile> {
        let given = self.source.files();
        let in_use = |row: &&DatabaseFile| row.filetype == 0 && row.filestate == 0 && row.grpid > 0;
        let is_given = |row: &&DatabaseFile| given.iter().any(|id| i32::from(id.0) == row.fileid);
        let rows = self.files.iter().filter(in_use);
        rows.filter(|row| !is_given(row)).collect()
    }

    /// All objects.
    pub fn objects(&self) -> &[SchemaObject] {
        &self.objects
    }

    /// All rowsets.
    pub fn rowsets(&self) -> &[Rowset] {
        &self.physical.rowsets
    }

    /// All allocation units.
    pub fn alloc_units(&self) -> &[AllocUnit] {
        &self.physical.units
    }

    /// The columns of a rowset in physical order, dropped ones and the uniquifier included.
    pub fn layout(&self, rowset: i64) -> Option<&[StoredColumn]> {
        self.physical.layouts.get(&rowset)?.as_deref()
    }

    /// All columns and parameters.
    pub(crate) fn column_rows(&self) -> Vec<Column> {
        let mut rows: Vec<Column> = self.columns.values().flatten().cloned().collect();
        rows.sort_by_key(|row| (row.id, row.number, row.colid));
        rows
    }

    /// User tables, by name.
    pub fn tables(&self) -> Vec<Table> {
        let mut tables = self
            .objects
            .iter()
            .filter(|object| object.kind == object_type::USER_TABLE && object.nsclass == 0)
            .filter_map(|object| self.describe(object))
            .collect::<Vec<_>>();
        tables.sort_by(|a, b| (&a.schema, &a.name).cmp(&(&b.schema, &b.name)));
        tables
    }

    /// A table of any kind (base tables, internal ones) by name; the schema may be left out.
    pub fn table(&self, schema: Option<&str>, name: &str) -> Option<Table> {
        self.objects
            .iter()
            .filter(|object| object.name.eq_ignore_ascii_case(name))
            .filter_map(|object| self.describe(object))
            .find(|table| schema.is_none_or(|schema| table.schema.eq_ignore_ascii_case(schema)))
    }

    /// The table of an object; `None` for objects without rows, such as two that 2012 only has in its
    /// catalog.
    fn describe(&self, object: &SchemaObject) -> Option<Table> {
        let mut rowsets = self
            .physical
            .rowsets
            .iter()
            .filter(|rowset| rowset.idmajor == object.id && (0..=1).contains(&rowset.idminor))
            .cloned()
            .collect::<Vec<_>>();
        rowsets.sort_by_key(|rowset| rowset.numpart);
        let first = rowsets.first()?;
        let schema = self.schemas.get(&object.nsid);
        Some(Table {
            id: object.id,
            schema: schema
                .cloned()
                .unwrap_or_else(|| format!("schema {}", object.nsid)),
            name: object.name.clone(),
            kind: object.kind,
            columns: self.table_columns(object.id),
            row_count: rowsets
                .iter()
                .fold(0, |sum, r| sum.saturating_add(r.rcrows)),
            is_heap: first.idminor == 0,
            rowsets,
        })
    }

    fn table_columns(&self, object: i32) -> Vec<TableColumn> {
        let rows = self
            .columns
            .get(&object)
            .map(Vec::as_slice)
            .unwrap_or_default();
        rows.iter()
            .filter(|row| row.number == 0)
            .filter_map(table_column)
            .collect()
    }

    /// The indexes of a table, the clustered one first; statistics and the heap are none.
    pub fn indexes(&self, table: i32) -> Vec<Index> {
        let is_index = |stat: &&IndexStat| {
            stat.id == table && stat.status & index_status::INDEX != 0 && stat.indid > 0
        };
        let mut indexes = self
            .indexes
            .iter()
            .filter(is_index)
            .map(|s| self.index(s))
            .collect::<Vec<_>>();
        indexes.sort_by_key(|index| index.id);
        indexes
    }

    fn index(&self, stat: &IndexStat) -> Index {
        let mut columns = self
            .index_columns
            .iter()
            .filter(|column| column.idmajor == stat.id && column.idminor == stat.indid)
            .collect::<Vec<_>>();
        columns.sort_by_key(|column| (column.tinyprop1, column.subid));
        let is_key = |column: &&&IndexColumn| column.status & index_column_status::KEY != 0;
        let descending = |status: i32| status & index_column_status::DESCENDING != 0;
        let included = |column: &&&IndexColumn| column.status & index_column_status::INCLUDED != 0;
        Index {
            id: stat.indid,
            name: stat.name.clone().unwrap_or_default(),
            kind: stat.kind,
            unique: stat.status & index_status::UNIQUE != 0,
            primary_key: stat.status & index_status::PRIMARY_KEY != 0,
            key: columns
                .iter()
                .filter(is_key)
                .map(|c| (c.intprop, descending(c.status)))
                .collect(),
            included: columns
                .iter()
                .filter(included)
                .map(|column| column.intprop)
                .collect(),
        }
    }

    /// The table's rows, one value per column of [`Table::columns`]: a clustered index in key order, a heap
    /// in allocation order, partition by partition.
    pub fn rows(&self, table: &Table) -> Result<TableRows<'s>, MdfError> {
        let parts = table
            .rowsets
            .iter()
            .map(|rowset| self.part(table, rowset))
            .collect::<Result<Vec<_>, _>>()?;
        Ok(TableRows::new(parts))
    }

    fn part(&self, table: &Table, rowset: &Rowset) -> Result<Part<'s>, MdfError> {
        let layout = self
            .readable_layout(rowset)
            .map_err(|error| table.name_in(error))?;
        let mut stored = Vec::new();
        let mut defaults = Vec::new();
        let mut places = Vec::new();
        for column in &table.columns {
            let found = layout
                .iter()
                .find(|s| s.column_id == column.id && !s.is_dropped());
            if found.is_none() && !column.computed {
                return Err(table.without_place(column));
            }
            places.push(found.is_some());
            if let Some(found) = found {
                defaults.push(self.default_of(rowset.rowsetid, found));
                // A type changed without touching the rows (varchar(10) to varchar(20)) shows in both places.
                stored.push(*found);
            }
        }
        let rows = self.leaf_rows(rowset, stored)?.with_defaults(defaults);
        Ok(Part { rows, places })
    }

    /// The value of a column in rows that are older than the column.
    fn default_of(&self, rowset: i64, column: &StoredColumn) -> Value {
        let value = self
            .rowset_values
            .iter()
            .find(|value| value.id == rowset && value.subid == i64::from(column.order));
        match value.map(|value| &value.value) {
            Some(Value::Variant(inner)) => inner.1.clone(),
            _ => Value::Null,
        }
    }

    /// The rows of a rowset on its leaf level, all columns in physical order: data rows, or the entries of a
    /// nonclustered index.
    pub fn rowset_rows(&self, rowset: &Rowset) -> Result<Rows<'s>, MdfError> {
        let columns = self
            .readable_layout(rowset)?
            .iter()
            .filter(|c| !c.is_dropped())
            .copied();
        self.leaf_rows(rowset, columns.collect())
    }

    fn leaf_rows(&self, rowset: &Rowset, columns: Vec<StoredColumn>) -> Result<Rows<'s>, MdfError> {
        let unit = self.in_row_unit(rowset)?.clone();
        Ok(match rowset.idminor {
            0 => Rows::of_unit(self.source, unit, PageType::Data, columns),
            1 => Rows::of_tree(self.source, unit, PageType::Data, columns),
            _ => Rows::of_tree(self.source, unit, PageType::Index, columns),
        })
    }

    /// As [`rowset_rows`](Self::rowset_rows), but by the allocation maps: for trees whose links are damaged.
    pub fn rowset_rows_by_allocation(&self, rowset: &Rowset) -> Result<Rows<'s>, MdfError> {
        let columns = self
            .readable_layout(rowset)?
            .iter()
            .filter(|c| !c.is_dropped())
            .copied();
        let unit = self.in_row_unit(rowset)?.clone();
        let leaf = if rowset.idminor <= 1 {
            PageType::Data
        } else {
            PageType::Index
        };
        Ok(Rows::of_unit(self.source, unit, leaf, columns.collect()))
    }

    fn in_row_unit(&self, rowset: &Rowset) -> Result<&AllocUnit, MdfError> {
        self.physical
            .unit(rowset.rowsetid, unit_kind::IN_ROW)
            .ok_or_else(|| MdfError::Catalog {
                what: format!("rowset {:#x} has no allocation unit", rowset.rowsetid),
            })
    }

    fn readable_layout(&self, rowset: &Rowset) -> Result<&[StoredColumn], MdfError> {
        let unsupported = |what: String| Err(MdfError::Unsupported { what });
        match rowset.cmprlevel {
            0 => {}
            1 => return unsupported("ROW compression".to_owned()),
            2 => return unsupported("PAGE compression".to_owned()),
            3 | 4 => return unsupported("a column store".to_owned()),
            level => return unsupported(format!("compression of kind {level}")),
        }
        match self.physical.layouts.get(&rowset.rowsetid) {
            Some(Some(columns)) => Ok(columns),
            Some(None) => unsupported(format!("a column type of rowset {:#x}", rowset.rowsetid)),
            None => Err(MdfError::Catalog {
                what: format!("rowset {:#x} has no columns", rowset.rowsetid),
            }),
        }
    }

    /// What an allocation unit owns, by its IAM chain.
    pub fn owned_pages(&self, unit: &AllocUnit) -> Result<OwnedPages, MdfError> {
        owned_pages(self.source, unit)
    }

    /// The unit whose pages carry this id. This includes clustered leaves from SQL Server 2000, which carry
    /// index 0.
    pub fn unit(&self, id: AllocUnitId) -> Option<&AllocUnit> {
        let clustered = AllocUnitId::from_parts(1, id.object_part());
        let by_id = |id: AllocUnitId| self.physical.unit_by_id(id.0 as i64);
        by_id(id).or_else(|| by_id(clustered).filter(|_| id.index_part() == 0))
    }

    /// What an allocation unit belongs to.
    pub fn owner(&self, unit: &AllocUnit) -> Option<Owner> {
        let rowset = self
            .physical
            .rowsets
            .iter()
            .find(|rowset| rowset.rowsetid == unit.ownerid)?;
        let object = self
            .objects
            .iter()
            .find(|object| object.id == rowset.idmajor);
        let index = self
            .indexes
            .iter()
            .find(|index| index.id == rowset.idmajor && index.indid == rowset.idminor);
        Some(Owner {
            rowset: rowset.clone(),
            unit_kind: unit.kind,
            schema: object.and_then(|object| self.schemas.get(&object.nsid).cloned()),
            object: object.map(|object| object.name.clone()),
            index: index.and_then(|index| index.name.clone()),
            columns: self.named_columns(rowset),
        })
    }

    /// The columns of a rowset as its rows hold them, each with its name.
    fn named_columns(&self, rowset: &Rowset) -> Vec<(String, StoredColumn)> {
        let names = self.columns.get(&rowset.idmajor);
        let name_of = |id: i32| {
            let found =
                names.and_then(|names| names.iter().find(|c| c.colid == id && c.number == 0));
            found.and_then(|column| column.name.clone())
        };
        let table_column = |stored: &StoredColumn| {
            if rowset.idminor <= 1 {
                return Some(stored.column_id);
            }
            let of_index = self.index_columns.iter().find(|column| {
                column.idmajor == rowset.idmajor
                    && column.idminor == rowset.idminor
                    && column.subid == stored.column_id
            });
            of_index.map(|column| column.intprop)
        };
        let name = |stored: &StoredColumn| {
            if stored.is_uniquifier() {
                return "uniquifier".to_owned();
            }
            match table_column(stored) {
                Some(id) => name_of(id).unwrap_or_else(|| format!("column {id}")),
                None => "locator".to_owned(),
            }
        };
        let layout = self.layout(rowset.rowsetid).unwrap_or_default();
        let kept = layout.iter().filter(|stored| !stored.is_dropped());
        kept.map(|stored| (name(stored), *stored)).collect()
    }

    /// The value of a column in a record that lies at `at`: of the leaf level, or of the levels above it.
    pub fn value(
        &self,
        at: RowId,
        record: &Record<'_>,
        column: &StoredColumn,
        leaf: bool,
    ) -> Result<Value, MdfError> {
        let place = if leaf { column.leaf } else { column.inner };
        crate::rows::value_of(self.source, at, record, column, place, None)
    }

    /// The rows of a base table as typed structs; of a table that this version doesn't have none.
    ///
    /// `table_id` is the table's object id, where that isn't the one in version 706. Columns are matched by
    /// name, or by place where the catalog doesn't name them.
    pub fn read_table<R: BaseRow>(
        &self,
        table: &'static BaseTable,
        table_id: i32,
    ) -> Result<Vec<R>, MdfError> {
        self.read_rows(table, table_id, &mut Damage::default())
    }

    fn read_rows<R: BaseRow>(
        &self,
        table: &'static BaseTable,
        table_id: i32,
        damage: &mut Damage,
    ) -> Result<Vec<R>, MdfError> {
        let Some(rowset) = self.physical.data_rowset(table_id) else {
            return Ok(Vec::new());
        };
        let stored = self.readable_layout(rowset)?;
        let names = self
            .columns
            .get(&table_id)
            .filter(|names| !names.is_empty());
        let place_of = |index: usize, name: &str| {
            let id = match names {
                Some(names) => {
                    names
                        .iter()
                        .find(|n| n.name.as_deref() == Some(name))?
                        .colid
                }
                None => index as i32 + 1,
            };
            stored.iter().position(|column| column.column_id == id)
        };
        let rows = self.leaf_rows(rowset, stored.to_vec())?.map(|row| {
            let values = pick(table, stored, place_of, &mut row?.values);
            R::from_values(values).ok_or_else(|| damaged_row(table.name))
        });
        damage.sift(rows)
    }
}
