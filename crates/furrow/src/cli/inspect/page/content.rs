//! The content of a page behind its header.

use furrow_datafile::{Database, Owner, Stored, StoredColumn, find_column};
use furrow_format::boot::BOOT_PAGE;
use furrow_format::{
    Bitmap, Boot, EXTENT_PAGES, FileHeader, Iam, PFS_INTERVAL, Page, PageId, PageNo, PageType, Pfs,
    PfsByte, Record, RecordKind, RowId, Status, extent_at_bit, interval_extents, interval_start_of,
};
use furrow_types::Value;

/// Records, and the contents of maps and pages at fixed positions.
#[derive(Default)]
pub(super) struct Content {
    pub(super) records: Vec<RecordDump>,
    pub(super) ranges: Vec<Range>,
    pub(super) fields: Vec<(&'static str, String)>,
}

/// Pages with the same value in a map.
pub(super) struct Range {
    pub(super) first: PageId,
    pub(super) last: PageId,
    pub(super) says: String,
}

/// A slot and its record.
pub(super) struct RecordDump {
    pub(super) slot: u16,
    pub(super) offset: u16,
    pub(super) length: usize,
    pub(super) kind: &'static str,
    pub(super) columns: Vec<(String, Cell)>,
    /// A remark: where a stub leads, or what is wrong.
    pub(super) note: Option<String>,
    pub(super) bytes: Vec<u8>,
}

/// A column's content in a record.
pub(super) enum Cell {
    Value(Value),
    /// The value is stored elsewhere; the bytes lead there.
    Elsewhere(Vec<u8>),
    Unreadable(String),
}

pub(super) fn content(
    page: Page<'_>,
    id: PageId,
    file_pages: u32,
    owner: Option<&Owner>,
    database: Option<&Database<'_>>,
) -> Content {
    let mut content = Content::default();
    match page.page_type() {
        PageType::Pfs => content.ranges = pfs_ranges(page, id, file_pages),
        PageType::Iam => iam(page, file_pages, &mut content),
        kind if kind.is_bitmap() => content.ranges = map_ranges(page, id, file_pages),
        PageType::FileHeader => content.fields = file_header(page),
        PageType::Boot if id.page == BOOT_PAGE.page => content.fields = boot(page),
        _ => {
            let columns = owner.map_or(&[][..], |owner| owner.columns.as_slice());
            let look = Look {
                page,
                id,
                columns,
                database,
            };
            content.records = (0..page.slot_count().min(furrow_format::MAX_SLOTS))
                .map(|slot| look.record(slot))
                .collect();
        }
    }
    content
}

/// How the records of a page are decoded.
struct Look<'a> {
    page: Page<'a>,
    id: PageId,
    columns: &'a [(String, StoredColumn)],
    database: Option<&'a Database<'a>>,
}

