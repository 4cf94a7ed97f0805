//! Files and filegroups: `sys.database_files`, `sys.filegroups` and others.

use super::{Rows, SystemView, ViewColumn, ViewContext, columns};
use crate::value::*;
use furrow_context::error::Result;
use furrow_engine::{Database, FileGrowth, FileView, FileViewState};
use furrow_format::FileId;
use furrow_types::{DataType, Value};
use std::collections::BTreeMap;
use std::sync::Arc;

const PATH: DataType = nvarchar(260);
const KIND: DataType = char(2);

static FILE_COLUMNS: &[ViewColumn] = columns! {
    "file_id" INT; "file_guid" GUID null; "type" TINYINT; "type_desc" DESC null; "data_space_id" INT;
    "name" SYSNAME; "physical_name" PATH null; "state" TINYINT null; "state_desc" DESC null; "size" INT;
    "max_size" INT; "growth" INT; "is_media_read_only" BIT; "is_read_only" BIT; "is_sparse" BIT;
    "is_percent_growth" BIT; "is_name_reserved" BIT; "create_lsn" LSN null; "drop_lsn" LSN null;
    "read_only_lsn" LSN null; "read_write_lsn" LSN null; "differential_base_lsn" LSN null;
    "differential_base_guid" GUID null; "differential_base_time" DATETIME null; "redo_start_lsn" LSN null;
    "redo_start_fork_guid" GUID null; "redo_target_lsn" LSN null; "redo_target_fork_guid" GUID null;
    "backup_lsn" LSN null;
};

pub(super) static VIEWS: &[SystemView] = &[
    SystemView {
        schema: "sys",
        name: "database_files",
        columns: FILE_COLUMNS,
        parameters: None,
        text: "The files of the database.",
        rows: |view, rows| {
            for file in view.database.all_files()? {
                rows(file_row(&file));
            }
            Ok(())
        },
    },
    SystemView {
        schema: "sys",
        name: "master_files",
        columns: columns! {
            "database_id" INT; "file_id" INT; "file_guid" GUID null; "type" TINYINT; "type_desc" DESC null;
            "data_space_id" INT; "name" SYSNAME; "physical_name" PATH null; "state" TINYINT null;
            "state_desc" DESC null; "size" INT; "max_size" INT; "growth" INT; "is_media_read_only" BIT;
            "is_read_only" BIT; "is_sparse" BIT; "is_percent_growth" BIT; "is_name_reserved" BIT;
            "create_lsn" LSN null; "drop_lsn" LSN null; "read_only_lsn" LSN null; "read_write_lsn" LSN null;
            "differential_base_lsn" LSN null; "differential_base_guid" GUID null;
            "differential_base_time" DATETIME null; "redo_start_lsn" LSN null;
            "redo_start_fork_guid" GUID null; "redo_target_lsn" LSN null; "redo_target_fork_guid" GUID null;
            "backup_lsn" LSN null;
        },
        parameters: None,
        text: "The files of all open databases.",
        rows: master_files,
    },
    SystemView {
        schema: "sys",
        name: "filegroups",
        columns: columns! {
            "name" SYSNAME; "data_space_id" INT; "type" KIND; "type_desc" DESC null; "is_default" BIT null;
            "is_system" BIT null; "filegroup_guid" GUID null; "log_filegroup_id" INT null;
            "is_read_only" BIT null; "is_autogrow_all_files" BIT null;
        },
        parameters: None,
        text: "The filegroups of the database.",
        rows: filegroups,
    },
    SystemView {
        schema: "sys",
        name: "data_spaces",
        columns: columns! {
            "name" SYSNAME; "data_space_id" INT; "type" KIND; "type_desc" DESC null; "is_default" BIT null;
            "is_system" BIT null;
        },
        parameters: None,
        text: "The data spaces of tables and indexes: filegroups.",
        rows: data_spaces,
    },
    SystemView {
        schema: "dbo",
        name: "sysfiles",
        columns: columns! {
            "fileid" SMALLINT null; "groupid" SMALLINT null; "size" INT; "maxsize" INT; "growth" INT;
            "status" INT null; "perf" INT null; "name" SYSNAME; "filename" PATH null;
        },
        parameters: None,
        text: "The files of the database under their old names: use sys.database_files.",
        rows: sysfiles,
    },
    SystemView {
        schema: "sys",
        name: "dm_db_file_space_usage",
        columns: columns! {
            "database_id" SMALLINT null; "file_id" SMALLINT null; "filegroup_id" SMALLINT null;
            "total_page_count" BIGINT null; "allocated_extent_page_count" BIGINT null;
            "unallocated_extent_page_count" BIGINT null; "version_store_reserved_page_count" BIGINT null;
            "user_object_reserved_page_count" BIGINT null; "internal_object_reserved_page_count" BIGINT null;
            "mixed_extent_page_count" BIGINT null; "modified_extent_page_count" BIGINT null;
        },
        parameters: None,
        text: "The use of the data files of the database, in pages.",
        rows: space_usage,
    },
    SystemView {
        schema: "sys",
        name: "dm_db_log_space_usage",
        columns: columns! {
            "database_id" INT; "total_log_size_in_bytes" BIGINT; "used_log_space_in_bytes" BIGINT;
            "used_log_space_in_percent" REAL; "log_space_in_bytes_since_last_backup" BIGINT;
        },
        parameters: None,
        text: "How full the log of the database is.",
        rows: log_space,
    },
];

