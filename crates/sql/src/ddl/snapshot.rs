//! CREATE DATABASE ... AS SNAPSHOT OF.

use super::columns::custom;
use super::database::{file, options};
use super::{not_of_system, outside_transaction};
use furrow_context::error::{Result, refuse, unsupported};
use furrow_context::run::Run;
use furrow_context::system_databases::is_system;
use furrow_engine::SnapshotSpec;
use furrow_tsql::ast::database::{CreateDatabase, FileSpec as Written};
use furrow_tsql::ast::name::Ident;

/// 1815 for a property that a sparse file does not have.
fn plain(written: &Written) -> Result<()> {
    let property = match written {
        Written { size: Some(_), .. } => "SIZE",
        Written {
            max_size: Some(_), ..
        } => "MAXSIZE",
        Written {
            growth: Some(_), ..
        } => "FILEGROWTH",
        _ => return Ok(()),
    };
    refuse(1815, &[property.into()])
}

/// Creates a snapshot of the database `of`.
pub(super) fn create(run: &mut Run<'_>, written: &CreateDatabase, of: &Ident) -> Result<()> {
    outside_transaction(run, "CREATE DATABASE")?;
    options(&written.options)?;
    not_of_system(&written.name.value)?;
    if written.collation.is_some() || written.filegroups.iter().any(|g| g.name.is_some()) {
        return refuse(1825, &[]);
    }
    if !written.log.is_empty() {
        return Err(unsupported("LOG ON of a database snapshot"));
    }
    if is_system(&of.value) {
        return refuse(1816, &[(&*of.value).into()]);
    }
    let mut files = Vec::new();
    for written in written.filegroups.iter().flat_map(|group| &group.files) {
        plain(written)?;
        let spec = file(run.cx, written, false)?;
        files.push((spec.name, spec.path));
    }
    if files.is_empty() {
        let text = "File option FILENAME is required in this CREATE/ALTER DATABASE statement.";
        return custom(1036, 15, 1, text);
    }
    let spec = SnapshotSpec {
        name: written.name.value.to_string(),
        source: of.value.to_string(),
        files,
    };
    run.cx.server.instance().create_snapshot(&spec)?;
    run.done(None);
    Ok(())
}
