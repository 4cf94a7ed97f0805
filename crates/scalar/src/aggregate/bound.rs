//! An aggregate and its binding.

use crate::convert::Conversion;
use furrow_types::DataType;

/// An aggregate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Aggregate {
    /// `COUNT(*)` and `COUNT(x)`.
    Count,
    /// `COUNT_BIG`.
    CountBig,
    /// `SUM`.
    Sum,
    /// `AVG`.
    Avg,
    /// `MIN`.
    Min,
    /// `MAX`.
    Max,
    /// `STDEV`: of a sample.
    StDev,
    /// `STDEVP`: of all.
    StDevP,
    /// `VAR`: of a sample.
    Var,
    /// `VARP`: of all.
    VarP,
    /// `CHECKSUM_AGG`.
    ChecksumAgg,
    /// `STRING_AGG`.
    StringAgg,
}

/// An aggregate bound to the type of its argument.
#[derive(Debug, Clone, PartialEq)]
pub struct BoundAggregate {
    /// The aggregate.
    pub aggregate: Aggregate,
    /// The result's type.
    pub result: DataType,
    /// The conversion that is applied to each value first.
    pub conversion: Option<Conversion>,
    pub(super) argument: DataType,
    pub(super) separator: String,
}