fn max_size(file: &FileView) -> i32 {
    if file.growth == FileGrowth::None {
        return 0;
    }
    match (file.max_pages, file.filegroup) {
        (Some(pages), _) => i32::try_from(pages).unwrap_or(i32::MAX),
        // The maximum size of a log without a limit is shown as 2 TB.
        (None, 0) => 268_435_456,
        (None, _) => -1,
    }
}

/// The growth of a file: pages or percent, and whether it is percent.
pub(crate) fn growth(growth: FileGrowth) -> (i32, bool) {
    match growth {
        FileGrowth::None => (0, false),
        FileGrowth::Pages(pages) => (i32::try_from(pages).unwrap_or(i32::MAX), false),
        FileGrowth::Percent(percent) => (i32::try_from(percent).unwrap_or(100), true),
    }
}

fn file_row(file: &FileView) -> Vec<Value> {
    let (growth, percent) = growth(file.growth);
    let is_log = file.filegroup == 0;
    let (state, state_text) = match file.state {
        FileViewState::Online => (0, "ONLINE"),
        FileViewState::Restoring => (1, "RESTORING"),
        FileViewState::RecoveryPending => (3, "RECOVERY_PENDING"),
    };
    let mut row = vec![
        int(file.id.0),
        guid(file.guid),
        tiny(u8::from(is_log)),
        text(if is_log { "LOG" } else { "ROWS" }),
        int(file.filegroup),
        text(file.name.clone()),
        text(file.path.display().to_string()),
        tiny(state),
        text(state_text),
        int(file.size_pages),
        int(max_size(file)),
        int(growth),
        bit(false),
        bit(file.read_only),
        bit(file.sparse),
        bit(percent),
        bit(false),
    ];
    row.extend(vec![Value::Null; 12]);
    row
}

fn master_files(view: &mut ViewContext<'_>, rows: Rows<'_>) -> Result<()> {
    for db in view.databases() {
        for file in db.all_files()? {
            let mut row = vec![int(db.id().0)];
            row.extend(file_row(&file));
            rows(row);
        }
    }
    Ok(())
}

fn space_of(view: &ViewContext<'_>) -> Vec<Vec<Value>> {
    let groups = view.database.filegroups().into_iter();
    let row = |group: furrow_engine::FilegroupView| {
        vec![
            text(group.name),
            int(group.id),
            ascii("FG"),
            text("ROWS_FILEGROUP"),
            bit(group.is_default),
            bit(false),
        ]
    };
    groups.map(row).collect()
}

fn data_spaces(view: &mut ViewContext<'_>, rows: Rows<'_>) -> Result<()> {
    space_of(view).into_iter().for_each(rows);
    Ok(())
}

fn filegroups(view: &mut ViewContext<'_>, rows: Rows<'_>) -> Result<()> {
    let groups = view.database.filegroups();
    for (mut row, group) in space_of(view).into_iter().zip(groups) {
        row.extend([
            Value::Null,
            Value::Null,
            bit(group.read_only),
            bit(group.autogrow_all),
        ]);
        rows(row);
    }
    Ok(())
}

fn sysfiles(view: &mut ViewContext<'_>, rows: Rows<'_>) -> Result<()> {
    for file in view.database.all_files()? {
        let (growth, percent) = growth(file.growth);
        let status = 2 + i32::from(file.filegroup == 0) * 0x40 + i32::from(percent) * 0x0010_0000;
        rows(vec![
            small(file.id.0),
            small(file.filegroup),
            int(file.size_pages),
            int(max_size(&file)),
            int(growth),
            int(status),
            int(0),
            text(file.name),
            text(file.path.display().to_string()),
        ]);
    }
    Ok(())
}

/// Pages reserved by user tables and their indexes, by file.
fn user_pages(db: &Arc<Database>) -> Result<BTreeMap<FileId, u64>> {
    let mut counted = BTreeMap::new();
    for table in db.catalog().tables() {
        for index in table.indexes() {
            for (file, pages) in db.reserved_by_file(index.rowset())? {
                *counted.entry(file).or_insert(0) += pages;
            }
        }
    }
    Ok(counted)
}

fn space_usage(view: &mut ViewContext<'_>, rows: Rows<'_>) -> Result<()> {
    let db = Arc::clone(&view.database);
    let user = user_pages(&db)?;
    for file in db.space_usage()? {
        rows(vec![
            small(db.id().0),
            small(file.file.0),
            small(file.filegroup),
            big(u64::from(file.size_pages)),
            big(file.allocated_extents * 8),
            big(file.free_extents * 8),
            big(0),
            big(user.get(&file.file).copied().unwrap_or(0)),
            big(0),
            big(file.mixed_extents * 8),
            big(db.modified_extents(file.file, file.size_pages)? * 8),
        ]);
    }
    Ok(())
}

fn log_space(view: &mut ViewContext<'_>, rows: Rows<'_>) -> Result<()> {
    let usage = view.database.log_view().usage;
    rows(vec![
        int(view.database.id().0),
        big(usage.total_bytes),
        big(usage.used_bytes),
        Value::Real(usage.used_percent() as f32),
        big(usage.used_bytes),
    ]);
    Ok(())
}
