//! DBCC commands.
//!
//! Each is a row of a table: its name, its syntax, its description in one sentence (for the reference), the
//! options of WITH that it accepts, and the function that runs it. This module has what all commands share:
//! arguments and their errors (2560, 2583), the errors for unknown options (2532) and unknown commands
//! (2526), and the closing line 2528, which WITH NO_INFOMSGS suppresses.

mod call;
mod check;
mod files;
mod help;
mod identity;
mod instance;
pub(crate) mod page;
mod space;
mod table;
mod trace;

pub(crate) use call::{Arg, Call, Command};
use call::{INFO, bad, database};

use furrow_bind::evaluate;
use furrow_context::error::{Result, refuse, unsupported};
use furrow_context::run::Run;
use furrow_messages::Message;
use furrow_tsql::ast::admin::{Dbcc, DbccArg};
use furrow_tsql::ast::option::OptValue;

/// The tables of all commands.
static TABLES: &[&[Command]] = &[
    trace::COMMANDS,
    instance::COMMANDS,
    space::COMMANDS,
    files::COMMANDS,
    table::COMMANDS,
    page::COMMANDS,
    identity::COMMANDS,
    check::COMMANDS,
    help::COMMANDS,
];

/// All commands, by table.
pub(crate) fn all() -> impl Iterator<Item = &'static Command> {
    TABLES.iter().flat_map(|table| table.iter())
}

/// Commands of SQL Server that this engine does not have yet: refused by name.
const NOT_YET: &[&str] = &[
    "CLEANTABLE",
    "CLONEDATABASE",
    "DBREINDEX",
    "INDEXDEFRAG",
    "SHOWCONTIG",
    "SHOW_STATISTICS",
    "FREESESSIONCACHE",
    "PROCCACHE",
    "OUTPUTBUFFER",
    "UPDATEUSAGE",
    "WRITEPAGE",
    "FLUSHPROCINDB",
];

/// Runs a DBCC command; 2526 for an unknown one.
pub fn run(run: &mut Run<'_>, written: &Dbcc) -> Result<()> {
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
    let mut options = Vec::new();
    for option in &written.options {
        let number = match &option.value {
            Some(OptValue::Expr(expr)) => evaluate(run, expr)?.0.as_i64(),
            _ => None,
        };
        options.push((option.name.clone(), number));
    }
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
        options,
    };
    (command.run)(run, &call)?;
    if !call.no_infomsgs {
        run.inform(Message::new(2528, &[]));
    }
    run.done(None);
    Ok(())
}
