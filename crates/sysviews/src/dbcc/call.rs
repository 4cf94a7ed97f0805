//! A DBCC command, a call of it, and its arguments.

use furrow_context::error::{Result, refuse};
use furrow_context::run::Run;
use furrow_engine::Database;
use furrow_format::DatabaseId;
use furrow_types::Value;
use std::sync::Arc;

/// An argument: a bare word, or a value.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Arg {
    Word(String),
    Value(Value),
}

impl Arg {
    /// The text of a word or of a character string.
    pub(super) fn text(&self) -> Option<&str> {
        match self {
            Arg::Word(word) => Some(word),
            Arg::Value(value) => value.as_str(),
        }
    }

    pub(super) fn number(&self) -> Option<i64> {
        match self {
            Arg::Word(_) => None,
            Arg::Value(value) => value.as_i64(),
        }
    }

    pub(super) fn is_word(&self, word: &str) -> bool {
        matches!(self, Arg::Word(w) if w.eq_ignore_ascii_case(word))
    }
}

/// A call of a command.
pub(crate) struct Call {
    pub(crate) args: Vec<Arg>,
    pub(crate) no_infomsgs: bool,
    /// WITH TABLERESULTS: returns a result set in place of text.
    pub(crate) tableresults: bool,
    /// All options of WITH, with their numbers.
    pub(super) options: Vec<(Box<str>, Option<i64>)>,
}

impl Call {
    /// Whether WITH has an option.
    pub(super) fn said(&self, word: &str) -> bool {
        self.options.iter().any(|(name, _)| &**name == word)
    }

    /// The number of an option of WITH.
    pub(super) fn option(&self, word: &str) -> Option<i64> {
        let found = self.options.iter().find(|(name, _)| &**name == word);
        found.and_then(|(_, number)| *number)
    }

    /// 2583 unless the number of arguments is one of these.
    pub(super) fn takes(&self, counts: std::ops::RangeInclusive<usize>) -> Result<()> {
        match counts.contains(&self.args.len()) {
            true => Ok(()),
            false => refuse(2583, &[]),
        }
    }

    /// An argument that must be a number (2560).
    pub(super) fn number(&self, at: usize) -> Result<i64> {
        match self.args.get(at).and_then(Arg::number) {
            Some(number) => Ok(number),
            None => bad(at),
        }
    }

    /// An argument that must be a name (2560).
    pub(super) fn text(&self, at: usize) -> Result<&str> {
        match self.args.get(at).and_then(Arg::text) {
            Some(text) => Ok(text),
            None => bad(at),
        }
    }
}

/// 2560: the argument at this position is invalid.
pub(super) fn bad<T>(at: usize) -> Result<T> {
    refuse(2560, &[(at + 1).into()])
}

/// A DBCC command.
pub(crate) struct Command {
    pub name: &'static str,
    /// Its syntax.
    pub(crate) syntax: &'static str,
    /// Its description in one sentence.
    pub text: &'static str,
    /// The options of WITH that it accepts.
    pub(super) options: &'static [&'static str],
    pub(super) run: fn(&mut Run<'_>, &Call) -> Result<()>,
}

pub(super) const INFO: &[&str] = &["NO_INFOMSGS"];

/// The database of an argument: by name, by number, 0 for the current one.
pub(super) fn database(run: &Run<'_>, call: &Call, at: usize) -> Result<Arc<Database>> {
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
