//! The columns of system views against what SQL Server's documentation lists: names, types, order.
//!
//! The lists below were written down from the documentation, not from the code.

use furrow_engine::{Instance, InstanceConfig};
use furrow_sql::{Kept, Server};

/// `sys.objects`, which other views of the catalog inherit.
const OBJECTS: &str = "name sysname, object_id int, principal_id int, schema_id int, parent_object_id int, \
    type char(2), type_desc nvarchar(60), create_date datetime, modify_date datetime, is_ms_shipped bit, \
    is_published bit, is_schema_published bit";

/// The columns of `sys.database_files` behind its number.
const FILES: &str = "file_guid uniqueidentifier, type tinyint, type_desc nvarchar(60), data_space_id int, \
    name sysname, physical_name nvarchar(260), state tinyint, state_desc nvarchar(60), size int, \
    max_size int, \
    growth int, is_media_read_only bit, is_read_only bit, is_sparse bit, is_percent_growth bit, \
    is_name_reserved bit, create_lsn numeric(25,0), drop_lsn numeric(25,0), read_only_lsn numeric(25,0), \
    read_write_lsn numeric(25,0), differential_base_lsn numeric(25,0), \
    differential_base_guid uniqueidentifier, \
    differential_base_time datetime, redo_start_lsn numeric(25,0), redo_start_fork_guid uniqueidentifier, \
    redo_target_lsn numeric(25,0), redo_target_fork_guid uniqueidentifier, backup_lsn numeric(25,0)";

/// What sessions and requests have in common, from the settings on.
const SETTINGS: &str = "text_size int, language nvarchar(128), date_format nvarchar(3), date_first smallint, \
    quoted_identifier bit, arithabort bit, ansi_null_dflt_on bit, ansi_defaults bit, ansi_warnings bit, \
    ansi_padding bit, ansi_nulls bit, concat_null_yields_null bit, transaction_isolation_level smallint, \
    lock_timeout int, deadlock_priority int, row_count bigint, prev_error int";

