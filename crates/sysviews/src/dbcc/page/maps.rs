//! The entries of the allocation maps for a page; map pages as ranges; the pages at fixed positions.

use super::Look;
use super::print::Printer;
use crate::pages::{ALLOCATED, CHANGED, LOGGED, pfs_words, status_of, word};
use furrow_context::error::Result;
use furrow_engine::Database;
use furrow_format::{
    Bitmap, Boot, FileHeader, Iam, PFS_INTERVAL, PageId, PageNo, PageType, Pfs, PfsByte,
    extent_at_bit, interval_extents, interval_start_of,
};
use std::sync::Arc;

/// The section `Allocation Status`.
pub(super) fn status(db: &Arc<Database>, id: PageId, out: &mut Printer) -> Result<()> {
    let maps = status_of(db, id)?;
    out.object("Allocation Status");
    out.item(&format!("GAM {}", maps.gam.0), word(maps.gam.1, ALLOCATED));
    out.item(
        &format!("SGAM {}", maps.sgam.0),
        word(maps.sgam.1, ALLOCATED),
    );
    let (page, byte) = maps.pfs;
    out.item(
        &format!("PFS {page}"),
        &format!("{:#x}{}", byte.0, pfs_words(byte)),
    );
    out.item(&format!("DIFF {}", maps.diff.0), word(maps.diff.1, CHANGED));
    let (page, logged) = maps.minimally_logged;
    out.item(&format!("ML {page}"), word(logged, LOGGED));
    out.end_items();
    Ok(())
}

/// A range of pages with the same value in a map.
fn range(out: &mut Printer, first: PageId, last: PageId, says: &str) {
    let end = if first == last {
        String::new()
    } else {
        last.to_string()
    };
    let field = format!("{first} - {end}");
    let line = format!("{:<13}- {end:<13}= {says}", first.to_string());
    out.entry(field.trim_end(), says.trim_start(), line);
}

pub(super) fn pfs(look: &Look<'_>, out: &mut Printer) {
    let Some(pfs) = Pfs::new(look.page.bytes()) else {
        return;
    };
    out.section("PFS: Page Alloc Status", "");
    let start = look.id.page.0 / PFS_INTERVAL * PFS_INTERVAL;
    let mut ranges: Vec<(u32, u32, PfsByte)> = Vec::new();
    for (number, byte) in (start..look.file_pages).zip(pfs.iter()) {
        match ranges.last_mut() {
            Some((_, last, same)) if *same == byte => *last = number,
            _ => ranges.push((number, number, byte)),
        }
    }
    for (first, last, byte) in ranges {
        let allocated = word(byte.is_allocated(), ALLOCATED);
        let mut says = format!("{allocated:>13} {:>3}_PCT_FULL", byte.fullness().percent());
        for (bit, word) in [
            (PfsByte::GHOSTS, " Has Ghost"),
            (PfsByte::IAM, " IAM Page"),
            (PfsByte::MIXED, " Mixed Ext"),
        ] {
            if byte.has(bit) {
                says.push_str(word);
            }
        }
        let at = |page: u32| PageId {
            page: PageNo(page),
            ..look.id
        };
        range(out, at(first), at(last), &says);
    }
    out.blank();
}

pub(super) fn bitmap(look: &Look<'_>, out: &mut Printer) {
    let kind = look.page.page_type();
    let (name, words) = match kind {
        PageType::Gam => ("GAM: Extent Alloc Status", ["NOT ALLOCATED", "ALLOCATED"]),
        PageType::Sgam => ("SGAM: Extent Alloc Status", ALLOCATED),
        PageType::DiffMap => ("DIFF_MAP: Extent Alloc Status", CHANGED),
        _ => ("ML_MAP: Extent Alloc Status", LOGGED),
    };
    let Some(map) = Bitmap::new(look.page.bytes()) else {
        return;
    };
    out.section(name, "");
    let start = PageId {
        page: interval_start_of(look.id.page),
        ..look.id
    };
    runs(map, (start, look.file_pages), words, out);
}

