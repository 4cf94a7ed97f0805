//! System views, metadata functions, system procedures and DBCC commands.
//!
//! Purpose: everything that a client can read about an instance, and every administrative operation, by name.
//! Each view, function, procedure and command is a row of a static table. The binder finds views and
//! functions through [`SYSTEM_OBJECTS`]; the interpreter calls procedures and commands.
//!
//! # Invariants
//! 1. The results of a view, procedure or command come from the state of the engine and of the server, never
//!    from a second copy.
//! 2. Names, types and order of columns are SQL Server's. `docs/reference` is generated from the same tables.
//! 3. A command or option of SQL Server that is missing here is refused by name (40514), never ignored.
//!
//! Proofs, by the invariant's number: 1: a view is a function of `ViewContext` and holds no rows. 2:
//! `views_have_the_columns_that_are_documented` (sql), and the test `reference` (furrow). 3: the golden
//! script `dbcc_unsupported` (sql).
//!
//! # Layers
//! `value` and `names` are used by all others. `procs` imports no views, `views` import `procs` only to list
//! them, `functions` and `dbcc` import `views`.
//!
//! # What can fail
//! Arguments (SQL Server's own errors), a damaged catalog, cancellation: `SqlError`.

mod configuration;
pub mod dbcc;
mod functions;
mod names;
mod pages;
pub mod procs;
mod reference;
pub mod suspect_pages;
pub mod value;
mod views;

pub use functions::SERVER_NAME;
use furrow_context::system::{MetadataFunction, SystemObjects, SystemView};
pub use names::parts_of;
pub use reference::reference_pages;

/// The system views and metadata functions of this crate.
#[derive(Debug)]
pub struct Registry;

/// The registry with which a server is started.
pub static SYSTEM_OBJECTS: Registry = Registry;

impl SystemObjects for Registry {
    fn view(&self, database: &str, schema: &str, name: &str) -> Option<&'static SystemView> {
        views::find(database, schema, name)
    }

    fn function(&self, name: &str) -> Option<&'static MetadataFunction> {
        functions::find(name)
    }
}
