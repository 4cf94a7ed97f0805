//! Databases: `sys.databases` and others.

use super::{Rows, SystemView, ViewContext, columns};
use crate::value::*;
use furrow_context::error::Result;
use furrow_engine::DatabaseView;
use furrow_format::{RecoveryModel, SessionDefaults};
use furrow_types::{Guid, Value};

const SID: furrow_types::DataType = varbinary(85);

pub(super) static VIEWS: &[SystemView] = &[
    SystemView {
        schema: "sys",
        name: "databases",
        columns: columns! {
            "name" SYSNAME; "database_id" INT; "source_database_id" INT null; "owner_sid" SID null;
            "create_date" DATETIME; "compatibility_level" TINYINT; "collation_name" SYSNAME null;
            "user_access" TINYINT null; "user_access_desc" DESC null; "is_read_only" BIT null;
            "is_auto_close_on" BIT; "is_auto_shrink_on" BIT null; "state" TINYINT null;
            "state_desc" DESC null;
            "is_in_standby" BIT null; "is_cleanly_shutdown" BIT null;
            "is_supplemental_logging_enabled" BIT null;
            "snapshot_isolation_state" TINYINT null; "snapshot_isolation_state_desc" DESC null;
            "is_read_committed_snapshot_on" BIT null; "recovery_model" TINYINT null;
            "recovery_model_desc" DESC null; "page_verify_option" TINYINT null;
            "page_verify_option_desc" DESC null; "is_auto_create_stats_on" BIT null;
            "is_auto_create_stats_incremental_on" BIT null; "is_auto_update_stats_on" BIT null;
            "is_auto_update_stats_async_on" BIT null; "is_ansi_null_default_on" BIT null;
            "is_ansi_nulls_on" BIT null; "is_ansi_padding_on" BIT null; "is_ansi_warnings_on" BIT null;
            "is_arithabort_on" BIT null; "is_concat_null_yields_null_on" BIT null;
            "is_numeric_roundabort_on" BIT null; "is_quoted_identifier_on" BIT null;
            "is_recursive_triggers_on" BIT null; "is_cursor_close_on_commit_on" BIT null;
            "is_local_cursor_default" BIT null; "is_fulltext_enabled" BIT null; "is_trustworthy_on" BIT null;
            "is_db_chaining_on" BIT null; "is_parameterization_forced" BIT null;
            "is_master_key_encrypted_by_server" BIT; "is_query_store_on" BIT null; "is_published" BIT;
            "is_subscribed" BIT; "is_merge_published" BIT; "is_distributor" BIT; "is_sync_with_backup" BIT;
            "service_broker_guid" GUID; "is_broker_enabled" BIT; "log_reuse_wait" TINYINT null;
            "log_reuse_wait_desc" DESC null; "is_date_correlation_on" BIT; "is_cdc_enabled" BIT;
            "is_encrypted" BIT null; "is_honor_broker_priority_on" BIT null; "replica_id" GUID null;
            "group_database_id" GUID null; "resource_pool_id" INT null; "default_language_lcid" SMALLINT null;
            "default_language_name" SYSNAME null; "default_fulltext_language_lcid" INT null;
            "default_fulltext_language_name" SYSNAME null; "is_nested_triggers_on" BIT null;
            "is_transform_noise_words_on" BIT null; "two_digit_year_cutoff" SMALLINT null;
            "containment" TINYINT null;
            "containment_desc" DESC null; "target_recovery_time_in_seconds" INT null;
            "delayed_durability" INT null; "delayed_durability_desc" DESC null;
            "is_memory_optimized_elevate_to_snapshot_on" BIT null; "is_federation_member" BIT null;
            "is_remote_data_archive_enabled" BIT null; "is_mixed_page_allocation_on" BIT null;
            "is_temporal_history_retention_enabled" BIT null; "catalog_collation_type" INT;
            "catalog_collation_type_desc" DESC null; "physical_database_name" SYSNAME null;
            "is_result_set_caching_on" BIT null; "is_accelerated_database_recovery_on" BIT null;
        },
        parameters: None,
        text: "The databases of the instance, their states and options.",
        rows: databases,
    },
    SystemView {
        schema: "dbo",
        name: "sysdatabases",
        columns: columns! {
            "name" SYSNAME; "dbid" SMALLINT null; "crdate" DATETIME; "cmptlevel" TINYINT;
            "filename" PATH null; "version" SMALLINT null;
        },
        parameters: None,
        text: "The databases under their old names: use sys.databases.",
        rows: sysdatabases,
    },
];

const PATH: furrow_types::DataType = nvarchar(260);

/// The version of the files that Furrow writes.
pub(crate) const FILE_VERSION: i16 = 706;
/// The compatibility level; for a database that is not open, that of a new database.
fn level(database: &DatabaseView) -> Value {
    let options = database.options.unwrap_or_default();
    tiny(u8::try_from(options.compatibility_level).unwrap_or(u8::MAX))
}

/// `recovery_model` and its description.
pub(crate) fn recovery_model(model: RecoveryModel) -> (u8, &'static str) {
    match model {
        RecoveryModel::Full => (1, "FULL"),
        RecoveryModel::BulkLogged => (2, "BULK_LOGGED"),
        RecoveryModel::Simple => (3, "SIMPLE"),
    }
}

