//! DBCC commands.

use crate::error::{Result, refuse};
use crate::interp::Run;
use furrow_tsql::ast::admin::Dbcc;

/// Runs a DBCC command: 2526 for one that there is not.
pub(crate) fn run(_: &mut Run<'_>, _: &Dbcc) -> Result<()> {
    refuse(2526, &[])
}