impl Look<'_> {
    fn record(&self, slot: u16) -> RecordDump {
        let mut dump = RecordDump {
            slot,
            offset: self.page.slot_offset(slot).unwrap_or(0),
            length: 0,
            kind: "empty slot",
            columns: Vec::new(),
            note: None,
            bytes: Vec::new(),
        };
        match self.page.slot_offset(slot) {
            Some(0) => return dump,
            Some(_) => {}
            None => {
                dump.kind = "beyond the page";
                return dump;
            }
        }
        let Some(bytes) = self.page.record(slot) else {
            dump.kind = "damaged";
            dump.note = Some("no record where the slot points".to_owned());
            return dump;
        };
        dump.length = bytes.len();
        dump.bytes = bytes.to_vec();
        let kind = Status(bytes.first().copied().unwrap_or(0)).kind();
        dump.kind = kind_word(kind);
        if kind == RecordKind::ForwardingStub {
            dump.note = Record::forwarded_to(bytes).map(|to| format!("the row moved to {to}"));
            return dump;
        }
        let text = matches!(
            self.page.page_type(),
            PageType::TextMix | PageType::TextTree
        );
        if kind == RecordKind::BlobFragment || text {
            dump.note = fragment(bytes);
            return dump;
        }
        match Record::of_page(self.page.page_type(), self.page.pminlen(), bytes) {
            Some(record) => self.columns_of(&record, slot, &mut dump),
            None => dump.note = Some("no sound frame".to_owned()),
        }
        dump
    }

    fn columns_of(&self, record: &Record<'_>, slot: u16, dump: &mut RecordDump) {
        let at = RowId {
            page: self.id,
            slot,
        };
        let leaf = self.page.page_type() == PageType::Data || self.page.level() == 0;
        // The lowest level above the leaves of a clustered index may be numbered 0, too.
        let inner = self.page.page_type() == PageType::Index
            && (!leaf || self.page.index_part() == 1 || self.of_clustered());
        for (name, column) in self.columns {
            let place = if inner { column.inner } else { column.leaf };
            if place.offset == 0 {
                continue;
            }
            let cell = match find_column(record, column, place) {
                Some(Stored::Pointer(bytes)) => Cell::Elsewhere(bytes.to_vec()),
                None => Cell::Unreadable("the record is too short".to_owned()),
                Some(_) => self.value(at, record, column, !inner),
            };
            dump.columns.push((name.clone(), cell));
        }
        if inner {
            dump.note = record.child().map(|child| format!("leads to {child}"));
        } else if let Some(stub) = record.forwarded_from() {
            dump.note = Some(format!("moved here, its stub is {stub}"));
        }
    }

    /// Whether the page belongs to a clustered index: its rows hold all columns on data pages.
    fn of_clustered(&self) -> bool {
        let owner = self.database.and_then(|database| {
            let unit = database.unit(self.page.unit())?;
            database.owner(unit)
        });
        owner.is_some_and(|owner| owner.rowset.idminor == 1)
    }

    fn value(&self, at: RowId, record: &Record<'_>, column: &StoredColumn, leaf: bool) -> Cell {
        let Some(database) = self.database else {
            return Cell::Unreadable("without a catalog".to_owned());
        };
        match database.value(at, record, column, leaf) {
            Ok(value) => Cell::Value(value),
            Err(error) => Cell::Unreadable(error.to_string()),
        }
    }
}

fn kind_word(kind: RecordKind) -> &'static str {
    match kind {
        RecordKind::Primary => "row",
        RecordKind::Forwarded => "moved row",
        RecordKind::ForwardingStub => "forwarding stub",
        RecordKind::Index => "index row",
        RecordKind::BlobFragment => "piece of a large value",
        RecordKind::GhostIndex => "deleted index row",
        RecordKind::GhostData => "deleted row",
        RecordKind::GhostVersion => "deleted row kept for its versions",
    }
}

/// The value to which a piece belongs, and the kind of piece.
fn fragment(bytes: &[u8]) -> Option<String> {
    let blob = u64::from_le_bytes(bytes.get(4..12)?.try_into().ok()?);
    let kind = u16::from_le_bytes(bytes.get(12..14)?.try_into().ok()?);
    let word = match kind {
        0 => "small root",
        2 => "inner node",
        3 => "data",
        4 | 5 => "large root",
        _ => "unknown kind",
    };
    Some(format!("{word} of value {blob:#x}"))
}

fn at(like: PageId, page: u32) -> PageId {
    PageId {
        file: like.file,
        page: PageNo(page),
    }
}

fn pfs_ranges(page: Page<'_>, id: PageId, file_pages: u32) -> Vec<Range> {
    let Some(pfs) = Pfs::new(page.bytes()) else {
        return Vec::new();
    };
    let start = id.page.0 - id.page.0 % PFS_INTERVAL;
    let mut ranges: Vec<(u32, u32, PfsByte)> = Vec::new();
    for (number, byte) in (start..file_pages).zip(pfs.iter()) {
        match ranges.last_mut() {
            Some((_, last, same)) if *same == byte => *last = number,
            _ => ranges.push((number, number, byte)),
        }
    }
    ranges
        .into_iter()
        .map(|(first, last, byte)| Range {
            first: at(id, first),
            last: at(id, last),
            says: pfs_word(byte),
        })
        .collect()
}

