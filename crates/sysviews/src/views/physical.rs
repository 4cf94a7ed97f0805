//! `sys.dm_db_index_physical_stats`: size, fill and fragmentation of indexes.

use super::{Rows, SystemView, ViewContext, columns};
use crate::value::*;
use furrow_context::error::{Result, unsupported};
use furrow_engine::{Closely, Database, Index, IndexKind, LevelStats, Table};
use furrow_types::{DataType, Value};
use std::sync::Arc;

const MODE: DataType = nvarchar(20);

pub(super) static VIEWS: &[SystemView] = &[SystemView {
    schema: "sys",
    name: "dm_db_index_physical_stats",
    columns: columns! {
        "database_id" SMALLINT null; "object_id" INT null; "index_id" INT null;
        "partition_number" INT null; "index_type_desc" DESC null; "alloc_unit_type_desc" DESC null;
        "index_depth" TINYINT null; "index_level" TINYINT null;
        "avg_fragmentation_in_percent" FLOAT null; "fragment_count" BIGINT null;
        "avg_fragment_size_in_pages" FLOAT null; "page_count" BIGINT null;
        "avg_page_space_used_in_percent" FLOAT null; "record_count" BIGINT null;
        "ghost_record_count" BIGINT null; "version_ghost_record_count" BIGINT null;
        "min_record_size_in_bytes" INT null; "max_record_size_in_bytes" INT null;
        "avg_record_size_in_bytes" FLOAT null; "forwarded_record_count" BIGINT null;
        "compressed_page_count" BIGINT null; "hobt_id" BIGINT;
        "columnstore_delete_buffer_state" TINYINT; "columnstore_delete_buffer_state_desc" DESC;
    },
    parameters: Some(&[SMALLINT, INT, INT, INT, MODE]),
    text: "Fragmentation and fill of tables and indexes: LIMITED reads no leaf, SAMPLED one \
        page in a hundred of 10,000 or more, DETAILED every page of every level.",
    rows: physical_stats,
}];

/// Fails if the statement is cancelled.
type Check<'a> = &'a mut dyn FnMut() -> Result<()>;

fn closely(view: &ViewContext<'_>) -> Result<Closely> {
    let mode = view.arguments.get(4).and_then(Value::as_str);
    let mode = mode.unwrap_or("DEFAULT");
    let is = |word: &str| mode.eq_ignore_ascii_case(word);
    Ok(match () {
        () if is("DEFAULT") || is("LIMITED") => Closely::Limited,
        () if is("SAMPLED") => Closely::Sampled,
        () if is("DETAILED") => Closely::Detailed,
        () => {
            let text = format!("mode '{mode}' of sys.dm_db_index_physical_stats");
            return Err(unsupported(&text));
        }
    })
}

/// The number that an argument selects; `None` if the argument means all.
fn wanted(view: &ViewContext<'_>, at: usize, all: i64) -> Option<i64> {
    view.number(at).filter(|&n| n != all)
}

fn physical_stats(view: &mut ViewContext<'_>, rows: Rows<'_>) -> Result<()> {
    let closely = closely(view)?;
    let databases = match wanted(view, 0, 0) {
        Some(_) => view.database_argument(0).into_iter().collect(),
        None => view.databases(),
    };
    let (object, index) = (wanted(view, 1, 0), wanted(view, 2, -1));
    // Every index has one partition.
    if wanted(view, 3, 0).is_some_and(|partition| partition != 1) {
        return Ok(());
    }
    let cx = &*view.cx;
    let check: Check<'_> = &mut || cx.check_cancel();
    for db in databases {
        for table in db.catalog().tables() {
            if object.is_some_and(|id| id != i64::from(table.id().0)) {
                continue;
            }
            for of in table.indexes() {
                if index.is_none_or(|id| id == i64::from(of.id())) {
                    of_index((&db, &table, of), closely, check, rows)?;
                }
            }
        }
    }
    Ok(())
}

fn of_index(
    (db, table, index): (&Arc<Database>, &Table, &Index),
    closely: Closely,
    check: Check<'_>,
    rows: Rows<'_>,
) -> Result<()> {
    for level in db.physical_stats(index, closely, check)? {
        let mut row = vec![
            small(db.id().0),
            int(table.id().0),
            int(index.id()),
            int(1),
            text(match index.kind() {
                IndexKind::Heap => "HEAP",
                IndexKind::Clustered => "CLUSTERED INDEX",
                IndexKind::Nonclustered => "NONCLUSTERED INDEX",
            }),
            text("IN_ROW_DATA"),
            tiny(level.depth),
            tiny(level.level),
        ];
        row.extend(places(&level));
        row.extend(content(&level, index.kind()));
        row.extend([big(index.rowset().id().0), tiny(0), text("NOT VALID")]);
        rows(row);
    }
    Ok(())
}

fn places(level: &LevelStats) -> [Value; 4] {
    // Fragments are counted in the leaf level only.
    let of_leaves = |value: Value| if level.level == 0 { value } else { Value::Null };
    let size = match level.fragments {
        0 => 0.0,
        runs => level.pages as f64 / runs as f64,
    };
    [
        Value::Float(level.fragmentation()),
        of_leaves(big(level.fragments)),
        of_leaves(Value::Float(size)),
        big(level.pages),
    ]
}

fn content(level: &LevelStats, kind: IndexKind) -> [Value; 9] {
    let Some(found) = level.content else {
        return [const { Value::Null }; 9];
    };
    let stubs = match kind {
        IndexKind::Heap => big(found.stubs),
        _ => Value::Null,
    };
    [
        Value::Float(found.fullness()),
        big(found.records),
        big(found.ghosts),
        big(0),
        int(found.least_bytes),
        int(found.most_bytes),
        Value::Float(found.mean_bytes()),
        stubs,
        big(0),
    ]
}
