//! The request for a scan.

use super::lock_hints::{LockHints, ReadLock};
use furrow_types::Value;
use std::ops::Bound;

/// What to scan.
#[derive(Debug, Clone, PartialEq)]
pub struct ScanSpec {
    /// Place of the index among [`super::Table::indexes`]; 0 is the clustered one, or the heap.
    pub index: usize,
    /// Where the range begins: values of the first key columns.
    pub low: Bound<Vec<Value>>,
    /// Where it ends.
    pub high: Bound<Vec<Value>>,
    /// In descending order of the index.
    pub backward: bool,
    /// Which locks to take.
    pub lock: ReadLock,
    /// Further hints; none: those of [`crate::Session::swap_hints`].
    pub hints: LockHints,
    /// Whether only columns of the index are wanted: then the rows themselves are not read.
    pub covered: bool,
    /// Whether leaves to come are read ahead.
    pub read_ahead: bool,
}

impl Default for ScanSpec {
    fn default() -> ScanSpec {
        ScanSpec {
            index: 0,
            low: Bound::Unbounded,
            high: Bound::Unbounded,
            backward: false,
            lock: ReadLock::Shared,
            hints: LockHints::default(),
            covered: false,
            read_ahead: true,
        }
    }
}

impl ScanSpec {
    /// All rows with this key, as far as it goes, of the index at this place.
    pub fn equal(index: usize, key: Vec<Value>) -> ScanSpec {
        let (low, high) = (Bound::Included(key.clone()), Bound::Included(key));
        ScanSpec {
            index,
            low,
            high,
            read_ahead: false,
            ..ScanSpec::default()
        }
    }
}
