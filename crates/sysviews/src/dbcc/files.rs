//! Commands that change files: SHRINKFILE, SHRINKDATABASE.

use super::{Arg, Call, Command, INFO, bad};
use crate::value::{INT, SMALLINT, int, small};
use furrow_context::error::{Result, refuse};
use furrow_context::run::Run;
use furrow_context::system::{ViewColumn, column};
use furrow_engine::{Database, FileView, Shrink, Shrunk};
use furrow_format::FileId;
use furrow_messages::Message;
use furrow_types::Value;
use std::sync::Arc;

pub(super) static COMMANDS: &[Command] = &[
    Command {
        name: "SHRINKFILE",
        syntax: "DBCC SHRINKFILE ({'file' | id} [, EMPTYFILE | [, megabytes] [, NOTRUNCATE | TRUNCATEONLY]]) \
                 [WITH NO_INFOMSGS]",
        text: "Makes a file smaller: pages at its end move to the front, index by index. EMPTYFILE \
               moves all of it to the other files of the filegroup, so that the file can be removed.",
        options: INFO,
        run: shrink_file,
    },
    Command {
        name: "SHRINKDATABASE",
        syntax: "DBCC SHRINKDATABASE ({'database' | id | 0} [, percent] [, NOTRUNCATE | TRUNCATEONLY]) \
                 [WITH NO_INFOMSGS]",
        text: "Makes the files of a database smaller, and leaves the given percentage of each free.",
        options: INFO,
        run: shrink_database,
    },
];

static SHRUNK: &[ViewColumn] = &[
    column("DbId", SMALLINT),
    column("FileId", INT),
    column("CurrentSize", INT),
    column("MinimumSize", INT),
    column("UsedPages", INT),
    column("EstimatedPages", INT),
];

/// Pages of a mebibyte.
const MB_PAGES: i64 = 128;

/// The mode of a shrink.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ShrinkMode {
    Both,
    NoTruncate,
    TruncateOnly,
}

impl ShrinkMode {
    fn to(self, pages: Option<u64>) -> Shrink {
        match self {
            ShrinkMode::Both => Shrink::Full(pages),
            ShrinkMode::NoTruncate => Shrink::Move(pages),
            ShrinkMode::TruncateOnly => Shrink::Cut,
        }
    }
}

/// The second and third argument: a number, and a word.
fn target(call: &Call) -> Result<(Option<i64>, ShrinkMode)> {
    let (mut number, mut mode) = (None, ShrinkMode::Both);
    for (at, arg) in call.args.iter().enumerate().skip(1) {
        match arg {
            Arg::Word(_) if arg.is_word("NOTRUNCATE") => mode = ShrinkMode::NoTruncate,
            Arg::Word(_) if arg.is_word("TRUNCATEONLY") => mode = ShrinkMode::TruncateOnly,
            other => match other.number() {
                Some(given) if given >= 0 && at == 1 => number = Some(given),
                _ => return bad(at),
            },
        }
    }
    Ok((number, mode))
}

fn shrink_file(run: &mut Run<'_>, call: &Call) -> Result<()> {
    call.takes(1..=3)?;
    outside(run, "DBCC SHRINKFILE")?;
    let db = Arc::clone(run.cx.sessions.database());
    let file = named_file(&db, call)?;
    let empty = |arg: &Arg| arg.is_word("EMPTYFILE");
    if call.args.get(1).is_some_and(empty) {
        if call.args.len() > 2 {
            return bad(2);
        }
        db.empty_file(&file.name)?;
        return emptied(run, call, &db, file.id);
    }
    let (megabytes, mode) = target(call)?;
    let pages = megabytes.map(|mb| mb.saturating_mul(MB_PAGES).cast_unsigned());
    let done = db.shrink_file(&file.name, mode.to(pages))?;
    if !call.no_infomsgs {
        done.reported
            .iter()
            .for_each(|reported| run.inform(reported.clone()));
        run.show(SHRUNK, vec![row(&db, &done)]);
    }
    Ok(())
}

/// 8920: not within a transaction of the user.
fn outside(run: &Run<'_>, what: &str) -> Result<()> {
    match run.cx.sessions.count() {
        0 => Ok(()),
        _ => refuse(8920, &[what.into()]),
    }
}

fn named_file(db: &Database, call: &Call) -> Result<FileView> {
    let Some(arg) = call.args.first() else {
        return bad(0);
    };
    let files = db.file_list()?;
    let found = match (arg.text(), arg.number()) {
        (Some(name), _) => files
            .into_iter()
            .find(|f| f.name.to_lowercase() == name.to_lowercase()),
        (None, Some(id)) => files.into_iter().find(|f| i64::from(f.id.0) == id),
        (None, None) => return bad(0),
    };
    let shown = match arg {
        Arg::Word(word) => word.clone(),
        Arg::Value(value) => value.to_string(),
    };
    match found {
        Some(file) => Ok(file),
        None => refuse(8985, &[shown.into(), db.name().into()]),
    }
}

fn row(db: &Database, done: &Shrunk) -> Vec<Value> {
    let sizes = [
        done.size_pages,
        done.least_pages,
        done.used_pages,
        done.estimated_pages,
    ];
    let ids = [small(db.id().0), int(done.file.0)];
    ids.into_iter().chain(sizes.map(int)).collect()
}

fn emptied(run: &mut Run<'_>, call: &Call, db: &Arc<Database>, file: FileId) -> Result<()> {
    if !call.no_infomsgs {
        let done = db.shrink_state(file)?;
        run.show(SHRUNK, vec![row(db, &done)]);
    }
    Ok(())
}

fn shrink_database(run: &mut Run<'_>, call: &Call) -> Result<()> {
    call.takes(1..=3)?;
    outside(run, "DBCC SHRINKDATABASE")?;
    let db = super::database(run, call, 0)?;
    let (percent, mode) = target(call)?;
    let left = match percent.unwrap_or(0) {
        percent @ 0..=99 => percent.cast_unsigned(),
        _ => return bad(1),
    };
    let mut rows = Vec::new();
    for file in db.file_list()? {
        let is_log = file.filegroup == 0;
        let done = match is_log {
            true => db.shrink_file(&file.name, mode.to(None))?,
            false => {
                let state = db.shrink_state(file.id)?;
                // This percentage of the file is to be free afterwards.
                let wanted = (state.used_pages * 100).div_ceil(100 - left);
                let wanted = wanted.max(state.least_pages);
                match wanted < state.size_pages {
                    true => db.shrink_file(&file.name, mode.to(Some(wanted)))?,
                    false => state,
                }
            }
        };
        if done.size_pages < done.was_pages || mode == ShrinkMode::NoTruncate {
            rows.push(row(&db, &done));
        } else if !call.no_infomsgs {
            let args = [file.id.0.into(), db.id().0.into()];
            let state = if is_log { 2 } else { 1 };
            run.inform(Message::new(5201, &args).with_state(state));
        }
    }
    if !call.no_infomsgs && !rows.is_empty() {
        run.show(SHRUNK, rows);
    }
    Ok(())
}
