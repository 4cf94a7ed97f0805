//! The boot page and the file headers: made again from each other, and from the catalog.
//!
//! | what is lost | comes from |
//! |---|---|
//! | header: number, filegroup, size, growth, name, GUID | the file's row in `sysprufiles` |
//! | header: which database | the headers of the other files; else the boot page's family, or the caller |
//! | header: last checkpoint | the log that is redone; else the other headers; else behind the boot page |
//! | boot page: the way into the catalog | the first leaf of `sysallocunits` |
//! | boot page: next unit | the greatest number that a page names, in use or not |
//! | boot page: name, number | the caller; else the primary file's name |
//!
//! Options that only the boot page has are those of a new database then, and the chain of backups has ended.

use super::survey::Survey;
use crate::maps::page_at;
use crate::repair::state::{Identity, Mended};
use furrow_datafile::{Pages, SourceFile, kind_fault};
use furrow_format::boot::WRITTEN_VERSION;
use furrow_format::catalog::DatabaseFile;
use furrow_format::{
    BOOT_PAGE, Boot, FileGrowth, FileHeader, FileId, Forks, Lsn, OwnBoot, Page, PageBuf, PageId,
    PageMut, PageType, SYSTEM_MAPS_UNIT, stamp_checksum,
};
use furrow_io::random;
use furrow_types::{DateTime, Guid};
use std::collections::BTreeMap;

/// Fields of the boot page of a new database.
const COMPATIBILITY: u16 = 110;
const COLLATION: u32 = 872_468_488;
const ROW_VERSION: u64 = 2000;
const FIRST_OBJECT: i32 = 245_575_913;
const FIRST_UNIT: u64 = 1 << 40;
/// `sysprufiles.status`: growth in percent.
const PERCENT: i32 = 0x20;

/// A page that must be of this kind, if it is.
fn proven(library: &Pages<'_>, id: PageId, kind: PageType) -> Option<Box<PageBuf>> {
    let (page, Ok(_)) = library.get(id)? else {
        return None;
    };
    let sound = kind_fault(kind, &page).is_none();
    let in_place = kind == PageType::Boot || Page::new(&page).unit() == SYSTEM_MAPS_UNIT;
    (sound && in_place).then(|| Box::new(*page))
}

fn header(library: &Pages<'_>, file: FileId) -> Option<FileHeader> {
    let page = proven(library, page_at(file, 0), PageType::FileHeader)?;
    let header = FileHeader::decode(&page).ok()?;
    (header.file == file).then_some(header)
}

/// Whether the boot page and all headers can be used.
pub(super) fn is_sound(library: &Pages<'_>, files: &[SourceFile]) -> bool {
    proven(library, BOOT_PAGE, PageType::Boot).is_some()
        && files.iter().all(|file| header(library, file.id).is_some())
}

/// New contents for the boot page and the headers that cannot be used. Without its row in `sysprufiles`, the
/// filegroup of a secondary file is not known: then nothing is repaired.
pub(super) fn mend(
    library: &Pages<'_>,
    files: &[SourceFile],
    survey: &Survey,
    identity: &Identity,
) -> Mended {
    let (mut pages, mut notes) = (BTreeMap::new(), Vec::new());
    let headers: Vec<FileHeader> = files.iter().filter_map(|f| header(library, f.id)).collect();
    let boot = proven(library, BOOT_PAGE, PageType::Boot);
    let boot_lsn = match (&boot, identity.redo) {
        (Some(page), _) => Page::new(page).lsn(),
        // Redo puts in what has changed since.
        (None, Some((_, from))) => Lsn(from.0.saturating_sub(1)),
        (None, None) => survey.newest,
    };
    debug_assert!(
        identity
            .redo
            .is_none_or(|(checkpoint, from)| from <= checkpoint),
        "redo begins at the checkpoint or before it"
    );
    let binding = binding_of(&headers, boot.as_deref(), identity);
    // A checkpoint of all files that is behind every page.
    let behind = Lsn(boot_lsn.0.max(survey.newest.0).saturating_add(1));
    let in_headers = headers.iter().map(|header| header.max_lsn).max();
    let in_log = identity.redo.map(|(checkpoint, _)| checkpoint);
    let checkpoint = in_log.or(in_headers).unwrap_or(behind);
    let lacks_header = |file: &&SourceFile| headers.iter().all(|h| h.file != file.id);
    for file in files.iter().filter(lacks_header) {
        let row = survey
            .file_rows
            .get(&i32::from(file.id.0))
            .map(|row| &row.1);
        if row.is_none() && file.id != FileId(1) {
            return without_row(file);
        }
        let made = header_of(file, row, (binding, checkpoint));
        let mut page = Box::new([0; furrow_format::PAGE_SIZE]);
        if made.format(&mut page).is_ok() {
            stamp_checksum(&mut page);
            pages.insert(page_at(file.id, 0), page);
            notes.extend(header_notes(file, identity));
        }
    }
    if boot.is_none() {
        let name = identity.name.clone();
        let first = headers.iter().find(|header| header.file == FileId(1));
        let name = name.or_else(|| first.map(|header| header.name.clone()));
        let made = boot_of(survey, (name, identity), binding);
        let mut page = Box::new([0; furrow_format::PAGE_SIZE]);
        if made.format(&mut page).is_ok() {
            PageMut::new(&mut page).set_lsn(boot_lsn);
            stamp_checksum(&mut page);
            pages.insert(BOOT_PAGE, page);
            notes.push(format!(
                "The boot page {BOOT_PAGE} is made again: options of the database are those of a new one, \
                 and the chain of backups has ended."
            ));
        }
    }
    Mended {
        pages,
        notes,
        ..Mended::default()
    }
}

