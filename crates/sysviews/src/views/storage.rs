//! Files' statistics, buffers, virtual log files, pages.

use super::{Rows, SystemView, ViewContext, columns};
use crate::value::*;
use furrow_context::error::Result;
use furrow_engine::{Database, Index, Table};
use furrow_format::{Lsn, Page, PageId, PageType, Pfs, PfsByte, pfs_index_of, pfs_page_of};
use furrow_io::time::Moment;
use furrow_types::{DataType, Value};
use std::sync::Arc;

const HANDLE: DataType = varbinary(8);
const THUMBPRINT: DataType = varbinary(20);
const LSN_TEXT: DataType = nvarchar(24);
const MODE: DataType = nvarchar(64);

pub(super) static VIEWS: &[SystemView] = &[
    SystemView {
        schema: "sys",
        name: "dm_io_virtual_file_stats",
        columns: columns! {
            "database_id" SMALLINT; "file_id" SMALLINT; "sample_ms" BIGINT; "num_of_reads" BIGINT;
            "num_of_bytes_read" BIGINT; "io_stall_read_ms" BIGINT; "io_stall_queued_read_ms" BIGINT;
            "num_of_writes" BIGINT; "num_of_bytes_written" BIGINT; "io_stall_write_ms" BIGINT;
            "io_stall_queued_write_ms" BIGINT; "io_stall" BIGINT; "size_on_disk_bytes" BIGINT;
            "file_handle" HANDLE;
        },
        parameters: Some(&[INT, INT]),
        text: "Reads and writes of files since they were opened: of one database or file, or of all (NULL).",
        rows: file_stats,
    },
    SystemView {
        schema: "sys",
        name: "dm_os_buffer_descriptors",
        columns: columns! {
            "database_id" INT null; "file_id" INT null; "page_id" INT null; "page_level" INT null;
            "allocation_unit_id" BIGINT null; "page_type" DESC null; "row_count" INT null;
            "free_space_in_bytes" INT null; "is_modified" BIT null; "numa_node" INT null;
            "read_microsec" BIGINT null; "is_in_bpool_extension" BIT null;
        },
        parameters: None,
        text: "The pages in the buffer pool.",
        rows: buffers,
    },
    SystemView {
        schema: "sys",
        name: "dm_db_log_info",
        columns: columns! {
            "database_id" INT; "file_id" SMALLINT; "vlf_begin_offset" BIGINT; "vlf_size_mb" FLOAT;
            "vlf_sequence_number" BIGINT; "vlf_active" BIT; "vlf_status" INT; "vlf_parity" TINYINT;
            "vlf_first_lsn" LSN_TEXT; "vlf_create_lsn" LSN_TEXT; "vlf_encryptor_thumbprint" THUMBPRINT null;
        },
        parameters: Some(&[INT]),
        text: "The virtual log files of a database, or of the current one (NULL).",
        rows: log_info,
    },
    SystemView {
        schema: "sys",
        name: "dm_db_database_page_allocations",
        columns: columns! {
            "database_id" SMALLINT null; "object_id" INT null; "index_id" INT null; "partition_id" INT null;
            "rowset_id" BIGINT null; "allocation_unit_id" BIGINT null; "allocation_unit_type" INT null;
            "allocation_unit_type_desc" DESC null; "data_clone_id" INT null; "clone_state" INT null;
            "clone_state_desc" DESC null; "extent_file_id" SMALLINT null; "extent_page_id" INT null;
            "allocated_page_iam_file_id" SMALLINT null; "allocated_page_iam_page_id" INT null;
            "allocated_page_file_id" SMALLINT null; "allocated_page_page_id" INT null;
            "is_allocated" BIT null; "is_iam_page" BIT null; "is_mixed_page_allocation" BIT null;
            "page_free_space_percent" INT null; "page_type" INT null; "page_type_desc" DESC null;
            "page_level" INT null; "next_page_file_id" SMALLINT null; "next_page_page_id" INT null;
            "previous_page_file_id" SMALLINT null; "previous_page_page_id" INT null;
            "is_page_compressed" BIT null; "has_ghost_records" BIT null;
        },
        parameters: Some(&[SMALLINT, INT, INT, BIGINT, MODE]),
        text: "The pages of a database's tables: of one table or index, or of all (NULL); LIMITED does not \
               read the pages' headers, DETAILED reads them.",
        rows: page_allocations,
    },
];

