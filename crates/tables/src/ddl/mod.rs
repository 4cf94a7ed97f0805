//! DDL as statements: methods of [`Session`](crate::Session).

mod alter;
mod copy;
mod create;
mod modules;

pub use alter::NewColumn;
pub use copy::NewValues;
