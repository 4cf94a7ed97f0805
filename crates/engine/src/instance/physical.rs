//! How well the pages of a table or an index lie and how full they are, for
//! `sys.dm_db_index_physical_stats`.
//!
//! LIMITED reads no leaf: what the leaves of a tree are, and in which order, their parents say; what the
//! pages of a heap are, its maps say. SAMPLED reads one page in a hundred where there are many, DETAILED all.
//!
//! Pages are copied one by one, with no latch held from one to the next: what changes meanwhile may be seen
//! twice, or not at all. A page that no longer belongs to the index, or is not on the level that its parent
//! states, is skipped: it has moved since, or the file is damaged, which the consistency check reports.

use crate::database::Database;
use furrow_format::{Page, PageBuf, PageId, PageType, Record, RecordKind, Status};
use furrow_tables::EngineError;
use furrow_tables::{Index, IndexKind};

/// Space on a page for records and slots.
const BODY_BYTES: u64 = furrow_format::BODY_SIZE as u64;
/// Pages below which a sample would be all of them.
const MANY_PAGES: usize = 10_000;
/// Of many pages, one in so many is read.
const SAMPLE: usize = 100;
/// A level with fewer pages is not compared with the index's page count.
const FEW_PAGES: u64 = 10_000;
/// Most levels that a tree can have.
const MOST_LEVELS: usize = 32;

/// How closely to look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Closely {
    /// No leaf is read.
    Limited,
    /// One page in a hundred, where there are 10,000 or more.
    Sampled,
    /// Every page of every level.
    Detailed,
}

/// What was found on the pages that were read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Content {
    /// Bytes in use, slots included.
    pub used_bytes: u64,
    /// Records, ghosts left out.
    pub records: u64,
    /// Ghosts.
    pub ghosts: u64,
    /// Stubs that lead to rows that moved.
    pub stubs: u64,
    /// Bytes of all records.
    pub record_bytes: u64,
    /// The shortest record.
    pub least_bytes: u64,
    /// The longest record.
    pub most_bytes: u64,
    /// Pages read.
    pub pages: u64,
}

/// A level of a tree, or a heap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LevelStats {
    /// Levels of the tree; 1 of a heap.
    pub depth: u8,
    /// 0 of leaves and heaps.
    pub level: u8,
    /// Pages.
    pub pages: u64,
    /// Runs of pages that lie one behind the other, or, of a heap, of extents.
    pub fragments: u64,
    /// Places where the next page, or the next extent of a heap, is not the one that lies next.
    pub out_of_order: u64,
    /// What these are counted of: pages, or extents of a heap.
    pub places: u64,
    /// What is on the pages, if they were read.
    pub content: Option<Content>,
}

impl LevelStats {
    /// How much is out of order, in percent.
    pub fn fragmentation(&self) -> f64 {
        share(self.out_of_order, self.places) * 100.0
    }
}

fn share(part: u64, of: u64) -> f64 {
    match of {
        0 => 0.0,
        of => part as f64 / of as f64,
    }
}

impl Content {
    /// How full the pages are, in percent.
    pub fn fullness(&self) -> f64 {
        share(self.used_bytes, self.pages * BODY_BYTES) * 100.0
    }

    /// The mean length of a record.
    pub fn mean_bytes(&self) -> f64 {
        share(self.record_bytes, self.records)
    }

    /// Extrapolates from the sampled pages to `pages` pages.
    fn scaled_to(self, pages: u64) -> Content {
        let up = |n: u64| match self.pages {
            0 => n,
            read => (u128::from(n) * u128::from(pages) / u128::from(read)) as u64,
        };
        Content {
            used_bytes: up(self.used_bytes),
            records: up(self.records),
            ghosts: up(self.ghosts),
            stubs: up(self.stubs),
            record_bytes: up(self.record_bytes),
            pages: pages.max(self.pages),
            ..self
        }
    }

    fn add(&mut self, page: Page<'_>) {
        self.pages += 1;
        self.used_bytes += BODY_BYTES.saturating_sub(u64::from(page.free_count()));
        for record in (0..page.slot_count()).filter_map(|slot| page.record(slot)) {
            let status = Status(record.first().copied().unwrap_or(0));
            if status.is_ghost() {
                self.ghosts += 1;
                continue;
            }
            let bytes = record.len() as u64;
            self.least_bytes = match self.records {
                0 => bytes,
                _ => self.least_bytes.min(bytes),
            };
            self.most_bytes = self.most_bytes.max(bytes);
            self.records += 1;
            self.record_bytes += bytes;
            self.stubs += u64::from(status.kind() == RecordKind::ForwardingStub);
        }
    }
}

