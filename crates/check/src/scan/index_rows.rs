//! Rows of tables and of their indexes, reduced to hashes: see `buckets`.

use super::rows::{Along, Site, bytes_of, home_of};
use super::worker::{Hashes, Worker};
use crate::hash::RowHash;
use crate::plan::{IndexMatch, Origin};
use furrow_datafile::Stored;
use furrow_format::{Page, PageBuf, PageId, Record, RowId};

/// The hash of the index row that a row of the table must have.
#[inline]
pub(crate) fn row_hash(index: &IndexMatch, values: &[Stored<'_>], at: RowId) -> u64 {
    let mut hash = RowHash::new();
    for origin in &index.from {
        match origin {
            Origin::Column(column) => match values.get(*column) {
                Some(Stored::NotStored) => {
                    hash.add(index.defaults.get(column).map(Vec::as_slice));
                }
                value => hash.add(value.copied().and_then(bytes_of)),
            },
            Origin::Address => hash.add(Some(&at.to_bytes())),
            Origin::Nothing => {}
        }
    }
    hash.done()
}

/// The hash of a row of an index.
#[inline]
pub(crate) fn index_hash(index: &IndexMatch, values: &[Stored<'_>]) -> u64 {
    let mut hash = RowHash::new();
    for (origin, value) in index.from.iter().zip(values) {
        if *origin != Origin::Nothing {
            hash.add(bytes_of(*value));
        }
    }
    hash.done()
}

impl<'a> Worker<'a> {
    /// Notes the hashes for the sums of the table's indexes, or for those of this index.
    #[inline]
    pub(super) fn match_index(&mut self, values: &[Stored<'_>], at: RowId) {
        for of_index in &mut self.hashes {
            let hash = if of_index.is_index {
                index_hash(of_index.index, values)
            } else {
                row_hash(of_index.index, values, at)
            };
            of_index.hashes.push(hash);
        }
    }

    /// Prepares for the rows of a page of a unit: indexes that this check leaves out get no hashes.
    pub(super) fn begin_hashes(&mut self, unit: u32) {
        if self.hashes_of != Some(unit) {
            let shared = self.shared;
            let matched = |(place, is_index): (usize, bool)| {
                Some(Hashes {
                    index: shared.plan.matches.get(place)?,
                    sums: shared.buckets.get(place)?.as_ref()?,
                    is_index,
                    hashes: Vec::new(),
                })
            };
            let rows = shared.plan.rows_of(unit);
            let expects = rows.iter().flat_map(|rows| &rows.expects);
            let own = rows.and_then(|rows| rows.is_index);
            let places = expects.map(|&place| (place, false));
            let places = places.chain(own.map(|place| (place, true)));
            self.hashes = places.filter_map(matched).collect();
            self.hashes_of = Some(unit);
        }
        debug_assert!(
            self.hashes
                .iter()
                .all(|of_index| of_index.hashes.is_empty())
        );
    }

    /// Calls `each` with the hash and the address of every row of a leaf page that the scan added to the sums
    /// of an index, or took away: rows that break a rule are in neither. The sums stay as they are.
    pub(crate) fn hashed_rows(
        &mut self,
        (id, unit): (PageId, u32),
        bytes: &PageBuf,
        index: &IndexMatch,
        each: &mut dyn FnMut(u64, RowId),
    ) {
        let view = Page::new(bytes);
        let mut site = Site::new(id, unit, view, self.shared.plan.rows_of(unit));
        site.is_plain = self.plain_rows(site.kind(), view).is_some();
        if !site.is_plain {
            self.frame(id, unit, view);
        }
        self.begin_hashes(unit);
        self.hashes
            .retain(|of_index| std::ptr::eq(of_index.index, index));
        let (slots, mut along) = (std::mem::take(&mut self.slots), Along::default());
        for place in &slots {
            self.row(&site, *place, &mut along);
            let hash = self.hashes.iter_mut().find_map(|own| own.hashes.pop());
            let start = usize::from(place.offset);
            let record = view.bytes().get(start..start + usize::from(place.len));
            let record =
                record.and_then(|bytes| Record::of_page(view.page_type(), view.pminlen(), bytes));
            let (page, slot) = (id, place.slot);
            let home = record.and_then(|record| home_of(&record));
            if let Some(hash) = hash {
                each(hash, home.unwrap_or(RowId { page, slot }));
            }
        }
        self.slots = slots;
        self.facts = Default::default();
        self.findings.list.clear();
    }

    /// No hashes are noted until the next page begins.
    pub(super) fn forget_hashes(&mut self) {
        self.hashes.clear();
        self.hashes_of = None;
    }

    /// Adds the hashes of a page to the sums, or takes them away.
    pub(super) fn add_hashes(&mut self) {
        for of_index in &mut self.hashes {
            if of_index.is_index {
                of_index.sums.found(&of_index.hashes);
            } else {
                of_index.sums.expect(&of_index.hashes);
            }
            of_index.hashes.clear();
        }
    }
}