fn runs(
    map: Bitmap<'_>,
    (start, file_pages): (PageId, u32),
    words: [&'static str; 2],
    out: &mut Printer,
) {
    let width = words.iter().map(|w| w.len()).max().unwrap_or(0);
    let at = |bit: u32| PageId {
        page: extent_at_bit(start.page, bit).first_page(),
        ..start
    };
    for (bits, set) in map.runs(interval_extents(start.page, file_pages)) {
        let says = format!("{:>width$}", word(set, words));
        range(out, at(bits.start), at(bits.end.saturating_sub(1)), &says);
    }
    out.blank();
}

pub(super) fn iam(look: &Look<'_>, out: &mut Printer) {
    let Some(iam) = Iam::new(look.page.bytes()) else {
        return;
    };
    let start = iam.interval_start();
    out.section("IAM: Header", "");
    out.item("sequenceNumber", &iam.sequence().to_string());
    out.item("start_pg", &start.to_string());
    out.end_items();
    out.section("IAM: Single Page Allocations", "");
    for (slot, page) in iam.single_pages().enumerate() {
        out.item(&format!("Slot {slot}"), &page.to_string());
    }
    out.end_items();
    out.section("IAM: Extent Alloc Status", "");
    runs(iam.extents(), (start, look.file_pages), ALLOCATED, out);
}

pub(super) fn file_header(look: &Look<'_>, out: &mut Printer) {
    let Ok(header) = FileHeader::decode(look.page.bytes()) else {
        return;
    };
    out.section("FILE HEADER:", "");
    let most = header.max_size_pages.map_or(-1, i64::from);
    let fields = [
        ("LogicalName", header.name),
        ("BindingId", header.binding.to_string()),
        ("FileIdProp", header.file.to_string()),
        ("FileGroupId", header.filegroup.to_string()),
        ("Size", header.size_pages.to_string()),
        ("MaxSize", most.to_string()),
        ("Growth", header.growth.to_string()),
        ("MinSize", header.min_size_pages.to_string()),
        ("SectorSize", header.sector_size_bytes.to_string()),
        ("BackupLsn", header.backup_lsn.to_string()),
        (
            "DifferentialBaseLsn",
            header.differential_base_lsn.to_string(),
        ),
        ("FileGuid", header.file_guid.to_string()),
    ];
    for (name, value) in &fields {
        out.item(name, value);
    }
    out.end_items();
}

pub(super) fn boot(look: &Look<'_>, out: &mut Printer) {
    let Ok(boot) = Boot::decode(look.page.bytes()) else {
        return;
    };
    out.section("DBINFO:", "");
    let fields = [
        ("dbi_version", boot.version.to_string()),
        ("dbi_createVersion", boot.create_version.to_string()),
        ("dbi_status", format!("{:#010x}", boot.status)),
        ("dbi_nextid", boot.next_object_id.to_string()),
        ("dbi_crdate", boot.created.to_string()),
        ("dbi_dbname", boot.name),
        ("dbi_dbid", boot.database_id.to_string()),
        ("dbi_cmptlevel", boot.compatibility.to_string()),
        ("dbi_dbbackupLSN", boot.full_backup_lsn.to_string()),
        ("dbi_checkptLSN", boot.checkpoint_lsn.to_string()),
        ("dbi_collation", boot.collation.to_string()),
        ("dbi_familyGUID", boot.family.to_string()),
        (
            "dbi_recoveryForkNameStack",
            boot.forks.present().to_string(),
        ),
        (
            "dbi_differentialBaseGuid",
            boot.differential_base.to_string(),
        ),
        ("dbi_firstSysIndexes", boot.catalog_page.to_string()),
    ];
    for (name, value) in &fields {
        out.item(name, value);
    }
    out.end_items();
}
