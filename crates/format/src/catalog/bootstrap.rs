//! The rows of a new database's base tables.

mod fixed;
#[cfg(test)]
mod tests;

use super::layout::{ColumnSpec, NullBits, RowsetKind, RowsetLayout, lay_out};
use super::schema::{BaseColumn, BaseRow, BaseTable, Code};
use super::{
    AllocUnit, BASE_TABLES, Column, DatabaseFile, File1, IndexColumn, IndexStat, PhysicalFilegroup,
    Rowset, SchemaObject, column_status, index_column_status, index_kind, index_status,
    object_status, object_type, rowset_status, schema_id, unit_kind,
};
use crate::{PageId, RowsetId};
use fixed::{class_objects, owners, scalar_types};
use furrow_types::{DataType, DateTime, Guid, TypeId, Value};

/// Pages of an allocation unit of a new database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnitPlace {
    /// First page.
    pub first: PageId,
    /// Root of the index; for the heap the same as `first`.
    pub root: PageId,
    /// First IAM page.
    pub first_iam: PageId,
    /// Pages with content, IAM pages included.
    pub used_pages: i64,
    /// Leaf pages.
    pub data_pages: i64,
    /// Pages set aside.
    pub reserved_pages: i64,
}

impl UnitPlace {
    /// A unit without pages.
    pub const NONE: UnitPlace = UnitPlace {
        first: PageId::NONE,
        root: PageId::NONE,
        first_iam: PageId::NONE,
        used_pages: 0,
        data_pages: 0,
        reserved_pages: 0,
    };
}

/// Where a base table lies in a new database.
#[derive(Debug, Clone, Copy)]
pub struct TablePlace {
    /// The table's object id.
    pub table_id: i32,
    /// Its rows.
    pub rows: UnitPlace,
}

/// A file of the database to be described.
#[derive(Debug, Clone)]
pub struct BootstrapFile {
    /// File id.
    pub file_id: u16,
    /// Filegroup, 0 for the log.
    pub filegroup_id: u16,
    /// Pages.
    pub size_pages: u32,
    /// Most pages, `None` for no limit.
    pub max_pages: Option<u32>,
    /// Pages, or percent.
    pub growth: u32,
    /// Whether `growth` is percent.
    pub growth_is_percent: bool,
    /// Logical name.
    pub logical_name: String,
    /// Physical name.
    pub physical_name: String,
    /// GUID.
    pub guid: Guid,
}

/// What the rows of a new database depend on.
#[derive(Debug, Clone)]
pub struct Bootstrap<'a> {
    /// Creation time.
    pub created: DateTime,
    /// Where the tables lie; a table that isn't listed has no pages.
    pub places: &'a [TablePlace],
    /// Filegroups besides PRIMARY (1): id and name.
    pub filegroups: &'a [(u16, String)],
    /// The files, the log included.
    pub files: &'a [BootstrapFile],
}

/// Layout of a base table's rowset.
pub fn base_layout(table: &BaseTable) -> RowsetLayout {
    let columns = (1..)
        .zip(table.columns)
        .map(|(column_id, column)| ColumnSpec {
            column_id,
            data_type: column.data_type,
            nullable: column.nullable && !stored_not_null(table, column),
            key_ordinal: u16::from(column.key_ordinal),
            descending: false,
            uniquifier: false,
        })
        .collect::<Vec<_>>();
    let kind = if table.is_heap() {
        RowsetKind::Heap
    } else {
        RowsetKind::Clustered
    };
    lay_out(table.rowset_id(), kind, NullBits::WhereNullable, &columns)
}

/// `rsguid` and `lockres` of `sysrowsets`: nullable in `syscolpars`, NOT NULL in `sysrscols`, NULL in the
/// rows.
fn stored_not_null(table: &BaseTable, column: &BaseColumn) -> bool {
    table.id == 5 && matches!(column.name, "rsguid" | "lockres")
}

/// The rows of all base tables of a new database, tables as in [`BASE_TABLES`], rows in key order.
pub fn bootstrap_rows(bootstrap: &Bootstrap<'_>) -> Vec<(&'static BaseTable, Vec<Vec<Value>>)> {
    let mut tables = BASE_TABLES
        .iter()
        .map(|&table| (table, table_rows(table, bootstrap)))
        .collect::<Vec<_>>();
    let counts = tables
        .iter()
        .map(|(table, rows)| (table.id, rows.len()))
        .collect::<Vec<_>>();
    for (table, rows) in &mut tables {
        if table.id == super::SYSROWSETS.id {
            *rows = to_values(rowsets(&counts));
        }
        rows.sort_by(|a, b| key_order(table, a, b));
    }
    tables
}

