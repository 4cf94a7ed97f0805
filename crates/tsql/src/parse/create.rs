//! CREATE, ALTER and DROP: which kind of object is meant.

use super::cursor::Parser;
use crate::ast::Statement;
use crate::ast::database::Drop;
use crate::ast::module::ModuleAction;
use crate::error::{NOT_FIRST, Parsed, UNKNOWN_OBJECT_TYPE};
use crate::lex::{Keyword, Kind};

/// Kinds that DROP takes with names alone.
const DROPPED: &[&str] = &[
    "TABLE",
    "VIEW",
    "PROCEDURE",
    "PROC",
    "FUNCTION",
    "TRIGGER",
    "DATABASE",
    "SCHEMA",
    "SYNONYM",
    "TYPE",
    "SEQUENCE",
    "STATISTICS",
    "LOGIN",
    "USER",
    "SERVER ROLE",
    "APPLICATION ROLE",
    "ROLE",
    "PARTITION FUNCTION",
    "PARTITION SCHEME",
    "DEFAULT",
    "RULE",
    "AGGREGATE",
    "ASSEMBLY",
    "CREDENTIAL",
];

impl Parser<'_> {
    pub(super) fn create(&mut self, first: bool) -> Parsed<Statement> {
        use Keyword as K;
        self.bump();
        if self.eat_words(&["OR", "ALTER"]) {
            return self.module(ModuleAction::CreateOrAlter, first);
        }
        match self.kind() {
            Kind::Keyword(K::TABLE) => {
                self.bump();
                self.create_table()
            }
            Kind::Keyword(K::DATABASE) => {
                self.bump();
                self.create_database()
            }
            Kind::Keyword(K::UNIQUE | K::CLUSTERED | K::NONCLUSTERED | K::INDEX) => {
                self.create_index()
            }
            Kind::Keyword(K::STATISTICS) => {
                self.bump();
                self.create_statistics()
            }
            Kind::Keyword(K::SCHEMA) => self.create_schema(first),
            Kind::Keyword(K::USER) => self.principal(false),
            Kind::Keyword(K::VIEW | K::PROC | K::PROCEDURE | K::FUNCTION | K::TRIGGER) => {
                self.module(ModuleAction::Create, first)
            }
            Kind::Word => self.create_by_word(),
            _ => Err(self.unexpected()),
        }
    }

    fn create_by_word(&mut self) -> Parsed<Statement> {
        if self.eat_word("TYPE") {
            return self.create_type();
        }
        if self.eat_word("SEQUENCE") {
            return self.sequence(false);
        }
        if self.eat_word("SYNONYM") {
            let name = self.object_name()?;
            self.expect_keyword(Keyword::FOR)?;
            return Ok(Statement::CreateSynonym(name, self.object_name()?));
        }
        if self.eat_word("PARTITION") {
            return self.create_partition();
        }
        if self.at_word("COLUMNSTORE") {
            return self.create_index();
        }
        self.principal_or_unknown(false)
    }

    fn principal_or_unknown(&mut self, alter: bool) -> Parsed<Statement> {
        let principals = ["LOGIN", "ROLE", "SERVER", "APPLICATION"];
        if principals.iter().any(|word| self.at_word(word)) {
            return self.principal(alter);
        }
        let word = self.slice(self.token());
        Err(self.error(UNKNOWN_OBJECT_TYPE, &[word]))
    }

    pub(super) fn alter(&mut self, first: bool) -> Parsed<Statement> {
        use Keyword as K;
        self.bump();
        match self.kind() {
            Kind::Keyword(K::TABLE) => {
                self.bump();
                self.alter_table()
            }
            Kind::Keyword(K::DATABASE) => {
                self.bump();
                self.alter_database()
            }
            Kind::Keyword(K::INDEX) => {
                self.bump();
                self.alter_index()
            }
            Kind::Keyword(K::SCHEMA) => self.alter_schema(),
            Kind::Keyword(K::USER) => self.principal(true),
            Kind::Keyword(K::VIEW | K::PROC | K::PROCEDURE | K::FUNCTION | K::TRIGGER) => {
                self.module(ModuleAction::Alter, first)
            }
            Kind::Word if self.eat_word("SEQUENCE") => self.sequence(true),
            Kind::Word => self.principal_or_unknown(true),
            _ => Err(self.unexpected()),
        }
    }

    pub(super) fn drop_statement(&mut self) -> Parsed<Statement> {
        self.bump();
        if self.eat_keyword(Keyword::INDEX) {
            return self.drop_index();
        }
        let Some(kind) = self.eat_one_of(DROPPED) else {
            if self.kind() == Kind::Word {
                let word = self.slice(self.token());
                return Err(self.error(UNKNOWN_OBJECT_TYPE, &[word]));
            }
            return Err(self.unexpected());
        };
        let kind = if kind == "PROC" { "PROCEDURE" } else { kind };
        let if_exists = self.eat_words(&["IF", "EXISTS"]);
        let names = self.list(Self::object_name)?;
        let mut scope = None;
        if kind == "TRIGGER" && self.eat_keyword(Keyword::ON) {
            scope = Some(self.one_of(&["DATABASE", "ALL SERVER"])?);
        }
        Ok(Statement::Drop(Drop {
            kind: kind.into(),
            if_exists,
            names,
            scope,
        }))
    }

    /// A module must be the first statement of its batch, and cannot be part of another statement.
    pub(super) fn must_be_first(&self, first: bool, what: &str) -> Parsed<()> {
        if first && self.scope.level == 1 {
            return Ok(());
        }
        if self.scope.level > 1 {
            return Err(self.unexpected());
        }
        Err(self.error(NOT_FIRST, &[what]))
    }
}
