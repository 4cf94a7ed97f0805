//! A tree as its operations see it: what identifies it, and what memory holds of it.

use super::copies::Copies;
use super::ints::IntKey;
use super::recent::Recent;
use super::uppers::Uppers;
use crate::shape::Shape;
use crate::{AccessError, By};
use furrow_format::{Change, PageId, PageInit, PfsByte, RowsetId};
use furrow_io::sync::atomic::{AtomicU8, AtomicU64};
use furrow_pool::LatchRank;
use furrow_space::{Space, Unit};
use furrow_txn::{Author, Mini, Store};
use std::fmt;
use std::sync::{Arc, OnceLock};

/// The PFS byte of a page of a tree: in use; the fullness of tree pages is not stored.
pub(super) const IN_USE: PfsByte = PfsByte::FREE.with(PfsByte::ALLOCATED);

/// What identifies a tree.
#[derive(Debug, Clone)]
pub struct TreeParts {
    /// Pool, log and active transactions of its database.
    pub store: Arc<Store>,
    /// Files of its database.
    pub space: Arc<Space>,
    /// The allocation unit its pages belong to.
    pub unit: Arc<Unit>,
    /// Its rowset.
    pub rowset: RowsetId,
    /// Its number within the table: 1 is the clustered index.
    pub index_id: u32,
    /// Its root page.
    pub root: PageId,
    /// Its rows.
    pub shape: Shape,
}

/// A B+tree.
pub struct Tree {
    pub(super) parts: TreeParts,
    /// Level of the root when it was last seen.
    pub(super) root_level: AtomicU8,
    /// The rightmost leaf when it was last seen; 0 for none.
    pub(super) last_leaf: AtomicU64,
    pub(super) recent: Recent,
    pub(super) uppers: Uppers,
    pub(super) ints: Option<IntKey>,
    /// Copies of upper pages, for descents that pass them by.
    pub(super) copies: Copies,
    /// Whether the keys of a tree at rest come in the order that this engine compares them by.
    pub(super) in_our_order: OnceLock<bool>,
}

/// One line: the database below and the copies of upper pages are not printed.
impl fmt::Debug for Tree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tree")
            .field("rowset", &self.parts.rowset.0)
            .field("index_id", &self.parts.index_id)
            .finish_non_exhaustive()
    }
}

impl Tree {
    /// A tree whose root page is there.
    pub fn open(parts: TreeParts) -> Tree {
        Tree {
            ints: IntKey::of(&parts.shape),
            parts,
            root_level: AtomicU8::new(0),
            last_leaf: AtomicU64::new(0),
            recent: Recent::new(),
            in_our_order: OnceLock::new(),
            uppers: Uppers::default(),
            copies: Copies::default(),
        }
    }

    /// Creates an empty tree: a root page that is a leaf. The root in `parts` is ignored.
    pub fn create(mut parts: TreeParts) -> Result<Tree, AccessError> {
        By::System.prepare(&parts.store, 512, 0)?;
        let mut pages = parts.space.reserve(&parts.unit, 1, None)?;
        let root = pages.take()?;
        let mut mini = Mini::new(&parts.store);
        let at = mini.adopt(parts.store.create(root, LatchRank::Data)?);
        let (kind, pminlen) = (parts.shape.leaf_type(), parts.shape.leaf.pminlen());
        mini.push(
            at,
            &Change::Format(PageInit::new(root, kind, parts.unit.id(), pminlen)),
        );
        pages.allocate_taken(&mut mini, IN_USE)?;
        mini.commit(&Author::System)?;
        pages.done();
        parts.root = root;
        Ok(Tree::open(parts))
    }

    /// Its rows.
    pub fn shape(&self) -> &Shape {
        &self.parts.shape
    }

    /// Its rowset.
    pub fn rowset(&self) -> RowsetId {
        self.parts.rowset
    }

    /// Its number within the table.
    pub fn index_id(&self) -> u32 {
        self.parts.index_id
    }

    /// Its root page.
    pub fn root(&self) -> PageId {
        self.parts.root
    }

    /// Its allocation unit.
    pub fn unit(&self) -> &Arc<Unit> {
        &self.parts.unit
    }

    /// The pages of its database.
    pub fn pages(&self) -> &Store {
        &self.parts.store
    }

    pub(super) fn store(&self) -> &Store {
        &self.parts.store
    }
}
