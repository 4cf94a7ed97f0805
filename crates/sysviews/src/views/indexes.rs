//! Indexes, partitions, allocation units.

use super::{Rows, SystemView, ViewContext, columns};
use crate::value::*;
use furrow_context::error::Result;
use furrow_engine::{Index, IndexKind, Table};
use furrow_types::Value;
use std::sync::Arc;

pub(super) static VIEWS: &[SystemView] = &[
    SystemView {
        schema: "sys",
        name: "indexes",
        columns: columns! {
            "object_id" INT; "name" SYSNAME null; "index_id" INT; "type" TINYINT; "type_desc" DESC null;
            "is_unique" BIT null; "data_space_id" INT null; "ignore_dup_key" BIT null;
            "is_primary_key" BIT null;
            "is_unique_constraint" BIT null; "fill_factor" TINYINT; "is_padded" BIT null;
            "is_disabled" BIT null;
            "is_hypothetical" BIT null; "allow_row_locks" BIT null; "allow_page_locks" BIT null;
            "has_filter" BIT null; "filter_definition" NTEXT null; "auto_created" BIT null;
        },
        parameters: None,
        text: "The indexes and heaps of tables.",
        rows: indexes,
    },
    SystemView {
        schema: "sys",
        name: "index_columns",
        columns: columns! {
            "object_id" INT; "index_id" INT; "index_column_id" INT; "column_id" INT; "key_ordinal" TINYINT;
            "partition_ordinal" TINYINT; "is_descending_key" BIT null; "is_included_column" BIT null;
        },
        parameters: None,
        text: "The columns of indexes.",
        rows: index_columns,
    },
    SystemView {
        schema: "sys",
        name: "partitions",
        columns: columns! {
            "partition_id" BIGINT; "object_id" INT; "index_id" INT; "partition_number" INT; "hobt_id" BIGINT;
            "rows" BIGINT null; "filestream_filegroup_id" SMALLINT; "data_compression" TINYINT;
            "data_compression_desc" DESC null;
        },
        parameters: None,
        text: "The rows of indexes and heaps.",
        rows: partitions,
    },
    SystemView {
        schema: "sys",
        name: "allocation_units",
        columns: columns! {
            "allocation_unit_id" BIGINT; "type" TINYINT; "type_desc" DESC null; "container_id" BIGINT;
            "data_space_id" INT; "total_pages" BIGINT; "used_pages" BIGINT; "data_pages" BIGINT;
        },
        parameters: None,
        text: "The allocation units of indexes and heaps, with their pages.",
        rows: allocation_units,
    },
    SystemView {
        schema: "sys",
        name: "dm_db_partition_stats",
        columns: columns! {
            "partition_id" BIGINT null; "object_id" INT; "index_id" INT; "partition_number" INT;
            "in_row_data_page_count" BIGINT null; "in_row_used_page_count" BIGINT null;
            "in_row_reserved_page_count" BIGINT null; "lob_used_page_count" BIGINT null;
            "lob_reserved_page_count" BIGINT null; "row_overflow_used_page_count" BIGINT null;
            "row_overflow_reserved_page_count" BIGINT null; "used_page_count" BIGINT null;
            "reserved_page_count" BIGINT null; "row_count" BIGINT null;
        },
        parameters: None,
        text: "Pages and rows of indexes and heaps.",
        rows: partition_stats,
    },
    SystemView {
        schema: "dbo",
        name: "sysindexes",
        columns: columns! {
            "id" INT; "indid" SMALLINT null; "name" SYSNAME null; "groupid" SMALLINT null; "dpages" INT;
            "reserved" INT; "used" INT; "rowcnt" BIGINT; "rows" INT;
        },
        parameters: None,
        text: "Indexes and heaps under their old names: use sys.indexes.",
        rows: sysindexes,
    },
];

/// Calls `each` for every index of every table.
fn each(
    view: &mut ViewContext<'_>,
    mut each: impl FnMut(&Table, &Index) -> Result<()>,
) -> Result<()> {
    for table in view.tables()? {
        for index in table.indexes() {
            each(&table, index)?;
        }
    }
    Ok(())
}

