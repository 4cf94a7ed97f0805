//! A table as the catalog describes it, and the iterator over its rows.

use crate::MdfError;
use crate::column::StoredColumn;
use crate::rows::Rows;
use crate::v611::declared;
use furrow_format::catalog::{Code, Column, Identity, Rowset, column_status};
use furrow_types::{DataType, Value};

/// A table.
#[derive(Debug, Clone)]
pub struct Table {
    /// Object id.
    pub id: i32,
    /// Schema.
    pub schema: String,
    /// Name.
    pub name: String,
    /// Type code: [`object_type`](furrow_format::catalog::object_type).
    pub kind: Code<2>,
    /// Columns, by column id.
    pub columns: Vec<TableColumn>,
    /// Rowsets of its rows: one per partition.
    pub rowsets: Vec<Rowset>,
    /// Rows, as the catalog counts them.
    pub row_count: i64,
    /// Whether the rows lie in a heap.
    pub is_heap: bool,
}

impl Table {
    /// Adds the table's name to an error about one of its rowsets.
    pub(crate) fn name_in(&self, error: MdfError) -> MdfError {
        let named = |what: String| format!("{what} (table {}.{})", self.schema, self.name);
        match error {
            MdfError::Unsupported { what } => MdfError::Unsupported { what: named(what) },
            MdfError::Catalog { what } => MdfError::Catalog { what: named(what) },
            other => other,
        }
    }

    /// The error for a stored column whose place in the rows is lost. Its values are in the rows, so it must
    /// not be read as NULL.
    pub(crate) fn without_place(&self, column: &TableColumn) -> MdfError {
        let (schema, table, column) = (&self.schema, &self.name, &column.name);
        MdfError::Catalog {
            what: format!(
                "nothing says where column {column} of table {schema}.{table} lies in its rows"
            ),
        }
    }
}

/// A column of a table.
#[derive(Debug, Clone)]
pub struct TableColumn {
    /// Column id.
    pub id: i32,
    /// Name.
    pub name: String,
    /// The declared type.
    pub data_type: DataType,
    /// Whether it may be NULL.
    pub nullable: bool,
    /// Whether it is computed, or the column set, which is computed from the sparse columns. A computed
    /// column that is not persisted has no stored values, and is read as NULL.
    pub computed: bool,
    /// Last value, increment and seed of an identity column.
    pub identity: Option<Identity>,
}

/// What an allocation unit belongs to.
#[derive(Debug, Clone)]
pub struct Owner {
    /// The heap or index.
    pub rowset: Rowset,
    /// Kind of the unit: [`unit_kind`](furrow_format::catalog::unit_kind).
    pub unit_kind: u8,
    /// Schema of the table, if the catalog contains it.
    pub schema: Option<String>,
    /// Name of the table or view.
    pub object: Option<String>,
    /// Name of the index; a heap has none.
    pub index: Option<String>,
    /// Columns in physical order, with their names.
    pub columns: Vec<(String, StoredColumn)>,
}

/// An index of a table.
#[derive(Debug, Clone)]
pub struct Index {
    /// Index id.
    pub id: i32,
    /// Name.
    pub name: String,
    /// 1 clustered, 2 nonclustered.
    pub kind: u8,
    /// Whether it is unique.
    pub unique: bool,
    /// Whether it is the index of the primary key.
    pub primary_key: bool,
    /// Key columns in order: column id and whether it is descending.
    pub key: Vec<(i32, bool)>,
    /// Included columns.
    pub included: Vec<i32>,
}

pub(crate) fn table_column(row: &Column) -> Option<TableColumn> {
    let data_type = declared(row.xtype, row.length, row.prec, row.scale, row.collationid)?;
    Some(TableColumn {
        id: row.colid,
        name: row.name.clone().unwrap_or_default(),
        data_type,
        nullable: row.status & column_status::NOT_NULL == 0,
        computed: row.status & (column_status::COMPUTED | column_status::COLUMN_SET) != 0,
        identity: row
            .idtval
            .as_deref()
            .and_then(|bytes| Identity::decode(&data_type, bytes)),
    })
}

/// Rows of one partition, and which of the table's columns it stores.
#[derive(Debug)]
pub(crate) struct Part<'s> {
    pub(crate) rows: Rows<'s>,
    /// One per column of the table: whether the rows store it.
    pub(crate) places: Vec<bool>,
}

impl<'s> TableRows<'s> {
    pub(crate) fn new(parts: Vec<Part<'s>>) -> TableRows<'s> {
        TableRows {
            parts: parts.into_iter(),
            current: None,
        }
    }
}

/// Iterates over the rows of a table: [`Database::rows`](super::Database::rows).
#[derive(Debug)]
pub struct TableRows<'s> {
    parts: std::vec::IntoIter<Part<'s>>,
    current: Option<Part<'s>>,
}

impl Iterator for TableRows<'_> {
    type Item = Result<Vec<Value>, MdfError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if self.current.is_none() {
                self.current = Some(self.parts.next()?);
            }
            let part = self.current.as_mut()?;
            let Some(row) = part.rows.next() else {
                self.current = None;
                continue;
            };
            let values = row.map(|row| {
                let mut stored = row.values.into_iter();
                let mut value = |is_stored: &bool| {
                    if *is_stored {
                        stored.next().unwrap_or(Value::Null)
                    } else {
                        Value::Null
                    }
                };
                part.places.iter().map(&mut value).collect()
            });
            return Some(values);
        }
    }
}
