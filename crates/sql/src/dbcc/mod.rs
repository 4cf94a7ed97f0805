//! DBCC commands.
//!
//! Each is a row of a table: its name, how it is written, what it does in one sentence (for the reference),
//! the options that WITH may name, and the function that runs it. What is common to all is here: arguments,
//! their errors (2560, 2583), options that a command does not take (2532), commands that there are not
//! (2526), and the closing line 2528 unless WITH NO_INFOMSGS is said.

mod files;
mod help;
mod identity;
mod instance;
pub(crate) mod page;
mod space;
mod table;
mod trace;

pub(crate) use space::parity;

use crate::error::{Result, refuse, unsupported};
use crate::interp::{Run, evaluate};
use furrow_engine::Database;
use furrow_format::DatabaseId;
use furrow_messages::Message;
use furrow_tsql::ast::admin::{Dbcc, DbccArg};
use furrow_types::Value;
use std::sync::Arc;

/// An argument: a bare word, or a value.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Arg {
    Word(String),
    Value(Value),
}

impl Arg {
    /// Its text, of a word or a character string.
    fn text(&self) -> Option<&str> {
        match self {
            Arg::Word(word) => Some(word),
            Arg::Value(value) => value.as_str(),
        }
    }

    fn number(&self) -> Option<i64> {
        match self {
            Arg::Word(_) => None,
            Arg::Value(value) => value.as_i64(),
        }
    }

    fn is_word(&self, word: &str) -> bool {
        matches!(self, Arg::Word(w) if w.eq_ignore_ascii_case(word))
    }
}

/// A call of a command.
pub(crate) struct Call {
    pub(crate) args: Vec<Arg>,
    pub(crate) no_infomsgs: bool,
    /// WITH TABLERESULTS: a result set where there would be text.
    pub(crate) tableresults: bool,
}

impl Call {
    /// 2583 unless there are so many arguments.
    fn takes(&self, counts: std::ops::RangeInclusive<usize>) -> Result<()> {
        match counts.contains(&self.args.len()) {
            true => Ok(()),
            false => refuse(2583, &[]),
        }
    }

    /// An argument that must be a number (2560).
    fn number(&self, at: usize) -> Result<i64> {
        match self.args.get(at).and_then(Arg::number) {
            Some(number) => Ok(number),
            None => bad(at),
        }
    }

    /// An argument that must be a name (2560).
    fn text(&self, at: usize) -> Result<&str> {
        match self.args.get(at).and_then(Arg::text) {
            Some(text) => Ok(text),
            None => bad(at),
        }
    }
}

/// 2560: the argument at this place is of no use.
fn bad<T>(at: usize) -> Result<T> {
    refuse(2560, &[(at + 1).into()])
}

/// A DBCC command.
pub(crate) struct Command {
    pub(crate) name: &'static str,
    /// How it is written.
    pub(crate) syntax: &'static str,
    /// What it does, in one sentence.
    pub(crate) text: &'static str,
    /// Options that WITH may name.
    options: &'static [&'static str],
    run: fn(&mut Run<'_>, &Call) -> Result<()>,
}

const INFO: &[&str] = &["NO_INFOMSGS"];

/// The tables of all commands.
static TABLES: &[&[Command]] = &[
    trace::COMMANDS,
    instance::COMMANDS,
    space::COMMANDS,
    files::COMMANDS,
    table::COMMANDS,
    page::COMMANDS,
    identity::COMMANDS,
    help::COMMANDS,
];

/// All of them, by table.
pub(crate) fn all() -> impl Iterator<Item = &'static Command> {
    TABLES.iter().flat_map(|table| table.iter())
}

/// What the product has and this engine does not yet: refused by name.
const NOT_YET: &[&str] = &[
    "CHECKDB",
    "CHECKTABLE",
    "CHECKALLOC",
    "CHECKCATALOG",
    "CHECKFILEGROUP",
    "CHECKCONSTRAINTS",
    "CLEANTABLE",
    "CLONEDATABASE",
    "DBREINDEX",
    "INDEXDEFRAG",
    "SHOWCONTIG",
    "SHOW_STATISTICS",
    "FREESESSIONCACHE",
    "FREESYSTEMCACHE",
    "PROCCACHE",
    "OUTPUTBUFFER",
    "UPDATEUSAGE",
    "WRITEPAGE",
    "FLUSHPROCINDB",
];

/// Runs a DBCC command: 2526 for one that there is not.
pub(crate) fn run(run: &mut Run<'_>, written: &Dbcc) -> Result<()> {
    let name = &*written.command.value;
    let Some(command) = all().find(|c| c.name.eq_ignore_ascii_case(name)) else {
        if NOT_YET.iter().any(|n| n.eq_ignore_ascii_case(name)) {
            let upper = name.to_ascii_uppercase();
            return Err(unsupported(&format!("DBCC {upper}")));
        }
        return refuse(2526, &[]);
    };
    for option in &written.options {
        if !command.options.contains(&&*option.name) {
            return refuse(2532, &[]);
        }
    }
    let said = |word: &str| written.options.iter().any(|o| &*o.name == word);
    let mut args = Vec::new();
    for arg in &written.args {
        args.push(match arg {
            DbccArg::Name(name) => Arg::Word(name.name().to_owned()),
            DbccArg::Expr(expr) => Arg::Value(evaluate(run, expr)?.0),
        });
    }
    let call = Call {
        args,
        no_infomsgs: said("NO_INFOMSGS"),
        tableresults: said("TABLERESULTS"),
    };
    (command.run)(run, &call)?;
    if !call.no_infomsgs {
        run.inform(Message::new(2528, &[]));
    }
    run.done(None);
    Ok(())
}

/// The database that an argument names: by name, by number, 0 for the current one.
fn database(run: &Run<'_>, call: &Call, at: usize) -> Result<Arc<Database>> {
    let instance = run.cx.server.instance();
    let Some(arg) = call.args.get(at) else {
        return Ok(Arc::clone(run.cx.sessions.database()));
    };
    if let Some(name) = arg.text() {
        return match instance.database(name) {
            Ok(db) => Ok(db),
            Err(e) if e.number() == 911 => refuse(2520, &[name.into()]),
            Err(e) => Err(e.into()),
        };
    }
    match arg.number() {
        Some(0) => Ok(Arc::clone(run.cx.sessions.database())),
        Some(id) if id > 0 => {
            let db = u16::try_from(id).ok();
            let db = db.and_then(|id| instance.database_by_id(DatabaseId(id)));
            match db {
                Some(db) => Ok(db),
                None => refuse(2521, &[id.into()]),
            }
        }
        _ => bad(at),
    }
}
