//! What a system procedure is.

use furrow_context::error::Result;
use furrow_context::run::Run;
use furrow_types::{DataType, Value};

/// What a parameter is when no argument is given for it.
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
    /// An extended procedure: its arguments go by place, and their types must be right as they are (22004).
    pub extended: bool,
    /// What it does, in one sentence.
    pub text: &'static str,
    /// Runs it with one value for each parameter; gives the return status.
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
