//! The tables of `msdb`: SQL Server's names, columns and types.

use furrow_engine::{ColumnSpec, TableSpec};
use furrow_sysviews::value::{
    BIGINT, BIT, DATETIME, GUID, INT, LSN, SMALLINT, TINYINT, char, nvarchar, varbinary,
};
use furrow_types::{DataType, TypeId};

/// A column that may be NULL.
type Column = (&'static str, DataType);

struct TableRow {
    name: &'static str,
    /// The identity column, which is then the key; otherwise `key` has the columns of the key.
    identity: Option<&'static str>,
    key: &'static [&'static str],
    columns: &'static [Column],
}

/// `numeric(10, 0)`.
const COUNT: DataType = DataType {
    precision: 10,
    length: 9,
    ..DataType::simple(TypeId::Numeric)
};
/// `numeric(20, 0)`.
const SIZE: DataType = DataType {
    precision: 20,
    length: 13,
    ..DataType::simple(TypeId::Numeric)
};

static TABLES: &[TableRow] = &[
    TableRow {
        name: "backupmediaset",
        identity: Some("media_set_id"),
        key: &[],
        columns: &[
            ("media_uuid", GUID),
            ("media_family_count", TINYINT),
            ("name", nvarchar(128)),
            ("description", nvarchar(255)),
            ("software_name", nvarchar(128)),
            ("software_vendor_id", INT),
            ("MTF_major_version", TINYINT),
            ("mirror_count", TINYINT),
            ("is_password_protected", BIT),
            ("is_compressed", BIT),
            ("is_encrypted", BIT),
        ],
    },
    TableRow {
        name: "backupmediafamily",
        identity: None,
        key: &["media_set_id", "family_sequence_number", "mirror"],
        columns: &[
            ("media_set_id", INT),
            ("family_sequence_number", TINYINT),
            ("media_family_id", GUID),
            ("media_count", INT),
            ("logical_device_name", nvarchar(128)),
            ("physical_device_name", nvarchar(260)),
            ("device_type", TINYINT),
            ("physical_block_size", INT),
            ("mirror", TINYINT),
        ],
    },
    TableRow {
        name: "backupset",
        identity: Some("backup_set_id"),
        key: &[],
        columns: BACKUP_SET,
    },
    TableRow {
        name: "backupfile",
        identity: None,
        key: &["backup_set_id", "file_number"],
        columns: BACKUP_FILE,
    },
    TableRow {
        name: "restorehistory",
        identity: Some("restore_history_id"),
        key: &[],
        columns: &[
            ("restore_date", DATETIME),
            ("destination_database_name", nvarchar(128)),
            ("user_name", nvarchar(128)),
            ("backup_set_id", INT),
            ("restore_type", char(1)),
            ("replace", BIT),
            ("recovery", BIT),
            ("restart", BIT),
            ("stop_at", DATETIME),
            ("device_count", TINYINT),
            ("stop_at_mark_name", nvarchar(128)),
            ("stop_before", BIT),
        ],
    },
    TableRow {
        name: "restorefile",
        identity: None,
        key: &["restore_history_id", "file_number"],
        columns: &[
            ("restore_history_id", INT),
            ("file_number", COUNT),
            ("destination_phys_drive", nvarchar(260)),
            ("destination_phys_name", nvarchar(260)),
        ],
    },
    TableRow {
        name: "suspect_pages",
        identity: None,
        key: &["database_id", "file_id", "page_id"],
        columns: &[
            ("database_id", INT),
            ("file_id", INT),
            ("page_id", BIGINT),
            ("event_type", INT),
            ("error_count", INT),
            ("last_update_date", DATETIME),
        ],
    },
];

