//! The walk that counts the pages above the leaves of a tree.

use super::handle::Tree;
use crate::AccessError;
use furrow_format::Page;
use furrow_pool::Sh;

/// If changes disturb this many walks, the count of the last walk is returned as an estimate.
const WALKS: usize = 3;

impl Tree {
    /// Number of pages that the tree has above its leaves. It is exact if no other thread changes the tree
    /// meanwhile. The first call reads these pages. The caller must not hold a latch.
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
        // The walk of each level starts at the root: a latch on the page above or on the left keeps a page in
        // its place until the page itself is latched.
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
