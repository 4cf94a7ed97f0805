//! The walk that counts the pages above the leaves of a tree.

use super::handle::Tree;
use crate::AccessError;
use furrow_format::Page;
use furrow_pool::Sh;

/// Walks that may be disturbed by a change before an estimate is returned.
const WALKS: usize = 3;

impl Tree {
    /// How many pages the tree has above its leaves; exact if no other thread changes it meanwhile. The first
    /// call reads them. No latch may be held.
    pub fn upper_pages(&self) -> Result<u64, AccessError> {
        let mut found = 0;
        for _ in 0..WALKS {
            if let Some(count) = self.uppers.0.lock().count {
                return Ok(u64::try_from(count).unwrap_or(0));
            }
            let before = self.uppers.at_rest();
            found = self.walk_uppers()?;
            let mut state = self.uppers.0.lock();
            if before == Some(state.done) && state.under_way == 0 {
                state.count = Some(found as i64);
                break;
            }
        }
        Ok(found)
    }

    fn walk_uppers(&self) -> Result<u64, AccessError> {
        let root = self.fetch(self.root(), Sh)?;
        let (height, mut found) = (Page::new(&root).level(), 0);
        drop(root);
        // Each level starts at the root again: a latch on the page above or on the left keeps a page in its
        // place until it is latched itself.
        for level in 1..=height {
            let mut page = self.fetch(self.root(), Sh)?;
            while Page::new(&page).level() > level {
                page = self.fetch(self.child_at(&page, 0)?, Sh)?;
            }
            loop {
                self.expect_level(&page, level)?;
                found += 1;
                let next = Page::new(&page).next();
                if next.is_none() {
                    break;
                }
                page = self.fetch(next, Sh)?;
            }
        }
        Ok(found)
    }
}
