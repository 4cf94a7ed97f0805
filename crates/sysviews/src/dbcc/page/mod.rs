//! PAGE: prints the bytes of a page in SQL Server's layout.
//!
//! # Steps
//! 1. The page, and the allocation maps with entries for it, are copied from the buffer pool under a share
//!    latch. No lock is taken: the rows may be uncommitted.
//! 2. The owner of the page and the layout of its rows are read from the pages of the base tables, so that
//!    pages of the catalog can be printed like any others.
//! 3. The parts are printed: the header (0), the rows as bytes (1), the whole page as bytes (2), the rows
//!    with the value of each column, or the ranges of a map (3).
//!
//! As in SQL Server, the text is discarded without trace flag 3604; WITH TABLERESULTS it is a result set in
//! any case. In place of SQL Server's addresses in memory it has offsets within the page.

mod maps;
mod print;
mod records;

use super::{Call, Command, bad, database};
use crate::pages::{live_pages, size_of};
use furrow_context::error::{Result, refuse};
use furrow_context::run::Run;
use furrow_datafile::{Database as Catalog, Owner};
use furrow_engine::Database;
use furrow_format::{FileId, Page, PageBuf, PageId, PageNo, PageType};
use furrow_observe::traceflags::TraceFlag;
use print::Printer;
use std::sync::Arc;

pub(super) static COMMANDS: &[Command] = &[Command {
    name: "PAGE",
    syntax: "DBCC PAGE ({'database' | id | 0}, file_id, page [, 0 | 1 | 2 | 3]) \
        [WITH NO_INFOMSGS, TABLERESULTS]",
    text: "Shows a page: its header (0), and its rows as bytes (1), all of it as bytes (2), or its rows with \
        the values of their columns (3). Trace flag 3604 sends the text to the client.",
    options: &["NO_INFOMSGS", "TABLERESULTS"],
    run: page,
}];

/// A page with its owner.
pub(super) struct Look<'a> {
    pub(super) page: Page<'a>,
    pub(super) id: PageId,
    pub(super) file_pages: u32,
    pub(super) owner: Option<Owner>,
    pub(super) catalog: Option<&'a Catalog<'a>>,
}

/// 8968: there is no such page.
fn beyond<T>(id: PageId) -> Result<T> {
    let page = furrow_messages::Arg::page(id.file.0, id.page.0);
    let none = 0_i32;
    refuse(
        8968,
        &[
            "DBCC PAGE".into(),
            page,
            none.into(),
            none.into(),
            none.into(),
            none.into(),
            "Unknown".into(),
        ],
    )
}

fn page(run: &mut Run<'_>, call: &Call) -> Result<()> {
    call.takes(3..=4)?;
    let db = database(run, call, 0)?;
    let Ok(file) = u16::try_from(call.number(1)?) else {
        return bad(1);
    };
    let Ok(number) = u32::try_from(call.number(2)?) else {
        return bad(2);
    };
    let option = match call.args.len() {
        4 => call.number(3)?,
        _ => 0,
    };
    if !(0..=3).contains(&option) {
        return bad(3);
    }
    let id = PageId {
        file: FileId(file),
        page: PageNo(number),
    };
    let file_pages = size_of(&db, id.file)?;
    if id.page.0 >= file_pages {
        return beyond(id);
    }
    let to_client = run
        .cx
        .sessions
        .task()
        .trace_flag_on(TraceFlag::OUTPUT_TO_CLIENT);
    if !to_client && !call.tableresults {
        return Ok(());
    }
    let bytes = db.page(id)?;
    let mut printer = Printer::new(call.tableresults);
    dump(&db, (id, &bytes, file_pages), option, &mut printer)?;
    printer.finish(run);
    Ok(())
}

fn dump(
    db: &Arc<Database>,
    (id, bytes, file_pages): (PageId, &PageBuf, u32),
    option: i64,
    out: &mut Printer,
) -> Result<()> {
    let live = live_pages(db)?;
    let catalog = Catalog::open_damaged(&live).ok().map(|opened| opened.0);
    let page = Page::new(bytes);
    let look = Look {
        page,
        id,
        file_pages,
        owner: catalog.as_ref().and_then(|catalog| {
            let unit = catalog.unit(page.unit())?;
            catalog.owner(unit)
        }),
        catalog: catalog.as_ref(),
    };
    out.title(&format!("PAGE: {id}"));
    out.section("BUFFER:", "");
    out.item("bpageno", &id.to_string());
    out.item("bdbid", &db.id().0.to_string());
    out.end_items();
    header(&look, out);
    maps::status(db, id, out)?;
    match option {
        0 => {}
        1 => records::as_bytes(&look, out),
        2 => {
            out.section("DATA:", "");
            out.dump(0, bytes.as_slice());
            records::offsets(page, out);
        }
        _ => contents(&look, out),
    }
    Ok(())
}

/// The contents for option 3, by type of page.
fn contents(look: &Look<'_>, out: &mut Printer) {
    match look.page.page_type() {
        PageType::Pfs => maps::pfs(look, out),
        PageType::Iam => maps::iam(look, out),
        kind if kind.is_bitmap() => maps::bitmap(look, out),
        PageType::FileHeader => maps::file_header(look, out),
        PageType::Boot => maps::boot(look, out),
        _ => records::with_columns(look, out),
    }
}

fn header(look: &Look<'_>, out: &mut Printer) {
    let page = look.page;
    let rowset = look.owner.as_ref().map(|owner| &owner.rowset);
    let of = |value: Option<i64>| value.unwrap_or(0).to_string();
    out.section("PAGE HEADER:", "Page @0x0000000000000000");
    let torn = page.torn_bits().cast_signed();
    let fields = [
        ("m_pageId", page.page_id().to_string()),
        ("m_headerVersion", page.header_version().to_string()),
        ("m_type", page.page_type().to_byte().to_string()),
        ("m_typeFlagBits", format!("{:#x}", page.type_flags())),
        ("m_level", page.level().to_string()),
        ("m_flagBits", format!("{:#x}", page.flags().0)),
        (
            "m_objId (AllocUnitId.idObj)",
            page.object_part().to_string(),
        ),
        (
            "m_indexId (AllocUnitId.idInd)",
            page.index_part().to_string(),
        ),
        ("Metadata: AllocUnitId", page.unit().0.to_string()),
        ("Metadata: PartitionId", of(rowset.map(|r| r.rowsetid))),
        (
            "Metadata: IndexId",
            match rowset {
                Some(rowset) => rowset.idminor.to_string(),
                None => "-1".to_owned(),
            },
        ),
        (
            "Metadata: ObjectId",
            of(rowset.map(|r| i64::from(r.idmajor))),
        ),
        ("m_prevPage", page.prev().to_string()),
        ("m_nextPage", page.next().to_string()),
        ("pminlen", page.pminlen().to_string()),
        ("m_slotCnt", page.slot_count().to_string()),
        ("m_freeCnt", page.free_count().to_string()),
        ("m_freeData", page.free_data().to_string()),
        ("m_reservedCnt", page.reserved_count().to_string()),
        ("m_lsn", page.lsn().to_string()),
        ("m_xactReserved", page.xact_reserved().to_string()),
        ("m_xdesId", print::transaction(page.xdes_id())),
        ("m_ghostRecCnt", page.ghost_count().to_string()),
        ("m_tornBits", torn.to_string()),
        ("DB Frag ID", "1".to_owned()),
    ];
    for (name, value) in &fields {
        out.item(name, value);
    }
    out.end_items();
}
