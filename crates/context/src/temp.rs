//! Temporary tables and table variables: tables of `tempdb` that one connection sees.
//!
//! `#t` is a table of `tempdb` under a name that no other connection has: its own, filled up, and a number. A
//! procedure's temporary tables go when it ends, those of the connection with it; a table variable goes with
//! the batch or procedure that declares it, and no other sees it. What is to go while a transaction is open
//! goes when that has ended. Table variables are made, filled and dropped apart from the transaction:
//! ROLLBACK leaves them as they are.

/// The tables of `tempdb` that a name of T-SQL may mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TempKind {
    /// `@t`: a table variable.
    Variable,
    /// `#t`: a temporary table of one connection.
    Local,
    /// `##t`: a temporary table that all connections see.
    Shared,
}

impl TempKind {
    /// The kind that a name is written as; `None` for the name of an ordinary table. This is the grammar of
    /// T-SQL, and the one place that looks at it.
    pub fn of(name: &str) -> Option<TempKind> {
        match name.as_bytes() {
            [b'@', ..] => Some(TempKind::Variable),
            [b'#', b'#', ..] => Some(TempKind::Shared),
            [b'#', ..] => Some(TempKind::Local),
            _ => None,
        }
    }

    /// Whether one connection alone sees such tables.
    pub fn is_own(self) -> bool {
        matches!(self, TempKind::Variable | TempKind::Local)
    }
}

/// A temporary table or table variable.
#[derive(Debug)]
pub(crate) struct TempTable {
    pub(crate) kind: TempKind,
    /// With its `#` or `@`, in lower case.
    pub(crate) name: String,
    /// The same as it was written.
    pub(crate) shown: String,
    /// What it is called in `tempdb`.
    pub(crate) inner: String,
    /// How many procedures and texts were at work when it was made.
    pub(crate) depth: usize,
}

/// Those of a connection.
#[derive(Debug, Default)]
pub struct Temp {
    /// Innermost last.
    pub(crate) tables: Vec<TempTable>,
    /// Names in `tempdb` of those that are to go.
    pub(crate) gone: Vec<(TempKind, String)>,
    /// Tables that all connections see and this one has made: they go with it.
    pub(crate) shared: Vec<String>,
    /// Grows with each change of `tables`.
    pub(crate) version: u64,
}

impl Temp {
    /// A number for which tables there are: names lead to the same ones as long as it is the same.
    pub fn version(&self) -> u64 {
        self.version
    }
}

/// Temporary tables that are out of sight for a while.
#[derive(Debug)]
pub struct HiddenTables(pub(crate) Vec<TempTable>);

/// Whether this names a temporary table of one connection, or a table variable.
pub fn is_own(name: &str) -> bool {
    TempKind::of(name).is_some_and(TempKind::is_own)
}

/// Whether this names a table of `tempdb`, whatever the current database.
pub fn is_temp(name: &str) -> bool {
    TempKind::of(name).is_some()
}
