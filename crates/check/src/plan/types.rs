//! The parts of a plan.

use furrow_datafile::{ColumnPlace, StoredColumn};
use furrow_format::catalog::{Column, IndexColumn, IndexStat, SchemaObject, SingleReference};
use furrow_format::{FileId, PageId, PageType};
use furrow_types::{DataType, Family, TypeId};
use std::collections::{BTreeSet, HashMap};

/// The unit of a page with an unknown unit.
pub(crate) const NO_UNIT: u32 = u32::MAX;

/// An allocation unit.
#[derive(Debug)]
pub(crate) struct UnitPlan {
    pub(crate) id: u64,
    pub(crate) kind: u8,
    pub(crate) rowset_id: i64,
    pub(crate) object_id: i32,
    pub(crate) index_id: i32,
    pub(crate) table: String,
    pub(crate) index: Option<String>,
    pub(crate) root: PageId,
    pub(crate) first_iam: PageId,
    pub(crate) filegroup: u16,
    /// Pages used, leaf pages, pages set aside: as counted by the catalog.
    pub(crate) counts: [i64; 3],
    /// The plan of its rows, for units of rows whose layout is known.
    pub(crate) rows: Option<usize>,
}

/// The catalog's rows as far as several rooms look at them.
#[derive(Debug, Default)]
pub(crate) struct CatalogRows {
    pub(crate) objects: Vec<SchemaObject>,
    pub(crate) columns: Vec<Column>,
    pub(crate) indexes: Vec<IndexStat>,
    pub(crate) index_columns: Vec<IndexColumn>,
    pub(crate) rowsets: Vec<furrow_format::catalog::Rowset>,
    /// References of single objects, of databases of this engine.
    pub(crate) references: Vec<SingleReference>,
    /// Rowsets whose columns the catalog lists.
    pub(crate) laid_out: Vec<i64>,
    /// Columns that the rows of tables have: object and column id.
    pub(crate) placed: BTreeSet<(i32, i32)>,
}

/// The plan.
#[derive(Debug, Default)]
pub(crate) struct Plan {
    /// Made by this engine: rules are strict, orders of text exact.
    pub(crate) own: bool,
    /// Not upgraded from SQL Server 2000: counts of the catalog can be believed.
    pub(crate) native: bool,
    pub(crate) database_id: u16,
    pub(crate) units: Vec<UnitPlan>,
    pub(super) by_id: HashMap<u64, u32>,
    pub(crate) rowsets: Vec<RowsetPlan>,
    pub(crate) matches: Vec<IndexMatch>,
    pub(crate) catalog: CatalogRows,
    /// Data files and their filegroups.
    pub(super) groups: HashMap<FileId, u16>,
    /// Filegroups of which files are missing.
    pub(super) absent: BTreeSet<u16>,
    /// Whether the catalog could be read.
    pub(crate) readable: bool,
    /// Data files that the catalog names or needs, and that were not given: number and recorded path.
    pub(crate) missing_files: Vec<(FileId, Option<String>)>,
}

/// A column of a level.
#[derive(Debug, Clone)]
pub(crate) struct ColumnPlan {
    pub(crate) stored: StoredColumn,
    pub(crate) place: ColumnPlace,
    /// Offset and length of a fixed column that has bytes of its own.
    pub(crate) fixed: Option<(u16, u16)>,
    /// Ordinal of a variable column that is no uniquifier.
    pub(crate) var: Option<u16>,
    pub(crate) name: String,
    pub(crate) not_null: bool,
    pub(crate) uniquifier: bool,
    /// Whether all bytes of its length are a value.
    pub(crate) any_bytes: bool,
    /// Most bytes of a value in the row.
    pub(crate) most: usize,
}

/// A column of the key.
#[derive(Debug, Clone, Copy)]
pub(crate) struct KeyPlan {
    /// Its place among the level's columns.
    pub(crate) column: usize,
    pub(crate) data_type: DataType,
    pub(crate) descending: bool,
}

/// Rows of one level.
#[derive(Debug, Clone, Default)]
pub(crate) struct LevelPlan {
    pub(crate) columns: Vec<ColumnPlan>,
    pub(crate) key: Vec<KeyPlan>,
    /// Least bytes of the fixed part, and `pminlen` of the pages.
    pub(crate) fixed_end: u16,
    /// Columns that the null bitmap may count; 0 = no bitmap.
    pub(crate) null_bits: u16,
    /// Variable columns that a row may have.
    pub(crate) vars: u16,
}

/// Rows of a rowset.
#[derive(Debug, Clone)]
pub(crate) struct RowsetPlan {
    pub(crate) leaf: LevelPlan,
    pub(crate) node: LevelPlan,
    pub(crate) leaf_type: PageType,
    pub(crate) is_heap: bool,
    /// Indexes whose rows the rows of this one have: places among the plan's matches.
    pub(crate) expects: Vec<usize>,
    /// The index that this is, in the plan's matches.
    pub(crate) is_index: Option<usize>,
    /// Rows, as the catalog counts them.
    pub(crate) rows: i64,
}

impl ColumnPlan {
    /// Whether a value may lie outside the row, so that its bytes there say nothing of it.
    pub(crate) fn may_leave(&self) -> bool {
        let data_type = &self.stored.data_type;
        data_type.is_max()
            || data_type.id.family() == Family::Lob
            || matches!(data_type.id, TypeId::Xml | TypeId::Udt)
    }
}

/// Where a column of an index row comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Origin {
    /// A column of the table, by its place in the plan of the table's rows.
    Column(usize),
    /// The row's address.
    Address,
    /// Not to be held against anything: computed when read, or kept off the row.
    Nothing,
}

/// A nonclustered index and its table.
#[derive(Debug, Clone)]
pub(crate) struct IndexMatch {
    /// For each leaf column of the index.
    pub(crate) from: Vec<Origin>,
    /// The unit of the index's rows.
    pub(crate) index_unit: u32,
    /// The units of the table's rows: one for each partition that this index covers.
    pub(crate) base_unit: u32,
    /// Values of columns that older rows lack, by the table's column.
    pub(crate) defaults: HashMap<usize, Vec<u8>>,
    pub(crate) name: String,
    pub(crate) index_id: i32,
}
