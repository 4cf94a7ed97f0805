//! Ranges of keys in trees that are sorted by other weights than ours: all rows are read, and those that do
//! not belong are left out.

use super::Index;
use crate::error::EngineError;
use furrow_access::{Bound, Tree};

/// A range that a scan cannot look up.
#[derive(Debug)]
pub(crate) struct Within {
    low: Bound,
    high: Bound,
}

impl Within {
    /// Where a scan of a tree from `low` to `high` begins and ends, and what it has to leave out between.
    pub(crate) fn of(
        tree: &Tree,
        low: Bound,
        high: Bound,
    ) -> Result<(Bound, Bound, Option<Within>), EngineError> {
        let whole = (&low, &high) == (&Bound::Open, &Bound::Open);
        if whole || tree.is_in_our_order()? {
            return Ok((low, high, None));
        }
        Ok((Bound::Open, Bound::Open, Some(Within { low, high })))
    }

    /// Whether a row belongs to the range. A row that cannot be read does; the caller that decodes it
    /// reports that.
    pub(crate) fn holds(&self, index: &Index, row: &[u8]) -> bool {
        let shape = index.shape();
        let Some(key) = shape.key_of(row) else {
            return true;
        };
        let behind = match &self.low {
            Bound::Open => true,
            Bound::Included(low) => shape.compare_keys(&key, low).is_ge(),
            Bound::Excluded(low) => shape.compare_keys(&key, low).is_gt(),
        };
        behind
            && match &self.high {
                Bound::Open => true,
                Bound::Included(high) => shape.compare_keys(&key, high).is_le(),
                Bound::Excluded(high) => shape.compare_keys(&key, high).is_lt(),
            }
    }
}
