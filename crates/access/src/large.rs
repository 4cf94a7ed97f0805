//! Large values: from the pointer in a row, over records of text pages, to the bytes.
//!
//! A pointer is one of three: 16 bytes (`text`, `ntext`, `image`), the root of a `(max)` value that lies in
//! the row, and the link to a column that left a row too long for its page. Records are a small root with the
//! bytes themselves, roots and inner nodes with links, and pieces. A link contains the offset at which its
//! piece ends; the bytes delivered must agree.
//!
//! # Steps
//! 1. Links to be followed lie on a stack, the next one on top.
//! 2. A page is latched only while its record is read: pieces are handed on from a copy, links are stacked.
//! 3. A record met twice, more bytes than the pointer promises, or than a value may have, end it.
//!
//! Memory is a page and the links of at most one record for each level; the caller stores the delivered
//! bytes.
//!
//! # What can fail
//! [`AccessError::Large`] (7105) for a node that is not there, or belongs to another value; the pool's error
//! for a page (824).

#![deny(clippy::indexing_slicing)]

use crate::AccessError;
use furrow_format::lob_record::{
    BLOB_ID_AT, BODY_AT, INLINE_ROOT, KIND_AT, ROW_OVERFLOW, TEXT_POINTER_BYTES, kind,
};
use furrow_format::{Page, PageBuf, PageId, PageType, RowId};
use furrow_pool::LatchRank;
use furrow_txn::Store;
use std::collections::HashSet;

/// Most bytes of a value.
pub(crate) const MAX_LARGE_BYTES: u64 = (1 << 31) - 1;
/// Most levels of links; SQL Server's values have three.
const MOST_LEVELS: u8 = 8;

const LINKS_AT: usize = 16;

fn bytes_at<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..)?.first_chunk().copied()
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    bytes_at(bytes, at).map(u16::from_le_bytes)
}

/// A record to be read, and the length of the value behind it, which must match; a text pointer's root has
/// none.
#[derive(Debug, Clone, Copy)]
struct Link {
    at: RowId,
    end: Option<u64>,
    level: u8,
}

struct Walk {
    blob: Option<u64>,
    stack: Vec<Link>,
    seen: HashSet<RowId>,
    delivered: u64,
}

/// Gets the pieces of a value, in order; an error of its own ends the reading.
type Sink<'a, E> = &'a mut dyn FnMut(&[u8]) -> Result<(), E>;

/// Reads the value that `pointer` leads to, piece by piece.
pub fn read_large<E: From<AccessError>>(
    store: &Store,
    pointer: &[u8],
    sink: Sink<'_, E>,
) -> Result<(), E> {
    let mut walk = Walk::from_pointer(pointer)?;
    let mut page: Box<PageBuf> = Box::new([0; furrow_format::PAGE_SIZE]);
    while let Some(link) = walk.stack.pop() {
        page.copy_from_slice(&*fetch(store, link.at.page)?);
        let piece = walk.follow(&page, link)?;
        if !piece.is_empty() {
            sink(piece)?;
        }
    }
    Ok(())
}

/// How many bytes the value has that `pointer` leads to, if the pointer contains its length.
pub fn large_len(pointer: &[u8]) -> Option<u64> {
    let last = pointer.len().checked_sub(12).filter(|&at| at >= 12)?;
    bytes_at(pointer, last).map(|end| u64::from(u32::from_le_bytes(end)))
}

fn fetch(store: &Store, id: PageId) -> Result<furrow_pool::PageRead<'_>, AccessError> {
    Ok(store
        .pool()
        .fetch(store.key(id), furrow_pool::Sh, LatchRank::Data)?)
}

fn broken(at: RowId, what: &'static str) -> AccessError {
    AccessError::Large { at, what }
}

const NOWHERE: RowId = RowId {
    page: PageId::NONE,
    slot: 0,
};

