//! A database that is made once and that all runs work on: one table of rows that compress about as business
//! data does, and a small table that users change meanwhile.
//!
//! A row of the large table has some 1,900 bytes: a key, a random identifier, a number, and a text of which a
//! quarter is random and the rest repeats. Four rows lie on a page.

use super::place::{RunPlace, failed, wrong};
use crate::drives::Places;
use crate::targets::{DatabaseLayout, Session, Startup, Target, TargetError, Value, quoted};
use furrow_lab::experiment::{RunContext, StepError};
use std::path::Path;

/// The large table.
pub(crate) const TABLE: &str = "dbo.Stock";
/// The table that users change.
pub(crate) const BUSY: &str = "dbo.Busy";
/// Rows of the table that users change.
pub(crate) const BUSY_ROWS: u64 = 1000;
const ROWS_A_PAGE: u64 = 4;
const PAGE_BYTES: u64 = 8192;
/// Rows that one statement adds: a statement is one transaction, and its records stay in the log until then.
const ROWS_AT_ONCE: u64 = 8192;
const MIB: u64 = 1 << 20;

/// What is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Contents {
    /// Bytes of the pages of the large table.
    pub(crate) bytes: u64,
    /// Whether it has two nonclustered indexes.
    pub(crate) has_indexes: bool,
}

impl Contents {
    /// Rows of the large table.
    pub(crate) fn rows(self) -> u64 {
        (self.bytes / PAGE_BYTES * ROWS_A_PAGE).max(1)
    }

    /// Bytes of each of `files` data files: the rows, their indexes, and some space.
    pub(crate) fn file_bytes(self, files: u64) -> u64 {
        let all = self.bytes / 100 * 115 + 8 * MIB;
        (all / files.max(1)).max(4 * MIB).div_ceil(64 << 10) * (64 << 10)
    }

    /// Bytes of the log.
    pub(crate) fn log_bytes(self) -> u64 {
        (self.bytes / 8).clamp(64 * MIB, 1024 * MIB)
    }

    fn fill(self, session: &mut dyn Session, context: &RunContext<'_>) -> Result<(), StepError> {
        let random = ["NEWID()"; 12].join(", ");
        let columns = format!(
            "NEWID(), ABS(CHECKSUM(NEWID())) % 100000, \
             CONCAT({random}, REPLICATE('a pallet of spare parts; ', 58))"
        );
        let create = format!(
            "CREATE TABLE {TABLE} (id bigint IDENTITY (1, 1) PRIMARY KEY, ref uniqueidentifier NOT NULL, \
             amount int NOT NULL, note varchar(2000) NOT NULL);\n\
             CREATE TABLE {BUSY} (id int NOT NULL PRIMARY KEY, n bigint NOT NULL);\n\
             INSERT {BUSY} SELECT value, 0 FROM GENERATE_SERIES(1, {BUSY_ROWS});\n\
             INSERT {TABLE} (ref, amount, note) SELECT {columns};"
        );
        session.batch(&create).map_err(failed)?;
        let mut rows = 1;
        while rows < self.rows() {
            if context.is_cancelled() {
                return Err(StepError::Cancelled);
            }
            let more = rows.min(self.rows() - rows).min(ROWS_AT_ONCE);
            let text = format!(
                "INSERT {TABLE} (ref, amount, note) SELECT TOP ({more}) {columns} FROM {TABLE};"
            );
            session.batch(&text).map_err(failed)?;
            rows += more;
        }
        let indexes = format!(
            "CREATE INDEX ix_ref ON {TABLE} (ref);\nCREATE INDEX ix_amount ON {TABLE} (amount, id);"
        );
        if self.has_indexes {
            session.batch(&indexes).map_err(failed)?;
        }
        session.batch("CHECKPOINT;").map(|_| ()).map_err(failed)
    }
}

/// Makes a database of so many files in directories of its own, and fills it. The instance is started where
/// `startup` is given; its directory lies beside the first data file.
pub(crate) fn make(
    target: &mut dyn Target,
    (places, out_dir): (&Places, &Path),
    (files, contents): (u64, Contents),
    (tag, pool_bytes): (&str, Option<u64>),
    context: &mut RunContext<'_>,
) -> Result<RunPlace, StepError> {
    let volumes = places.data(out_dir);
    let place = RunPlace::new(&volumes, places.log.as_deref(), files, tag);
    place.make_directories(context)?;
    let log = (place.log.as_path(), contents.log_bytes());
    let each = contents.file_bytes(files);
    let layout = DatabaseLayout::even(&place.name, &place.data, each, log);
    for path in target.paths(&layout) {
        context.claim_file(&path)?;
    }
    match pool_bytes {
        Some(pool_bytes) => {
            let startup = Startup {
                directory: place.instance(),
                pool_bytes,
                ..Startup::default()
            };
            place.start_claimed(target, &startup, &layout, context)?;
        }
        None => target.create_database(&layout).map_err(failed)?,
    }
    let mut session = session_in(target, &place.name).map_err(failed)?;
    contents.fill(session.as_mut(), context)?;
    Ok(place)
}

/// A session in a database.
pub(crate) fn session_in(
    target: &dyn Target,
    database: &str,
) -> Result<Box<dyn Session>, TargetError> {
    let mut session = target.connect()?;
    session.batch(&format!("USE {};", quoted(database)))?;
    Ok(session)
}

/// Finds a wrong result where the large table of a database does not have its rows.
pub(crate) fn verify_rows(
    target: &dyn Target,
    database: &str,
    contents: Contents,
) -> Result<(), StepError> {
    let mut session = session_in(target, database).map_err(failed)?;
    let text = format!("SELECT COUNT_BIG(*) FROM {TABLE} WITH (INDEX (1));");
    let reply = session.batch(&text).map_err(wrong)?;
    let (found, wanted) = (reply.scalar().map_or(0, Value::count), contents.rows());
    match found == wanted {
        true => Ok(()),
        false => Err(StepError::Violation(format!(
            "{TABLE} in {database} holds {found} rows where {wanted} were inserted"
        ))),
    }
}

/// A path as the text of a statement.
pub(crate) fn literal(path: &Path) -> String {
    format!("N'{}'", path.display().to_string().replace('\'', "''"))
}
