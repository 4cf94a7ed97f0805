//! What the scan saw, page by page: to be matched when all is seen.
//!
//! About a hundred bytes a page in use: facts of a terabyte take some twelve gigabytes, those of 100 GB one.
//! Rows leave no facts of their own but those that moved: index rows are matched by sums (see `buckets`).

use furrow_format::{PageId, RowId};

/// A key in the arena; 0 = none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct KeyRef(u64);

/// Keys one after the other: length, then for each column its length (or NULL) and bytes.
#[derive(Debug, Default)]
pub(crate) struct Arena {
    bytes: Vec<u8>,
}

const NULL: u16 = u16::MAX;

impl Arena {
    /// Keeps a key.
    pub(crate) fn keep<'v>(&mut self, values: impl Iterator<Item = Option<&'v [u8]>>) -> KeyRef {
        let start = self.bytes.len();
        self.bytes.extend([0, 0]);
        for value in values {
            let len = value.map_or(NULL, |bytes| bytes.len() as u16);
            self.bytes.extend(len.to_le_bytes());
            self.bytes.extend_from_slice(value.unwrap_or_default());
        }
        let len = (self.bytes.len() - start - 2) as u16;
        if let Some(place) = self.bytes.get_mut(start..start + 2) {
            place.copy_from_slice(&len.to_le_bytes());
        }
        KeyRef(start as u64 + 1)
    }

    /// The columns of a key.
    pub(crate) fn columns(&self, key: KeyRef) -> Option<Columns<'_>> {
        let start = usize::try_from(key.0.checked_sub(1)?).ok()?;
        let (len, rest) = self.bytes.get(start..)?.split_first_chunk::<2>()?;
        let rest = rest.get(..usize::from(u16::from_le_bytes(*len)))?;
        Some(Columns { rest })
    }

    fn append(&mut self, other: &mut Arena) -> u64 {
        let base = self.bytes.len() as u64;
        self.bytes.append(&mut other.bytes);
        base
    }
}

impl KeyRef {
    fn rebase(&mut self, base: u64) {
        if self.0 > 0 {
            self.0 += base;
        }
    }

    /// Whether there is a key.
    pub(crate) fn is_some(self) -> bool {
        self.0 > 0
    }
}

/// Iterates over the columns of a key.
#[derive(Debug, Clone)]
pub(crate) struct Columns<'a> {
    rest: &'a [u8],
}

impl<'a> Iterator for Columns<'a> {
    type Item = Option<&'a [u8]>;

    fn next(&mut self) -> Option<Option<&'a [u8]>> {
        let (len, rest) = self.rest.split_first_chunk::<2>()?;
        let len = u16::from_le_bytes(*len);
        if len == NULL {
            self.rest = rest;
            return Some(None);
        }
        let (value, rest) = rest.split_at_checked(usize::from(len))?;
        self.rest = rest;
        Some(Some(value))
    }
}

/// A page of rows or large values.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PageFact {
    pub(crate) id: PageId,
    pub(crate) unit: u32,
    /// The unit's id as the page states it.
    pub(crate) unit_id: u64,
    pub(crate) kind: u8,
    pub(crate) level: u8,
    pub(crate) prev: PageId,
    pub(crate) next: PageId,
    /// First and last key of a leaf page.
    pub(crate) low: KeyRef,
    pub(crate) high: KeyRef,
}

/// An entry of a non-leaf page.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ChildFact {
    pub(crate) parent: PageId,
    pub(crate) slot: u16,
    pub(crate) child: PageId,
    pub(crate) key: KeyRef,
}

/// An IAM page.
#[derive(Debug, Clone, Copy)]
pub(crate) struct IamFact {
    pub(crate) id: PageId,
    /// The unit's id as the page states it.
    pub(crate) unit_id: u64,
    pub(crate) sequence: u32,
    pub(crate) start: PageId,
    pub(crate) prev: PageId,
    pub(crate) next: PageId,
    pub(crate) singles: [PageId; 8],
    pub(crate) extents: u32,
}

/// A forwarding stub, or (`moved`) a row that has one.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ForwardFact {
    pub(crate) stub: RowId,
    pub(crate) row: RowId,
    pub(crate) unit: u32,
}

