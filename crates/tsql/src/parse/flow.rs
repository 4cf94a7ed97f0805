//! Control of flow, variables, errors, transactions.

use super::cursor::Parser;
use super::scope::Context;
use crate::ast::Statement;
use crate::ast::database::NameOrVariable;
use crate::ast::flow::{
    Declare, DeclareKind, If, Raiserror, Transaction, TryCatch, Waitfor, While,
};
use crate::error::{Parsed, STRAY_RETURN, STRAY_THROW};
use crate::lex::{Keyword, Kind};

impl Parser<'_> {
    pub(super) fn if_statement(&mut self) -> Parsed<Statement> {
        self.bump();
        let condition = self.condition()?;
        let then = self.inner_statement()?;
        if self.kind() == Kind::Semicolon && self.peek(1).kind == Kind::Keyword(Keyword::ELSE) {
            self.bump();
        }
        let otherwise = if self.eat_keyword(Keyword::ELSE) {
            Some(self.inner_statement()?)
        } else {
            None
        };
        Ok(Statement::If(Box::new(If {
            condition,
            then,
            otherwise,
        })))
    }

    pub(super) fn while_statement(&mut self) -> Parsed<Statement> {
        self.bump();
        let condition = self.condition()?;
        self.scope.loops += 1;
        let body = self.inner_statement()?;
        self.scope.loops -= 1;
        Ok(Statement::While(Box::new(While { condition, body })))
    }

    /// What begins with BEGIN.
    pub(super) fn begin(&mut self) -> Parsed<Statement> {
        let transaction = ["TRAN", "TRANSACTION", "DISTRIBUTED"];
        if transaction.iter().any(|word| self.is_word(1, word)) {
            return self.begin_transaction();
        }
        if self.is_word(1, "TRY") {
            return self.try_catch();
        }
        self.bump();
        let body = self.block_body()?;
        Ok(Statement::Block(body))
    }

    /// Statements, at least one, and END.
    pub(super) fn block_body(&mut self) -> Parsed<Vec<crate::ast::Stmt>> {
        let body = self.statements(|p| p.at_keyword(Keyword::END))?;
        if body.is_empty() {
            return Err(self.unexpected());
        }
        self.bump();
        Ok(body)
    }

    fn try_catch(&mut self) -> Parsed<Statement> {
        let stop = |p: &Self| p.at_keyword(Keyword::END);
        self.expect_words("BEGIN TRY")?;
        let body = self.statements(stop)?;
        self.expect_words("END TRY")?;
        self.eat(Kind::Semicolon);
        self.expect_words("BEGIN CATCH")?;
        self.scope.catches += 1;
        let catch = self.statements(stop)?;
        self.scope.catches -= 1;
        self.expect_words("END CATCH")?;
        Ok(Statement::TryCatch(Box::new(TryCatch { body, catch })))
    }

    pub(super) fn throw(&mut self) -> Parsed<Statement> {
        let token = self.bump();
        if !self.begins_value() {
            if self.scope.catches == 0 {
                return Err(self.error_at(token, STRAY_THROW, &[]));
            }
            return Ok(Statement::Throw(None));
        }
        let number = self.constant()?;
        self.expect(Kind::Comma)?;
        let message = self.constant()?;
        self.expect(Kind::Comma)?;
        let state = self.constant()?;
        Ok(Statement::Throw(Some(Box::new([number, message, state]))))
    }

    /// Whether a value can begin here; a label cannot.
    fn begins_value(&self) -> bool {
        use Keyword as K;
        match self.kind() {
            Kind::Keyword(keyword) => matches!(
                keyword,
                K::NULL
                    | K::CASE
                    | K::CONVERT
                    | K::TRY_CONVERT
                    | K::COALESCE
                    | K::NULLIF
                    | K::LEFT
                    | K::RIGHT
                    | K::CURRENT_TIMESTAMP
                    | K::CURRENT_USER
                    | K::SESSION_USER
                    | K::SYSTEM_USER
                    | K::USER
            ),
            Kind::Word => self.peek(1).kind != Kind::Colon,
            Kind::Semicolon | Kind::End | Kind::Close | Kind::Unknown => false,
            _ => true,
        }
    }

    pub(super) fn return_statement(&mut self) -> Parsed<Statement> {
        let token = self.bump();
        let statement = matches!(self.kind(), Kind::Unclosed | Kind::UnclosedComment);
        if statement || !self.begins_value() {
            return Ok(Statement::Return(None));
        }
        let valued = matches!(
            self.scope.context,
            Context::Procedure | Context::ScalarFunction
        );
        if !valued {
            return Err(self.error_at(token, STRAY_RETURN, &[]));
        }
        Ok(Statement::Return(Some(self.expr()?)))
    }

    pub(super) fn raiserror(&mut self) -> Parsed<Statement> {
        self.bump();
        let args = self.parens(Self::constant)?;
        if args.len() < 3 {
            return Err(self.unexpected_at(self.previous().unwrap_or_else(|| self.token())));
        }
        let mut options = Vec::new();
        if self.eat_keyword(Keyword::WITH) {
            options = self.list(|p| p.one_of(&["LOG", "NOWAIT", "SETERROR"]))?;
        }
        Ok(Statement::Raiserror(Box::new(Raiserror { args, options })))
    }

    pub(super) fn waitfor(&mut self) -> Parsed<Statement> {
        self.bump();
        if self.eat_word("DELAY") {
            return Ok(Statement::Waitfor(Waitfor::Delay(self.text_or_variable()?)));
        }
        self.expect_word("TIME")?;
        Ok(Statement::Waitfor(Waitfor::Time(self.text_or_variable()?)))
    }

    pub(super) fn declare_statement(&mut self) -> Parsed<Statement> {
        self.bump();
        if self.at_ident() {
            return self.declare_cursor();
        }
        let declared = self.list(|p| {
            let variable = p.variable()?;
            p.declare(&variable)?;
            p.eat_keyword(Keyword::AS);
            let kind = if p.eat_keyword(Keyword::TABLE) {
                DeclareKind::Table(p.table_elements()?)
            } else if p.eat_keyword(Keyword::CURSOR) {
                DeclareKind::Cursor
            } else {
                let data_type = p.data_type()?;
                let value = if p.eat(Kind::Eq) {
                    Some(p.expr()?)
                } else {
                    None
                };
                DeclareKind::Scalar(data_type, value)
            };
            Ok(Declare { variable, kind })
        })?;
        Ok(Statement::Declare(declared))
    }

    /// A name or variable of a transaction, if one comes next.
    fn transaction_name(&mut self) -> Parsed<Option<NameOrVariable>> {
        if self.kind() == Kind::Variable {
            return Ok(Some(NameOrVariable::Variable(self.variable()?)));
        }
        Ok(self.bare_alias()?.map(NameOrVariable::Name))
    }

    fn begin_transaction(&mut self) -> Parsed<Statement> {
        self.bump();
        let distributed = self.eat_keyword(Keyword::DISTRIBUTED);
        self.one_of(&["TRAN", "TRANSACTION"])?;
        let name = self.transaction_name()?;
        let mut mark = None;
        if name.is_some() && self.eat_words(&["WITH", "MARK"]) {
            mark = Some(match self.kind() {
                Kind::String | Kind::National | Kind::Variable => Some(self.constant()?),
                _ => None,
            });
        }
        Ok(Statement::Transaction(Transaction::Begin {
            distributed,
            name,
            mark,
        }))
    }

    /// COMMIT, ROLLBACK, SAVE.
    pub(super) fn transaction(&mut self, keyword: Keyword) -> Parsed<Statement> {
        self.bump();
        let mut name = None;
        if self.eat_one_of(&["TRAN", "TRANSACTION"]).is_some() {
            name = self.transaction_name()?;
        } else if keyword == Keyword::SAVE {
            return Err(self.unexpected());
        } else {
            self.eat_word("WORK");
        }
        let transaction = match keyword {
            Keyword::COMMIT => Transaction::Commit {
                name,
                options: self.with_parens(super::options::COMMIT)?,
            },
            Keyword::ROLLBACK => Transaction::Rollback(name),
            _ => match name {
                Some(name) => Transaction::Save(name),
                None => return Err(self.unexpected()),
            },
        };
        Ok(Statement::Transaction(transaction))
    }
}
