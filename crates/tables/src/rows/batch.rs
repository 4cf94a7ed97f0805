//! Rows encoded one behind the other.

use crate::error::EngineError;
use crate::table::{RowBuffer, Table};
use furrow_access::RowBatch;

/// Whether whole batches can be appended to the clustered index.
pub(super) fn takes_batches(table: &Table) -> bool {
    table.indexes.len() == 1 && !table.is_heap() && !table.base().uniquifier
}

/// Encodes the row behind the others of the batch.
pub(super) fn push_row(
    batch: &mut RowBatch,
    table: &Table,
    row: &RowBuffer,
    key_may_be_long: bool,
) -> Result<(), EngineError> {
    let base = table.base();
    if key_may_be_long {
        row.check_nulls(table)?;
        row.key(base)?;
    }
    batch.push_with(|out| {
        if row.finish_row(base, out) {
            return Ok(());
        }
        row.check_nulls(table)?;
        row.encode_values(base, out)
    })
}
