//! Temporary tables and table variables: tables of `tempdb` that one connection sees.
//!
//! `#t` is a table of `tempdb` with a unique name: its own, padded, and a number. A procedure's temporary
//! tables are dropped when it ends, those of the connection when that ends. A table variable is dropped with
//! the batch or procedure that declares it, and is visible only there. A drop that falls into an open
//! transaction is done when the transaction has ended. Table variables are created, filled and dropped
//! outside of the transaction: ROLLBACK does not change them.

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
    /// The kind of a name, by its first characters; `None` for the name of an ordinary table. Only this
    /// function implements this rule of T-SQL.
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
    /// As it was written.
    pub(crate) shown: String,
    /// Its name in `tempdb`.
    pub(crate) inner: String,
    /// Nesting level of procedures and texts when it was created.
    pub(crate) depth: usize,
}

/// [`Temp::version`] without temporary tables.
pub(crate) const NO_TABLES: u64 = 0;

/// The temporary tables of a connection.
#[derive(Debug, Default)]
pub struct Temp {
    /// Innermost last.
    pub(crate) tables: Vec<TempTable>,
    /// Names in `tempdb` of tables that are to be dropped.
    pub(crate) gone: Vec<(TempKind, String)>,
    /// Global temporary tables that this connection has created: they are dropped with it.
    pub(crate) shared: Vec<String>,
    /// Grows with each change of `tables`.
    pub(crate) version: u64,
}

impl Temp {
    /// A number for the set of tables: while it is the same, names are resolved to the same tables. Without
    /// tables it is the same for all connections.
    pub fn version(&self) -> u64 {
        match self.tables.is_empty() {
            true => NO_TABLES,
            false => self.version,
        }
    }
}

/// Temporary tables that are hidden for a while.
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
