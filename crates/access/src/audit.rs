//! Proof that a tree is sound.
//!
//! For consistency checks and tests: the tree must be at rest, and every page is read once. What is proven:
//! - every page is of the tree's unit, names itself, and has the type, level and `pminlen` that its place
//!   demands;
//! - records and free-space counts of every page agree, and so does the count of ghosts;
//! - keys ascend within a page, and lie between the two entries above that enclose the page;
//! - the pages of each level are linked, both ways, in the order of their keys.
//!
//! The caller compares the maps with the pages found.

use crate::tree::Tree;
use crate::{AccessError, Key};
use furrow_format::{Page, PageBuf, PageId, PageType, Status};
use furrow_pool::Sh;
use std::cmp::Ordering;

/// Most levels a tree can have: a level multiplies the rows by at least four.
const MAX_LEVELS: u8 = 32;

/// What an audit found in a tree that is sound.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TreeAudit {
    /// Live rows.
    pub rows: u64,
    /// Ghosts.
    pub ghosts: u64,
    /// Bytes of live rows.
    pub row_bytes: u64,
    /// The pages of each level from the leaves up, in the order of their keys.
    pub levels: Vec<Vec<PageId>>,
}

impl TreeAudit {
    /// All pages.
    pub fn pages(&self) -> impl Iterator<Item = PageId> + '_ {
        self.levels.iter().flatten().copied()
    }
}

/// The part of the key space that a page is for: from the first key on, up to (not with) the second.
struct Range {
    low: Option<Key>,
    high: Option<Key>,
}

impl Tree {
    /// Proves the tree, which must be at rest.
    pub fn audit(&self) -> Result<TreeAudit, AccessError> {
        let root = self.copy_of(self.root())?;
        let level = Page::new(&root).level();
        if level >= MAX_LEVELS {
            return Err(bad(self.root(), "the root's level is not believable"));
        }
        let mut audit = TreeAudit {
            levels: vec![Vec::new(); usize::from(level) + 1],
            ..TreeAudit::default()
        };
        self.audit_page(
            self.root(),
            level,
            &Range {
                low: None,
                high: None,
            },
            &mut audit,
        )?;
        for pages in &audit.levels {
            self.audit_links(pages)?;
        }
        Ok(audit)
    }

    fn copy_of(&self, id: PageId) -> Result<Box<PageBuf>, AccessError> {
        Ok(Box::new(*self.fetch(id, Sh)?))
    }

    fn audit_page(
        &self,
        id: PageId,
        level: u8,
        range: &Range,
        audit: &mut TreeAudit,
    ) -> Result<(), AccessError> {
        let page = self.copy_of(id)?;
        let view = Page::new(&page);
        self.audit_header(id, level, view)?;
        if let Some(pages) = audit.levels.get_mut(usize::from(level)) {
            pages.push(id);
        }
        let keys = self.audit_keys(id, &page, range)?;
        if level == 0 {
            let live = view.records().filter(|(_, row)| !is_ghost(row));
            audit.row_bytes += live.map(|(_, row)| row.len() as u64).sum::<u64>();
            audit.ghosts += u64::from(view.ghost_count());
            audit.rows += keys.len() as u64 - u64::from(view.ghost_count());
            return Ok(());
        }
        for slot in 0..view.slot_count() {
            let at = usize::from(slot);
            let low = if slot == 0 {
                range.low.clone()
            } else {
                keys.get(at).cloned()
            };
            let high = keys.get(at + 1).cloned().or_else(|| range.high.clone());
            let child = self.child_at(&page, slot)?;
            self.audit_page(child, level - 1, &Range { low, high }, audit)?;
        }
        Ok(())
    }

    fn audit_header(&self, id: PageId, level: u8, view: Page<'_>) -> Result<(), AccessError> {
        if view.audit().is_err() {
            return Err(bad(id, "its records and counts do not agree"));
        }
        if view.page_id() != id || view.unit() != self.unit().id() || view.header_version() != 1 {
            return Err(bad(id, "its header is another page's"));
        }
        if view.level() != level {
            return Err(bad(id, "it is not of the level that its parent says"));
        }
        let shape = self.shape();
        let node_len = shape
            .node
            .as_ref()
            .map_or(0, furrow_format::RowLayout::pminlen);
        let (kind, pminlen) = match level {
            0 => (shape.leaf_type(), shape.leaf.pminlen()),
            _ => (PageType::Index, node_len),
        };
        if view.page_type() != kind || view.pminlen() != pminlen {
            return Err(bad(id, "it is not of the type or row length of its level"));
        }
        if level > 0 && view.slot_count() == 0 {
            return Err(bad(id, "a non-leaf page is empty"));
        }
        let mut ghosts = 0;
        for slot in 0..view.slot_count() {
            let row = view
                .record(slot)
                .ok_or(bad(id, "a record cannot be read"))?;
            ghosts += u16::from(is_ghost(row));
        }
        if ghosts != view.ghost_count() {
            return Err(bad(id, "its count of ghosts is wrong"));
        }
        Ok(())
    }

    /// The keys of a page's records, ascending and within the page's range.
    fn audit_keys(
        &self,
        id: PageId,
        page: &PageBuf,
        range: &Range,
    ) -> Result<Vec<Key>, AccessError> {
        let view = Page::new(page);
        let mut keys: Vec<Key> = Vec::with_capacity(usize::from(view.slot_count()));
        for slot in 0..view.slot_count() {
            let key = self.key_of_row(page, self.row_at(page, slot)?)?;
            // The first entry of a non-leaf page covers what is less than the second; its key is not
            // compared.
            let counts = view.level() == 0 || slot > 0;
            let after = |low: &Key| {
                let order = self.shape().compare_keys(low, &key);
                order == Ordering::Less || (order == Ordering::Equal && view.level() == 0)
            };
            let before = |high: &Key| self.shape().compare_keys(&key, high) == Ordering::Less;
            if counts && !range.low.as_ref().is_none_or(after) {
                return Err(bad(id, "a key lies before the range of its page"));
            }
            if counts && !range.high.as_ref().is_none_or(before) {
                return Err(bad(id, "a key lies behind the range of its page"));
            }
            let compared = if view.level() == 0 {
                slot > 0
            } else {
                slot > 1
            };
            if compared && !keys.last().is_some_and(before_key(self, &key)) {
                return Err(bad(id, "its keys do not ascend"));
            }
            keys.push(key);
        }
        Ok(keys)
    }

    fn audit_links(&self, pages: &[PageId]) -> Result<(), AccessError> {
        for (at, &id) in pages.iter().enumerate() {
            let page = self.copy_of(id)?;
            let view = Page::new(&page);
            let neighbour = |at: Option<usize>| at.and_then(|at| pages.get(at)).copied();
            if view.prev() != neighbour(at.checked_sub(1)).unwrap_or(PageId::NONE) {
                return Err(bad(id, "its left link is not the page before it"));
            }
            if view.next() != neighbour(at.checked_add(1)).unwrap_or(PageId::NONE) {
                return Err(bad(id, "its right link is not the page behind it"));
            }
        }
        Ok(())
    }
}

fn before_key<'a>(tree: &'a Tree, key: &'a Key) -> impl Fn(&Key) -> bool + 'a {
    move |other| tree.shape().compare_keys(other, key) == Ordering::Less
}

fn is_ghost(row: &[u8]) -> bool {
    Status(row.first().copied().unwrap_or(0)).is_ghost()
}

fn bad(page: PageId, what: &'static str) -> AccessError {
    AccessError::Damaged { page, what }
}
