//! What the scan saw, page by page: to be matched when all is seen.
//!
//! About a hundred bytes a page in use. Rows leave no facts of their own but those that moved: index rows are
//! matched by sums (see `buckets`). Within the memory of a check facts stay in memory. Beyond it each worker
//! writes what it has as sorted runs to the scratch file; the runs are merged before facts are matched.
//!
//! # Invariants
//! 1. *Findings do not depend on the memory*: matching looks at facts in the order of their keys, which no
//!    two facts share unless they are alike. Proof: `findings_are_the_same_in_any_memory`.
//! 2. *A worker's facts exceed its share of the memory by those of one run of 64 pages at most.*

mod codec;
mod gather;
mod keys;
mod scratch;
mod sorted;
mod types;

pub(crate) use gather::{Gathered, Gatherer, Watch};
pub(crate) use keys::{KeyRef, Keys};
pub use scratch::Scratch;
pub(crate) use sorted::Sorted;
pub(crate) use types::{
    BadPage, ChildFact, ForwardFact, IamFact, PageFact, TextNode, TextRef, Why,
};

use furrow_format::PageId;

/// All facts, in order.
#[derive(Debug, Default)]
pub(crate) struct Facts {
    pub(crate) keys: Keys,
    pub(crate) pages: Sorted<PageFact>,
    pub(crate) children: Sorted<ChildFact>,
    pub(crate) stubs: Sorted<ForwardFact>,
    pub(crate) moved: Sorted<ForwardFact>,
    pub(crate) text_refs: Sorted<TextRef>,
    pub(crate) text_nodes: Sorted<TextNode>,
    pub(crate) iams: Vec<IamFact>,
    pub(crate) bad: Sorted<BadPage>,
    /// First pages of extents that two units claim.
    pub(crate) claimed_twice: Vec<(PageId, u32, u32)>,
    pub(crate) pages_checked: u64,
    /// Bytes of the scratch file.
    pub(crate) spilled_bytes: u64,
}

impl Facts {
    /// A page of rows or large values that was seen.
    pub(crate) fn page(&self, id: PageId) -> Option<PageFact> {
        self.pages.get(id)
    }

    /// The entries of a non-leaf page.
    pub(crate) fn children_of(&self, parent: PageId) -> Vec<ChildFact> {
        let start = self.children.partition((parent, 0));
        let mine = self.children.from(start);
        mine.take_while(|child| child.parent == parent).collect()
    }

    /// Whether a page in use could not be used.
    pub(crate) fn is_bad(&self, id: PageId) -> bool {
        self.bad.place(id).is_some()
    }
}
