//! Checks a database of any size that is generated as it is read: how much memory does that take?
//!
//! `/usr/bin/time -v cargo run -p furrow-check --example check_memory -- BASE.mdf GIGABYTES MEGABYTES
//! [damaged]`
//!
//! BASE is a closed database of this engine in one file, with a heap `dbo.h` that has a row. The generated
//! database is that one, and behind its end the heap's pages, each a copy of the one that it has. MEGABYTES
//! bounds the memory of matching. With `damaged`, a bit of each of the heap's pages is wrong.

use furrow_check::{Options, Scratch, check_within};
use furrow_datafile::{DataFiles, Database, PageSource, Pages, SourceError, SourceFile};
use furrow_format::{
    Bitmap, Change, EXTENT_PAGES, FileId, Fullness, GAM_INTERVAL, MapInit, MapKind, PAGE_SIZE,
    PFS_INTERVAL, Page, PageBuf, PageId, PageMut, PageNo, PageType, PfsByte, apply, pfs_index_of,
    stamp_checksum, verify,
};
use furrow_io::SystemVolume;
use furrow_io::time::Moment;
use std::path::PathBuf;
use std::sync::Arc;

const FILE: FileId = FileId(1);

fn at(page: u32) -> PageId {
    PageId {
        file: FILE,
        page: PageNo(page),
    }
}

/// A generated database.
struct Generated {
    base: DataFiles,
    base_pages: u32,
    pages: u32,
    row_page: Box<PageBuf>,
    first_iam: PageId,
    is_damaged: bool,
}

/// The IAM page of a later interval, the first of a mixed extent.
fn iam_of(interval: u32) -> u32 {
    interval * GAM_INTERVAL + EXTENT_PAGES
}

impl Generated {
    fn intervals(&self) -> u32 {
        self.pages.div_ceil(GAM_INTERVAL)
    }

    /// Whether an extent of a later interval, or behind the base, is the heap's.
    fn is_heaps(&self, extent: u32) -> bool {
        let within = extent % (GAM_INTERVAL / EXTENT_PAGES);
        // An extent with a PFS page is mixed.
        let first = extent * EXTENT_PAGES;
        let with_pfs = first.is_multiple_of(PFS_INTERVAL);
        extent >= self.base_pages / EXTENT_PAGES
            && extent < self.pages / EXTENT_PAGES
            && within > 1
            && !with_pfs
    }

    fn change(&self, page: &mut PageBuf, id: PageId) {
        let kind = Page::new(page).page_type();
        let interval = id.page.0 / GAM_INTERVAL;
        let first = interval * (GAM_INTERVAL / EXTENT_PAGES);
        if kind == PageType::Iam && Page::new(page).unit() != Page::new(&self.row_page).unit() {
            return;
        }
        match kind {
            PageType::Gam | PageType::Sgam | PageType::Iam => {
                let end = (self.pages / EXTENT_PAGES)
                    .saturating_sub(first)
                    .min(Bitmap::BITS);
                for bit in 0..end {
                    let extent = first + bit;
                    let behind = extent >= self.base_pages / EXTENT_PAGES;
                    let value = match kind {
                        PageType::Iam => self.is_heaps(extent),
                        PageType::Gam => false,
                        _ => bit > 0 && !self.is_heaps(extent),
                    };
                    if behind && (kind != PageType::Iam || value) {
                        let index = bit as u16;
                        let _fits = apply(&Change::SetBit { index, value }, page);
                    }
                }
            }
            PageType::Pfs => {
                let start = id.page.0 / PFS_INTERVAL * PFS_INTERVAL;
                let end = (start + PFS_INTERVAL).min(self.pages);
                let full = Fullness::of_free_bytes(Page::new(&self.row_page).free_count());
                let heaps = PfsByte(PfsByte::ALLOCATED).with_fullness(full);
                for number in start.max(self.base_pages)..end {
                    let value = match number {
                        _ if self.is_heaps(number / EXTENT_PAGES) => heaps,
                        _ if number % GAM_INTERVAL == EXTENT_PAGES => PfsByte::IAM_PAGE,
                        _ => continue,
                    };
                    let index = pfs_index_of(PageNo(number));
                    let _fits = apply(&Change::SetPfs { index, value }, page);
                }
            }
            _ => {}
        }
    }