/// What follows a level of a tree.
enum Step {
    /// Nothing: these are the leaves.
    Leaves(Vec<PageId>),
    /// The pages of the level that were there, and their children.
    Down(Vec<PageId>, Vec<PageId>),
}

impl Database {
    /// How the pages of an index or heap lie and how full they are: the leaves first. LIMITED and SAMPLED
    /// return the leaves alone. An index whose pages are all freed meanwhile returns nothing. `check` is
    /// called before each page that is read; its error ends the scan.
    pub fn physical_stats<E: From<EngineError>>(
        &self,
        index: &Index,
        closely: Closely,
        check: &mut dyn FnMut() -> Result<(), E>,
    ) -> Result<Vec<LevelStats>, E> {
        self.check()?;
        if index.kind() == IndexKind::Heap {
            let pages = self.pages_of(index.rowset())?;
            let (places, fragments) = extents_of(&pages);
            return Ok(vec![LevelStats {
                depth: 1,
                level: 0,
                pages: pages.len() as u64,
                fragments,
                out_of_order: fragments.saturating_sub(1),
                places,
                content: self.content_of(index, (0, &pages), closely, check)?,
            }]);
        }
        let levels = self.levels_of(index, check)?;
        let depth = levels.len() as u8;
        let reported = match closely {
            Closely::Detailed => levels.len(),
            Closely::Limited | Closely::Sampled => 1,
        };
        let mut stats = Vec::new();
        for (level, pages) in (0..).zip(levels.iter().rev().take(reported)) {
            stats.push(LevelStats {
                depth,
                level,
                pages: pages.len() as u64,
                fragments: runs(pages),
                out_of_order: out_of_order(pages),
                places: pages.len() as u64,
                content: self.content_of(index, (level, pages), closely, check)?,
            });
        }
        Ok(stats)
    }

    /// The pages of a tree by level, in the order of their keys: the root first. Of the leaves only the first
    /// one is read.
    fn levels_of<E: From<EngineError>>(
        &self,
        index: &Index,
        check: &mut dyn FnMut() -> Result<(), E>,
    ) -> Result<Vec<Vec<PageId>>, E> {
        let mut levels: Vec<Vec<PageId>> = Vec::new();
        let mut level = vec![index.tree()?.root()];
        let mut number = None;
        while levels.len() < MOST_LEVELS {
            match self.step(index, level, &mut number, check)? {
                Step::Leaves(leaves) => {
                    levels.push(leaves);
                    return Ok(levels);
                }
                Step::Down(_, below) if below.is_empty() => return Ok(Vec::new()),
                Step::Down(pages, below) => {
                    levels.push(pages);
                    level = below;
                }
            }
        }
        let text = format!("a tree of more than {MOST_LEVELS} levels");
        Err(EngineError::Damaged(text).into())
    }

    /// Goes from a level to the one below. `number` is what the pages of the level are to bear, unless it is
    /// the root, and becomes what those below are to bear.
    fn step<E: From<EngineError>>(
        &self,
        index: &Index,
        level: Vec<PageId>,
        number: &mut Option<i16>,
        check: &mut dyn FnMut() -> Result<(), E>,
    ) -> Result<Step, E> {
        let (mut pages, mut below) = (Vec::new(), Vec::new());
        let mut most = FEW_PAGES;
        for &id in &level {
            check()?;
            let page = self.page(id)?;
            let view = Page::new(&page);
            if !belongs(index, view, *number) {
                continue;
            }
            if index.shape().is_leaf(view) {
                // Only the first page decides. The parents' level number does not: in another engine's files,
                // pages above leaves of data may be numbered from 0.
                match pages.is_empty() {
                    true => return Ok(Step::Leaves(level)),
                    false => continue,
                }
            }
            *number = Some(i16::from(view.level()));
            pages.push(id);
            below.extend(children(&page));
            if below.len() as u64 > most {
                most = self.most_below(index, below.len() as u64)?;
            }
        }
        *number = number.map(|number| number - 1);
        Ok(Step::Down(pages, below))
    }

    /// How many pages a level may have. That pages name more than there are is seen before they fill the
    /// memory; some may have moved and be named twice.
    fn most_below(&self, index: &Index, found: u64) -> Result<u64, EngineError> {
        let most = 2 * self.page_counts(index.rowset())?.used + FEW_PAGES;
        match found > most {
            true => Err(EngineError::Damaged(format!(
                "the pages of index {} name more pages than it has",
                index.id()
            ))),
            false => Ok(most),
        }
    }

