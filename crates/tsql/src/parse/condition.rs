//! Search conditions.
//!
//! Whether an opening parenthesis begins a value or a condition is not known before its contents have been
//! read. Therefore a step returns either, and the caller refuses the one that it cannot use.

use super::cursor::Parser;
use crate::ast::expr::{CompareOp, Condition, ConditionKind, CursorName, Expr};
use crate::error::{NO_CONDITION, Parsed};
use crate::lex::{Keyword, Kind};
use crate::span::Span;

enum Either {
    Value(Expr),
    Condition(Condition),
}

impl Parser<'_> {
    /// A condition; a value alone is error 4145.
    pub(super) fn condition(&mut self) -> Parsed<Condition> {
        let found = self.disjunction()?;
        self.wanted(found)
    }

    fn wanted(&self, found: Either) -> Parsed<Condition> {
        match found {
            Either::Condition(condition) => Ok(condition),
            Either::Value(_) if self.kind() == Kind::Unclosed => Err(self.unexpected()),
            Either::Value(_) => {
                let near = self.shown(self.blamed());
                Err(self.error(NO_CONDITION, &[&near]))
            }
        }
    }

    fn disjunction(&mut self) -> Parsed<Either> {
        self.nested(|p| p.chain(Keyword::OR, Self::conjunction, ConditionKind::Or))
    }

    fn conjunction(&mut self) -> Parsed<Either> {
        self.chain(Keyword::AND, Self::negation, ConditionKind::And)
    }

    /// Operands joined by one word; one operand alone is given as it is.
    fn chain(
        &mut self,
        word: Keyword,
        operand: fn(&mut Self) -> Parsed<Either>,
        join: fn(Vec<Condition>) -> ConditionKind,
    ) -> Parsed<Either> {
        let first = operand(self)?;
        if !self.at_keyword(word) {
            return Ok(first);
        }
        let first = self.wanted(first)?;
        let start = first.span;
        let mut operands = vec![first];
        while self.eat_keyword(word) {
            let next = operand(self)?;
            operands.push(self.wanted(next)?);
        }
        self.grow()?;
        let span = self.span_from(start);
        let kind = join(operands);
        Ok(Either::Condition(Condition { kind, span }))
    }

    fn negation(&mut self) -> Parsed<Either> {
        if !self.at_keyword(Keyword::NOT) {
            return self.predicate();
        }
        let start = self.bump().span;
        let inner = self.nested(Self::negation)?;
        let inner = self.wanted(inner)?;
        Ok(self.done(start, ConditionKind::Not(Box::new(inner))))
    }

    fn done(&self, start: Span, kind: ConditionKind) -> Either {
        let span = self.span_from(start);
        Either::Condition(Condition { kind, span })
    }

    fn predicate(&mut self) -> Parsed<Either> {
        let start = self.token().span;
        let calls = self.peek(1).kind == Kind::Open;
        match self.kind() {
            Kind::Keyword(Keyword::EXISTS) => {
                self.bump();
                let query = self.parenthesised_query()?;
                Ok(self.done(start, ConditionKind::Exists(Box::new(query))))
            }
            Kind::Keyword(Keyword::UPDATE) if calls => {
                self.bump();
                self.expect(Kind::Open)?;
                let column = self.ident()?;
                self.expect(Kind::Close)?;
                Ok(self.done(start, ConditionKind::Updated(column)))
            }
            Kind::Keyword(word @ (Keyword::CONTAINS | Keyword::FREETEXT)) if calls => {
                self.bump();
                let args = self.full_text_arguments()?;
                Ok(self.done(start, ConditionKind::FullText(word.text().into(), args)))
            }
            Kind::Open => {
                let open = self.bump().span;
                // Nested once more than the condition within: this path takes the most stack of all.
                let inner = self.nested(|p| p.inside(open))?;
                self.expect(Kind::Close)?;
                match inner {
                    Either::Condition(_) => Ok(inner),
                    Either::Value(value) => {
                        let left = self.value_after(value)?;
                        self.comparison(left)
                    }
                }
            }
            _ => {
                let left = self.expr()?;
                self.comparison(left)
            }
        }
    }

    /// The contents of parentheses where a condition may begin.
    fn inside(&mut self, open: Span) -> Parsed<Either> {
        if self.at_keyword(Keyword::SELECT) {
            return Ok(Either::Value(self.subquery_value(open)?));
        }
        match self.disjunction()? {
            Either::Value(value) => Ok(Either::Value(self.query_after(value)?)),
            condition => Ok(condition),
        }
    }

    /// `(column | (columns) | *, text)`: the columns, then the text, as one list.
    fn full_text_arguments(&mut self) -> Parsed<Vec<Expr>> {
        self.expect(Kind::Open)?;
        let mut args = if self.kind() == Kind::Open {
            self.parens(Self::expr)?
        } else if self.eat(Kind::Star) {
            Vec::new()
        } else {
            vec![self.expr()?]
        };
        self.expect(Kind::Comma)?;
        args.push(self.expr()?);
        self.expect(Kind::Close)?;
        Ok(args)
    }

    /// The comparison at this place, which may be written with blanks inside: `> =`.
    fn compare_op(&mut self) -> Option<CompareOp> {
        let next = self.peek(1).kind;
        let (op, tokens) = match (self.kind(), next) {
            (Kind::Lt, Kind::Eq) => (CompareOp::Le, 2),
            (Kind::Lt, Kind::Gt) => (CompareOp::Ne, 2),
            (Kind::Gt, Kind::Eq) => (CompareOp::Ge, 2),
            (Kind::Eq, _) => (CompareOp::Eq, 1),
            (Kind::Ne, _) => (CompareOp::Ne, 1),
            (Kind::Lt, _) => (CompareOp::Lt, 1),
            (Kind::Gt, _) => (CompareOp::Gt, 1),
            (Kind::Le | Kind::NotGt, _) => (CompareOp::Le, 1),
            (Kind::Ge | Kind::NotLt, _) => (CompareOp::Ge, 1),
            _ => return None,
        };
        for _ in 0..tokens {
            self.bump();
        }
        Some(op)
    }

    /// What follows a value, if it makes a condition of it.
    fn comparison(&mut self, expr: Expr) -> Parsed<Either> {
        let start = expr.span;
        if let Some(op) = self.compare_op() {
            let kind = self.compared(expr, op)?;
            return Ok(self.done(start, kind));
        }
        if self.eat_keyword(Keyword::IS) {
            let not = self.eat_keyword(Keyword::NOT);
            let kind = if self.eat_keyword(Keyword::DISTINCT) {
                self.expect_keyword(Keyword::FROM)?;
                let other = self.expr()?;
                ConditionKind::IsDistinct { expr, not, other }
            } else {
                self.expect_keyword(Keyword::NULL)?;
                ConditionKind::IsNull { expr, not }
            };
            return Ok(self.done(start, kind));
        }
        if self.kind() == Kind::StarEq {
            // The outer join of old versions.
            return Err(self.unexpected());
        }
        let not = self.at_keyword(Keyword::NOT);
        let word = self.peek(usize::from(not)).kind;
        let takes = [Keyword::BETWEEN, Keyword::LIKE, Keyword::IN].map(Kind::Keyword);
        if !takes.contains(&word) {
            return Ok(Either::Value(expr));
        }
        if not {
            self.bump();
        }
        let kind = self.membership(expr, not)?;
        Ok(self.done(start, kind))
    }

    fn compared(&mut self, expr: Expr, op: CompareOp) -> Parsed<ConditionKind> {
        let calls = self.peek(1).kind == Kind::Open;
        let all = self.at_keyword(Keyword::ALL);
        if calls && (all || self.at_keyword(Keyword::ANY) || self.at_keyword(Keyword::SOME)) {
            self.bump();
            let query = Box::new(self.parenthesised_query()?);
            return Ok(ConditionKind::Quantified {
                expr,
                op,
                all,
                query,
            });
        }
        let right = self.expr()?;
        Ok(ConditionKind::Compare(expr, op, right))
    }

    fn membership(&mut self, expr: Expr, not: bool) -> Parsed<ConditionKind> {
        if self.eat_keyword(Keyword::BETWEEN) {
            let low = self.expr()?;
            self.expect_keyword(Keyword::AND)?;
            let high = self.expr()?;
            return Ok(ConditionKind::Between {
                expr,
                not,
                low,
                high,
            });
        }
        if self.eat_keyword(Keyword::LIKE) {
            let pattern = self.expr()?;
            let escape = if self.eat_keyword(Keyword::ESCAPE) {
                Some(self.expr()?)
            } else {
                None
            };
            return Ok(ConditionKind::Like {
                expr,
                not,
                pattern,
                escape,
            });
        }
        self.expect_keyword(Keyword::IN)?;
        if self.kind() == Kind::Open && self.peek(1).kind == Kind::Keyword(Keyword::SELECT) {
            let query = Box::new(self.parenthesised_query()?);
            return Ok(ConditionKind::InQuery { expr, not, query });
        }
        let list = self.parens(Self::expr)?;
        Ok(ConditionKind::InList { expr, not, list })
    }

    /// WHERE of UPDATE and DELETE: a condition, or `CURRENT OF cursor`.
    pub(super) fn where_clause(&mut self) -> Parsed<Option<Condition>> {
        if !self.eat_keyword(Keyword::WHERE) {
            return Ok(None);
        }
        if !self.at_words(&["CURRENT", "OF"]) {
            return self.condition().map(Some);
        }
        let start = self.token().span;
        self.expect_words("CURRENT OF")?;
        let kind = ConditionKind::CurrentOf(self.cursor_name()?);
        let span = self.span_from(start);
        Ok(Some(Condition { kind, span }))
    }

    /// `[GLOBAL] c` or `@c`
    pub(super) fn cursor_name(&mut self) -> Parsed<CursorName> {
        if self.kind() == Kind::Variable {
            let name = self.variable()?;
            return Ok(CursorName {
                global: false,
                is_variable: true,
                name,
            });
        }
        let global = self.at_word("GLOBAL") && self.is_ident(self.peek(1));
        if global {
            self.bump();
        }
        let name = self.ident()?;
        Ok(CursorName {
            global,
            is_variable: false,
            name,
        })
    }
}
