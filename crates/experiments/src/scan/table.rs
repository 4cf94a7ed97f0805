//! The large table that a count reads: a row takes a page.

use crate::targets::{Target, Value};
use crate::workloads::place::failed;
use crate::workloads::prepared::session_in;
use furrow_lab::experiment::{RunContext, StepError};
use furrow_lab::size::size_text;

const TABLE: &str = "dbo.Scanned";
/// A row takes a page.
pub(super) const ROW_BYTES: u64 = 8192;

/// Makes the table: one row, doubled until all are there.
pub(super) fn fill(
    target: &dyn Target,
    database: &str,
    all: u64,
    context: &RunContext<'_>,
) -> Result<(), StepError> {
    let mut session = session_in(target, database).map_err(failed)?;
    let create = format!(
        "CREATE TABLE {TABLE} (c1 BIGINT IDENTITY (1, 1) PRIMARY KEY, c2 CHAR (4100) NOT NULL);\n\
         INSERT {TABLE} (c2) VALUES ('a');"
    );
    session.batch(&create).map_err(failed)?;
    let mut rows = 1;
    while rows < all {
        if context.is_cancelled() {
            return Err(StepError::Cancelled);
        }
        // Small steps: a step is one transaction, and its records stay in the log until it ends.
        let more = rows.min(all - rows).min(4096);
        let text = format!("INSERT {TABLE} (c2) SELECT TOP ({more}) c2 FROM {TABLE};");
        session.batch(&text).map_err(failed)?;
        rows += more;
    }
    session.batch("CHECKPOINT;").map(|_| ()).map_err(failed)
}

/// Fails where a count did not find all rows.
pub(super) fn check_count(answer: &[Vec<Value>], all: u64) -> Result<(), StepError> {
    let found = answer.first().and_then(|row| row.first());
    let found = found.map_or(0, Value::count);
    if found == all {
        return Ok(());
    }
    Err(StepError::Violation(format!(
        "a scan found {found} rows where {all} were inserted"
    )))
}

/// Bytes that a cold count of so many rows reads at least, and a warm one at most.
pub(super) fn cold_and_warm(rows: u64) -> (u64, u64) {
    (rows * ROW_BYTES / 10 * 9, rows * ROW_BYTES / 10)
}

/// Fails where a scan read too little for a cold one.
pub(super) fn check_cold(read: u64, least: u64) -> Result<(), StepError> {
    if read >= least {
        return Ok(());
    }
    Err(StepError::Failed(format!(
        "a cold scan read {} from the files, where {} at least are read with nothing in memory: it was not \
         cold",
        size_text(read),
        size_text(least)
    )))
}

/// Fails where a scan read too much for a warm one.
pub(super) fn check_warm(read: u64, most: u64) -> Result<(), StepError> {
    if read <= most {
        return Ok(());
    }
    Err(StepError::Failed(format!(
        "a warm scan read {} from the files: give a larger --pool",
        size_text(read)
    )))
}
