//! EXEC: procedures, texts, and EXECUTE AS.

use super::cursor::Parser;
use crate::ast::Statement;
use crate::ast::expr::{Expr, ExprKind};
use crate::ast::flow::{Execute, ExecuteArg, ExecuteWhat, ProcedureName};
use crate::ast::name::ObjectName;
use crate::error::{NAMED_ARGUMENT, Parsed};
use crate::lex::{Keyword, Kind};

impl Parser<'_> {
    pub(super) fn execute_statement(&mut self) -> Parsed<Statement> {
        if self.peek(1).kind == Kind::Keyword(Keyword::AS) {
            return self.execute_as();
        }
        Ok(Statement::Execute(Box::new(self.execute()?)))
    }

    fn execute_as(&mut self) -> Parsed<Statement> {
        self.bump();
        self.bump();
        let word = self.one_of(&["USER", "LOGIN", "CALLER"])?;
        if &*word == "CALLER" {
            return Ok(Statement::ExecuteAs(word, None));
        }
        self.expect(Kind::Eq)?;
        let name = self.text_or_variable()?;
        Ok(Statement::ExecuteAs(word, Some(name)))
    }

    /// A procedure's name that opens a batch is a call without EXEC.
    pub(super) fn procedure_call(&mut self) -> Parsed<Statement> {
        let what = self.procedure_and_args()?;
        let options = self.execute_options()?;
        Ok(Statement::Execute(Box::new(Execute {
            result: None,
            what,
            options,
        })))
    }

    /// `EXEC ..`
    pub(super) fn execute(&mut self) -> Parsed<Execute> {
        self.bump();
        if self.kind() == Kind::Open {
            let what = self.execute_text()?;
            let options = self.execute_options()?;
            let result = None;
            return Ok(Execute {
                result,
                what,
                options,
            });
        }
        let mut result = None;
        if self.kind() == Kind::Variable && self.peek(1).kind == Kind::Eq {
            result = Some(self.variable()?);
            self.bump();
        }
        let what = self.procedure_and_args()?;
        let options = self.execute_options()?;
        Ok(Execute {
            result,
            what,
            options,
        })
    }

    fn procedure_and_args(&mut self) -> Parsed<ExecuteWhat> {
        let name = if self.kind() == Kind::Variable {
            ProcedureName::Variable(self.variable()?)
        } else {
            let name = self.object_name()?;
            let numbered = self.kind() == Kind::Semicolon && self.peek(1).kind == Kind::Integer;
            let number = if numbered {
                self.bump();
                let token = self.bump();
                Some(self.slice(token).into())
            } else {
                None
            };
            ProcedureName::Name(name, number)
        };
        let mut args: Vec<ExecuteArg> = Vec::new();
        if self.begins_argument() {
            args = self.list(Self::execute_arg)?;
        }
        let named = args.iter().position(|arg| arg.name.is_some());
        let bare = named.and_then(|from| {
            let mut rest = args.iter().skip(from);
            rest.position(|arg| arg.name.is_none()).map(|n| n + from)
        });
        match bare {
            Some(at) => Err(self.error(NAMED_ARGUMENT, &[&(at + 1).to_string()])),
            None => Ok(ExecuteWhat::Procedure { name, args }),
        }
    }

    fn begins_argument(&self) -> bool {
        match self.kind() {
            Kind::Variable
            | Kind::Global
            | Kind::Integer
            | Kind::Decimal
            | Kind::Float
            | Kind::Money
            | Kind::Binary
            | Kind::String
            | Kind::National
            | Kind::Plus
            | Kind::Minus
            | Kind::DoubleQuoted
            | Kind::Bracketed
            | Kind::Keyword(Keyword::NULL | Keyword::DEFAULT) => true,
            Kind::Word => self.peek(1).kind != Kind::Colon,
            _ => false,
        }
    }

    fn execute_arg(&mut self) -> Parsed<ExecuteArg> {
        let mut name = None;
        if self.kind() == Kind::Variable && self.peek(1).kind == Kind::Eq {
            name = Some(self.variable()?);
            self.bump();
        }
        let value = if self.at_keyword(Keyword::DEFAULT) {
            self.argument()?
        } else if self.at_ident() {
            let word = self.ident()?;
            Expr {
                span: word.span,
                kind: ExprKind::Column(ObjectName::single(word)),
            }
        } else {
            self.constant()?
        };
        let output = self.eat_word("OUTPUT") || self.eat_word("OUT");
        Ok(ExecuteArg {
            name,
            value,
            output,
        })
    }

    fn execute_text(&mut self) -> Parsed<ExecuteWhat> {
        self.expect(Kind::Open)?;
        let mut parts = vec![self.text_or_variable()?];
        while self.eat(Kind::Plus) {
            parts.push(self.text_or_variable()?);
        }
        let mut args = Vec::new();
        if self.eat(Kind::Comma) {
            args = self.list(Self::execute_arg)?;
        }
        self.expect(Kind::Close)?;
        let mut run_as = None;
        if self.eat_keyword(Keyword::AS) {
            let word = self.one_of(&["USER", "LOGIN"])?;
            self.expect(Kind::Eq)?;
            run_as = Some((word, self.text_or_variable()?));
        }
        let at = if self.at_word("AT") && self.is_ident(self.peek(1)) {
            self.bump();
            Some(self.ident()?)
        } else {
            None
        };
        Ok(ExecuteWhat::Text {
            parts,
            args,
            run_as,
            at,
        })
    }

    fn execute_options(&mut self) -> Parsed<Vec<Box<str>>> {
        let follows = self.is_word(1, "RECOMPILE") || self.is_word(1, "RESULT");
        if !self.at_keyword(Keyword::WITH) || !follows {
            return Ok(Vec::new());
        }
        self.bump();
        self.list(|p| p.one_of(&["RECOMPILE", "RESULT SETS UNDEFINED", "RESULT SETS NONE"]))
    }
}
