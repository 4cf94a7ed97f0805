//! Single pages: their headers, and their entries in the allocation maps.

use super::storage::page_type_desc;
use super::{Rows, SystemView, ViewContext, columns};
use crate::pages::{
    ALLOCATED, CHANGED, LOGGED, MapStatus, live_pages, pfs_words, size_of, status_of, word,
};
use crate::suspect_pages;
use crate::value::*;
use furrow_context::error::{Result, refuse};
use furrow_datafile::Database as Catalog;
use furrow_engine::Database;
use furrow_format::{AllocUnitId, FileId, Page, PageFlags, PageId, PageNo, PfsByte};
use furrow_types::{DataType, TypeId, Value};
use std::sync::Arc;

const BITS: DataType = nvarchar(64);
const WORDS: DataType = nvarchar(256);
const RESOURCE: DataType = DataType::sized(TypeId::Binary, 8);

pub(super) static VIEWS: &[SystemView] = &[
    SystemView {
        schema: "sys",
        name: "dm_db_page_info",
        columns: columns! {
            "database_id" INT; "file_id" INT; "page_id" INT; "page_type" INT null; "page_type_desc" BITS null;
            "page_flag_bits" BITS null; "page_flag_bits_desc" WORDS null; "page_type_flag_bits" BITS null;
            "page_type_flag_bits_desc" BITS null; "object_id" INT null; "index_id" INT null;
            "partition_id" BIGINT null; "alloc_unit_id" BIGINT null; "page_level" INT null;
            "slot_count" SMALLINT null; "ghost_rec_count" SMALLINT null; "torn_bits" INT null;
            "is_iam_pg" BIT null; "is_mixed_ext" BIT null; "pfs_file_id" SMALLINT null;
            "pfs_page_id" INT null;
            "pfs_alloc_percent" INT null; "pfs_status" BITS null; "pfs_status_desc" BITS null;
            "gam_file_id" SMALLINT null; "gam_page_id" INT null; "gam_status" BIT null;
            "gam_status_desc" BITS null; "sgam_file_id" SMALLINT null; "sgam_page_id" INT null;
            "sgam_status" BIT null; "sgam_status_desc" BITS null; "diff_map_file_id" SMALLINT null;
            "diff_map_page_id" INT null; "diff_status" BIT null; "diff_status_desc" BITS null;
            "ml_file_id" SMALLINT null; "ml_page_id" INT null; "ml_status" BIT null;
            "ml_status_desc" BITS null; "free_bytes" SMALLINT null; "free_data_offset" INT null;
            "reserved_bytes" SMALLINT null; "reserved_xdes_id" SMALLINT null; "xdes_id" BITS null;
            "prev_page_file_id" SMALLINT null; "prev_page_page_id" INT null;
            "next_page_file_id" SMALLINT null; "next_page_page_id" INT null; "min_len" SMALLINT null;
            "lsn" BITS null; "header_version" INT null;
        },
        parameters: Some(&[SMALLINT, INT, INT, BITS]),
        text: "The header of a page, its owner, and its entries in the allocation maps; DETAILED adds \
               descriptions.",
        rows: page_info,
    },
    SystemView {
        schema: "sys",
        name: "dm_db_suspect_pages",
        columns: columns! {
            "database_id" INT; "file_id" INT; "page_id" BIGINT; "event_type" INT; "error_count" INT;
            "last_update_date" DATETIME;
        },
        parameters: None,
        text: "Pages that a read (823, 824) or a consistency check found damaged, and what became of them: \
            the rows of msdb.dbo.suspect_pages, and what is not written there yet.",
        rows: |view, rows| {
            for ((database, file, page), row) in suspect_pages::list(view.cx.server.instance())? {
                rows(vec![
                    int(database),
                    int(file),
                    big(page),
                    int(row.state.event),
                    int(row.state.count),
                    row.last,
                ]);
            }
            Ok(())
        },
    },
    SystemView {
        schema: "sys",
        name: "fn_PageResCracker",
        columns: columns! { "db_id" SMALLINT null; "file_id" INT null; "page_id" INT null; },
        parameters: Some(&[RESOURCE]),
        text: "The parts of page_resource in sys.dm_exec_requests.",
        rows: crack,
    },
];

fn crack(view: &mut ViewContext<'_>, rows: Rows<'_>) -> Result<()> {
    if let Some(Value::Binary(bytes)) = view.arguments.first()
        && let [d1, d0, f1, f0, p3, p2, p1, p0] = bytes.as_slice()
    {
        rows(vec![
            small(u16::from_be_bytes([*d1, *d0])),
            int(u16::from_be_bytes([*f1, *f0])),
            int(u32::from_be_bytes([*p3, *p2, *p1, *p0])),
        ]);
    }
    Ok(())
}