    /// What is on some of the pages of a level, or all of them.
    fn content_of<E: From<EngineError>>(
        &self,
        index: &Index,
        (level, pages): (u8, &[PageId]),
        closely: Closely,
        check: &mut dyn FnMut() -> Result<(), E>,
    ) -> Result<Option<Content>, E> {
        let step = match closely {
            Closely::Limited => return Ok(None),
            Closely::Sampled if pages.len() >= MANY_PAGES => SAMPLE,
            Closely::Sampled | Closely::Detailed => 1,
        };
        let mut content = Content::default();
        for &id in pages.iter().step_by(step) {
            check()?;
            let page = self.page(id)?;
            let view = Page::new(&page);
            let leaf = index.shape().is_leaf(view);
            if belongs(index, view, None) && leaf == (level == 0) {
                content.add(view);
            }
        }
        Ok(Some(match step {
            1 => content,
            _ => content.scaled_to(pages.len() as u64),
        }))
    }
}

/// Whether a page is one of the index, and of the level of this number, if that is known.
fn belongs(index: &Index, page: Page<'_>, number: Option<i16>) -> bool {
    let shape = index.shape();
    let leaf = shape.is_leaf(page);
    let kind = match leaf {
        true => shape.leaf_type(),
        false => PageType::Index,
    };
    let there = |number: i16| match leaf {
        true => number <= 0,
        false => i16::from(page.level()) == number,
    };
    page.page_type() == kind
        && shape.owns(page, index.rowset().unit_id())
        && number.is_none_or(there)
}

fn children(page: &PageBuf) -> Vec<PageId> {
    let view = Page::new(page);
    let child = |slot| {
        let record = Record::index(view.record_start(slot)?, view.pminlen())?;
        record.child().filter(|child| !child.is_none())
    };
    (0..view.slot_count()).filter_map(child).collect()
}

/// How many runs the pages are of which each lies behind the one before it.
fn runs(pages: &[PageId]) -> u64 {
    let follows = |a: &PageId, b: &PageId| a.file == b.file && a.page.0 + 1 == b.page.0;
    pages.chunk_by(follows).count() as u64
}

/// How often the next page by key is not the one of these that lies next in the file.
fn out_of_order(pages: &[PageId]) -> u64 {
    let mut sorted = pages.to_vec();
    sorted.sort_unstable();
    let behind = |page: &PageId| sorted.get(sorted.partition_point(|other| other <= page));
    let next = pages.iter().zip(pages.iter().skip(1));
    next.filter(|&(page, next)| behind(page) != Some(next))
        .count() as u64
}

/// How many extents the pages of a heap lie in, and how many runs of neighbours these are.
fn extents_of(pages: &[PageId]) -> (u64, u64) {
    let mut extents: Vec<_> = pages.iter().map(|p| (p.file, p.extent())).collect();
    extents.dedup();
    let runs = extents.chunk_by(|a, b| a.0 == b.0 && a.1.0 + 1 == b.1.0);
    (extents.len() as u64, runs.count() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pages(numbers: &[u32]) -> Vec<PageId> {
        numbers.iter().map(|&n| PageId::new(1, n)).collect()
    }

    #[test]
    fn pages_in_order_are_one_run_and_a_page_in_between_breaks_it_twice() {
        let whole = pages(&[8, 9, 10, 11]);
        assert_eq!((runs(&whole), out_of_order(&whole)), (1, 0));
        // Holes between them break runs, not the order.
        let holes = pages(&[8, 9, 16, 17]);
        assert_eq!((runs(&holes), out_of_order(&holes)), (2, 0));
        // 9 was split, and half of it went to 16.
        let split = pages(&[8, 9, 16, 10, 11]);
        assert_eq!((runs(&split), out_of_order(&split)), (3, 3 - 1));
        let files = [PageId::new(1, 8), PageId::new(3, 9)];
        assert_eq!(runs(&files), 2);
        assert_eq!((runs(&[]), out_of_order(&[])), (0, 0));
    }

    #[test]
    fn extents_of_a_heap_count_once_each() {
        assert_eq!(extents_of(&pages(&[8, 9, 15, 16, 17, 40])), (3, 2));
        assert_eq!(extents_of(&[]), (0, 0));
    }
}
