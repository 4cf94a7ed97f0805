//! The load of the published test: sessions insert rows into one clustered table, so many a durable commit.

use super::load::{Job, Piece, Work};
use crate::targets::{Session, StatementId, Target, TargetError, quoted};

/// One row of the published table takes one page.
const PAGE_BYTES: u64 = 8192;
/// Bytes of a row of the random-key table with its slot, and the part of a page that random inserts fill.
const NARROW_ROW_BYTES: u64 = 160;
const NARROW_FILL_PERCENT: u64 = 69;
/// The table of the published script.
const TABLE: &str = "dbo.MyBigTable";

/// How rows are laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layout {
    /// `BIGINT IDENTITY` as the clustered key and a `CHAR(4100)`: one row a page, keys ascend.
    Sequential,
    /// 160-byte rows on a random 16-byte clustered key: pages split everywhere.
    RandomKey,
}

impl Layout {
    /// As it is written on the command line.
    pub fn word(self) -> &'static str {
        match self {
            Layout::Sequential => "sequential",
            Layout::RandomKey => "random-key",
        }
    }

    /// From the word.
    pub fn parse(text: &str) -> Option<Layout> {
        [Layout::Sequential, Layout::RandomKey]
            .into_iter()
            .find(|layout| layout.word() == text)
    }

    /// Rows that fill `total_bytes` of data pages.
    pub fn rows(self, total_bytes: u64) -> u64 {
        match self {
            Layout::Sequential => total_bytes / PAGE_BYTES,
            Layout::RandomKey => total_bytes / 100 * NARROW_FILL_PERCENT / NARROW_ROW_BYTES,
        }
    }

    /// The statement that makes the table. Every column has a default, so that a row is inserted by DEFAULT
    /// VALUES.
    pub(crate) fn table_statement(self) -> String {
        let columns = match self {
            Layout::Sequential => {
                "c1 BIGINT IDENTITY (1, 1) PRIMARY KEY, c2 CHAR (4100) NOT NULL DEFAULT 'a'"
            }
            Layout::RandomKey => {
                "c1 UNIQUEIDENTIFIER NOT NULL DEFAULT NEWID() PRIMARY KEY, \
                 c2 DATETIME NOT NULL DEFAULT GETDATE(), c3 CHAR (111) NOT NULL DEFAULT 'a', \
                 c4 INT NOT NULL DEFAULT 1, c5 INT NOT NULL DEFAULT 2, c6 BIGINT NOT NULL DEFAULT 3"
            }
        };
        format!("CREATE TABLE {TABLE} ({columns});")
    }
}

/// Makes the table in a database.
pub fn create_table(
    target: &dyn Target,
    database: &str,
    layout: Layout,
) -> Result<(), TargetError> {
    let mut session = target.connect()?;
    session.batch(&format!("USE {};", quoted(database)))?;
    session.batch(&layout.table_statement()).map(|_| ())
}

/// Rows of the table, counted by reading it.
pub fn count_rows(target: &dyn Target, database: &str) -> Result<u64, TargetError> {
    let mut session = target.connect()?;
    session.batch(&format!("USE {};", quoted(database)))?;
    let reply = session.batch(&format!(
        "SELECT COUNT_BIG(*) FROM {TABLE} WITH (INDEX (1));"
    ))?;
    Ok(reply.scalar().map_or(0, crate::targets::Value::count))
}

/// Inserts of so many rows a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Inserts {
    /// Rows of a transaction.
    pub rows_per_commit: u64,
}

impl Work for Inserts {
    fn open(&self, _place: u32, session: &mut dyn Session) -> Result<Box<dyn Job>, TargetError> {
        let insert = format!("INSERT INTO {TABLE} DEFAULT VALUES;");
        Ok(Box::new(Inserter {
            rows: self.rows_per_commit,
            begin: session.prepare("BEGIN TRANSACTION;", "")?,
            insert: session.prepare(&insert, "")?,
            commit: session.prepare("COMMIT TRANSACTION;", "")?,
        }))
    }
}

struct Inserter {
    rows: u64,
    begin: StatementId,
    insert: StatementId,
    commit: StatementId,
}

impl Job for Inserter {
    fn next(&mut self, session: &mut dyn Session, piece: Piece) -> Result<u64, TargetError> {
        let rows = self.rows.min(piece.most).max(1);
        if rows == 1 {
            return session.execute(self.insert, &[]).map(|_| 1);
        }
        session.execute(self.begin, &[])?;
        for _ in 0..rows {
            session.execute(self.insert, &[])?;
        }
        session.execute(self.commit, &[])?;
        Ok(rows)
    }
}