fn file_stats(view: &mut ViewContext<'_>, rows: Rows<'_>) -> Result<()> {
    let wanted = |at: usize| view.number(at).map(|n| u16::try_from(n).unwrap_or(0));
    let (db, file) = (wanted(0), wanted(1));
    let files = &view.cx.server.instance().instruments().files;
    let sample_ms = Moment::now().since_us(Moment::from_ns(0)) / 1000;
    for stats in files.list(db, file) {
        let now = stats.snapshot();
        let mut handle = vec![0_u8; 4];
        handle.extend(now.db.to_be_bytes());
        handle.extend(now.file.to_be_bytes());
        rows(vec![
            small(now.db),
            small(now.file),
            big(sample_ms),
            big(now.reads.count),
            big(now.reads.bytes),
            big(now.reads.stall_us / 1000),
            big(now.reads.queued_us / 1000),
            big(now.writes.count),
            big(now.writes.bytes),
            big(now.writes.stall_us / 1000),
            big(now.writes.queued_us / 1000),
            big(now.io_stall_us() / 1000),
            big(now.size_bytes),
            Value::Binary(handle),
        ]);
    }
    Ok(())
}

/// `page_type_desc` of a page.
pub(crate) fn page_type_desc(page: PageType) -> &'static str {
    match page {
        PageType::Data => "DATA_PAGE",
        PageType::Index => "INDEX_PAGE",
        PageType::TextMix => "TEXT_MIX_PAGE",
        PageType::TextTree => "TEXT_TREE_PAGE",
        PageType::Sort => "SORT_PAGE",
        PageType::Gam => "GAM_PAGE",
        PageType::Sgam => "SGAM_PAGE",
        PageType::Iam => "IAM_PAGE",
        PageType::Pfs => "PFS_PAGE",
        PageType::Boot => "BOOT_PAGE",
        PageType::Configuration => "SYSCONFIG_PAGE",
        PageType::FileHeader => "FILEHEADER_PAGE",
        PageType::DiffMap => "DIFF_MAP_PAGE",
        PageType::MlMap => "ML_MAP_PAGE",
        _ => "UNKNOWN_PAGE",
    }
}

fn buffers(view: &mut ViewContext<'_>, rows: Rows<'_>) -> Result<()> {
    for buffer in view.cx.server.instance().pool().descriptors() {
        let page = buffer.key.page;
        let header = buffer.header;
        let of = |value: fn(&furrow_engine::BufferHeader) -> Value| {
            header.as_ref().map_or(Value::Null, value)
        };
        rows(vec![
            int(buffer.key.db.0),
            int(page.file.0),
            int(page.page.0),
            of(|h| int(h.level)),
            of(|h| big(h.allocation_unit.0)),
            of(|h| text(page_type_desc(h.page_type))),
            of(|h| int(h.row_count)),
            of(|h| int(h.free_bytes)),
            bit(buffer.is_modified),
            int(0),
            Value::Null,
            bit(false),
        ]);
    }
    Ok(())
}

/// A log sequence number as text: three hexadecimal parts.
pub(crate) fn lsn_text(lsn: Lsn) -> String {
    format!("{:08x}:{:08x}:{:04x}", lsn.vlf(), lsn.block(), lsn.slot())
}

fn log_info(view: &mut ViewContext<'_>, rows: Rows<'_>) -> Result<()> {
    let Some(db) = view.database_argument(0) else {
        return Ok(());
    };
    for vlf in db.vlfs() {
        let first = Lsn::new(vlf.sequence, 1, 1).filter(|_| vlf.sequence > 0);
        rows(vec![
            int(db.id().0),
            small(2),
            big(vlf.start_bytes),
            Value::Float((vlf.size_bytes as f64 / 1_048_576.0 * 100.0).round() / 100.0),
            big(vlf.sequence),
            bit(vlf.active),
            int(if vlf.active { 2 } else { 0 }),
            tiny(parity(vlf.sequence) as u8),
            text(lsn_text(first.unwrap_or(Lsn(0)))),
            text(lsn_text(Lsn(0))),
            Value::Null,
        ]);
    }
    Ok(())
}

