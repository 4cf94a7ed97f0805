//! The built-in functions: a table of them, and how a call is bound.
//!
//! Each function is one row of a table ([`all`]): name, arguments, what it returns, whether it is
//! deterministic, and how it is bound. The reference page ([`render_markdown`]) is made of the same
//! rows.
//!
//! A call is bound once: [`resolve`] finds the row, checks the number of arguments (174, 189), asks the row's
//! binder for the types its arguments are converted to and the result's type (8116 where an argument's type
//! does not do), and gives a [`BoundFn`]. `eval` converts what must be converted and calls the function.
//! Arguments come borrowed; only conversions and results that are text or bytes allocate.
//!
//! COALESCE, NULLIF, IIF, CHOOSE and ISNULL are here for their types; an executor evaluates their arguments
//! lazily, as it does CASE ([`Function::lazy`]).

mod bind;
mod date;
mod date_math;
mod date_trunc;
mod format;
mod format_number;
mod format_time;
mod hash;
mod json;
mod math;
mod registry;
mod string;
mod string_find;
mod string_make;
mod system;
mod table;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use furrow_types::{DataType, Value};
use smallvec::SmallVec;

use crate::convert::Conversion;
use crate::env::Env;
use crate::error::{SqlResult, message};
use crate::operand::Operand;

pub use date_math::DatePart;
pub use registry::{all, find, render_markdown};
pub use table::{StringSplit, string_split};

use bind::{Binding, Call};

/// What kind of thing a function is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Category {
    /// Text.
    String,
    /// Numbers.
    Math,
    /// Dates and times.
    Date,
    /// JSON text.
    Json,
    /// NULL, choices, identifiers, hashes.
    System,
}

/// A row of the table of functions.
pub struct Function {
    /// The name, as documentation writes it.
    pub name: &'static str,
    /// What it is about.
    pub category: Category,
    /// Its arguments, as documentation writes them.
    pub arguments: &'static str,
    /// Fewest arguments.
    pub least: usize,
    /// Most arguments.
    pub most: usize,
    /// The result's type, in words.
    pub returns: &'static str,
    /// Whether the same arguments always give the same result.
    pub deterministic: bool,
    /// Whether the first argument is a word (`day`), which the binder passes as a text constant.
    pub takes_date_part: bool,
    /// Whether arguments that are not chosen must not be evaluated.
    pub lazy: bool,
    /// What it does, in a sentence.
    pub summary: &'static str,
    bind: fn(&Call<'_>) -> SqlResult<Binding>,
}

impl fmt::Debug for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}({})", self.name, self.arguments)
    }
}

type Eval = dyn Fn(&mut Env<'_>, &[&Value]) -> SqlResult<Value> + Send + Sync;

/// A call bound to the types of its arguments.
#[derive(Clone)]
pub struct BoundFn {
    /// The function.
    pub function: &'static Function,
    /// The result's type.
    pub result: DataType,
    /// The conversion that is applied to each argument first.
    pub conversions: Vec<Option<Conversion>>,
    /// Whether any NULL argument makes the result NULL.
    pub null_in_null_out: bool,
    eval: Arc<Eval>,
}

impl fmt::Debug for BoundFn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} -> {}", self.function, self.result)
    }
}

impl BoundFn {
    /// The result for these arguments.
    pub fn eval(&self, env: &mut Env<'_>, arguments: &[&Value]) -> SqlResult<Value> {
        if self.null_in_null_out && arguments.iter().any(|value| value.is_null()) {
            return Ok(Value::Null);
        }
        if self.conversions.iter().all(Option::is_none) {
            return (self.eval)(env, arguments);
        }
        let settings = env.settings;
        let mut converted: SmallVec<[Cow<'_, Value>; 4]> = SmallVec::new();
        for (place, value) in arguments.iter().enumerate() {
            converted.push(match self.conversions.get(place) {
                Some(Some(convert)) => Cow::Owned(convert.apply(value, &settings)?),
                _ => Cow::Borrowed(*value),
            });
        }
        let borrowed: SmallVec<[&Value; 4]> = converted.iter().map(AsRef::as_ref).collect();
        (self.eval)(env, &borrowed)
    }
}

/// Binds a call: 195 for an unknown name, 174 or 189 for a wrong number of arguments, else the function's own
/// errors for their types.
pub fn resolve(name: &str, arguments: &[Operand<'_>]) -> SqlResult<BoundFn> {
    let Some(function) = find(name) else {
        return Err(message(
            195,
            &[name.into(), "built-in function name".into()],
        ));
    };
    let (least, most) = (function.least, function.most);
    if !(least..=most).contains(&arguments.len()) {
        let shown = function.name.to_ascii_lowercase();
        return Err(if least == most {
            message(174, &[shown.into(), least.into()])
        } else {
            message(189, &[shown.into(), least.into(), most.into()])
        });
    }
    let call = Call {
        function,
        arguments,
    };
    let binding = (function.bind)(&call)?;
    let mut conversions = Vec::with_capacity(arguments.len());
    for (place, operand) in arguments.iter().enumerate() {
        let to = binding.parameters.get(place).copied().flatten();
        conversions.push(match to {
            Some(to) if !operand.is_null_literal => Conversion::implicit(operand.data_type, to)?,
            _ => None,
        });
    }
    Ok(BoundFn {
        function,
        result: binding.result,
        conversions,
        null_in_null_out: binding.null_in_null_out,
        eval: binding.eval,
    })
}