fn table_rows(table: &BaseTable, bootstrap: &Bootstrap<'_>) -> Vec<Vec<Value>> {
    let created = bootstrap.created;
    match table.id {
        3 => to_values(
            BASE_TABLES
                .iter()
                .flat_map(|table| base_layout(table).columns),
        ),
        // As many as there are tables; the counts come when all rows are known.
        5 => to_values(rowsets(&[])),
        7 => to_values(alloc_units(bootstrap.places)),
        8 => to_values(files1(bootstrap.files)),
        23 => to_values(filegroups(bootstrap).map(|(id, name)| physical_filegroup(id, name))),
        24 => to_values(bootstrap.files.iter().map(database_file)),
        27 => to_values(owners(created)),
        34 => to_values(
            BASE_TABLES
                .iter()
                .map(|table| schema_object(table, created)),
        ),
        41 => to_values(BASE_TABLES.iter().flat_map(|table| columns(table))),
        50 => to_values(scalar_types(created)),
        54 => to_values(BASE_TABLES.iter().map(|table| index_stat(table))),
        55 => to_values(BASE_TABLES.iter().flat_map(|table| index_columns(table))),
        64 => to_values(class_objects(bootstrap.created, filegroups(bootstrap))),
        _ => Vec::new(),
    }
}

fn to_values<R: BaseRow>(rows: impl IntoIterator<Item = R>) -> Vec<Vec<Value>> {
    rows.into_iter().map(|row| row.to_values()).collect()
}

/// Catalog keys are integers: they compare as numbers.
fn key_order(table: &BaseTable, a: &[Value], b: &[Value]) -> std::cmp::Ordering {
    let key = |row: &[Value]| {
        table
            .key()
            .map(|at| row.get(at).and_then(Value::as_i64))
            .collect::<Vec<_>>()
    };
    key(a).cmp(&key(b))
}

fn rowsets(counts: &[(i32, usize)]) -> Vec<Rowset> {
    BASE_TABLES
        .iter()
        .map(|&table| {
            let layout = base_layout(table);
            let rows = counts
                .iter()
                .find(|count| count.0 == table.id)
                .map_or(0, |count| count.1);
            let unique = if table.is_heap() {
                0
            } else {
                rowset_status::UNIQUE
            };
            Rowset {
                rowsetid: table.rowset_id().0 as i64,
                ownertype: 1,
                idmajor: table.id,
                idminor: index_id(table),
                numpart: 1,
                status: rowset_status::DATA | unique,
                fgidfs: 0,
                rcrows: rows as i64,
                cmprlevel: 0,
                fillfact: 0,
                maxnullbit: layout.maxnullbit,
                maxleaf: layout.maxleaf,
                maxint: layout.maxint,
                minleaf: layout.minleaf,
                minint: layout.minint,
                rsguid: None,
                lockres: None,
                scope_id: None,
            }
        })
        .collect()
}

fn index_id(table: &BaseTable) -> i32 {
    i32::from(!table.is_heap())
}

fn alloc_units(places: &[TablePlace]) -> Vec<AllocUnit> {
    let unit = |auid: i64, rowset: RowsetId, kind, place: UnitPlace| AllocUnit {
        auid,
        kind,
        ownerid: rowset.0 as i64,
        status: 0,
        fgid: 1,
        pgfirst: place.first,
        pgroot: place.root,
        pgfirstiam: place.first_iam,
        pcused: place.used_pages,
        pcdata: place.data_pages,
        pcreserved: place.reserved_pages,
    };
    let mut units = Vec::new();
    for table in BASE_TABLES {
        let place = places.iter().find(|place| place.table_id == table.id);
        let rows = place.map_or(UnitPlace::NONE, |place| place.rows);
        let rowset = table.rowset_id();
        units.push(unit(
            table.unit_id().0 as i64,
            rowset,
            unit_kind::IN_ROW,
            rows,
        ));
        if let Some(lob) = table.lob_unit_id() {
            units.push(unit(lob.0 as i64, rowset, unit_kind::LOB, UnitPlace::NONE));
        }
    }
    units
}

fn schema_object(table: &BaseTable, created: DateTime) -> SchemaObject {
    SchemaObject {
        id: table.id,
        name: table.name.to_owned(),
        nsid: schema_id::SYS,
        nsclass: 0,
        status: object_status::BASE_TABLE,
        kind: object_type::SYSTEM_TABLE,
        pid: 0,
        pclass: 1,
        intprop: table.columns.len() as i32,
        created,
        modified: created,
        status2: 0,
    }
}