const BACKUP_SET: &[Column] = &[
    ("backup_set_uuid", GUID),
    ("media_set_id", INT),
    ("first_family_number", TINYINT),
    ("first_media_number", SMALLINT),
    ("last_family_number", TINYINT),
    ("last_media_number", SMALLINT),
    ("catalog_family_number", TINYINT),
    ("catalog_media_number", SMALLINT),
    ("position", INT),
    ("expiration_date", DATETIME),
    ("software_vendor_id", INT),
    ("name", nvarchar(128)),
    ("description", nvarchar(255)),
    ("user_name", nvarchar(128)),
    ("software_major_version", TINYINT),
    ("software_minor_version", TINYINT),
    ("software_build_version", SMALLINT),
    ("time_zone", SMALLINT),
    ("mtf_minor_version", TINYINT),
    ("first_lsn", LSN),
    ("last_lsn", LSN),
    ("checkpoint_lsn", LSN),
    ("database_backup_lsn", LSN),
    ("database_creation_date", DATETIME),
    ("backup_start_date", DATETIME),
    ("backup_finish_date", DATETIME),
    ("type", char(1)),
    ("sort_order", SMALLINT),
    ("code_page", SMALLINT),
    ("compatibility_level", TINYINT),
    ("database_version", INT),
    ("backup_size", SIZE),
    ("database_name", nvarchar(128)),
    ("server_name", nvarchar(128)),
    ("machine_name", nvarchar(128)),
    ("flags", INT),
    ("unicode_locale", INT),
    ("unicode_compare_style", INT),
    ("collation_name", nvarchar(128)),
    ("is_password_protected", BIT),
    ("recovery_model", nvarchar(60)),
    ("has_bulk_logged_data", BIT),
    ("is_snapshot", BIT),
    ("is_readonly", BIT),
    ("is_single_user", BIT),
    ("has_backup_checksums", BIT),
    ("is_damaged", BIT),
    ("begins_log_chain", BIT),
    ("has_incomplete_metadata", BIT),
    ("is_force_offline", BIT),
    ("is_copy_only", BIT),
    ("first_recovery_fork_guid", GUID),
    ("last_recovery_fork_guid", GUID),
    ("fork_point_lsn", LSN),
    ("database_guid", GUID),
    ("family_guid", GUID),
    ("differential_base_lsn", LSN),
    ("differential_base_guid", GUID),
    ("compressed_backup_size", SIZE),
    ("key_algorithm", nvarchar(32)),
    ("encryptor_thumbprint", varbinary(20)),
    ("encryptor_type", nvarchar(32)),
];

const BACKUP_FILE: &[Column] = &[
    ("backup_set_id", INT),
    ("first_family_number", TINYINT),
    ("first_media_number", SMALLINT),
    ("filegroup_name", nvarchar(128)),
    ("page_size", INT),
    ("file_number", COUNT),
    ("backed_up_page_count", COUNT),
    ("file_type", char(1)),
    ("source_file_block_size", COUNT),
    ("file_size", SIZE),
    ("logical_name", nvarchar(128)),
    ("physical_drive", nvarchar(260)),
    ("physical_name", nvarchar(260)),
    ("state", TINYINT),
    ("state_desc", nvarchar(64)),
    ("create_lsn", LSN),
    ("drop_lsn", LSN),
    ("file_guid", GUID),
    ("read_only_lsn", LSN),
    ("read_write_lsn", LSN),
    ("differential_base_lsn", LSN),
    ("differential_base_guid", GUID),
    ("backup_size", SIZE),
    ("filegroup_guid", GUID),
    ("is_readonly", BIT),
    ("is_present", BIT),
];

/// Definitions of all tables.
pub(super) fn specs() -> Vec<TableSpec> {
    let spec = |row: &TableRow| {
        let mut spec = TableSpec::new(row.name);
        if let Some(name) = row.identity {
            spec = spec.column(ColumnSpec::new(name, INT).identity(1, 1));
        }
        for (name, data_type) in row.columns {
            let column = ColumnSpec::new(name, *data_type);
            spec = spec.column(match row.key.contains(name) {
                true => column.not_null(),
                false => column,
            });
        }
        let key: Vec<&str> = row
            .identity
            .into_iter()
            .chain(row.key.iter().copied())
            .collect();
        spec.primary_key(key)
    };
    TABLES.iter().map(spec).collect()
}

/// The position of a column in a row.
pub(super) fn place(table: &str, column: &str) -> Option<usize> {
    let row = TABLES.iter().find(|row| row.name == table)?;
    let place = row.columns.iter().position(|(name, _)| *name == column)?;
    Some(place + usize::from(row.identity.is_some()))
}