/// A view or function with its arguments, and its columns; `{OBJECTS}` and its like stand for what views
/// share.
const FACTS: &[(&str, &str)] = &[
    (
        "sys.databases",
        "name sysname, database_id int, source_database_id int, owner_sid varbinary(85), \
        create_date datetime, \
        compatibility_level tinyint, collation_name sysname, user_access tinyint, \
        user_access_desc nvarchar(60), is_read_only bit, is_auto_close_on bit, is_auto_shrink_on bit, \
        state tinyint, state_desc nvarchar(60), is_in_standby bit, is_cleanly_shutdown bit, \
        is_supplemental_logging_enabled bit, snapshot_isolation_state tinyint, \
        snapshot_isolation_state_desc nvarchar(60), is_read_committed_snapshot_on bit, \
        recovery_model tinyint, \
        recovery_model_desc nvarchar(60), page_verify_option tinyint, page_verify_option_desc nvarchar(60), \
        is_auto_create_stats_on bit, is_auto_create_stats_incremental_on bit, is_auto_update_stats_on bit, \
        is_auto_update_stats_async_on bit, is_ansi_null_default_on bit, is_ansi_nulls_on bit, \
        is_ansi_padding_on bit, is_ansi_warnings_on bit, is_arithabort_on bit, \
        is_concat_null_yields_null_on bit, is_numeric_roundabort_on bit, is_quoted_identifier_on bit, \
        is_recursive_triggers_on bit, is_cursor_close_on_commit_on bit, is_local_cursor_default bit, \
        is_fulltext_enabled bit, is_trustworthy_on bit, is_db_chaining_on bit, \
        is_parameterization_forced bit, \
        is_master_key_encrypted_by_server bit, is_query_store_on bit, is_published bit, is_subscribed bit, \
        is_merge_published bit, is_distributor bit, is_sync_with_backup bit, \
        service_broker_guid uniqueidentifier, is_broker_enabled bit, log_reuse_wait tinyint, \
        log_reuse_wait_desc nvarchar(60), is_date_correlation_on bit, is_cdc_enabled bit, is_encrypted bit, \
        is_honor_broker_priority_on bit, ...",
    ),
    (
        "sys.dm_db_index_usage_stats",
        "database_id smallint, object_id int, index_id int, user_seeks bigint, user_scans bigint, \
        user_lookups bigint, user_updates bigint, last_user_seek datetime, last_user_scan datetime, \
        last_user_lookup datetime, last_user_update datetime, system_seeks bigint, system_scans bigint, \
        system_lookups bigint, system_updates bigint, last_system_seek datetime, last_system_scan datetime, \
        last_system_lookup datetime, last_system_update datetime",
    ),
    (
        "sys.dm_exec_query_stats",
        "sql_handle varbinary(64), statement_start_offset int, statement_end_offset int, \
        plan_generation_num bigint, plan_handle varbinary(64), creation_time datetime, \
        last_execution_time datetime, execution_count bigint, total_worker_time bigint, \
        last_worker_time bigint, min_worker_time bigint, max_worker_time bigint, \
        total_physical_reads bigint, last_physical_reads bigint, min_physical_reads bigint, \
        max_physical_reads bigint, total_logical_writes bigint, last_logical_writes bigint, \
        min_logical_writes bigint, max_logical_writes bigint, total_logical_reads bigint, \
        last_logical_reads bigint, min_logical_reads bigint, max_logical_reads bigint, \
        total_clr_time bigint, last_clr_time bigint, min_clr_time bigint, max_clr_time bigint, \
        total_elapsed_time bigint, last_elapsed_time bigint, min_elapsed_time bigint, \
        max_elapsed_time bigint, query_hash binary(8), query_plan_hash binary(8), total_rows bigint, \
        last_rows bigint, min_rows bigint, max_rows bigint, ...",
    ),
    (
        "sys.dm_os_volume_stats(1, 1)",
        "database_id int, file_id int, volume_mount_point nvarchar(512), volume_id nvarchar(512), \
        logical_volume_name nvarchar(512), file_system_type nvarchar(512), total_bytes bigint, \
        available_bytes bigint, supports_compression tinyint, supports_alternate_streams tinyint, \
        supports_sparse_files tinyint, is_read_only tinyint, is_compressed tinyint, \
        incurs_seek_penalty tinyint",
    ),
    (
        "sys.dm_tran_active_transactions",
        "transaction_id bigint, name nvarchar(32), transaction_begin_time datetime, transaction_type int, \
        transaction_uow uniqueidentifier, transaction_state int, transaction_status int, \
        transaction_status2 int, dtc_state int, dtc_status int, dtc_isolation_level int, \
        filestream_transaction_id varbinary(128)",
    ),
    (
        "sys.dm_tran_session_transactions",
        "session_id int, transaction_id bigint, transaction_descriptor binary(8), enlist_count int, \
        is_user_transaction bit, is_local bit, is_enlisted bit, is_bound bit, open_transaction_count int",
    ),
    (
        "sys.stats",
        "object_id int, name sysname, stats_id int, auto_created bit, user_created bit, no_recompute bit, \
        has_filter bit, filter_definition nvarchar(max), is_temporary bit, is_incremental bit",
    ),
    (
        "sys.stats_columns",
        "object_id int, stats_id int, stats_column_id int, column_id int",
    ),
    (
        "sys.server_principals",
        "name sysname, principal_id int, sid varbinary(85), type char(1), type_desc nvarchar(60), \
        is_disabled bit, create_date datetime, modify_date datetime, default_database_name sysname, \
        default_language_name sysname, credential_id int, owning_principal_id int, is_fixed_role bit",
    ),
    (
        "sys.database_principals",
        "name sysname, principal_id int, type char(1), type_desc nvarchar(60), default_schema_name sysname, \
        create_date datetime, modify_date datetime, owning_principal_id int, sid varbinary(85), \
        is_fixed_role bit, authentication_type int, authentication_type_desc nvarchar(60), \
        default_language_name sysname, default_language_lcid int, allow_encrypted_value_modifications bit",
    ),
    (
        "sys.triggers",
        "name sysname, object_id int, parent_class tinyint, parent_class_desc nvarchar(60), parent_id int, \
        type char(2), type_desc nvarchar(60), create_date datetime, modify_date datetime, \
        is_ms_shipped bit, is_disabled bit, is_not_for_replication bit, is_instead_of_trigger bit",
    ),
    ("sys.synonyms", "{OBJECTS}, base_object_name nvarchar(1035)"),
    (
        "sys.extended_properties",
        "class tinyint, class_desc nvarchar(60), major_id int, minor_id int, name sysname, value sql_variant",
    ),
    (
        "sys.messages",
        "message_id int, language_id smallint, severity tinyint, is_event_logged bit, text nvarchar(2048)",
    ),
    (
        "sys.dm_os_sys_memory",
        "total_physical_memory_kb bigint, available_physical_memory_kb bigint, total_page_file_kb bigint, \
        available_page_file_kb bigint, system_cache_kb bigint, kernel_paged_pool_kb bigint, \
        kernel_nonpaged_pool_kb bigint, system_high_memory_signal_state bit, \
        system_low_memory_signal_state bit, system_memory_state_desc nvarchar(256)",
    ),
    ("sys.database_files", "file_id int, {FILES}"),
    ("sys.master_files", "database_id int, file_id int, {FILES}"),
    (
        "sys.filegroups",
        "name sysname, data_space_id int, type char(2), type_desc nvarchar(60), is_default bit, \
        is_system bit, \
        filegroup_guid uniqueidentifier, log_filegroup_id int, is_read_only bit, is_autogrow_all_files bit",
    ),
    (
        "sys.data_spaces",
        "name sysname, data_space_id int, type char(2), type_desc nvarchar(60), is_default bit, \
        is_system bit",
    ),
    ("sys.objects", "{OBJECTS}"),
    (
        "sys.tables",
        "{OBJECTS}, lob_data_space_id int, filestream_data_space_id int, max_column_id_used int, \
        lock_on_bulk_load bit, uses_ansi_nulls bit, is_replicated bit, has_replication_filter bit, \
        is_merge_published bit, is_sync_tran_subscribed bit, has_unchecked_assembly_data bit, \
        text_in_row_limit int, large_value_types_out_of_row bit, is_tracked_by_cdc bit, \
        lock_escalation tinyint, lock_escalation_desc nvarchar(60), is_filetable bit, durability tinyint, \
        durability_desc nvarchar(60), is_memory_optimized bit, temporal_type tinyint, \
        temporal_type_desc nvarchar(60), history_table_id int, is_remote_data_archive_enabled bit, \
        is_external bit",
    ),
    (
        "sys.columns",
        "object_id int, name sysname, column_id int, system_type_id tinyint, user_type_id int, \
        max_length smallint, precision tinyint, scale tinyint, collation_name sysname, is_nullable bit, \
        is_ansi_padded bit, is_rowguidcol bit, is_identity bit, is_computed bit, is_filestream bit, \
        is_replicated bit, is_non_sql_subscribed bit, is_merge_published bit, is_dts_replicated bit, \
        is_xml_document bit, xml_collection_id int, default_object_id int, rule_object_id int, \
        is_sparse bit, \
        is_column_set bit, generated_always_type tinyint, generated_always_type_desc nvarchar(60), \
        encryption_type int, encryption_type_desc nvarchar(60), encryption_algorithm_name sysname, \
        column_encryption_key_id int, column_encryption_key_database_name sysname, is_hidden bit, \
        is_masked bit",
    ),
    (
        "sys.indexes",
        "object_id int, name sysname, index_id int, type tinyint, type_desc nvarchar(60), is_unique bit, \
        data_space_id int, ignore_dup_key bit, is_primary_key bit, is_unique_constraint bit, \
        fill_factor tinyint, is_padded bit, is_disabled bit, is_hypothetical bit, allow_row_locks bit, \
        allow_page_locks bit, has_filter bit, filter_definition nvarchar(max), auto_created bit",
    ),
    (
        "sys.index_columns",
        "object_id int, index_id int, index_column_id int, column_id int, key_ordinal tinyint, \
        partition_ordinal tinyint, is_descending_key bit, is_included_column bit",
    ),
    (
        "sys.partitions",
        "partition_id bigint, object_id int, index_id int, partition_number int, hobt_id bigint, \
        rows bigint, \
        filestream_filegroup_id smallint, data_compression tinyint, data_compression_desc nvarchar(60)",
    ),
    (
        "sys.allocation_units",
        "allocation_unit_id bigint, type tinyint, type_desc nvarchar(60), container_id bigint, \
        data_space_id int, total_pages bigint, used_pages bigint, data_pages bigint",
    ),
    (
        "sys.types",
        "name sysname, system_type_id tinyint, user_type_id int, schema_id int, principal_id int, \
        max_length smallint, precision tinyint, scale tinyint, collation_name sysname, is_nullable bit, \
        is_user_defined bit, is_assembly_type bit, default_object_id int, rule_object_id int, \
        is_table_type bit",
    ),
    (
        "sys.schemas",
        "name sysname, schema_id int, principal_id int",
    ),
    (
        "sys.check_constraints",
        "{OBJECTS}, is_disabled bit, is_not_for_replication bit, is_not_trusted bit, parent_column_id int, \
        definition nvarchar(max), uses_database_collation bit, is_system_named bit",
    ),
    (
        "sys.default_constraints",
        "{OBJECTS}, parent_column_id int, definition nvarchar(max), is_system_named bit",
    ),
    (
        "sys.key_constraints",
        "{OBJECTS}, unique_index_id int, is_system_named bit, is_enforced bit",
    ),
    (
        "sys.sql_modules",
        "object_id int, definition nvarchar(max), uses_ansi_nulls bit, uses_quoted_identifier bit, \
        is_schema_bound bit, uses_database_collation bit, is_recompiled bit, null_on_null_input bit, \
        execute_as_principal_id int, uses_native_compilation bit",
    ),
    (
        "sys.parameters",
        "object_id int, name sysname, parameter_id int, system_type_id tinyint, user_type_id int, \
        max_length smallint, precision tinyint, scale tinyint, is_output bit, is_cursor_ref bit, \
        has_default_value bit, is_xml_document bit, default_value sql_variant, xml_collection_id int, \
        is_readonly bit, is_nullable bit",
    ),
    (
        "sys.configurations",
        "configuration_id int, name nvarchar(35), value sql_variant, minimum sql_variant, \
        maximum sql_variant, value_in_use sql_variant, description nvarchar(255), is_dynamic bit, \
        is_advanced bit",
    ),
    (
        "sys.dm_os_wait_stats",
        "wait_type nvarchar(60), waiting_tasks_count bigint, wait_time_ms bigint, max_wait_time_ms bigint, \
        signal_wait_time_ms bigint",
    ),
    (
        "sys.dm_exec_session_wait_stats",
        "session_id smallint, wait_type nvarchar(60), waiting_tasks_count bigint, wait_time_ms bigint, \
        max_wait_time_ms bigint, signal_wait_time_ms bigint",
    ),
    (
        "sys.dm_os_waiting_tasks",
        "waiting_task_address varbinary(8), session_id smallint, exec_context_id int, \
        wait_duration_ms bigint, \
        wait_type nvarchar(60), resource_address varbinary(8), blocking_task_address varbinary(8), \
        blocking_session_id smallint, blocking_exec_context_id int, resource_description nvarchar(3072)",
    ),
    (
        "sys.dm_os_latch_stats",
        "latch_class nvarchar(60), waiting_requests_count bigint, wait_time_ms bigint, \
        max_wait_time_ms bigint",
    ),
    (
        "sys.dm_os_spinlock_stats",
        "name nvarchar(256), collisions bigint, spins bigint, spins_per_collision real, sleep_time bigint, \
        backoffs int",
    ),
    (
        "sys.dm_os_performance_counters",
        "object_name nchar(128), counter_name nchar(128), instance_name nchar(128), cntr_value bigint, \
        cntr_type int",
    ),
    // SQL Server puts the queued figures behind those that they are part of, where the documentation lists
    // them last.
    (
        "sys.dm_io_virtual_file_stats(NULL, NULL)",
        "database_id smallint, file_id smallint, sample_ms bigint, num_of_reads bigint, \
        num_of_bytes_read bigint, io_stall_read_ms bigint, io_stall_queued_read_ms bigint, \
        num_of_writes bigint, num_of_bytes_written bigint, io_stall_write_ms bigint, \
        io_stall_queued_write_ms bigint, io_stall bigint, size_on_disk_bytes bigint, \
        file_handle varbinary(8)",
    ),
    (
        "sys.dm_db_file_space_usage",
        "database_id smallint, file_id smallint, filegroup_id smallint, total_page_count bigint, \
        allocated_extent_page_count bigint, unallocated_extent_page_count bigint, \
        version_store_reserved_page_count bigint, user_object_reserved_page_count bigint, \
        internal_object_reserved_page_count bigint, mixed_extent_page_count bigint, \
        modified_extent_page_count bigint",
    ),
    (
        "sys.dm_db_log_info(NULL)",
        "database_id int, file_id smallint, vlf_begin_offset bigint, vlf_size_mb float, \
        vlf_sequence_number bigint, vlf_active bit, vlf_status int, vlf_parity tinyint, \
        vlf_first_lsn nvarchar(24), vlf_create_lsn nvarchar(24), vlf_encryptor_thumbprint varbinary(20)",
    ),
    (
        "sys.dm_os_buffer_descriptors",
        "database_id int, file_id int, page_id int, page_level int, allocation_unit_id bigint, \
        page_type nvarchar(60), row_count int, free_space_in_bytes int, is_modified bit, numa_node int, \
        read_microsec bigint, is_in_bpool_extension bit",
    ),
    (
        "sys.dm_tran_locks",
        "resource_type nvarchar(60), resource_subtype nvarchar(60), resource_database_id int, \
        resource_description nvarchar(256), resource_associated_entity_id bigint, \
        resource_lock_partition int, \
        request_mode nvarchar(60), request_type nvarchar(60), request_status nvarchar(60), \
        request_reference_count smallint, request_lifetime int, request_session_id int, \
        request_exec_context_id int, request_request_id int, request_owner_type nvarchar(60), \
        request_owner_id bigint, ...",
    ),
    (
        "sys.dm_db_index_physical_stats(NULL, NULL, NULL, NULL, NULL)",
        "database_id smallint, object_id int, index_id int, partition_number int, \
        index_type_desc nvarchar(60), alloc_unit_type_desc nvarchar(60), index_depth tinyint, \
        index_level tinyint, avg_fragmentation_in_percent float, fragment_count bigint, \
        avg_fragment_size_in_pages float, page_count bigint, avg_page_space_used_in_percent float, \
        record_count bigint, ghost_record_count bigint, version_ghost_record_count bigint, \
        min_record_size_in_bytes int, max_record_size_in_bytes int, avg_record_size_in_bytes float, \
        forwarded_record_count bigint, compressed_page_count bigint, hobt_id bigint, \
        columnstore_delete_buffer_state tinyint, columnstore_delete_buffer_state_desc nvarchar(60)",
    ),
    (
        "sys.dm_db_page_info(1, 1, 0, 'LIMITED')",
        "database_id int, file_id int, page_id int, page_type int, page_type_desc nvarchar(64), \
        page_flag_bits nvarchar(64), page_flag_bits_desc nvarchar(256), page_type_flag_bits nvarchar(64), \
        page_type_flag_bits_desc nvarchar(64), object_id int, index_id int, partition_id bigint, \
        alloc_unit_id bigint, page_level int, slot_count smallint, ghost_rec_count smallint, torn_bits int, \
        is_iam_pg bit, is_mixed_ext bit, pfs_file_id smallint, pfs_page_id int, pfs_alloc_percent int, \
        pfs_status nvarchar(64), pfs_status_desc nvarchar(64), gam_file_id smallint, gam_page_id int, \
        gam_status bit, gam_status_desc nvarchar(64), sgam_file_id smallint, sgam_page_id int, \
        sgam_status bit, sgam_status_desc nvarchar(64), diff_map_file_id smallint, diff_map_page_id int, \
        diff_status bit, diff_status_desc nvarchar(64), ml_file_id smallint, ml_page_id int, ml_status bit, \
        ml_status_desc nvarchar(64), free_bytes smallint, free_data_offset int, reserved_bytes smallint, \
        reserved_xdes_id smallint, xdes_id nvarchar(64), prev_page_file_id smallint, prev_page_page_id int, \
        next_page_file_id smallint, next_page_page_id int, min_len smallint, lsn nvarchar(64), \
        header_version int",
    ),
    (
        "sys.dm_exec_sessions",
        "session_id smallint, login_time datetime, host_name nvarchar(128), program_name nvarchar(128), \
        host_process_id int, client_version int, client_interface_name nvarchar(32), \
        security_id varbinary(85), login_name nvarchar(128), nt_domain nvarchar(128), \
        nt_user_name nvarchar(128), status nvarchar(30), context_info varbinary(128), cpu_time int, \
        memory_usage int, total_scheduled_time int, total_elapsed_time int, endpoint_id int, \
        last_request_start_time datetime, last_request_end_time datetime, reads bigint, writes bigint, \
        logical_reads bigint, is_user_process bit, {SETTINGS}, original_security_id varbinary(85), \
        original_login_name nvarchar(128), last_successful_logon datetime, last_unsuccessful_logon datetime, \
        unsuccessful_logons bigint, group_id int, database_id smallint, authenticating_database_id int, \
        open_transaction_count int",
    ),
    (
        "sys.dm_exec_requests",
        "session_id smallint, request_id int, start_time datetime, status nvarchar(30), \
        command nvarchar(32), sql_handle varbinary(64), statement_start_offset int, \
        statement_end_offset int, \
        plan_handle varbinary(64), database_id smallint, user_id int, connection_id uniqueidentifier, \
        blocking_session_id smallint, wait_type nvarchar(60), wait_time int, last_wait_type nvarchar(60), \
        wait_resource nvarchar(256), open_transaction_count int, open_resultset_count int, \
        transaction_id bigint, context_info varbinary(128), percent_complete real, \
        estimated_completion_time bigint, cpu_time int, total_elapsed_time int, scheduler_id int, \
        task_address varbinary(8), reads bigint, writes bigint, logical_reads bigint, {SETTINGS}, \
        nest_level int, granted_query_memory int, executing_managed_code bit, group_id int, \
        query_hash binary(8), query_plan_hash binary(8), statement_sql_handle varbinary(64), \
        statement_context_id bigint, dop int, parallel_worker_count int, \
        external_script_request_id uniqueidentifier, is_resumable bit, page_resource binary(8)",
    ),
    (
        "sys.dm_exec_connections",
        "session_id int, most_recent_session_id int, connect_time datetime, net_transport nvarchar(40), \
        protocol_type nvarchar(40), protocol_version int, endpoint_id int, encrypt_option nvarchar(40), \
        auth_scheme nvarchar(40), node_affinity smallint, num_reads int, num_writes int, last_read datetime, \
        last_write datetime, net_packet_size int, client_net_address varchar(48), client_tcp_port int, \
        local_net_address varchar(48), local_tcp_port int, connection_id uniqueidentifier, \
        parent_connection_id uniqueidentifier, most_recent_sql_handle varbinary(64)",
    ),
    (
        "sys.dm_exec_sql_text(0x02)",
        "dbid smallint, objectid int, number smallint, encrypted bit, text nvarchar(max)",
    ),
    (
        "sys.dm_exec_input_buffer(1, 0)",
        "event_type nvarchar(256), parameters smallint, event_info nvarchar(max)",
    ),
    (
        "INFORMATION_SCHEMA.TABLES",
        "TABLE_CATALOG nvarchar(128), TABLE_SCHEMA nvarchar(128), TABLE_NAME sysname, TABLE_TYPE varchar(10)",
    ),
    (
        "INFORMATION_SCHEMA.COLUMNS",
        "TABLE_CATALOG nvarchar(128), TABLE_SCHEMA nvarchar(128), TABLE_NAME nvarchar(128), \
        COLUMN_NAME nvarchar(128), ORDINAL_POSITION int, COLUMN_DEFAULT nvarchar(4000), \
        IS_NULLABLE varchar(3), DATA_TYPE nvarchar(128), CHARACTER_MAXIMUM_LENGTH int, \
        CHARACTER_OCTET_LENGTH int, NUMERIC_PRECISION tinyint, NUMERIC_PRECISION_RADIX smallint, \
        NUMERIC_SCALE int, DATETIME_PRECISION smallint, CHARACTER_SET_CATALOG sysname, \
        CHARACTER_SET_SCHEMA sysname, CHARACTER_SET_NAME sysname, COLLATION_CATALOG sysname, \
        COLLATION_SCHEMA sysname, COLLATION_NAME sysname, DOMAIN_CATALOG sysname, DOMAIN_SCHEMA sysname, \
        DOMAIN_NAME sysname",
    ),
];

