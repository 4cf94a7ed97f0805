//! Operators: bound once to the types of their operands, then applied to values row by row.

mod arithmetic;
mod bits;
mod compare;
mod like;
mod like_bytes;
mod logic;
mod moment;
mod text;

pub use arithmetic::{BinaryOp, BoundBinary, BoundUnary, UnaryOp, bind_binary, bind_unary};
pub(crate) use arithmetic::{approximate, float_of};
pub use compare::{BoundCompare, CompareOp, bind_compare, hash_value, order};
pub use like::{LikePattern, bind_like};
pub use like_bytes::LikeBytes;
pub use logic::{Truth, and, not, or};

#[cfg(test)]
mod tests;
