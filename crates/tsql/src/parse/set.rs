//! SET.

use super::cursor::Parser;
use crate::ast::Statement;
use crate::ast::expr::{Expr, ExprKind};
use crate::ast::flow::{IsolationLevel, Set};
use crate::ast::name::ObjectName;
use crate::error::{Parsed, UNKNOWN_SET};
use crate::lex::{Keyword, Kind};

/// Options that are ON or OFF; several may be set at once.
const SWITCHES: &[&str] = &[
    "ANSI_DEFAULTS",
    "ANSI_NULLS",
    "ANSI_NULL_DFLT_OFF",
    "ANSI_NULL_DFLT_ON",
    "ANSI_PADDING",
    "ANSI_WARNINGS",
    "ARITHABORT",
    "ARITHIGNORE",
    "CONCAT_NULL_YIELDS_NULL",
    "CURSOR_CLOSE_ON_COMMIT",
    "DISABLE_DEF_CNST_CHK",
    "FMTONLY",
    "FORCEPLAN",
    "IMPLICIT_TRANSACTIONS",
    "NOCOUNT",
    "NOEXEC",
    "NO_BROWSETABLE",
    "NUMERIC_ROUNDABORT",
    "PARSEONLY",
    "QUOTED_IDENTIFIER",
    "REMOTE_PROC_TRANSACTIONS",
    "SHOWPLAN_ALL",
    "SHOWPLAN_TEXT",
    "SHOWPLAN_XML",
    "XACT_ABORT",
];

/// Options that take a value.
const VALUES: &[&str] = &[
    "CONTEXT_INFO",
    "DATEFIRST",
    "DATEFORMAT",
    "DEADLOCK_PRIORITY",
    "ERRLVL",
    "LANGUAGE",
    "LOCK_TIMEOUT",
    "QUERY_GOVERNOR_COST_LIMIT",
    "ROWCOUNT",
    "TEXTSIZE",
];

impl Parser<'_> {
    pub(super) fn set_statement(&mut self) -> Parsed<Statement> {
        self.bump();
        let set = if self.kind() == Kind::Variable {
            self.set_variable()?
        } else if self.eat_words(&["TRANSACTION", "ISOLATION", "LEVEL"]) {
            Set::Isolation(self.isolation_level()?)
        } else if self.eat_keyword(Keyword::IDENTITY_INSERT) {
            let table = self.object_name()?;
            Set::IdentityInsert(table, self.on_off()?)
        } else if self.eat_keyword(Keyword::STATISTICS) {
            let kinds = self.list(|p| p.one_of(&["IO", "TIME", "XML", "PROFILE"]))?;
            Set::Statistics(kinds, self.on_off()?)
        } else if let Some(name) = self.eat_one_of(VALUES) {
            Set::Value(name.into(), self.set_value()?)
        } else {
            self.set_switches()?
        };
        Ok(Statement::Set(set))
    }

    fn set_variable(&mut self) -> Parsed<Set> {
        let variable = self.variable()?;
        if self.kind() == Kind::Dot {
            let (method, args) = self.method()?;
            return Ok(Set::Method(variable, method, args));
        }
        if self.kind() == Kind::Eq && self.peek(1).kind == Kind::Keyword(Keyword::CURSOR) {
            self.bump();
            return Ok(Set::Cursor(Box::new(self.cursor_for(variable)?)));
        }
        let op = self.assign_op()?;
        Ok(Set::Variable(variable, op, self.expr()?))
    }

    fn set_value(&mut self) -> Parsed<Expr> {
        if self.at_ident() {
            let name = self.ident()?;
            return Ok(Expr {
                span: name.span,
                kind: ExprKind::Column(ObjectName::single(name)),
            });
        }
        self.constant()
    }

    fn set_switches(&mut self) -> Parsed<Set> {
        let options: Vec<Box<str>> = self.list(|p| match p.eat_one_of(SWITCHES) {
            Some(name) => Ok(name.into()),
            None if p.kind() == Kind::Word => Err(p.error(UNKNOWN_SET, &[p.slice(p.token())])),
            None => Err(p.unexpected()),
        })?;
        let on = self.on_off()?;
        // The setting holds for what follows it in the same batch. A module is read as it is set where the
        // module begins, whatever its body sets.
        let words: Vec<&str> = options.iter().map(AsRef::as_ref).collect();
        let quotes = words.contains(&"QUOTED_IDENTIFIER") || words.contains(&"ANSI_DEFAULTS");
        if self.scope.module.is_none() && quotes {
            self.options.quoted_identifier = on;
        }
        Ok(Set::Options(options, on))
    }

    /// `ON` or `OFF`.
    pub(super) fn on_off(&mut self) -> Parsed<bool> {
        if self.eat_keyword(Keyword::ON) {
            return Ok(true);
        }
        self.expect_keyword(Keyword::OFF)?;
        Ok(false)
    }

    fn isolation_level(&mut self) -> Parsed<IsolationLevel> {
        let level = self.one_of(&[
            "READ UNCOMMITTED",
            "READ COMMITTED",
            "REPEATABLE READ",
            "SNAPSHOT",
            "SERIALIZABLE",
        ])?;
        Ok(match &*level {
            "READ UNCOMMITTED" => IsolationLevel::ReadUncommitted,
            "READ COMMITTED" => IsolationLevel::ReadCommitted,
            "REPEATABLE READ" => IsolationLevel::RepeatableRead,
            "SNAPSHOT" => IsolationLevel::Snapshot,
            _ => IsolationLevel::Serializable,
        })
    }
}
