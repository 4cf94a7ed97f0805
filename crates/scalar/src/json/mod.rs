//! JSON text as the JSON functions read it: in place, from left to right, and no further than they must.
//!
//! SQL Server's functions work on the text itself. JSON_QUERY returns a part of it as it is written.
//! JSON_MODIFY changes one place and leaves every other character alone. A number is returned in the digits
//! that it was written in. The text behind the result is never read: `JSON_VALUE('{"a":1}oops', '$.a')` is 1.
//! A parser that builds a tree loses all this, and reports errors by its own rules. So this parser is our
//! own: a [`Reader`] over the bytes, a [`Path`] to follow, and [`modify`].
//!
//! # Rules
//! - Only an object or an array is JSON text (error 13609 at the first character of anything else).
//! - Of members with the same name the first one counts.
//! - A broken number, word or string is named by its first character, the end of the text by `.`.
//! - Values lie at most 128 levels deep (13606), so that reading by recursion is safe.

mod edit;
mod path;
mod reader;
#[cfg(test)]
mod tests;

pub use edit::modify;
pub use path::{Path, Step};
pub use reader::{Bad, Kind, Members, Node, find, is_json, quote, scientific, seek, unescape};
