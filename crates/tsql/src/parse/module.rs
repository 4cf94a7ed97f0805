//! Procedures, functions and views.

use super::cursor::Parser;
use super::scope::Context;
use crate::ast::Statement;
use crate::ast::module::{
    ExecuteAs, Function, FunctionBody, ModuleAction, ModuleOption, Parameter, Procedure, View,
};
use crate::error::Parsed;
use crate::lex::{Keyword, Kind};

impl Parser<'_> {
    /// After CREATE, ALTER or CREATE OR ALTER.
    pub(super) fn module(&mut self, action: ModuleAction, first: bool) -> Parsed<Statement> {
        use Keyword as K;
        let Kind::Keyword(keyword) = self.kind() else {
            return Err(self.unexpected());
        };
        let what = match keyword {
            K::PROC | K::PROCEDURE => "CREATE/ALTER PROCEDURE",
            K::FUNCTION => "CREATE FUNCTION",
            K::VIEW => "CREATE VIEW",
            K::TRIGGER => "CREATE TRIGGER",
            _ => return Err(self.unexpected()),
        };
        self.must_be_first(first, what)?;
        self.bump();
        match keyword {
            K::FUNCTION => self.function(action),
            K::VIEW => self.view(action),
            K::TRIGGER => self.trigger(action),
            _ => self.procedure(action),
        }
    }

    fn procedure(&mut self, action: ModuleAction) -> Parsed<Statement> {
        let name = self.object_name()?;
        self.scope.module = Some(name.name().into());
        let mut number = None;
        if self.eat(Kind::Semicolon) {
            let token = self.expect(Kind::Integer)?;
            number = Some(self.slice(token).into());
        }
        let mut parameters = Vec::new();
        if self.kind() == Kind::Open && self.peek(1).kind == Kind::Variable {
            parameters = self.parens(Self::parameter)?;
        } else if self.kind() == Kind::Variable {
            parameters = self.list(Self::parameter)?;
        }
        let options = self.module_options(&["RECOMPILE", "ENCRYPTION"])?;
        let for_replication = self.eat_words(&["FOR", "REPLICATION"]);
        self.expect_keyword(Keyword::AS)?;
        self.scope.context = Context::Procedure;
        let body = self.module_body()?;
        Ok(Statement::Procedure(Box::new(Procedure {
            action,
            name,
            number,
            parameters,
            options,
            for_replication,
            body,
        })))
    }

    /// The statements up to the end of the text; at least one.
    pub(super) fn module_body(&mut self) -> Parsed<Vec<crate::ast::Stmt>> {
        if self.at_end() {
            return Err(self.unexpected());
        }
        self.statements(Self::at_end)
    }

    fn parameter(&mut self) -> Parsed<Parameter> {
        let name = self.variable()?;
        self.declare(&name)?;
        self.eat_keyword(Keyword::AS);
        let data_type = self.data_type()?;
        let varying = self.eat_keyword(Keyword::VARYING);
        let nullable = self.nullable()?;
        let mut default = None;
        if self.eat(Kind::Eq) {
            default = Some(if self.at_ident() {
                let word = self.ident()?;
                crate::ast::expr::Expr {
                    span: word.span,
                    kind: crate::ast::expr::ExprKind::Column(crate::ast::name::ObjectName::single(
                        word,
                    )),
                }
            } else {
                self.constant()?
            });
        }
        let output = self.eat_word("OUTPUT") || self.eat_word("OUT");
        let read_only = self.eat_word("READONLY");
        Ok(Parameter {
            name,
            data_type,
            varying,
            nullable,
            default,
            output,
            read_only,
        })
    }

    /// `WITH option, ..`, if it comes next.
    pub(super) fn module_options(&mut self, words: &[&'static str]) -> Parsed<Vec<ModuleOption>> {
        if !self.eat_keyword(Keyword::WITH) {
            return Ok(Vec::new());
        }
        self.list(|p| {
            if p.at_keyword(Keyword::EXECUTE) || p.at_keyword(Keyword::EXEC) {
                p.bump();
                p.expect_keyword(Keyword::AS)?;
                let who = match p.eat_one_of(&["CALLER", "SELF", "OWNER"]) {
                    Some(word) => ExecuteAs::Word(word.into()),
                    None => ExecuteAs::User(p.text_or_variable()?),
                };
                return Ok(ModuleOption::ExecuteAs(who));
            }
            Ok(ModuleOption::Words(p.one_of(words)?))
        })
    }

    fn function(&mut self, action: ModuleAction) -> Parsed<Statement> {
        const OPTIONS: &[&str] = &[
            "ENCRYPTION",
            "SCHEMABINDING",
            "RETURNS NULL ON NULL INPUT",
            "CALLED ON NULL INPUT",
        ];
        let name = self.object_name()?;
        self.scope.module = Some(name.name().into());
        self.expect(Kind::Open)?;
        let mut parameters = Vec::new();
        if !self.eat(Kind::Close) {
            parameters = self.list(Self::parameter)?;
            self.expect(Kind::Close)?;
        }
        self.expect_word("RETURNS")?;
        if self.kind() == Kind::Variable {
            return self.table_function(action, name, parameters, OPTIONS);
        }
        let inline = self.eat_keyword(Keyword::TABLE);
        let returned = if inline {
            None
        } else {
            Some(self.data_type()?)
        };
        let options = self.module_options(OPTIONS)?;
        self.eat_keyword(Keyword::AS);
        let body = match returned {
            None => {
                self.expect_keyword(Keyword::RETURN)?;
                FunctionBody::Inline(Box::new(self.returned_query()?))
            }
            Some(data_type) => {
                self.expect_keyword(Keyword::BEGIN)?;
                self.scope.context = Context::ScalarFunction;
                let body = self.block_body()?;
                FunctionBody::Scalar(data_type, body)
            }
        };
        Ok(Statement::Function(Box::new(Function {
            action,
            name,
            parameters,
            options,
            body,
        })))
    }

    fn table_function(
        &mut self,
        action: ModuleAction,
        name: crate::ast::name::ObjectName,
        parameters: Vec<Parameter>,
        known: &[&'static str],
    ) -> Parsed<Statement> {
        let variable = self.variable()?;
        self.declare(&variable)?;
        self.expect_keyword(Keyword::TABLE)?;
        let elements = self.table_elements()?;
        let options = self.module_options(known)?;
        self.eat_keyword(Keyword::AS);
        self.expect_keyword(Keyword::BEGIN)?;
        self.scope.context = Context::TableFunction;
        let body = self.block_body()?;
        let body = FunctionBody::Table(variable, elements, body);
        Ok(Statement::Function(Box::new(Function {
            action,
            name,
            parameters,
            options,
            body,
        })))
    }

    /// A query with or without parentheses, common table expressions included.
    fn returned_query(&mut self) -> Parsed<crate::ast::query::Query> {
        let with = self.kind() == Kind::Open && self.peek(1).kind == Kind::Keyword(Keyword::WITH);
        if with {
            self.bump();
        }
        let start = self.token().span;
        let ctes = if self.at_keyword(Keyword::WITH) {
            self.ctes()?
        } else {
            Vec::new()
        };
        let mut query = if self.kind() == Kind::Open && !with {
            self.parenthesised_return()?
        } else {
            self.subquery()?
        };
        query.ctes = ctes;
        query.span = self.span_from(start);
        if with {
            self.expect(Kind::Close)?;
        }
        Ok(query)
    }

    /// `(SELECT .. ORDER BY ..)`, or a set operation that begins with a parenthesis.
    fn parenthesised_return(&mut self) -> Parsed<crate::ast::query::Query> {
        let start = self.token().span;
        let query = self.parenthesised_query()?;
        if self.at_set_operator() && query.order_by.is_empty() {
            return self.query_from(query.body, start);
        }
        Ok(query)
    }

    fn view(&mut self, action: ModuleAction) -> Parsed<Statement> {
        let name = self.object_name()?;
        self.scope.module = Some(name.name().into());
        let columns = self.optional_columns()?;
        let options = self.module_options(&["SCHEMABINDING", "ENCRYPTION", "VIEW_METADATA"])?;
        self.expect_keyword(Keyword::AS)?;
        let start = self.token().span;
        let ctes = if self.at_keyword(Keyword::WITH) {
            self.ctes()?
        } else {
            Vec::new()
        };
        let mut query = self.subquery()?;
        query.ctes = ctes;
        query.span = self.span_from(start);
        let check_option = self.eat_words(&["WITH", "CHECK", "OPTION"]);
        self.eat(Kind::Semicolon);
        if !self.at_end() {
            return Err(self.unexpected());
        }
        Ok(Statement::View(Box::new(View {
            action,
            name,
            columns,
            options,
            query,
            check_option,
        })))
    }
}
