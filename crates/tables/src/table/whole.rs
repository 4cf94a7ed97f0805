//! All rows of a heap or a tree, for a caller that has locked the table against changes by other sessions.

use super::index::{Body, Rowset};
use crate::error::EngineError;
use furrow_access::{Bound, Direction, HeapStep, HeapVisitor, RowCheck, Step, Visitor};
use furrow_format::RowId;

/// Visits the rows of a table that no other session can change now.
struct Live;

fn take(ghost: bool) -> RowCheck {
    match ghost {
        true => RowCheck::Skip,
        false => RowCheck::Take,
    }
}

impl Visitor for Live {
    fn all_committed(&mut self) -> bool {
        true
    }

    fn check(&mut self, _row: &[u8], ghost: bool) -> RowCheck {
        take(ghost)
    }
}

impl HeapVisitor for Live {
    fn all_committed(&mut self) -> bool {
        true
    }

    fn check(&mut self, _rid: RowId, _row: &[u8], ghost: bool) -> RowCheck {
        take(ghost)
    }
}

/// The function that is called for each row; with the row's address in a heap.
type Each<'a> = &'a mut dyn FnMut(&[u8], Option<RowId>) -> Result<(), EngineError>;

/// Calls `each` for all rows, with their addresses in a heap: in the order of the key, or of allocation.
/// Ends with an error when the statement is cancelled.
pub(crate) fn each_row(rowset: &Rowset, each: Each<'_>) -> Result<(), EngineError> {
    match rowset.body() {
        Body::Tree(tree) => {
            let cursor = tree.scan(Bound::Open, Bound::Open, Direction::Forward);
            let mut cursor = cursor.with_read_ahead();
            while cursor.step(&mut Live)? == Step::Rows {
                while let Some(row) = cursor.next_in_batch() {
                    EngineError::check_cancelled()?;
                    each(row, None)?;
                }
            }
        }
        Body::Heap(heap) => {
            let mut cursor = heap.scan()?.with_read_ahead();
            while cursor.step(&mut Live)? == HeapStep::Rows {
                while let Some((rid, row)) = cursor.next_in_batch() {
                    EngineError::check_cancelled()?;
                    each(row, Some(rid))?;
                }
            }
        }
    }
    Ok(())
}
