//! Triggers.

use super::cursor::Parser;
use super::scope::Context;
use crate::ast::Statement;
use crate::ast::module::{ModuleAction, Trigger, TriggerOn};
use crate::error::Parsed;
use crate::lex::{Keyword, Kind};

impl Parser<'_> {
    pub(super) fn trigger(&mut self, action: ModuleAction) -> Parsed<Statement> {
        let name = self.object_name()?;
        self.scope.module = Some(name.name().into());
        self.expect_keyword(Keyword::ON)?;
        let on = self.trigger_on()?;
        let options = self.module_options(&["ENCRYPTION", "SCHEMABINDING"])?;
        let instead_of = self.eat_words(&["INSTEAD", "OF"]);
        if !instead_of && !self.eat_keyword(Keyword::FOR) {
            self.expect_word("AFTER")?;
        }
        let on_table = matches!(on, TriggerOn::Table(_));
        let events = self.list(|p| {
            if on_table {
                return p.one_of(&["INSERT", "UPDATE", "DELETE"]);
            }
            match p.kind() {
                Kind::Word => p.upper_word(),
                _ => Err(p.unexpected()),
            }
        })?;
        let not_for_replication = self.eat_words(&["NOT", "FOR", "REPLICATION"]);
        self.expect_keyword(Keyword::AS)?;
        self.scope.context = Context::Trigger;
        let body = self.module_body()?;
        Ok(Statement::Trigger(Box::new(Trigger {
            action,
            name,
            on,
            options,
            instead_of,
            events,
            not_for_replication,
            body,
        })))
    }

    fn trigger_on(&mut self) -> Parsed<TriggerOn> {
        if self.eat_keyword(Keyword::DATABASE) {
            return Ok(TriggerOn::Database);
        }
        if self.eat_words(&["ALL", "SERVER"]) {
            return Ok(TriggerOn::Server);
        }
        Ok(TriggerOn::Table(self.object_name()?))
    }

    /// `ENABLE | DISABLE TRIGGER names | ALL ON ..`
    pub(super) fn enable_trigger(&mut self) -> Parsed<Statement> {
        let enable = self.at_word("ENABLE");
        self.bump();
        self.bump();
        let names = if self.eat_keyword(Keyword::ALL) {
            Vec::new()
        } else {
            self.list(Self::object_name)?
        };
        self.expect_keyword(Keyword::ON)?;
        let on = self.trigger_on()?;
        Ok(Statement::EnableTrigger(enable, names, on))
    }
}