/// A pointer to a large value, or to a part of one.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TextRef {
    pub(crate) from: RowId,
    pub(crate) to: RowId,
    pub(crate) blob: u64,
    /// Bytes that must be below it.
    pub(crate) bytes: Option<u64>,
    pub(crate) unit: u32,
    /// Of a row that is deleted: its value may be gone already.
    pub(crate) ghost: bool,
}

/// A record of a large value.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TextNode {
    pub(crate) at: RowId,
    pub(crate) blob: u64,
    pub(crate) bytes: u64,
    pub(crate) unit: u32,
}

/// A page in use that is not whole.
#[derive(Debug, Clone)]
pub(crate) struct BadPage {
    pub(crate) id: PageId,
    pub(crate) why: Why,
}

/// Why a page cannot be used.
#[derive(Debug, Clone)]
pub(crate) enum Why {
    /// Checksum or torn bits.
    NotWhole(String),
    /// It says that it is another page.
    OtherPage(PageId),
    /// It cannot be read.
    Unread(String),
}

/// The facts of a worker, then of all.
#[derive(Debug, Default)]
pub(crate) struct Facts {
    pub(crate) keys: Arena,
    pub(crate) pages: Vec<PageFact>,
    pub(crate) children: Vec<ChildFact>,
    pub(crate) iams: Vec<IamFact>,
    pub(crate) stubs: Vec<ForwardFact>,
    pub(crate) moved: Vec<ForwardFact>,
    pub(crate) text_refs: Vec<TextRef>,
    pub(crate) text_nodes: Vec<TextNode>,
    pub(crate) bad: Vec<BadPage>,
    /// First pages of extents that two units claim.
    pub(crate) claimed_twice: Vec<(PageId, u32, u32)>,
    pub(crate) pages_checked: u64,
}

impl Facts {
    /// Takes in what another worker saw.
    pub(crate) fn append(&mut self, mut other: Facts) {
        let base = self.keys.append(&mut other.keys);
        for page in &mut other.pages {
            page.low.rebase(base);
            page.high.rebase(base);
        }
        for child in &mut other.children {
            child.key.rebase(base);
        }
        self.pages.append(&mut other.pages);
        self.children.append(&mut other.children);
        self.iams.append(&mut other.iams);
        self.stubs.append(&mut other.stubs);
        self.moved.append(&mut other.moved);
        self.text_refs.append(&mut other.text_refs);
        self.text_nodes.append(&mut other.text_nodes);
        self.bad.append(&mut other.bad);
        self.claimed_twice.append(&mut other.claimed_twice);
        self.pages_checked += other.pages_checked;
    }

    /// Puts everything in order, whichever worker saw it.
    pub(crate) fn sort(&mut self) {
        self.pages.sort_unstable_by_key(|page| page.id);
        self.children
            .sort_unstable_by_key(|child| (child.parent, child.slot));
        self.iams.sort_unstable_by_key(|iam| iam.id);
        self.stubs.sort_unstable_by_key(|stub| stub.stub);
        self.moved.sort_unstable_by_key(|row| row.row);
        self.text_refs
            .sort_unstable_by_key(|text| (text.to, text.from));
        self.text_nodes.sort_unstable_by_key(|node| node.at);
        self.bad.sort_by_key(|bad| bad.id);
        self.claimed_twice.sort_unstable();
    }

    /// A page of rows or large values that was seen.
    pub(crate) fn page(&self, id: PageId) -> Option<&PageFact> {
        let at = self.pages.binary_search_by_key(&id, |page| page.id).ok()?;
        self.pages.get(at)
    }

    /// The entries of a non-leaf page.
    pub(crate) fn children_of(&self, parent: PageId) -> &[ChildFact] {
        let start = self.children.partition_point(|c| c.parent < parent);
        let rest = self.children.get(start..).unwrap_or_default();
        let end = rest.partition_point(|c| c.parent == parent);
        rest.get(..end).unwrap_or_default()
    }

    /// Whether a page in use could not be used.
    pub(crate) fn is_bad(&self, id: PageId) -> bool {
        self.bad.binary_search_by_key(&id, |bad| bad.id).is_ok()
    }
}