/// `type` of `sys.indexes` and its description.
pub(crate) fn kind(index: &Index) -> (u8, &'static str) {
    match index.kind() {
        IndexKind::Heap => (0, "HEAP"),
        IndexKind::Clustered => (1, "CLUSTERED"),
        IndexKind::Nonclustered => (2, "NONCLUSTERED"),
    }
}

/// The name; NULL for a heap.
fn name(index: &Index) -> Value {
    match index.kind() {
        IndexKind::Heap => Value::Null,
        _ => text(index.name()),
    }
}

fn indexes(view: &mut ViewContext<'_>, rows: Rows<'_>) -> Result<()> {
    each(view, |table, index| {
        let (number, described) = kind(index);
        rows(vec![
            int(table.id().0),
            name(index),
            int(index.id()),
            tiny(number),
            text(described),
            bit(index.is_unique()),
            int(index.rowset().filegroup()),
            bit(false),
            bit(index.is_primary_key()),
            bit(index.is_unique_constraint()),
            tiny(index.options().fill_factor),
            bit(index.options().padded),
            bit(false),
            bit(false),
            bit(index.allows_row_locks()),
            bit(index.allows_page_locks()),
            bit(false),
            Value::Null,
            bit(false),
        ]);
        Ok(())
    })
}

fn index_columns(view: &mut ViewContext<'_>, rows: Rows<'_>) -> Result<()> {
    each(view, |table, index| {
        let keys = index.key().iter().map(|k| (k.column, true, k.descending));
        let included = index.included().iter().map(|c| (*c, false, false));
        for (at, (column, is_key, descending)) in keys.chain(included).enumerate() {
            let id = table.columns().get(column).map_or(0, |c| c.id);
            rows(vec![
                int(table.id().0),
                int(index.id()),
                int(at + 1),
                int(id),
                tiny(if is_key { (at + 1) as u8 } else { 0 }),
                tiny(0),
                bit(descending),
                bit(!is_key),
            ]);
        }
        Ok(())
    })
}

fn partitions(view: &mut ViewContext<'_>, rows: Rows<'_>) -> Result<()> {
    each(view, |table, index| {
        let id = index.rowset().id().0;
        rows(vec![
            big(id),
            int(table.id().0),
            int(index.id()),
            int(1),
            big(id),
            big(index.rowset().row_count()),
            small(0),
            tiny(0),
            text("NONE"),
        ]);
        Ok(())
    })
}

fn allocation_units(view: &mut ViewContext<'_>, rows: Rows<'_>) -> Result<()> {
    let db = Arc::clone(&view.database);
    each(view, |_, index| {
        let rowset = index.rowset();
        let counts = db.page_counts(rowset)?;
        rows(vec![
            big(rowset.unit_id().0),
            tiny(1),
            text("IN_ROW_DATA"),
            big(rowset.id().0),
            int(rowset.filegroup()),
            big(counts.reserved),
            big(counts.used),
            big(counts.data),
        ]);
        Ok(())
    })
}

fn partition_stats(view: &mut ViewContext<'_>, rows: Rows<'_>) -> Result<()> {
    let db = Arc::clone(&view.database);
    each(view, |table, index| {
        let rowset = index.rowset();
        let counts = db.page_counts(rowset)?;
        rows(vec![
            big(rowset.id().0),
            int(table.id().0),
            int(index.id()),
            int(1),
            big(counts.data),
            big(counts.used),
            big(counts.reserved),
            big(0),
            big(0),
            big(0),
            big(0),
            big(counts.used),
            big(counts.reserved),
            big(rowset.row_count()),
        ]);
        Ok(())
    })
}

fn sysindexes(view: &mut ViewContext<'_>, rows: Rows<'_>) -> Result<()> {
    let db = Arc::clone(&view.database);
    each(view, |table, index| {
        let rowset = index.rowset();
        let counts = db.page_counts(rowset)?;
        rows(vec![
            int(table.id().0),
            small(index.id()),
            name(index),
            small(rowset.filegroup()),
            int(counts.data),
            int(counts.reserved),
            int(counts.used),
            big(rowset.row_count()),
            int(rowset.row_count()),
        ]);
        Ok(())
    })
}