impl Walk {
    fn from_pointer(pointer: &[u8]) -> Result<Walk, AccessError> {
        let mut walk = Walk {
            blob: None,
            stack: Vec::new(),
            seen: HashSet::new(),
            delivered: 0,
        };
        let bad = || {
            broken(
                NOWHERE,
                "the pointer in the row has a form that is not known",
            )
        };
        if pointer.len() == TEXT_POINTER_BYTES {
            walk.blob = bytes_at(pointer, 0).map(u64::from_le_bytes);
            let at = RowId::from_bytes(bytes_at(pointer, 8).ok_or_else(bad)?);
            walk.stack.push(Link {
                at,
                end: None,
                level: 0,
            });
            return Ok(walk);
        }
        let known = matches!(pointer.first(), Some(&(ROW_OVERFLOW | INLINE_ROOT)));
        let (links, rest) = pointer.get(12..).unwrap_or_default().as_chunks::<12>();
        if !known || !rest.is_empty() || links.is_empty() {
            return Err(bad());
        }
        walk.blob = bytes_at(pointer, 8).map(|id| u64::from(u32::from_le_bytes(id)) << 16);
        let links = links.iter().map(|link| short_link(link, 0, 0));
        walk.stack.extend(links.rev());
        Ok(walk)
    }

    /// Reads a record: gives the bytes it holds, or stacks its links.
    fn follow<'p>(&mut self, page: &'p PageBuf, link: Link) -> Result<&'p [u8], AccessError> {
        let at = link.at;
        if !self.seen.insert(at) || link.level > MOST_LEVELS {
            return Err(broken(at, "its nodes run in a circle"));
        }
        let view = Page::new(page);
        if !matches!(view.page_type(), PageType::TextMix | PageType::TextTree) {
            return Err(broken(at, "the page is none of large values"));
        }
        let record = view.record(at.slot);
        let record = record.ok_or_else(|| broken(at, "there is no such node"))?;
        let blob = bytes_at(record, BLOB_ID_AT).map(u64::from_le_bytes);
        if self.blob.is_some() && blob != self.blob {
            return Err(broken(at, "the node is another value's"));
        }
        let short = || broken(at, "the node is too short for what it says it holds");
        let links = |from: usize, size: usize| {
            let count = usize::from(u16_at(record, LINKS_AT)?);
            record.get(from..from.checked_add(count.checked_mul(size)?)?)
        };
        let (base, level) = (self.delivered, link.level + 1);
        match u16_at(record, KIND_AT).ok_or_else(short)? {
            kind::SMALL_ROOT => {
                let len = usize::from(u16_at(record, BODY_AT).ok_or_else(short)?);
                let piece = record.get(20..20 + len).ok_or_else(short)?;
                self.deliver(piece, link)
            }
            kind::PIECE => self.deliver(record.get(BODY_AT..).ok_or_else(short)?, link),
            kind::INNER => {
                let links = links(20, 16).ok_or_else(short)?.as_chunks::<16>().0;
                let links = links.iter().map(|link| long_link(link, base, level));
                self.stack_links(links.collect(), link).map(|()| &[][..])
            }
            kind::ROOT | kind::ROOT_OF_2000 => {
                let links = links(24, 12).ok_or_else(short)?.as_chunks::<12>().0;
                let links = links.iter().map(|link| short_link(link, base, level));
                self.stack_links(links.collect(), link).map(|()| &[][..])
            }
            _ => Err(broken(at, "the node is of a kind that is not known")),
        }
    }

    /// The links must end where the one that led to them does.
    fn stack_links(&mut self, links: Vec<Link>, parent: Link) -> Result<(), AccessError> {
        let last = links.last().map_or(Some(self.delivered), |link| link.end);
        if parent.end.is_some() && last != parent.end {
            return Err(broken(
                parent.at,
                "the node ends elsewhere than its parent says",
            ));
        }
        self.stack.extend(links.into_iter().rev());
        Ok(())
    }

    fn deliver<'p>(&mut self, piece: &'p [u8], link: Link) -> Result<&'p [u8], AccessError> {
        self.delivered += piece.len() as u64;
        let promised = link.end.is_none_or(|end| end == self.delivered);
        if !promised || self.delivered > MAX_LARGE_BYTES {
            return Err(broken(
                link.at,
                "the piece is not as long as its parent says",
            ));
        }
        Ok(piece)
    }
}

fn short_link(link: &[u8; 12], base: u64, level: u8) -> Link {
    let [e0, e1, e2, e3, row @ ..] = *link;
    Link {
        at: RowId::from_bytes(row),
        end: Some(base + u64::from(u32::from_le_bytes([e0, e1, e2, e3]))),
        level,
    }
}

fn long_link(link: &[u8; 16], base: u64, level: u8) -> Link {
    let [e0, e1, e2, e3, e4, e5, e6, e7, row @ ..] = *link;
    let end = u64::from_le_bytes([e0, e1, e2, e3, e4, e5, e6, e7]);
    Link {
        at: RowId::from_bytes(row),
        end: Some(base.saturating_add(end)),
        level,
    }
}
