//! The machine: `sys.dm_os_sys_info`, `sys.dm_os_volume_stats`.
//!
//! Values that the machine does not report are NULL. There are no schedulers here: statements run on threads
//! that the operating system schedules, so columns about schedulers and workers are NULL, too.

use super::{Rows, SystemView, ViewContext, columns};
use crate::value::*;
use furrow_context::error::Result;
use furrow_format::DatabaseId;
use furrow_io::host::{host, mount_of};
use furrow_io::process;
use furrow_io::time::{Moment, WallTime};
use furrow_types::{DataType, Value};

const PATH: DataType = nvarchar(512);

pub(super) static VIEWS: &[SystemView] = &[
    SystemView {
        schema: "sys",
        name: "dm_os_sys_info",
        columns: columns! {
            "cpu_ticks" BIGINT null; "ms_ticks" BIGINT; "cpu_count" INT; "hyperthread_ratio" INT null;
            "physical_memory_kb" BIGINT null; "virtual_memory_kb" BIGINT null; "committed_kb" BIGINT null;
            "committed_target_kb" BIGINT; "visible_target_kb" BIGINT; "stack_size_in_bytes" INT null;
            "os_quantum" BIGINT null; "os_error_mode" INT null; "os_priority_class" INT null;
            "max_workers_count" INT null; "scheduler_count" INT null; "scheduler_total_count" INT null;
            "deadlock_monitor_serial_number" INT null; "sqlserver_start_time_ms_ticks" BIGINT;
            "sqlserver_start_time" DATETIME; "affinity_type" INT null; "affinity_type_desc" DESC null;
            "process_kernel_time_ms" BIGINT null; "process_user_time_ms" BIGINT null;
            "time_source" INT null; "time_source_desc" DESC null; "virtual_machine_type" INT null;
            "virtual_machine_type_desc" DESC null;
        },
        parameters: None,
        text: "The machine and the process: processors, memory, start time.",
        rows: sys_info,
    },
    SystemView {
        schema: "sys",
        name: "dm_os_volume_stats",
        columns: columns! {
            "database_id" INT; "file_id" INT; "volume_mount_point" PATH null; "volume_id" PATH null;
            "logical_volume_name" PATH null; "file_system_type" PATH null; "total_bytes" BIGINT;
            "available_bytes" BIGINT; "supports_compression" TINYINT null;
            "supports_alternate_streams" TINYINT null; "supports_sparse_files" TINYINT null;
            "is_read_only" TINYINT null; "is_compressed" TINYINT null; "incurs_seek_penalty" TINYINT null;
        },
        parameters: Some(&[INT, INT]),
        text: "The volume of a database file: its properties and free space.",
        rows: volume_stats,
    },
];

fn sys_info(view: &mut ViewContext<'_>, rows: Rows<'_>) -> Result<()> {
    let host = host();
    let instance = view.cx.server.instance();
    let started = view.cx.server.started();
    let now_ms = Moment::now().since_us(Moment::from_ns(0)) / 1000;
    let up_ms = (WallTime::now().unix_us() - started.unix_us()).max(0) / 1000;
    let kb = |bytes: Option<u64>| bytes.map_or(Value::Null, |bytes| big(bytes / 1024));
    let pool_kb = big(instance.config().pool_pages.saturating_mul(8));
    let times = process::cpu_times();
    let ms = |us: Option<u64>| us.map_or(Value::Null, |us| big(us / 1000));
    let mut row = vec![
        Value::Null,
        big(now_ms),
        int(host.cpus),
        Value::Null,
        kb(host.memory_bytes),
        Value::Null,
        kb(process::memory()),
        pool_kb.clone(),
        pool_kb,
    ];
    row.extend(vec![Value::Null; 8]);
    row.extend([
        big(i64::try_from(now_ms).unwrap_or(i64::MAX) - up_ms),
        datetime(started),
        int(2),
        text("AUTO"),
        ms(times.system_us),
        ms(times.user_us),
        Value::Null,
        Value::Null,
    ]);
    row.extend(match host.virtual_machine {
        Some(true) => [int(1), text("HYPERVISOR")],
        Some(false) => [int(0), text("NONE")],
        None => [Value::Null, Value::Null],
    });
    rows(row);
    Ok(())
}

fn volume_stats(view: &mut ViewContext<'_>, rows: Rows<'_>) -> Result<()> {
    let (Some(id), Some(file)) = (view.number(0), view.number(1)) else {
        return Ok(());
    };
    let instance = view.cx.server.instance();
    let database = u16::try_from(id).ok();
    let Some(db) = database.and_then(|id| instance.database_by_id(DatabaseId(id))) else {
        return Ok(());
    };
    let files = db.file_list()?;
    let Some(found) = files.into_iter().find(|f| i64::from(f.id.0) == file) else {
        return Ok(());
    };
    let directory = found.path.parent().unwrap_or(&found.path);
    let Ok(space) = instance.volume().space(directory) else {
        return Ok(());
    };
    let mount = mount_of(&found.path);
    let of = |part: fn(&furrow_io::host::Mount) -> &String| maybe_text(mount.as_ref().map(part));
    let is_read_only = mount.as_ref().map(|mount| {
        let mut options = mount.options.split(',');
        u8::from(options.any(|option| option == "ro"))
    });
    let mut row = vec![
        int(id),
        int(file),
        of(|m| &m.mount_point),
        of(|m| &m.source),
        Value::Null,
        of(|m| &m.filesystem),
        big(space.total_bytes),
        big(space.free_bytes),
    ];
    row.extend(vec![Value::Null; 3]);
    row.push(is_read_only.map_or(Value::Null, tiny));
    row.extend(vec![Value::Null; 2]);
    rows(row);
    Ok(())
}