/// The parts of a list, separated by commas outside of brackets.
fn parts(list: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut depth = 0;
    for c in list.chars() {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        match (c, parts.last_mut()) {
            (',', _) if depth == 0 => parts.push(String::new()),
            (c, Some(part)) => part.push(c),
            _ => {}
        }
    }
    parts.iter().map(|part| part.trim().to_owned()).collect()
}

#[test]
fn views_have_the_columns_that_are_documented() {
    let instance = Instance::in_memory(InstanceConfig::default()).unwrap();
    let server = Server::start(instance).unwrap();
    let mut connection = server.connect().unwrap();
    let mut wrong = Vec::new();
    for (view, list) in FACTS {
        let list = list
            .replace("{OBJECTS}", OBJECTS)
            .replace("{FILES}", FILES)
            .replace("{SETTINGS}", SETTINGS)
            .replace("sysname", "nvarchar(128)");
        let mut wanted = parts(&list);
        // What has come since, or belongs to other products, may stand behind.
        let open = wanted.last().is_some_and(|last| last == "...");
        if open {
            wanted.pop();
        }
        let mut kept = Kept::default();
        connection.execute(&format!("SELECT * FROM {view}"), &mut kept);
        let Some(set) = kept.sets.first() else {
            wrong.push(format!("{view}: {:?}", kept.errors()));
            continue;
        };
        let mut found: Vec<String> = set
            .columns
            .iter()
            .map(|c| format!("{} {}", c.name, c.data_type))
            .collect();
        if open {
            found.truncate(wanted.len());
        }
        if found != wanted {
            let at = found.iter().zip(&wanted).position(|(a, b)| a != b);
            let at = at.unwrap_or(found.len().min(wanted.len()));
            let (found, wanted) = (found.get(at), wanted.get(at));
            wrong.push(format!(
                "{view}, column {}: {found:?} for {wanted:?}",
                at + 1
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
