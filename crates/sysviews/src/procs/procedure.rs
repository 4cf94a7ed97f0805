//! The definition of a system procedure.

use furrow_context::error::Result;
use furrow_context::run::Run;
use furrow_types::{DataType, Value};

/// The value of a parameter without an argument.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Fallback {
    /// An argument must be given.
    Required,
    Null,
    Int(i32),
    Text(&'static str),
}

/// A parameter of a system procedure.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Parameter {
    /// With its `@`.
    pub name: &'static str,
    pub data_type: DataType,
    pub(crate) fallback: Fallback,
}

/// A system procedure.
#[derive(Debug)]
pub struct SystemProcedure {
    /// Its name.
    pub name: &'static str,
    pub(crate) parameters: &'static [Parameter],
    /// Whether it is an extended procedure: arguments are passed by position, and types must match (22004).
    pub extended: bool,
    /// Its description in one sentence.
    pub text: &'static str,
    /// Runs it with one value for each parameter; returns the return status.
    pub(crate) body: fn(&mut Run<'_>, &[Value]) -> Result<i32>,
}

pub(crate) const fn parameter(
    name: &'static str,
    data_type: DataType,
    fallback: Fallback,
) -> Parameter {
    Parameter {
        name,
        data_type,
        fallback,
    }
}
