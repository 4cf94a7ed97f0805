//! Commands that change files: SHRINKFILE.

use super::{Arg, Call, Command, INFO, bad};
use crate::error::{Result, refuse, unsupported};
use crate::interp::Run;
use crate::procs::show;
use crate::views::value::{INT, int};
use crate::views::{ViewColumn, column, nullable};
use furrow_format::types::Value;
use std::sync::Arc;

pub(super) static COMMANDS: &[Command] = &[Command {
    name: "SHRINKFILE",
    syntax: "DBCC SHRINKFILE ({'file' | id}, EMPTYFILE) [WITH NO_INFOMSGS]",
    text: "Moves all that is in a data file to the others of its filegroup, so that it can be removed.",
    options: INFO,
    run: shrink_file,
}];

static SHRUNK: &[ViewColumn] = &[
    column("DbId", INT),
    column("FileId", INT),
    column("CurrentSize", INT),
    // The size that a file was made with is not kept.
    nullable("MinimumSize", INT),
    column("UsedPages", INT),
    column("EstimatedPages", INT),
];

fn shrink_file(run: &mut Run<'_>, call: &Call) -> Result<()> {
    call.takes(1..=3)?;
    let db = Arc::clone(run.cx.sessions.database());
    let files = db.file_list()?;
    let named = match &call.args.first() {
        Some(arg) => match (arg.text(), arg.number()) {
            (Some(name), _) => files.iter().find(|f| f.name.eq_ignore_ascii_case(name)),
            (None, Some(id)) => files.iter().find(|f| i64::from(f.id.0) == id),
            (None, None) => return bad(0),
        },
        None => return bad(0),
    };
    let Some(file) = named else {
        let shown = call.args.first().map_or_else(String::new, |arg| match arg {
            Arg::Word(word) => word.clone(),
            Arg::Value(value) => value.to_string(),
        });
        return refuse(8985, &[shown.into(), db.name().into()]);
    };
    if !call.args.get(1).is_some_and(|arg| arg.is_word("EMPTYFILE")) {
        return Err(unsupported("DBCC SHRINKFILE to a size"));
    }
    db.empty_file(&file.name)?;
    let usage = db.space_usage()?;
    if let Some(used) = usage.iter().find(|u| u.file == file.id) {
        let pages = int(used.allocated_extents * 8);
        let size = int((used.allocated_extents + used.free_extents) * 8);
        let row = vec![
            int(db.id().0),
            int(file.id.0),
            size,
            Value::Null,
            pages.clone(),
            pages,
        ];
        show(run, SHRUNK, vec![row]);
    }
    Ok(())
}