fn page_allocations(view: &mut ViewContext<'_>, rows: Rows<'_>) -> Result<()> {
    let Some(db) = view.database_argument(0) else {
        return Ok(());
    };
    let (object, index_id) = (view.number(1), view.number(2));
    let mode = view
        .arguments
        .get(4)
        .and_then(Value::as_str)
        .unwrap_or("LIMITED");
    let detailed = mode.eq_ignore_ascii_case("DETAILED");
    for table in db.catalog().tables() {
        if object.is_some_and(|id| id != i64::from(table.id().0)) {
            continue;
        }
        for index in table.indexes() {
            if index_id.is_some_and(|id| id != i64::from(index.id())) {
                continue;
            }
            let chain = db.iam_chain(index.rowset())?;
            let first = chain.first().copied().unwrap_or(PageId::NONE);
            let pages = db.pages_of(index.rowset())?;
            for page in chain.iter().chain(&pages) {
                rows(allocation(&db, &table, index, (first, *page), detailed)?);
            }
        }
    }
    Ok(())
}

/// The PFS byte of a page.
pub(crate) fn pfs_byte(db: &Database, page: PageId) -> Result<Option<PfsByte>> {
    let map = PageId {
        page: pfs_page_of(page.page),
        ..page
    };
    let bytes = db.page(map)?;
    Ok(Pfs::new(&bytes).map(|pfs| pfs.get(pfs_index_of(page.page))))
}

fn allocation(
    db: &Arc<Database>,
    table: &Table,
    index: &Index,
    (iam, id): (PageId, PageId),
    detailed: bool,
) -> Result<Vec<Value>> {
    let rowset = index.rowset();
    let byte = pfs_byte(db, id)?.unwrap_or(PfsByte(0));
    let bytes = match detailed {
        true => Some(db.page(id)?),
        false => None,
    };
    let page = bytes.as_ref().map(|bytes| Page::new(bytes));
    let is_iam = byte.has(PfsByte::IAM);
    let of = |value: &dyn Fn(Page<'_>) -> Value| page.map_or(Value::Null, value);
    let place = |page: PageId| (small(page.file.0), int(page.page.0));
    let (extent_file, extent_page) = place(PageId {
        page: furrow_format::PageNo(id.page.0 / 8 * 8),
        ..id
    });
    let (iam_file, iam_page) = place(iam);
    let (file, number) = place(id);
    Ok(vec![
        small(db.id().0),
        int(table.id().0),
        int(index.id()),
        int(1),
        big(rowset.id().0),
        big(rowset.unit_id().0),
        int(1),
        text("IN_ROW_DATA"),
        Value::Null,
        Value::Null,
        Value::Null,
        extent_file,
        extent_page,
        if is_iam { Value::Null } else { iam_file },
        if is_iam { Value::Null } else { iam_page },
        file,
        number,
        bit(byte.is_allocated()),
        bit(is_iam),
        bit(byte.has(PfsByte::MIXED)),
        of(&|_| int(byte.fullness().percent())),
        of(&|p| int(p.page_type().to_byte())),
        of(&|p| text(page_type_desc(p.page_type()))),
        of(&|p| int(p.level())),
        of(&|p| small(p.next().file.0)),
        of(&|p| int(p.next().page.0)),
        of(&|p| small(p.prev().file.0)),
        of(&|p| int(p.prev().page.0)),
        of(&|_| bit(false)),
        of(&|p| bit(p.ghost_count() > 0)),
    ])
}

/// 0 for a virtual log file that was never used; otherwise it alternates with each use.
pub(crate) fn parity(sequence: u32) -> i32 {
    match sequence {
        0 => 0,
        used if used.is_multiple_of(2) => 128,
        _ => 64,
    }
}
