//! ALTER DATABASE: files, filegroups, MODIFY NAME.

use super::columns::custom;
use super::database::{file, growth, limits};
use super::{not_of_system, options, outside_transaction};
use crate::msdb;
use crate::paths::path;
use furrow_context::error::{Result, refuse, unsupported};
use furrow_context::run::Run;
use furrow_context::system_databases::is_system;
use furrow_engine::{Database, FileChange};
use furrow_messages::Message;
use furrow_tsql::ast::database::{AlterDatabase, DatabaseAction, FileSpec};
use furrow_tsql::ast::name::Ident;
use std::sync::Arc;

/// Sends a message of level 10.
fn inform(run: &mut Run<'_>, number: u32, text: &str) {
    run.inform(Message::custom(number, 10, 1, text));
}

/// ALTER DATABASE.
pub(super) fn alter(run: &mut Run<'_>, written: &AlterDatabase) -> Result<()> {
    outside_transaction(run, "ALTER DATABASE")?;
    let name = match &written.name {
        Some(name) => name.value.to_string(),
        None => run.cx.sessions.database().name().to_owned(),
    };
    options::known(run, &name)?;
    if let DatabaseAction::Set(all, termination) = &written.action {
        options::set(run, &name, all, termination.as_ref())?;
        run.done(None);
        return Ok(());
    }
    if let DatabaseAction::Rename(new) = &written.action
        && may_be_renamed(run, &name)
    {
        if !new.value.eq_ignore_ascii_case(&name) {
            not_of_system(&new.value)?;
        }
        // No handle may stay open here: the database is closed and opened again.
        run.cx
            .server
            .instance()
            .rename_database(&name, &new.value)?;
        let text = format!("The database name '{}' has been set.", new.value);
        inform(run, 5023, &text);
        run.done(None);
        return Ok(());
    }
    let db = run.cx.server.instance().database(&name)?;
    db.refuse_of_snapshot()?;
    act(run, &db, &written.action)?;
    run.done(None);
    Ok(())
}

/// Whether a database may be renamed: any but the system databases. A user's database of an earlier version
/// can have the name `msdb`; it may be renamed, too.
fn may_be_renamed(run: &Run<'_>, name: &str) -> bool {
    let is_of_user = || {
        let database = run.cx.server.instance().database(name);
        name.eq_ignore_ascii_case(msdb::MSDB) && database.is_ok_and(|db| !msdb::is_ours(&db))
    };
    !is_system(name) || is_of_user()
}

fn act(run: &mut Run<'_>, db: &Arc<Database>, action: &DatabaseAction) -> Result<()> {
    match action {
        DatabaseAction::AddFiles(files, group) => add_files(run, db, (files, group.as_ref())),
        DatabaseAction::AddLogFiles(_) => Err(unsupported("a second log file")),
        DatabaseAction::RemoveFile(name) => {
            db.remove_file(&name.value)?;
            let text = format!("The file '{}' has been removed.", name.value);
            inform(run, 5044, &text);
            Ok(())
        }
        DatabaseAction::ModifyFile(file) => modify_file(run, db, file),
        DatabaseAction::AddFilegroup(_, Some(what)) => {
            Err(unsupported(&format!("CONTAINS {what}")))
        }
        DatabaseAction::AddFilegroup(name, None) => {
            db.add_filegroup(&name.value)?;
            Ok(())
        }
        DatabaseAction::RemoveFilegroup(name) => {
            db.remove_filegroup(&name.value)?;
            let text = format!("The filegroup '{}' has been removed.", name.value);
            inform(run, 5044, &text);
            Ok(())
        }
        DatabaseAction::ModifyFilegroup(name, word) => modify_filegroup(run, db, name, word),
        DatabaseAction::RenameFilegroup(name, new) => {
            db.rename_filegroup(&name.value, &new.value)?;
            let text = format!("The filegroup name '{}' has been set.", new.value);
            inform(run, 5021, &text);
            Ok(())
        }
        DatabaseAction::Rename(_) => refuse(5016, &[db.name().into()]),
        DatabaseAction::Collate(name) => Err(unsupported(&format!("COLLATE {}", name.value))),
        DatabaseAction::Set(..) => Ok(()),
        DatabaseAction::ScopedConfiguration(_) | DatabaseAction::ClearConfiguration(_) => {
            Err(unsupported("SCOPED CONFIGURATION"))
        }
    }
}

