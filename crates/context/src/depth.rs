//! How deep statements may nest.
//!
//! The parser bounds how deep one statement's text nests (191). A chain of definitions, each of which names
//! the one before, nests deeper than any text: common table expressions, views, procedures. So each recursion
//! of the binder, of plans that open and of the interpreter checks here what is left of the thread's stack,
//! and ends the statement (8631) before the stack does.
//!
//! # Invariants
//! 1. Below a check at most [`RESERVE_BYTES`] of stack are used until the next check or the end.
//! 2. To run or drop a plan takes less stack for each level than to bind it: what the binder accepts runs.

use crate::error::{Result, refuse};
use furrow_io::thread::stack_left;

/// What one level may use, with all that the engine below it uses.
const RESERVE_BYTES: usize = 512 << 10;

/// What the parser uses at the greatest depth that it reads (191). Texts are read deep within statements too:
/// those of views and procedures.
pub(crate) const PARSER_BYTES: usize = 1536 << 10;

/// 8631 where less stack is left than a level may use.
#[inline]
pub fn check() -> Result<()> {
    match stack_left() {
        Some(left) if left < RESERVE_BYTES => refuse(8631, &[]),
        _ => Ok(()),
    }
}
