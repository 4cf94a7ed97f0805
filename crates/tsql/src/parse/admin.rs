//! The administrator's statements: DBCC, KILL, permissions, logins, users, schemas.

use super::cursor::Parser;
use super::options;
use super::scope::Context;
use crate::ast::Statement;
use crate::ast::admin::{
    CreateSchema, Dbcc, DbccArg, Kill, Permission, PermissionAction, Principal, PrincipalAction,
    Securable,
};
use crate::ast::name::Ident;
use crate::error::{NOT_ALLOWED, Parsed};
use crate::lex::{Keyword, Kind};

impl Parser<'_> {
    pub(super) fn dbcc(&mut self) -> Parsed<Statement> {
        self.bump();
        let command = self.ident()?;
        let mut args = Vec::new();
        let parens = self.eat(Kind::Open);
        if parens && !self.eat(Kind::Close) {
            args = self.list(Self::dbcc_arg)?;
            self.expect(Kind::Close)?;
        }
        let options = self.with_list(options::DBCC)?;
        Ok(Statement::Dbcc(Box::new(Dbcc {
            command,
            parens,
            args,
            options,
        })))
    }

    fn dbcc_arg(&mut self) -> Parsed<DbccArg> {
        if self.at_ident() {
            return Ok(DbccArg::Name(self.object_name()?));
        }
        Ok(DbccArg::Expr(self.constant()?))
    }

    pub(super) fn checkpoint(&mut self) -> Parsed<Statement> {
        self.bump();
        let seconds = match self.kind() {
            Kind::Integer | Kind::Variable => Some(self.constant()?),
            _ => None,
        };
        Ok(Statement::Checkpoint(seconds))
    }

    pub(super) fn kill(&mut self) -> Parsed<Statement> {
        self.bump();
        let session = self.constant()?;
        let status_only = self.eat_words(&["WITH", "STATUSONLY"]);
        Ok(Statement::Kill(Box::new(Kill {
            session,
            status_only,
        })))
    }

    pub(super) fn use_database(&mut self) -> Parsed<Statement> {
        let token = self.bump();
        if self.scope.context != Context::Batch {
            let place = "a procedure, function or trigger";
            return Err(self.error_at(token, NOT_ALLOWED, &["a USE database statement", place]));
        }
        Ok(Statement::Use(self.ident()?))
    }

    pub(super) fn shutdown(&mut self) -> Parsed<Statement> {
        self.bump();
        Ok(Statement::Shutdown(self.eat_words(&["WITH", "NOWAIT"])))
    }

    pub(super) fn reconfigure(&mut self) -> Parsed<Statement> {
        self.bump();
        Ok(Statement::Reconfigure(
            self.eat_words(&["WITH", "OVERRIDE"]),
        ))
    }

    /// GRANT, DENY, REVOKE.
    pub(super) fn permission(&mut self) -> Parsed<Statement> {
        let action = match self.bump().kind {
            Kind::Keyword(Keyword::GRANT) => PermissionAction::Grant,
            Kind::Keyword(Keyword::DENY) => PermissionAction::Deny,
            _ => PermissionAction::Revoke,
        };
        let revoke = action == PermissionAction::Revoke;
        let grant_option_for = revoke && self.eat_words(&["GRANT", "OPTION", "FOR"]);
        let permissions = self.list(Self::one_permission)?;
        let on = if self.eat_keyword(Keyword::ON) {
            Some(self.securable()?)
        } else {
            None
        };
        if !(revoke && self.eat_keyword(Keyword::FROM)) {
            self.expect_keyword(Keyword::TO)?;
        }
        let principals = self.list(Self::principal_name)?;
        let with_grant =
            action == PermissionAction::Grant && self.eat_words(&["WITH", "GRANT", "OPTION"]);
        let cascade = self.eat_keyword(Keyword::CASCADE);
        let grantor = if self.eat_keyword(Keyword::AS) {
            Some(self.ident()?)
        } else {
            None
        };
        Ok(Statement::Permission(Box::new(Permission {
            action,
            grant_option_for,
            permissions,
            on,
            principals,
            with_grant,
            cascade,
            grantor,
        })))
    }

    /// Words up to what ends a permission, and columns.
    fn one_permission(&mut self) -> Parsed<(Box<str>, Vec<Ident>)> {
        let mut words = vec![self.upper_word()?];
        loop {
            let ends = [Keyword::ON, Keyword::TO, Keyword::FROM].map(Kind::Keyword);
            match self.kind() {
                kind if ends.contains(&kind) => break,
                Kind::Word | Kind::Keyword(_) => words.push(self.upper_word()?),
                _ => break,
            }
        }
        let columns = self.optional_columns()?;
        Ok((words.join(" ").into(), columns))
    }

    fn principal_name(&mut self) -> Parsed<Ident> {
        if self.at_keyword(Keyword::PUBLIC) {
            return self.any_word();
        }
        self.ident()
    }

    /// `[class ::] name [(columns)]`
    fn securable(&mut self) -> Parsed<Securable> {
        let mut ahead = 0;
        while matches!(self.peek(ahead).kind, Kind::Word | Kind::Keyword(_)) && ahead < 4 {
            ahead += 1;
        }
        let mut class = None;
        if ahead > 0 && self.peek(ahead).kind == Kind::DoubleColon {
            let mut words = Vec::new();
            for _ in 0..ahead {
                words.push(self.upper_word()?);
            }
            self.bump();
            class = Some(words.join(" ").into());
        }
        let name = self.object_name()?;
        let columns = self.optional_columns()?;
        Ok(Securable {
            class,
            name,
            columns,
        })
    }

    /// CREATE or ALTER of a login, user or role.
    pub(super) fn principal(&mut self, alter: bool) -> Parsed<Statement> {
        let kind = self.one_of(&["LOGIN", "USER", "SERVER ROLE", "APPLICATION ROLE", "ROLE"])?;
        let name = self.ident()?;
        let action = self.principal_action(&kind, alter)?;
        let options = self.with_list(options::PRINCIPAL)?;
        Ok(Statement::Principal(Box::new(Principal {
            alter,
            kind,
            name,
            action,
            options,
        })))
    }

    fn principal_action(&mut self, kind: &str, alter: bool) -> Parsed<PrincipalAction> {
        let role = kind.ends_with("ROLE");
        if kind == "USER" && !alter {
            if self.eat_words(&["WITHOUT", "LOGIN"]) {
                return Ok(PrincipalAction::WithoutLogin);
            }
            if self.eat_words(&["FROM", "EXTERNAL", "PROVIDER"]) {
                return Ok(PrincipalAction::From("EXTERNAL PROVIDER".into()));
            }
            if self.eat_keyword(Keyword::FOR) || self.eat_keyword(Keyword::FROM) {
                self.expect_word("LOGIN")?;
                return Ok(PrincipalAction::ForLogin(self.ident()?));
            }
        }
        if kind == "LOGIN" && alter {
            if self.eat_word("ENABLE") {
                return Ok(PrincipalAction::Enable(true));
            }
            if self.eat_word("DISABLE") {
                return Ok(PrincipalAction::Enable(false));
            }
        }
        if kind == "LOGIN" && !alter && self.eat_keyword(Keyword::FROM) {
            let from = self.one_of(&["WINDOWS", "EXTERNAL PROVIDER"])?;
            return Ok(PrincipalAction::From(from));
        }
        if role && !alter && self.eat_keyword(Keyword::AUTHORIZATION) {
            return Ok(PrincipalAction::Authorization(self.ident()?));
        }
        if role && alter && self.eat_words(&["ADD", "MEMBER"]) {
            return Ok(PrincipalAction::AddMember(self.ident()?));
        }
        if role && alter && self.eat_words(&["DROP", "MEMBER"]) {
            return Ok(PrincipalAction::DropMember(self.ident()?));
        }
        let bare = !alter && (role || kind == "USER");
        if !bare && !self.at_keyword(Keyword::WITH) {
            return Err(self.unexpected());
        }
        Ok(PrincipalAction::None)
    }

    pub(super) fn create_schema(&mut self, first: bool) -> Parsed<Statement> {
        self.must_be_first(first, "CREATE SCHEMA")?;
        self.bump();
        let name = if self.at_keyword(Keyword::AUTHORIZATION) {
            None
        } else {
            Some(self.ident()?)
        };
        let owner = if self.eat_keyword(Keyword::AUTHORIZATION) {
            Some(self.ident()?)
        } else {
            None
        };
        let mut elements = Vec::new();
        let grants = [Keyword::GRANT, Keyword::DENY, Keyword::REVOKE].map(Kind::Keyword);
        while self.at_words(&["CREATE", "TABLE"]) || grants.contains(&self.kind()) {
            elements.push(self.inner_statement()?);
        }
        Ok(Statement::CreateSchema(Box::new(CreateSchema {
            name,
            owner,
            elements,
        })))
    }

    pub(super) fn alter_schema(&mut self) -> Parsed<Statement> {
        self.bump();
        let schema = self.ident()?;
        self.expect_word("TRANSFER")?;
        Ok(Statement::AlterSchema(schema, self.securable()?))
    }
}
