//! Types as expressions see them: which of two wins, what may become what, what an operator's result is.

mod decimal;
mod matrix;
mod precedence;
mod unify;

pub use decimal::DecimalForm;
pub(crate) use decimal::decimal_form;
pub(crate) use decimal::exact;
pub(crate) use matrix::is_text;
pub(crate) use matrix::require_explicit;
pub use matrix::{Allowed, allowed, require_implicit};
pub use precedence::{higher, precedence};
pub(crate) use unify::concat_type;
pub(crate) use unify::{moment_scale, width};
pub use unify::{string_type, unify, unify_two};