/// Object, index and partition of an allocation unit: from the definitions in memory, or from the base tables
/// if the unit belongs to one of them.
fn owner(db: &Arc<Database>, unit: AllocUnitId) -> Result<[Value; 3]> {
    for table in db.catalog().tables() {
        let indexes = table.indexes().iter();
        if let Some(index) = indexes.into_iter().find(|i| i.rowset().unit_id() == unit) {
            let partition = index.rowset().id().0;
            return Ok([int(table.id().0), int(index.id()), big(partition)]);
        }
    }
    let live = live_pages(db)?;
    let opened = Catalog::open_damaged(&live).ok();
    let owner = opened.as_ref().and_then(|(catalog, _)| {
        let found = catalog.unit(unit)?;
        catalog.owner(found)
    });
    Ok(match owner {
        Some(owner) => {
            let rowset = owner.rowset;
            [
                int(rowset.idmajor),
                int(rowset.idminor),
                big(rowset.rowsetid),
            ]
        }
        None => [int(0), int(-1), big(0)],
    })
}

fn flag_words(flags: PageFlags) -> String {
    let words = [
        (PageFlags::ALIGNED, "PG_ALIGNED4"),
        (PageFlags::TORN_BITS, "TORN_BITS"),
        (PageFlags::CHECKSUM, "HAS_CHECKSUM"),
        (PageFlags::VERSIONED, "VERSION_INFO"),
    ];
    let set = words.iter().filter(|(flag, _)| flags.has(*flag));
    set.map(|(_, word)| *word).collect::<Vec<_>>().join(" ")
}

fn page_info(view: &mut ViewContext<'_>, rows: Rows<'_>) -> Result<()> {
    let number = |at: usize| view.number(at);
    let (Some(_), Some(file), Some(page)) = (number(0), number(1), number(2)) else {
        let missing = (0..3).find(|at| number(*at).is_none()).unwrap_or(0);
        return refuse(2561, &[(missing + 1).into()]);
    };
    let Some(db) = view.database_argument(0) else {
        return Ok(());
    };
    let mode = view.arguments.get(3).and_then(Value::as_str).unwrap_or("");
    let detailed = mode.eq_ignore_ascii_case("DETAILED");
    let (Ok(file), Ok(page)) = (u16::try_from(file), u32::try_from(page)) else {
        return Ok(());
    };
    let id = PageId {
        file: FileId(file),
        page: PageNo(page),
    };
    if page >= size_of(&db, id.file)? {
        return Ok(());
    }
    rows(row(&db, id, detailed)?);
    Ok(())
}

fn row(db: &Arc<Database>, id: PageId, detailed: bool) -> Result<Vec<Value>> {
    let bytes = db.page(id)?;
    let page = Page::new(&bytes);
    let maps = status_of(db, id)?;
    let said = |words: &str| if detailed { text(words) } else { Value::Null };
    let kind = page.page_type();
    let mut row = vec![
        int(db.id().0),
        int(id.file.0),
        int(id.page.0),
        int(kind.to_byte()),
        said(page_type_desc(kind)),
        text(format!("{:#x}", page.flags().0)),
        said(&flag_words(page.flags())),
        text(format!("{:#x}", page.type_flags())),
        said(""),
    ];
    row.extend(owner(db, page.unit())?);
    row.extend([
        big(page.unit().0),
        int(page.level()),
        small(page.slot_count()),
        small(page.ghost_count()),
        int(page.torn_bits().cast_signed()),
        bit(maps.pfs.1.has(PfsByte::IAM)),
        bit(maps.pfs.1.has(PfsByte::MIXED)),
    ]);
    row.extend(map_columns(&maps, &said));
    let place = |page: PageId| [small(page.file.0), int(page.page.0)];
    row.extend([
        small(page.free_count()),
        int(page.free_data()),
        small(page.reserved_count()),
        small(page.xact_reserved()),
        text(format!("{}", page.xdes_id().0)),
    ]);
    row.extend(place(page.prev()));
    row.extend(place(page.next()));
    row.extend([
        small(page.pminlen()),
        text(page.lsn().to_string().trim_matches(['(', ')'])),
        int(page.header_version()),
    ]);
    Ok(row)
}

/// `pfs_file_id` to `ml_status_desc`.
fn map_columns(maps: &MapStatus, said: &dyn Fn(&str) -> Value) -> Vec<Value> {
    let (page, byte) = maps.pfs;
    let mut row = vec![
        small(page.file.0),
        int(page.page.0),
        int(byte.fullness().percent()),
        text(format!("{:#x}", byte.0)),
        said(pfs_words(byte).trim_start()),
    ];
    for ((page, on), words) in [
        (maps.gam, ALLOCATED),
        (maps.sgam, ALLOCATED),
        (maps.diff, CHANGED),
        (maps.minimally_logged, LOGGED),
    ] {
        row.extend([
            small(page.file.0),
            int(page.page.0),
            bit(on),
            said(word(on, words)),
        ]);
    }
    row
}
