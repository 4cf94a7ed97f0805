//! How deep statements may nest.
//!
//! The parser limits the nesting of one statement's text (191). A chain of definitions, each of which names
//! the one before, can be deeper than any text: common table expressions, views, procedures. So each
//! recursion of the binder, of plans that open and of the interpreter checks the remaining stack of the
//! thread here, and ends the statement (8631) before the stack overflows.
//!
//! # Invariants
//! 1. Below a check at most [`RESERVE_BYTES`] of stack are used until the next check or the end.
//! 2. Running or dropping a plan takes less stack for each level than binding it: a plan that was bound runs.

use crate::error::{Result, refuse};
use furrow_io::thread::stack_left;

/// Stack that one level may use, including the engine below it.
const RESERVE_BYTES: usize = 512 << 10;

/// Stack of the parser at the greatest depth that it accepts (191). Texts of views and procedures are parsed
/// deep within statements.
pub(crate) const PARSER_BYTES: usize = 1536 << 10;

/// 8631 if less stack is left than a level may use.
#[inline]
pub fn check() -> Result<()> {
    match stack_left() {
        Some(left) if left < RESERVE_BYTES => refuse(8631, &[]),
        _ => Ok(()),
    }
}
