//! Memory of the machine and of the process, and the kind of machine.
//!
//! Values that the system does not report are NULL, even if SQL Server always has a figure.

use super::{Rows, SystemView, ViewContext, columns};
use crate::value::*;
use furrow_context::error::Result;
use furrow_io::host::host;
use furrow_io::process;
use furrow_types::{DataType, Value};

const LINE: DataType = nvarchar(256);
const TEXT: DataType = nvarchar(2048);

pub(super) static VIEWS: &[SystemView] = &[
    SystemView {
        schema: "sys",
        name: "dm_os_sys_memory",
        columns: columns! {
            "total_physical_memory_kb" BIGINT null; "available_physical_memory_kb" BIGINT null;
            "total_page_file_kb" BIGINT null; "available_page_file_kb" BIGINT null;
            "system_cache_kb" BIGINT null; "kernel_paged_pool_kb" BIGINT null;
            "kernel_nonpaged_pool_kb" BIGINT null; "system_high_memory_signal_state" BIT null;
            "system_low_memory_signal_state" BIT null; "system_memory_state_desc" LINE null;
        },
        parameters: None,
        text: "The memory of the machine.",
        rows: of_machine,
    },
    SystemView {
        schema: "sys",
        name: "dm_os_process_memory",
        columns: columns! {
            "physical_memory_in_use_kb" BIGINT null; "large_page_allocations_kb" BIGINT null;
            "locked_page_allocations_kb" BIGINT null; "total_virtual_address_space_kb" BIGINT null;
            "virtual_address_space_reserved_kb" BIGINT null;
            "virtual_address_space_committed_kb" BIGINT null;
            "virtual_address_space_available_kb" BIGINT null; "page_fault_count" BIGINT null;
            "memory_utilization_percentage" INT null; "available_commit_limit_kb" BIGINT null;
            "process_physical_memory_low" BIT null; "process_virtual_memory_low" BIT null;
        },
        parameters: None,
        text: "The memory that the process holds.",
        rows: of_process,
    },
    SystemView {
        schema: "sys",
        name: "dm_os_host_info",
        columns: columns! {
            "host_platform" LINE; "host_distribution" LINE null; "host_release" LINE null;
            "host_service_pack_level" LINE null; "host_sku" INT null; "os_language_version" INT null;
        },
        parameters: None,
        text: "The operating system and its release.",
        rows: host_info,
    },
    SystemView {
        schema: "sys",
        name: "messages",
        columns: columns! {
            "message_id" INT; "language_id" SMALLINT; "severity" TINYINT null; "is_event_logged" BIT;
            "text" TEXT;
        },
        parameters: None,
        text: "The messages that the engine has, in English.",
        rows: all_messages,
    },
];

fn kb(bytes: Option<u64>) -> Value {
    bytes.map_or(Value::Null, |bytes| big(bytes / 1024))
}

fn of_machine(_: &mut ViewContext<'_>, rows: Rows<'_>) -> Result<()> {
    let host = host();
    let mut row = vec![kb(host.memory_bytes), kb(host.memory_free_bytes)];
    row.extend(vec![Value::Null; 8]);
    rows(row);
    Ok(())
}

fn of_process(view: &mut ViewContext<'_>, rows: Rows<'_>) -> Result<()> {
    let locked = view.cx.server.instance().pool().locked().bytes();
    let mut row = vec![kb(process::memory()), Value::Null, big(locked / 1024)];
    row.extend(vec![Value::Null; 9]);
    rows(row);
    Ok(())
}

fn host_info(_: &mut ViewContext<'_>, rows: Rows<'_>) -> Result<()> {
    let platform = match std::env::consts::OS {
        "linux" => "Linux",
        "windows" => "Windows",
        other => other,
    };
    let mut row = vec![text(platform), Value::Null, maybe_text(host().kernel)];
    row.extend(vec![Value::Null; 3]);
    rows(row);
    Ok(())
}

fn all_messages(_: &mut ViewContext<'_>, rows: Rows<'_>) -> Result<()> {
    for message in furrow_messages::all() {
        rows(vec![
            int(message.number),
            small(1033),
            tiny(message.level),
            bit(false),
            text(message.text),
        ]);
    }
    Ok(())
}
