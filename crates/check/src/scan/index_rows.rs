//! Rows of tables and of their indexes, reduced to hashes: see `buckets`.

use super::rows::{Site, bytes_of};
use super::worker::Worker;
use crate::hash::RowHash;
use crate::plan::{IndexMatch, Origin, RowsetPlan};
use furrow_datafile::Stored;
use furrow_format::RowId;

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

impl Worker<'_> {
    /// Notes the hashes for the sums of the table's indexes, or for those of this index.
    pub(super) fn match_index(&mut self, site: &Site<'_, '_>, values: &[Stored<'_>], at: RowId) {
        let (Some(rows), shared) = (site.rows, self.shared) else {
            return;
        };
        for (&place, hashes) in rows.expects.iter().zip(&mut self.hashes) {
            if let Some(index) = shared.matched(place) {
                hashes.push(row_hash(index, values, at));
            }
        }
        let of_index = rows.is_index.and_then(|place| shared.matched(place));
        if let (Some(index), Some(hashes)) = (of_index, self.hashes.get_mut(rows.expects.len())) {
            hashes.push(index_hash(index, values));
        }
    }

    /// Room for the hashes of the rows of a page.
    pub(super) fn clear_hashes(&mut self, rows: Option<&RowsetPlan>) {
        let wanted = rows.map_or(0, |rows| rows.expects.len() + 1);
        if self.hashes.len() < wanted {
            self.hashes.resize_with(wanted, Vec::new);
        }
        self.hashes.iter_mut().for_each(Vec::clear);
    }

    /// Adds the hashes of a page to the sums, or takes them away.
    pub(super) fn add_hashes(&mut self, rows: &RowsetPlan) {
        let sums = |place: usize| self.shared.buckets.get(place).and_then(Option::as_ref);
        for (&place, hashes) in rows.expects.iter().zip(&self.hashes) {
            if let Some(sums) = sums(place).filter(|_| !hashes.is_empty()) {
                sums.expect(hashes);
            }
        }
        let found = self.hashes.get(rows.expects.len());
        if let (Some(sums), Some(hashes)) = (rows.is_index.and_then(sums), found) {
            sums.found(hashes);
        }
    }
}
