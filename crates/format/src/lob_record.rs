//! Where things are in records of large values, and in the pointers to them.

/// Length of the pointer of a `text`, `ntext` or `image` column.
pub const TEXT_POINTER_BYTES: usize = 16;
/// First byte of a pointer to a column that left its row.
pub const ROW_OVERFLOW: u8 = 2;
/// First byte of a root that lies in the row.
pub const INLINE_ROOT: u8 = 4;

/// Where a record stores the id of its value.
pub const BLOB_ID_AT: usize = 4;
/// Where it stores its kind.
pub const KIND_AT: usize = 12;
/// Where its body begins.
pub const BODY_AT: usize = 14;

/// Kinds of records.
pub mod kind {
    /// A value that fits in its root.
    pub const SMALL_ROOT: u16 = 0;
    /// Links to further records.
    pub const INNER: u16 = 2;
    /// Bytes of the value.
    pub const PIECE: u16 = 3;
    /// A root as version 2000 wrote it.
    pub const ROOT_OF_2000: u16 = 4;
    /// A root with links.
    pub const ROOT: u16 = 5;
}
