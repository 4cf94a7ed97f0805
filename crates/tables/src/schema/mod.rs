//! What tables and indexes are to be: the requests of DDL, their rules, and where their columns then lie.
//!
//! - [`TableSpec`], [`ColumnSpec`], [`IndexSpec`]: the user's request.
//! - `check`: the rules, each refusal with SQL Server's message.
//! - `layout`: physical columns of a table's rows and of its indexes' rows.
//! - [`DefaultValue`]: what a column gets that an insert does not name, and its text in the catalog.

mod check;
mod default;
mod foreign;
mod layout;
mod spec;

pub use default::DefaultValue;
pub(crate) use default::now;
pub use foreign::{ForeignKeySpec, ReferentialAction};
pub use spec::{
    CheckSpec, ColumnSpec, ConstraintSpec, IndexOptions, IndexSpec, KeyColumnSpec, LockEscalation,
    TableSpec,
};

pub(crate) use check::{
    MAX_COLUMNS, MAX_KEY_BYTES, check_column, check_index, check_keys, check_table, same_name,
    too_many_columns,
};
pub use check::{check_name, repeated_name};
pub(crate) use layout::{Locator, index_layout, table_layout};