fn columns(table: &BaseTable) -> impl Iterator<Item = Column> + '_ {
    (1..).zip(table.columns).map(|(colid, column)| {
        let nullable = column.nullable;
        let mut row = column_row(table.id, colid, column.name, &column.data_type, nullable);
        row.utype = column.user_type;
        row
    })
}

/// Row of `syscolpars` for a column of a table.
pub fn column_row(
    object_id: i32,
    colid: i32,
    name: &str,
    data_type: &DataType,
    nullable: bool,
) -> Column {
    let mut status = if nullable { 0 } else { column_status::NOT_NULL };
    let padded = matches!(
        data_type.id,
        TypeId::Char | TypeId::VarChar | TypeId::NChar | TypeId::NVarChar | TypeId::Binary
    );
    if padded || data_type.id == TypeId::VarBinary {
        status |= column_status::ANSI_PADDED;
    }
    Column {
        id: object_id,
        number: 0,
        colid,
        name: Some(name.to_owned()),
        xtype: data_type.id as u8,
        utype: data_type.id as i32,
        length: data_type.length,
        prec: data_type.precision,
        scale: data_type.scale,
        collationid: data_type.collation.0 as i32,
        status,
        maxinrow: data_type.max_in_row_len() as i16,
        xmlns: 0,
        dflt: 0,
        chk: 0,
        idtval: None,
    }
}

fn index_stat(table: &BaseTable) -> IndexStat {
    let base = index_status::BASE_TABLE | index_status::INDEX;
    let heap = table.is_heap();
    IndexStat {
        id: table.id,
        indid: index_id(table),
        name: (!heap).then(|| "clst".to_owned()),
        status: if heap {
            base
        } else {
            base | index_status::NAMED | index_status::UNIQUE
        },
        intprop: 0,
        fillfact: 0,
        kind: if heap {
            index_kind::HEAP
        } else {
            index_kind::CLUSTERED
        },
        tinyprop: 0,
        dataspace: 0,
        lobds: 0,
        rowset: table.rowset_id().0 as i64,
    }
}

/// Places count in column order; the place in the key is a column of its own.
fn index_columns(table: &BaseTable) -> impl Iterator<Item = IndexColumn> + '_ {
    let in_key = (1..)
        .zip(table.columns)
        .filter(|(_, column)| column.key_ordinal != 0);
    (1..)
        .zip(in_key)
        .map(|(subid, (colid, column))| IndexColumn {
            idmajor: table.id,
            idminor: 1,
            subid,
            status: index_column_status::COLUMN | index_column_status::KEY,
            intprop: colid,
            tinyprop1: column.key_ordinal,
            tinyprop2: 0,
            tinyprop3: 0,
        })
}

fn files1(files: &[BootstrapFile]) -> impl Iterator<Item = File1> + '_ {
    files.iter().map(|file| {
        let kind = if file.filegroup_id == 0 { 0x42 } else { 0x2 };
        let percent = if file.growth_is_percent { 0x10_0000 } else { 0 };
        File1 {
            status: kind | percent,
            fileid: file.file_id as i16,
            name: file.logical_name.clone(),
            // A heap of fixed rows: longer names are cut here, sysprufiles has them whole.
            filename: file.physical_name.chars().take(260).collect(),
        }
    })
}

fn database_file(file: &BootstrapFile) -> DatabaseFile {
    DatabaseFile {
        status: 0x200 | if file.growth_is_percent { 0x20 } else { 0 },
        size: clamp(file.size_pages),
        maxsize: file.max_pages.map_or(-1, clamp),
        growth: clamp(file.growth),
        lname: file.logical_name.clone(),
        pname: file.physical_name.chars().take(260).collect(),
        ..DatabaseFile::plain(
            i32::from(file.file_id),
            i32::from(file.filegroup_id),
            file.guid,
        )
    }
}

fn clamp(pages: u32) -> i32 {
    i32::try_from(pages).unwrap_or(i32::MAX)
}

fn filegroups<'a>(bootstrap: &'a Bootstrap<'_>) -> impl Iterator<Item = (u16, &'a str)> {
    let others = bootstrap
        .filegroups
        .iter()
        .map(|(id, name)| (*id, name.as_str()));
    std::iter::once((1, "PRIMARY")).chain(others)
}

fn physical_filegroup(id: u16, name: &str) -> PhysicalFilegroup {
    PhysicalFilegroup {
        dbfragid: 1,
        phfgid: i32::from(id),
        fgid: i32::from(id),
        kind: Code(*b"FG"),
        fgguid: None,
        lgfgid: None,
        status: 0,
        name: name.to_owned(),
    }
}
