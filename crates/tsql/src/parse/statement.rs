//! Statements: which kind one is, and lists of them.

use super::cursor::Parser;
use crate::ast::name::Ident;
use crate::ast::{Line, Statement, Stmt};
use crate::error::{MERGE_END, Parsed, STRAY_BREAK, STRAY_CONTINUE};
use crate::lex::{Keyword, Kind};

impl Parser<'_> {
    /// The whole text.
    pub(super) fn batch(&mut self) -> Parsed<Vec<Stmt>> {
        self.scope.first = true;
        let statements = self.statements(Self::at_end)?;
        self.check_jumps()?;
        Ok(statements)
    }

    /// Statements until `stop` returns `true`; semicolons between them may be left out, or doubled.
    pub(super) fn statements(&mut self, stop: fn(&Self) -> bool) -> Parsed<Vec<Stmt>> {
        let mut statements = Vec::new();
        self.scope.separated = true;
        loop {
            while self.eat(Kind::Semicolon) {
                self.scope.separated = true;
            }
            if stop(self) {
                return Ok(statements);
            }
            if self.at_end() {
                return Err(self.unexpected());
            }
            statements.push(self.statement()?);
            self.scope.separated = false;
        }
    }

    /// One statement that belongs to another.
    pub(super) fn inner_statement(&mut self) -> Parsed<Stmt> {
        self.scope.separated = true;
        self.statement()
    }

    pub(super) fn statement(&mut self) -> Parsed<Stmt> {
        let token = self.token();
        let kind = self.nested(|p| {
            p.scope.level += 1;
            let kind = p.statement_kind()?;
            p.scope.level -= 1;
            Ok(kind)
        })?;
        Ok(Stmt {
            kind,
            span: self.span_from(token.span),
            line: Line(token.line),
        })
    }

    fn statement_kind(&mut self) -> Parsed<Statement> {
        let first = std::mem::take(&mut self.scope.first);
        match self.kind() {
            Kind::Keyword(keyword) => self.keyword_statement(keyword, first),
            Kind::Open => {
                let start = self.token().span;
                let query = self.query_statement(Vec::new(), start)?;
                Ok(Statement::Select(Box::new(query)))
            }
            Kind::Word if self.peek(1).kind == Kind::Colon => {
                let label = self.ident()?;
                self.label(&label)?;
                self.bump();
                Ok(Statement::Label(label))
            }
            Kind::Word if self.at_word("THROW") && self.scope.separated => self.throw(),
            Kind::Word if self.is_word(1, "TRIGGER") && self.at_word("ENABLE") => {
                self.enable_trigger()
            }
            Kind::Word if self.is_word(1, "TRIGGER") && self.at_word("DISABLE") => {
                self.enable_trigger()
            }
            _ if first && self.at_ident() => self.procedure_call(),
            _ => Err(self.unexpected()),
        }
    }

    fn keyword_statement(&mut self, keyword: Keyword, first: bool) -> Parsed<Statement> {
        use Keyword as K;
        match keyword {
            K::SELECT | K::INSERT | K::UPDATE | K::DELETE | K::MERGE => self.row_statement(),
            K::WITH if self.scope.separated => self.row_statement(),
            K::TRUNCATE => self.truncate(),
            K::BULK => self.bulk_insert(),
            K::CREATE => self.create(first),
            K::ALTER => self.alter(first),
            K::DROP => self.drop_statement(),
            K::BACKUP => self.backup(),
            K::RESTORE => self.restore(),
            K::DBCC => self.dbcc(),
            K::CHECKPOINT => self.checkpoint(),
            K::KILL => self.kill(),
            K::USE => self.use_database(),
            K::SHUTDOWN => self.shutdown(),
            K::RECONFIGURE => self.reconfigure(),
            K::GRANT | K::DENY | K::REVOKE => self.permission(),
            K::EXEC | K::EXECUTE => self.execute_statement(),
            K::REVERT => self.word_alone(Statement::Revert),
            K::DECLARE => self.declare_statement(),
            K::OPEN | K::CLOSE | K::DEALLOCATE | K::FETCH => self.cursor_statement(keyword),
            K::SET => self.set_statement(),
            K::IF => self.if_statement(),
            K::WHILE => self.while_statement(),
            K::BEGIN => self.begin(),
            K::BREAK if self.scope.loops == 0 => Err(self.error(STRAY_BREAK, &[])),
            K::BREAK => self.word_alone(Statement::Break),
            K::CONTINUE if self.scope.loops == 0 => Err(self.error(STRAY_CONTINUE, &[])),
            K::CONTINUE => self.word_alone(Statement::Continue),
            K::RETURN => self.return_statement(),
            K::RAISERROR => self.raiserror(),
            K::PRINT => {
                self.bump();
                Ok(Statement::Print(self.expr()?))
            }
            K::WAITFOR => self.waitfor(),
            K::GOTO => {
                self.bump();
                let label: Ident = self.ident()?;
                self.jump(label.clone());
                Ok(Statement::Goto(label))
            }
            K::COMMIT | K::ROLLBACK | K::SAVE => self.transaction(keyword),
            _ => Err(self.unexpected()),
        }
    }

    fn word_alone(&mut self, statement: Statement) -> Parsed<Statement> {
        self.bump();
        Ok(statement)
    }

    /// Statements on rows, with the common table expressions before them.
    fn row_statement(&mut self) -> Parsed<Statement> {
        use Keyword as K;
        let start = self.token().span;
        let ctes = if self.at_keyword(K::WITH) {
            self.ctes()?
        } else {
            Vec::new()
        };
        match self.kind() {
            Kind::Keyword(K::INSERT) if self.is_word(1, "BULK") && ctes.is_empty() => {
                self.insert_bulk()
            }
            Kind::Keyword(K::INSERT) => Ok(Statement::Insert(Box::new(self.insert(ctes)?))),
            Kind::Keyword(K::UPDATE) if self.is_word(1, "STATISTICS") => self.update_statistics(),
            Kind::Keyword(K::UPDATE) => Ok(Statement::Update(Box::new(self.update(ctes)?))),
            Kind::Keyword(K::DELETE) => Ok(Statement::Delete(Box::new(self.delete(ctes)?))),
            Kind::Keyword(K::MERGE) => {
                let merge = self.merge(ctes)?;
                if self.kind() != Kind::Semicolon {
                    let token = self.blamed();
                    return Err(self.error_at(token, MERGE_END, &[]));
                }
                Ok(Statement::Merge(Box::new(merge)))
            }
            _ => {
                let query = self.query_statement(ctes, start)?;
                Ok(Statement::Select(Box::new(query)))
            }
        }
    }
}
