//! Lays a new database out on pages, as an engine would, but in memory and at once.

use furrow_format::boot::{Boot, Forks, OwnBoot, WRITTEN_VERSION};
use furrow_format::catalog::{
    BASE_TABLES, BaseTable, Bootstrap, BootstrapFile, SYSFILES1, TablePlace, UnitPlace,
    base_layout, bootstrap_rows,
};
use furrow_format::{
    AllocUnitId, Change, FileHeader, FileId, Iam, Lsn, MapInit, MapKind, PAGE_SIZE, Page, PageBuf,
    PageId, PageInit, PageMut, PageNo, PageType, PfsByte, apply, stamp_checksum,
};
use furrow_types::{Collation, DateTime, Guid, Value};

const FILE_PAGES: u32 = 640;
const FILES1_PAGE: u32 = 32;

pub(crate) struct Builder {
    pub(crate) pages: Vec<PageBuf>,
    next: u32,
    pub(crate) tables: Vec<(&'static BaseTable, Vec<Vec<Value>>)>,
}

fn id(page: u32) -> PageId {
    PageId::new(1, page)
}

/// A date that is easy to recognise: 2024-02-29 12:00.
pub(crate) fn created() -> DateTime {
    DateTime::new(45_349, 12 * 3600 * 300).unwrap()
}

impl Builder {
    /// A file with its maps, its header, and the rows of a bootstrap, not placed yet.
    pub(crate) fn new() -> Builder {
        let mut pages = vec![[0; PAGE_SIZE]; FILE_PAGES as usize];
        for number in [1, 2, 3, 6, 7] {
            let init = MapInit::fixed(id(number), FILE_PAGES).unwrap();
            init.format(&mut pages[number as usize]).unwrap();
        }
        let mut header = FileHeader::new(Guid([7; 16]), FileId(1), 1, FILE_PAGES);
        header.name = "own".to_owned();
        header.format(&mut pages[0]).unwrap();
        Builder {
            pages,
            next: FILES1_PAGE + 1,
            tables: bootstrap(&[]),
        }
    }

    /// Takes the next page.
    pub(crate) fn allocate(&mut self) -> PageId {
        let page = id(self.next);
        self.next += 1;
        self.mark(page, 0x60);
        page
    }

    pub(crate) fn mark(&mut self, page: PageId, status: u8) {
        let change = Change::SetPfs {
            index: page.page.0 as u16,
            value: PfsByte(status),
        };
        apply(&change, &mut self.pages[1]).unwrap();
    }

    pub(crate) fn page(&mut self, page: PageId) -> PageMut<'_> {
        PageMut::new(&mut self.pages[page.page.0 as usize])
    }

    /// An IAM page that names these pages.
    pub(crate) fn own(&mut self, unit: AllocUnitId, pages: &[PageId]) -> PageId {
        let iam = self.allocate();
        self.mark(iam, 0x70);
        let kind = MapKind::Iam {
            unit,
            sequence: 0,
            interval_start: id(0),
        };
        let bytes = &mut self.pages[iam.page.0 as usize];
        MapInit { page: iam, kind }.format(bytes).unwrap();
        for (index, page) in (0..).zip(pages) {
            let name = page.to_bytes();
            let change = Iam::set_single_page(bytes, index, &name).unwrap();
            let mut copy = *bytes;
            apply(&change, &mut copy).unwrap();
            *bytes = copy;
        }
        iam
    }

    /// Formats a leaf page of a unit.
    pub(crate) fn format(&mut self, page: PageId, kind: PageType, unit: AllocUnitId, pminlen: u16) {
        self.page(page)
            .format(&PageInit::new(page, kind, unit, pminlen));
    }

    /// Places a table's rows: leaves in a chain, and a root above them where one leaf isn't enough.
    fn write(&mut self, table: &'static BaseTable, rows: &[Vec<Value>]) -> UnitPlace {
        if rows.is_empty() {
            return UnitPlace::NONE;
        }
        let (leaf, pminlen) = (
            table.row_layout().unwrap(),
            base_layout(table).minleaf as u16,
        );
        let first = if table.id == SYSFILES1.id {
            id(FILES1_PAGE)
        } else {
            self.allocate()
        };
        self.mark(first, 0x60);
        self.format(first, PageType::Data, table.unit_id(), pminlen);
        let mut leaves = vec![(first, 0)];
        for (at, row) in rows.iter().enumerate() {
            let mut record = Vec::new();
            table.encode_row(&leaf, row, &mut record).unwrap();
            let (mut current, _) = *leaves.last().unwrap();
            if !self.page(current).as_page().fits(record.len()) {
                let next = self.allocate();
                self.format(next, PageType::Data, table.unit_id(), pminlen);
                self.page(next).set_prev(current);
                self.page(current).set_next(next);
                leaves.push((next, at));
                current = next;
            }
            self.page(current).append(&record).unwrap();
        }
        let mut pages = leaves.iter().map(|leaf| leaf.0).collect::<Vec<_>>();
        let root = if leaves.len() == 1 {
            first
        } else {
            self.root(table, rows, &leaves)
        };
        if root != first {
            pages.push(root);
        }
        let first_iam = self.own(table.unit_id(), &pages);
        let used = pages.len() as i64 + 1;
        UnitPlace {
            first,
            root,
            first_iam,
            used_pages: used,
            data_pages: leaves.len() as i64,
            reserved_pages: used,
        }
    }

