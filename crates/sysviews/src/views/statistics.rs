//! `sys.stats`, `sys.stats_columns`.
//!
//! The engine has no histograms: it plans by the numbers of rows in tables. As in SQL Server, each index has
//! a row, with which scripts join.

use super::{SystemView, ViewContext, columns};
use crate::value::*;
use furrow_context::error::Result;
use furrow_engine::{Index, IndexKind, Table};
use furrow_types::Value;

pub(super) static VIEWS: &[SystemView] = &[
    SystemView {
        schema: "sys",
        name: "stats",
        columns: columns! {
            "object_id" INT; "name" SYSNAME null; "stats_id" INT; "auto_created" BIT null;
            "user_created" BIT null; "no_recompute" BIT null; "has_filter" BIT null;
            "filter_definition" NTEXT null; "is_temporary" BIT null; "is_incremental" BIT null;
        },
        parameters: None,
        text: "The indexes of tables as entries of statistics; the engine has no histograms.",
        rows: |view, rows| {
            each(view, |table, index| {
                rows(vec![
                    int(table.id().0),
                    text(index.name()),
                    int(index.id()),
                    bit(false),
                    bit(false),
                    bit(false),
                    bit(false),
                    Value::Null,
                    bit(false),
                    bit(false),
                ]);
            })
        },
    },
    SystemView {
        schema: "sys",
        name: "stats_columns",
        columns: columns! {
            "object_id" INT; "stats_id" INT; "stats_column_id" INT null; "column_id" INT null;
        },
        parameters: None,
        text: "The key columns of the indexes that sys.stats shows.",
        rows: |view, rows| {
            each(view, |table, index| {
                for (at, key) in (1..).zip(index.key()) {
                    let column = table.columns().get(key.column);
                    rows(vec![
                        int(table.id().0),
                        int(index.id()),
                        int(at),
                        column.map_or(Value::Null, |column| int(column.id)),
                    ]);
                }
            })
        },
    },
];

/// Calls `each` for every index that has a key.
fn each(view: &mut ViewContext<'_>, mut each: impl FnMut(&Table, &Index)) -> Result<()> {
    for table in view.tables()? {
        for index in table.indexes() {
            if index.kind() != IndexKind::Heap {
                each(&table, index);
            }
        }
    }
    Ok(())
}