    fn page(&self, number: u32, page: &mut PageBuf) {
        let id = at(number);
        if number < self.base_pages {
            if verify(page, id).is_err() {
                return;
            }
            self.change(page, id);
            if id == self.first_iam && self.intervals() > 1 {
                PageMut::new(page).set_next(at(iam_of(1)));
            }
        } else if let Some(init) = MapInit::fixed(id, self.pages) {
            let _formatted = init.format(page);
            self.change(page, id);
        } else if number % GAM_INTERVAL == EXTENT_PAGES {
            let interval = number / GAM_INTERVAL;
            let init = MapInit {
                page: id,
                kind: MapKind::Iam {
                    unit: Page::new(&self.row_page).unit(),
                    sequence: interval,
                    interval_start: at(interval * GAM_INTERVAL),
                },
            };
            let _formatted = init.format(page);
            self.change(page, id);
            let mut view = PageMut::new(page);
            view.set_prev(match interval {
                1 => self.first_iam,
                _ => at(iam_of(interval - 1)),
            });
            if interval + 1 < self.intervals() {
                view.set_next(at(iam_of(interval + 1)));
            }
        } else if self.is_heaps(number / EXTENT_PAGES) {
            *page = *self.row_page;
            // Behind flags and the like: the page's own number.
            page[32..38].copy_from_slice(&id.to_bytes());
            stamp_checksum(page);
            page[4000] ^= u8::from(self.is_damaged);
            return;
        } else {
            page.fill(0);
            return;
        }
        stamp_checksum(page);
    }
}

impl PageSource for Generated {
    fn files(&self) -> Vec<SourceFile> {
        let mut files = self.base.files();
        files.iter_mut().for_each(|file| file.pages = self.pages);
        files
    }

    fn read(&self, file: FileId, first: PageNo, into: &mut [PageBuf]) -> Result<(), SourceError> {
        let below = (self.base_pages.saturating_sub(first.0) as usize).min(into.len());
        let (real, _) = into.split_at_mut(below);
        if !real.is_empty() {
            self.base.read(file, first, real)?;
        }
        for (number, page) in (first.0..).zip(into) {
            self.page(number, page);
        }
        Ok(())
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut words = std::env::args().skip(1);
    let path = words
        .next()
        .map(PathBuf::from)
        .ok_or("BASE.mdf GIGABYTES MEGABYTES")?;
    let gigabytes: u32 = words
        .next()
        .and_then(|word| word.parse().ok())
        .unwrap_or(10);
    let megabytes: u64 = words
        .next()
        .and_then(|word| word.parse().ok())
        .unwrap_or(256);
    let base = DataFiles::open(&SystemVolume::new(), &[path])?;
    let library = Pages::new(&base);
    let (unit, first_iam) = {
        let database = Database::open(&library)?;
        let heap = database
            .objects()
            .iter()
            .find(|o| o.name == "h")
            .map(|o| o.id);
        let rowset = database.rowsets().iter().find(|r| Some(r.idmajor) == heap);
        let rowset = rowset.map(|r| r.rowsetid);
        let unit = database
            .alloc_units()
            .iter()
            .find(|u| Some(u.ownerid) == rowset);
        unit.map(|u| (u.auid as u64, u.pgfirstiam))
            .ok_or("no heap dbo.h")?
    };
    let base_pages = base.files().first().map_or(0, |f| f.pages) / EXTENT_PAGES * EXTENT_PAGES;
    let is_row_page = |page: &PageBuf| {
        let view = Page::new(page);
        view.unit().0 == unit && view.page_type() == PageType::Data && view.slot_count() > 0
    };
    let row_page = (0..base_pages)
        .filter_map(|number| library.page(at(number)))
        .find(|page| is_row_page(page))
        .map(|page| Box::new(*page))
        .ok_or("the heap has no row")?;
    drop(library);
    let source = Generated {
        base,
        base_pages,
        pages: gigabytes * ((1 << 30) / PAGE_SIZE as u32),
        row_page,
        first_iam,
        is_damaged: words.next().is_some_and(|word| word == "damaged"),
    };
    run(&source, gigabytes, megabytes)
}

fn run(
    source: &Generated,
    gigabytes: u32,
    megabytes: u64,
) -> Result<(), Box<dyn std::error::Error>> {
    let options = Options {
        counts: false,
        memory_bytes: megabytes << 20,
        ..Options::default()
    };
    let name = format!("check_memory_{}.tmp", std::process::id());
    let scratch = Scratch::new(
        Arc::new(SystemVolume::new()),
        std::env::temp_dir().join(name),
    );
    let began = Moment::now();
    let report = check_within(source, &options, (Some(&scratch), None))?;
    for finding in report.findings.iter().take(10) {
        println!("{finding}");
    }
    println!(
        "{gigabytes} GB, {} pages, {} errors, {} findings, {} MB in the scratch file, {:.0} s",
        report.pages_checked,
        report.errors(),
        report.findings.len(),
        report.spilled_bytes >> 20,
        began.elapsed_us() as f64 / 1e6
    );
    Ok(())
}