fn pfs_word(byte: PfsByte) -> String {
    let mut words = vec![
        if byte.is_allocated() {
            "in use"
        } else {
            "not in use"
        }
        .to_owned(),
    ];
    // PFS stores no fullness for index pages: it is shown only if it is not 0.
    if byte.is_allocated() && byte.fullness().percent() > 0 {
        words.push(format!("up to {}% full", byte.fullness().percent()));
    }
    for (bit, word) in [
        (PfsByte::IAM, "IAM page"),
        (PfsByte::MIXED, "mixed extent"),
        (PfsByte::GHOSTS, "ghosts"),
    ] {
        if byte.has(bit) {
            words.push(word.to_owned());
        }
    }
    words.join(", ")
}

/// The two words for a bit that is set and not set.
fn words_of(kind: PageType) -> [&'static str; 2] {
    match kind {
        PageType::Gam => ["not allocated", "allocated"],
        PageType::Sgam => ["mixed, with a page free", "not mixed, or full"],
        PageType::Iam => ["owned", "not owned"],
        _ => ["changed", "not changed"],
    }
}

fn map_ranges(page: Page<'_>, id: PageId, file_pages: u32) -> Vec<Range> {
    let Some(map) = Bitmap::new(page.bytes()) else {
        return Vec::new();
    };
    let start = interval_start_of(id.page);
    runs(map, at(id, start.0), file_pages, page.page_type())
}

fn runs(map: Bitmap<'_>, start: PageId, file_pages: u32, kind: PageType) -> Vec<Range> {
    let [set, clear] = words_of(kind);
    let first_of = |bit: u32| extent_at_bit(start.page, bit).first_page().0;
    map.runs(interval_extents(start.page, file_pages))
        .map(|(range, value)| Range {
            first: at(start, first_of(range.start)),
            last: at(start, first_of(range.end - 1) + EXTENT_PAGES - 1),
            says: if value { set } else { clear }.to_owned(),
        })
        .collect()
}

fn iam(page: Page<'_>, file_pages: u32, content: &mut Content) {
    let Some(iam) = Iam::new(page.bytes()) else {
        return;
    };
    let start = iam.interval_start();
    let single: Vec<String> = iam
        .single_pages()
        .filter(|page| !page.is_none())
        .map(|page| page.to_string())
        .collect();
    content.fields = vec![
        ("sequence", iam.sequence().to_string()),
        ("interval_start", start.to_string()),
        ("single_pages", single.join(" ")),
    ];
    content.ranges = runs(iam.extents(), start, file_pages, PageType::Iam);
}

fn file_header(page: Page<'_>) -> Vec<(&'static str, String)> {
    let Ok(header) = FileHeader::decode(page.bytes()) else {
        return Vec::new();
    };
    let most = header.max_size_pages;
    vec![
        ("name", header.name),
        ("file", header.file.to_string()),
        ("filegroup", header.filegroup.to_string()),
        ("size_pages", header.size_pages.to_string()),
        (
            "max_size_pages",
            most.map_or_else(|| "none".to_owned(), |pages| pages.to_string()),
        ),
        ("growth", header.growth.to_string()),
        ("min_size_pages", header.min_size_pages.to_string()),
        ("sector_size_bytes", header.sector_size_bytes.to_string()),
        ("backup_lsn", header.backup_lsn.to_string()),
        (
            "differential_base_lsn",
            header.differential_base_lsn.to_string(),
        ),
        ("binding", header.binding.to_string()),
        ("file_guid", header.file_guid.to_string()),
    ]
}

fn boot(page: Page<'_>) -> Vec<(&'static str, String)> {
    let Ok(boot) = Boot::decode(page.bytes()) else {
        return Vec::new();
    };
    vec![
        ("name", boot.name),
        ("version", boot.version.to_string()),
        ("create_version", boot.create_version.to_string()),
        ("created", boot.created.to_string()),
        ("database_id", boot.database_id.to_string()),
        ("compatibility", boot.compatibility.to_string()),
        ("collation", format!("{:#010x}", boot.collation)),
        ("checkpoint_lsn", boot.checkpoint_lsn.to_string()),
        ("full_backup_lsn", boot.full_backup_lsn.to_string()),
        ("catalog_page", boot.catalog_page.to_string()),
        ("family", boot.family.to_string()),
    ]
}
