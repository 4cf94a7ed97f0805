//! # T-SQL text to syntax tree, and back
//!
//! This crate turns a batch of T-SQL into a typed tree ([`ast`]), or into the errors SQL Server would give,
//! and a tree back into text. It implements grammar only: no catalog, no types, no session. It depends on no
//! other crate of the workspace.
//!
//! ## How a text is read
//! 1. [`lex`] cuts the text into tokens in one pass. A token is a kind and a range; nothing is copied.
//! 2. [`parse`] reads statements by recursive descent, values by precedence climbing. It looks at one token,
//!    sometimes at two or three; it never backtracks, so the time is linear in the text.
//! 3. Rules that need no catalog are checked here: labels, variables declared twice, BREAK outside a loop,
//!    RETURN with a value, statements that must be the first of their batch.
//!
//! ## Invariants
//! - Every node's span lies within its parent's, and statements come in the order of the text.
//! - As in T-SQL, statements need no semicolons between them; MERGE needs one.
//! - Neither the parser's own stack nor the height of the tree grows beyond fixed limits (error 191), so that
//!   hostile text can overflow neither the reading nor the dropping nor the printing of a tree.
//!
//! ## And back
//! [`expression_text`] and [`condition_text`] return a text that is parsed to the same tree; defaults and
//! checks are stored in this form. The feature `print` adds the text of whole batches, for tests.
//!
//! ## What can fail
//! Only the text: [`parse`] gives at least one [`SyntaxError`] with SQL Server's number, level, state,
//! message and line. Nothing panics, whatever the bytes.
//!
//! The [`script`] module cuts a script into batches at GO, as the command-line client does; GO is no T-SQL.

pub mod ast;
mod error;
pub mod lex;
mod parse;
mod print;
pub mod script;
mod span;

pub use error::{Message, SyntaxError};
pub use parse::{Options, parse, parse_expression};
#[cfg(feature = "print")]
pub use print::print;
pub use print::{condition_text, expression_text};
pub use span::{LineIndex, Position, Span};