    fn root(
        &mut self,
        table: &BaseTable,
        rows: &[Vec<Value>],
        leaves: &[(PageId, usize)],
    ) -> PageId {
        let node = base_layout(table).node().unwrap();
        let root = self.allocate();
        self.format(root, PageType::Index, table.unit_id(), node.pminlen());
        self.page(root).set_level(1);
        for (child, at) in leaves {
            let keys = table.key().map(|key| {
                let data_type = &table.columns[key].data_type;
                furrow_types::encode(data_type, &rows[*at][key]).unwrap()
            });
            let keys = keys.collect::<Vec<_>>();
            let values = keys
                .iter()
                .map(|key| Some(key.as_slice()))
                .collect::<Vec<_>>();
            let mut record = Vec::new();
            node.encode_node(&values, *child, &mut record).unwrap();
            self.page(root).append(&record).unwrap();
        }
        root
    }

    /// Adds a row to a base table; keys must come in order.
    pub(crate) fn add(&mut self, table: &BaseTable, row: Vec<Value>) {
        self.tables
            .iter_mut()
            .find(|(t, _)| t.id == table.id)
            .unwrap()
            .1
            .push(row);
    }

    /// Places all tables; their places go into `sysallocunits`, which is placed last. The file's bytes.
    pub(crate) fn finish(mut self) -> Vec<u8> {
        let tables = std::mem::take(&mut self.tables);
        let mut places = Vec::new();
        for (table, rows) in tables.iter().filter(|(table, _)| table.id != 7) {
            places.push(TablePlace {
                table_id: table.id,
                rows: self.write(table, rows),
            });
        }
        // Its own place is known only after it is written; its rows have the same size for any content.
        let units = tables.iter().find(|(table, _)| table.id == 7).unwrap();
        let mark = self.next;
        let own = TablePlace {
            table_id: 7,
            rows: self.write(units.0, &units.1),
        };
        places.push(own);
        let mut rows = bootstrap(&places)
            .into_iter()
            .find(|(table, _)| table.id == 7)
            .unwrap()
            .1;
        rows.extend(units.1[rows.len()..].iter().cloned());
        self.next = mark;
        assert_eq!(self.write(units.0, &rows), own.rows);
        boot(own.rows.first).format(&mut self.pages[9]).unwrap();
        self.mark(id(9), 0x64);
        for page in &mut self.pages {
            if Page::new(page).header_version() == 1 {
                stamp_checksum(page);
            }
        }
        self.pages.concat()
    }
}

fn bootstrap(places: &[TablePlace]) -> Vec<(&'static BaseTable, Vec<Vec<Value>>)> {
    let file = |file_id: u16, filegroup_id, size_pages| BootstrapFile {
        file_id,
        filegroup_id,
        size_pages,
        max_pages: None,
        growth: 128,
        growth_is_percent: false,
        logical_name: format!("own{file_id}"),
        physical_name: format!("/data/own{file_id}"),
        guid: Guid([file_id as u8; 16]),
    };
    let files = [file(1, 1, FILE_PAGES), file(2, 0, 1024)];
    let rows = bootstrap_rows(&Bootstrap {
        created: created(),
        places,
        filegroups: &[],
        files: &files,
    });
    assert_eq!(rows.len(), BASE_TABLES.len());
    rows
}

fn boot(catalog_page: PageId) -> Boot {
    Boot {
        version: WRITTEN_VERSION,
        create_version: WRITTEN_VERSION,
        status: 0,
        next_object_id: 1000,
        created: created(),
        name: "own".to_owned(),
        database_id: 5,
        compatibility: 110,
        row_version: 2000,
        full_backup_lsn: Lsn::ZERO,
        checkpoint_lsn: Lsn::ZERO,
        collation: Collation::DEFAULT.0,
        family: Guid([1; 16]),
        forks: Forks::new(Guid([1; 16])),
        differential_base: Guid([0; 16]),
        catalog_page,
        next_unit: 1 << 40,
        own: OwnBoot::default(),
    }
}

/// Whether a page number lies in the file.
pub(crate) fn in_file(page: PageNo) -> bool {
    page.0 < FILE_PAGES
}
