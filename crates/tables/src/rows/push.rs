//! What takes the values of a row one by one.

use super::bulk::BulkInserter;
use super::inserter::Inserter;
use crate::error::EngineError;
use furrow_types::Value;

/// Takes values in the order of the columns it was created with: an [`Inserter`] or a [`BulkInserter`].
pub trait PushValues {
    /// The next column's value.
    fn value(&mut self, value: &Value) -> Result<&mut Self, EngineError>;

    /// An integer for the next column.
    fn i64(&mut self, value: i64) -> Result<&mut Self, EngineError>;

    /// Bytes for the next column, which is `binary` or `varbinary`.
    fn bytes(&mut self, value: &[u8]) -> Result<&mut Self, EngineError>;

    /// Text for the next column.
    fn str(&mut self, value: &str) -> Result<&mut Self, EngineError>;

    /// NULL for the next column.
    fn null(&mut self) -> Result<&mut Self, EngineError>;

    /// Forgets the values pushed since the last row: the next value is the first of a row.
    fn forget_row(&mut self);
}

macro_rules! push_values {
    ($($kind:ident),*) => {
        $(impl PushValues for $kind<'_> {
            fn value(&mut self, value: &Value) -> Result<&mut Self, EngineError> {
                $kind::value(self, value)
            }

            #[inline]
            fn i64(&mut self, value: i64) -> Result<&mut Self, EngineError> {
                $kind::i64(self, value)
            }

            #[inline]
            fn bytes(&mut self, value: &[u8]) -> Result<&mut Self, EngineError> {
                $kind::bytes(self, value)
            }

            #[inline]
            fn str(&mut self, value: &str) -> Result<&mut Self, EngineError> {
                $kind::str(self, value)
            }

            fn null(&mut self) -> Result<&mut Self, EngineError> {
                $kind::null(self)
            }

            fn forget_row(&mut self) {
                $kind::forget_row(self);
            }
        })*
    };
}

push_values!(Inserter, BulkInserter);
