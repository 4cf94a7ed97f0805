//! Which way a search goes among equal keys.

/// Which way a search for a key goes among equal ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    /// Before the first row that equals the key as far as the key goes.
    Before,
    /// Behind the last such row.
    Behind,
}
