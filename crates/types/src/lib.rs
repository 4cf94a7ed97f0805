//! SQL Server's data types: the values that a column may have, and their bytes on disk.
//!
//! Purpose: one place that defines, for each type, its id, its declared form, its bytes on disk, its text and
//! its order. Rows, keys, the catalog and the readers of real files all use it.
//!
//! Invariants
//! - `decode(t, encode(t, v))` is `v` converted to `t` (text loses what code page 1252 doesn't have).
//! - [`compare`] is a total preorder on all byte strings, and on values of the type it is the order of `=`,
//!   `<` and `>`; it never allocates.
//! - Bytes from a file never panic: they decode or give [`TypeError::Malformed`].
//!
//! What can fail: a value outside its type, with SQL Server's message number in [`TypeError`].

#![deny(
    clippy::indexing_slicing,
    clippy::string_slice,
    clippy::panic,
    clippy::unreachable
)]

mod best_fit;
mod calendar;
mod code_page;
mod codec;
mod collation;
mod compare;
mod convert;
mod data_type;
mod declare;
mod error;
mod moment;
mod parse;
mod prefix;
mod text;
mod type_id;
mod value;
mod variant;
mod variant_type;
mod xml;

pub use calendar::{
    DATETIME_TICKS_PER_DAY, Date, DateTime, DateTime2, DateTimeOffset, SmallDateTime,
    TICKS_PER_DAY, Time,
};
pub use code_page::{decode_1252, decode_utf16, encode_1252, encode_utf16};
pub use codec::{decode, encode, encode_into};
pub use collation::{Collation, compare_1252, compare_utf16};
pub use compare::compare;
pub use convert::{cast, cast_with, parse_value};
pub use data_type::{DataType, MAX_LENGTH};
pub use error::TypeError;
pub use moment::{DateOrder, MONTHS, Moment, MomentError, parse_moment};
pub use prefix::prefix_range;
pub use text::{character_weight, compare_text, compare_units, hash_text, hash_units};
pub use type_id::{Family, TypeId};
pub use value::{Decimal, Guid, Value};
pub use xml::{base64, decode_xml, escape_xml, is_binary_xml};

#[cfg(test)]
mod tests;