fn add_files(
    run: &mut Run<'_>,
    db: &Arc<Database>,
    (files, group): (&[FileSpec], Option<&Ident>),
) -> Result<()> {
    if db.name().eq_ignore_ascii_case("master") || db.name().eq_ignore_ascii_case("model") {
        return refuse(5013, &[]);
    }
    let specs: Result<Vec<_>> = files.iter().map(|f| file(run.cx, f, true)).collect();
    let group = group.map(|g| &*g.value);
    for spec in specs? {
        db.add_file(&spec, group)?;
    }
    Ok(())
}

fn modify_file(run: &mut Run<'_>, db: &Arc<Database>, written: &FileSpec) -> Result<()> {
    let Some(name) = &written.name else {
        let text = "File option NAME is required in this CREATE/ALTER DATABASE statement.";
        return custom(1036, 16, 3, text);
    };
    if written.offline {
        return Err(unsupported("OFFLINE"));
    }
    let new_path = written.file_name.as_deref();
    let new_path = new_path.map(|p| path(run.cx, p)).transpose()?;
    let (size_kb, max_size_kb) = limits(written)?;
    let change = FileChange {
        size_kb,
        max_size_kb,
        growth: written.growth.as_ref().map(growth).transpose()?,
        new_name: written.new_name.as_ref().map(|n| n.value.to_string()),
    };
    if change != FileChange::default() || new_path.is_none() {
        db.modify_file(&name.value, &change)?;
    }
    if let Some(path) = new_path {
        let named = written.new_name.as_ref().unwrap_or(name);
        let instance = run.cx.server.instance();
        instance.relocate_file(db.name(), &named.value, &path)?;
        run.inform(Message::new(5018, &[(&*named.value).into()]));
    }
    if let Some(new) = &written.new_name {
        let text = format!("The file name '{}' has been set.", new.value);
        inform(run, 5021, &text);
    }
    Ok(())
}

fn modify_filegroup(run: &mut Run<'_>, db: &Arc<Database>, name: &Ident, word: &str) -> Result<()> {
    match word {
        "DEFAULT" => db.set_default_filegroup(&name.value)?,
        "AUTOGROW_ALL_FILES" => db.set_autogrow_all(&name.value, true)?,
        "AUTOGROW_SINGLE_FILE" => db.set_autogrow_all(&name.value, false)?,
        "READ_ONLY" | "READONLY" => updateability(run, db, (&name.value, true))?,
        "READ_WRITE" | "READWRITE" => updateability(run, db, (&name.value, false))?,
        other => return Err(unsupported(&format!("MODIFY FILEGROUP {other}"))),
    }
    inform(
        run,
        5046,
        &format!("The filegroup property '{word}' has been set."),
    );
    Ok(())
}

/// Makes a filegroup READ_ONLY or READ_WRITE. No other session may be in the database (5070, then 5069).
fn updateability(
    run: &mut Run<'_>,
    db: &Arc<Database>,
    (name, read_only): (&str, bool),
) -> Result<()> {
    let inside = run.cx.sessions.database().id() == db.id();
    let done = match inside {
        true => {
            let session = run.cx.sessions.session();
            session.set_filegroup_read_only(name, read_only)
        }
        false => db.set_filegroup_read_only(name, read_only),
    };
    done.map_err(|e| match e.number() {
        5070 => e.followed_by(Message::new(5069, &[])).into(),
        _ => e.into(),
    })
}