fn databases(view: &mut ViewContext<'_>, rows: Rows<'_>) -> Result<()> {
    for database in view.cx.server.instance().databases() {
        rows(database_row(view, database));
    }
    Ok(())
}

/// Defaults for sessions that do not set these options: ANSI_NULL_DEFAULT to CONCAT_NULL_YIELDS_NULL,
/// NUMERIC_ROUNDABORT, QUOTED_IDENTIFIER, RECURSIVE_TRIGGERS, CURSOR_CLOSE_ON_COMMIT, local cursors.
fn session_defaults(defaults: &SessionDefaults) -> [Value; 11] {
    let is_on = |name| bit(defaults.is_on(name));
    [
        is_on("ANSI_NULL_DEFAULT"),
        is_on("ANSI_NULLS"),
        is_on("ANSI_PADDING"),
        is_on("ANSI_WARNINGS"),
        is_on("ARITHABORT"),
        is_on("CONCAT_NULL_YIELDS_NULL"),
        is_on("NUMERIC_ROUNDABORT"),
        is_on("QUOTED_IDENTIFIER"),
        bit(false),
        is_on("CURSOR_CLOSE_ON_COMMIT"),
        bit(false),
    ]
}

fn database_row(view: &ViewContext<'_>, database: DatabaseView) -> Vec<Value> {
    let open = view.cx.server.instance().database_by_id(database.id);
    let online = open.is_some();
    let when_open = |value: Value| if online { value } else { Value::Null };
    let model = database.recovery_model.map(recovery_model);
    let wait = open.as_ref().map(|db| db.log_view().reuse_wait);
    let options = database.options;
    let created = open.as_ref().and_then(|db| db.created());
    let state = database.state as u8;
    let standby = bit(database.standby);
    let off = bit(false);
    let name = database.name.clone();
    let level = level(&database);
    let mut row = vec![
        text(database.name),
        int(database.id.0),
        database.source.map_or(Value::Null, |source| int(source.0)),
        Value::Binary(vec![1]),
        created.map_or_else(|| datetime(view.cx.server.started()), Value::DateTime),
        level,
        when_open(text(COLLATION)),
        options.map_or(Value::Null, |o| tiny(o.user_access.to_byte())),
        maybe_text(options.map(|o| o.user_access.name())),
        bit(database.read_only),
        off.clone(),
        off.clone(),
        tiny(state),
        text(database.state.name()),
        standby,
        bit(!online),
        off.clone(),
        tiny(0),
        text("OFF"),
        off.clone(),
    ];
    row.push(model.map_or(Value::Null, |m| tiny(m.0)));
    row.push(maybe_text(model.map(|m| m.1)));
    row.push(options.map_or(Value::Null, |o| tiny(o.page_verify.to_byte())));
    row.push(maybe_text(options.map(|o| o.page_verify.name())));
    // Statistics: created, incremental, updated, asynchronously.
    row.extend([
        bit(options.is_some_and(|o| o.auto_create_statistics)),
        off.clone(),
        bit(options.is_some_and(|o| o.auto_update_statistics)),
        off.clone(),
    ]);
    row.extend(session_defaults(&options.unwrap_or_default().defaults));
    // Full text, trustworthy, chaining, forced parameters, master key, query store, replication (5), broker.
    row.extend(vec![off.clone(); 11]);
    row.extend([guid(Guid::default()), off.clone()]);
    row.push(wait.map_or(Value::Null, |w| tiny(w.number())));
    row.push(wait.map_or(Value::Null, |w| text(w.name())));
    row.extend(vec![off.clone(); 4]);
    // Columns of availability groups, resource pools and contained databases, which do not exist here.
    row.extend(vec![Value::Null; 10]);
    row.extend([tiny(0), text("NONE")]);
    row.push(options.map_or(Value::Null, |o| int(o.target_recovery_s)));
    let delayed = options.map(|o| o.delayed_durability);
    row.push(delayed.map_or(Value::Null, |d| int(d.to_byte())));
    row.push(maybe_text(
        delayed.map(furrow_format::DelayedDurability::name),
    ));
    // Memory-optimized tables, federation, remote archive.
    row.extend(vec![off.clone(); 3]);
    row.push(bit(options.is_some_and(|o| o.mixed_pages)));
    row.extend([off.clone(), int(0), text("DATABASE_DEFAULT"), text(name)]);
    // Result set caching, accelerated recovery.
    row.extend([off.clone(), off]);
    row
}

/// The name of the default collation.
pub(crate) const COLLATION: &str = "SQL_Latin1_General_CP1_CI_AS";

fn sysdatabases(view: &mut ViewContext<'_>, rows: Rows<'_>) -> Result<()> {
    for database in view.cx.server.instance().databases() {
        let open = view.cx.server.instance().database_by_id(database.id);
        let created = open.and_then(|db| db.created());
        let level = level(&database);
        rows(vec![
            text(database.name),
            small(database.id.0),
            created.map_or_else(|| datetime(view.cx.server.started()), Value::DateTime),
            level,
            text(database.primary.display().to_string()),
            small(FILE_VERSION),
        ]);
    }
    Ok(())
}