/// What there is to say of a header that is made again.
fn header_notes(file: &SourceFile, identity: &Identity) -> Vec<String> {
    let mut notes = vec![format!(
        "The header of {} (page {}) is made again from the catalog and the other files.",
        file.name,
        page_at(file.id, 0)
    )];
    if let Some((_, from)) = identity.redo {
        notes.push(format!(
            "That {} is not an older copy cannot be proven, because its header is lost: if it is one, \
             changes before LSN {from} may be missing.",
            file.name
        ));
    }
    notes
}

/// What all files of the database have in common.
fn binding_of(headers: &[FileHeader], boot: Option<&PageBuf>, identity: &Identity) -> Guid {
    let binding = headers.first().map(|header| header.binding);
    let family = || Some(Boot::decode(boot?).ok()?.family);
    let binding = binding.or(identity.binding).or_else(family);
    binding.unwrap_or_else(|| Guid(random::guid_v4()))
}

/// Nothing is repaired: header and row of a file are lost.
fn without_row(file: &SourceFile) -> Mended {
    let lost = format!(
        "The header of {} (page {}) and the row of the file in sys.sysprufiles are lost: nothing is \
         repaired. Restore the database from a backup.",
        file.name,
        page_at(file.id, 0)
    );
    Mended {
        refused: true,
        notes: vec![lost],
        ..Mended::default()
    }
}

fn header_of(
    file: &SourceFile,
    row: Option<&DatabaseFile>,
    (binding, checkpoint): (Guid, Lsn),
) -> FileHeader {
    let filegroup = row.map_or(1, |row| row.grpid as u16);
    let name = row
        .map(|row| row.lname.clone())
        .filter(|name| !name.is_empty());
    let growth = row
        .and_then(|row| u32::try_from(row.growth).ok())
        .unwrap_or(0);
    let is_percent = row.is_some_and(|row| row.status & PERCENT != 0);
    let new = FileHeader::new(binding, file.id, filegroup, file.pages);
    FileHeader {
        max_size_pages: row.and_then(|row| u32::try_from(row.maxsize).ok()),
        growth: match (growth, is_percent) {
            (0, _) => FileGrowth::None,
            (percent, true) => FileGrowth::Percent(percent),
            (pages, false) => FileGrowth::Pages(pages),
        },
        max_lsn: checkpoint,
        file_guid: row.and_then(|row| row.fileguid).unwrap_or_default(),
        name: name.unwrap_or_else(|| format!("file{}", file.id.0)),
        ..new
    }
}

fn boot_of(survey: &Survey, (name, identity): (Option<String>, &Identity), binding: Guid) -> Boot {
    let next = (survey.last_unit >> 16) + 1;
    Boot {
        version: WRITTEN_VERSION,
        create_version: WRITTEN_VERSION,
        status: 0,
        next_object_id: FIRST_OBJECT,
        created: survey.created.unwrap_or(DateTime::EPOCH),
        name: name.unwrap_or_else(|| "repaired".to_owned()),
        database_id: identity.database_id.unwrap_or(0),
        compatibility: COMPATIBILITY,
        row_version: ROW_VERSION,
        full_backup_lsn: Lsn::ZERO,
        checkpoint_lsn: Lsn::ZERO,
        collation: COLLATION,
        family: binding,
        forks: Forks::new(Guid(random::guid_v4())),
        differential_base: Guid::default(),
        catalog_page: survey.way_in(),
        next_unit: next.max(FIRST_UNIT),
        own: OwnBoot {
            clean_shutdown: !identity.has_log,
            log_incarnation: 1,
            ..OwnBoot::default()
        },
    }
}
