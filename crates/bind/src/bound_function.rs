//! A table function bound to its arguments, and what all of them need.

use super::expr::Bound;
use furrow_context::error::Result;
use furrow_context::sink::ResultColumn;
use furrow_exec::table_function::TableFunctionPlan;
use furrow_scalar::error::invalid_argument;
use furrow_types::DataType;

/// The plan and the columns of its rows.
pub(super) type BoundTableFunction = (TableFunctionPlan, Vec<ResultColumn>);

pub(super) fn result(name: &str, data_type: DataType) -> ResultColumn {
    ResultColumn {
        name: name.to_owned(),
        data_type,
        nullable: false,
    }
}

/// 8116 for an argument of a type that a function does not take.
pub(super) fn not_of<T>(argument: &Bound, place: usize, function: &str) -> Result<T> {
    Err(invalid_argument(argument.data_type.id, place, function).into())
}
