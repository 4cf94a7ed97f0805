//! The catalog rows of a table.

use furrow_format::catalog::{
    self, AllocUnit, IndexColumn, IndexStat, ObjectValue, RowsetColumn, SchemaObject,
    SingleReference,
};

/// The catalog rows of a table.
#[derive(Debug, Clone)]
pub(crate) struct TableRows {
    pub(crate) object: SchemaObject,
    pub(crate) schema: String,
    pub(crate) columns: Vec<catalog::Column>,
    pub(crate) indexes: Vec<IndexStat>,
    pub(crate) index_columns: Vec<IndexColumn>,
    pub(crate) rowsets: Vec<catalog::Rowset>,
    pub(crate) layouts: Vec<RowsetColumn>,
    pub(crate) units: Vec<AllocUnit>,
    /// Keys, foreign keys, checks, defaults.
    pub(crate) children: Vec<SchemaObject>,
    pub(crate) values: Vec<ObjectValue>,
    /// Of foreign keys: what they refer to.
    pub(crate) references: Vec<SingleReference>,
}
