//! Whole databases with a few damaged pages: the catalog's reader, all rows, and the consistency check.

use super::Target;
use super::havoc::{Dice, damage};
use furrow_check::{Options, check};

use furrow_datafile::{
    Database, MemoryFiles, PageSource, Pages, SourceError, SourceFile, summarize,
};
use furrow_format::{FileId, Page, PageBuf, PageId, PageNo, stamp_checksum};
use std::hint::black_box;

/// Rows of a table that are read: a damaged one may lead in circles, but must not for ever.
const MOST_ROWS: usize = 200_000;

/// A sound database and, over some of its pages, damaged ones.
struct Damaged {
    sound: &'static MemoryFiles,
    pages: Vec<(PageId, PageBuf)>,
}

impl Damaged {
    fn over(&self, id: PageId) -> Option<&PageBuf> {
        let found = self.pages.iter().find(|page| page.0 == id);
        found.map(|page| &page.1)
    }

    fn at(&self, id: PageId) -> Option<&PageBuf> {
        let below = || self.sound.pages(id.file).get(id.page.0 as usize);
        self.over(id).or_else(below)
    }
}

impl PageSource for Damaged {
    fn files(&self) -> Vec<SourceFile> {
        self.sound.files()
    }

    fn read(&self, file: FileId, first: PageNo, into: &mut [PageBuf]) -> Result<(), SourceError> {
        self.sound.read(file, first, into)?;
        for (number, page) in (first.0..).zip(into) {
            let id = PageId {
                file,
                page: PageNo(number),
            };
            if let Some(damaged) = self.over(id) {
                *page = *damaged;
            }
        }
        Ok(())
    }
}

struct Files {
    corpus: Vec<(Damaged, Vec<PageId>)>,
}

/// Databases created by the engine, and their pages in use.
pub(super) fn make() -> Result<Box<dyn Target>, String> {
    let mut corpus = Vec::new();
    for number in 0..super::DATABASES {
        let sound = super::database(number)?;
        let mut used = Vec::new();
        for file in sound.files() {
            for (number, page) in (0..).zip(sound.pages(file.id)) {
                let id = PageId {
                    file: file.id,
                    page: PageNo(number),
                };
                if Page::new(page).page_id() == id {
                    used.push(id);
                }
            }
        }
        corpus.push((
            Damaged {
                sound,
                pages: Vec::new(),
            },
            used,
        ));
    }
    Ok(Box::new(Files { corpus }))
}

impl Target for Files {
    fn read_one(&mut self, dice: &mut Dice) -> Result<(), String> {
        let at = dice.below(self.corpus.len());
        let Some((database, used)) = self.corpus.get_mut(at) else {
            return Ok(());
        };
        database.pages.clear();
        for _ in 0..1 + dice.below(3) {
            let Some(&id) = dice.pick(used) else { continue };
            let Some(&(mut page)) = database.at(id) else {
                continue;
            };
            let slots = usize::from(Page::new(&page).slot_count()).clamp(1, 60);
            damage(&mut page, &[0..60, 96..200, 8192 - 2 * slots..8192], dice);
            // Most of it as if it had been written so: a checksum ends the reading of a page at once.
            if !dice.one_in(8) {
                stamp_checksum(&mut page);
            }
            database.pages.push((id, page));
        }
        match dice.one_in(2) {
            true => checked(database),
            false => read(database),
        }
    }
}

fn checked(database: &Damaged) -> Result<(), String> {
    let options = Options {
        workers: 1,
        ..Options::default()
    };
    if let Ok(report) = check(database, &options, None) {
        black_box(
            report
                .findings
                .iter()
                .map(|f| f.to_string().len())
                .sum::<usize>(),
        );
    }
    Ok(())
}

fn read(database: &Damaged) -> Result<(), String> {
    let pages = Pages::new(database);
    let Ok((open, damage)) = Database::open_damaged(&pages) else {
        return Ok(());
    };
    black_box(damage.len());
    for table in open.tables() {
        black_box(open.indexes(table.id).len());
        let Ok(rows) = open.rows(&table) else {
            continue;
        };
        if rows.take(MOST_ROWS + 1).count() > MOST_ROWS {
            return Err(format!("table {} has no end", table.name));
        }
    }
    for unit in open.alloc_units() {
        black_box(open.owned_pages(unit).is_ok());
    }
    for file in pages.files() {
        black_box(summarize(&pages, file));
    }
    Ok(())
}
