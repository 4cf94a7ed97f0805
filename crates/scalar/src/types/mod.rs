//! Types as expressions see them: which of two wins, what may become what, what an operator's result is.

mod decimal;
mod matrix;
mod precedence;
mod unify;

pub(crate) use decimal::exact;
pub use decimal::{DecimalForm, decimal_form};
pub(crate) use matrix::is_text;
pub use matrix::{Allowed, allowed, require_explicit, require_implicit};
pub use precedence::{higher, precedence};
pub use unify::{concat_type, string_type, unify, unify_two};
pub(crate) use unify::{moment_scale, width};
