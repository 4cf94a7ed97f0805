//! Values: constants, columns, variables, operators.
//!
//! Precedence, tightest first: postfix (COLLATE, AT TIME ZONE), `~`, `* / %`, then `+ - & ^ |` of equal rank.
//! A sign ranks with `+` and `-`, so that `-a * b` is `-(a * b)` and `a / -b * c` is `a / -(b * c)`, as T-SQL
//! has it.

use super::cursor::Parser;
use super::names::undouble;
use crate::ast::expr::{BinaryOp, Expr, ExprKind, Literal, UnaryOp};
use crate::ast::name::{Ident, ObjectName};
use crate::ast::query::{Query, QueryBody};
use crate::error::Parsed;
use crate::lex::{Keyword, Kind, Token};
use crate::span::Span;

/// Rank of `+ - & ^ |`.
const SUM: u8 = 1;
/// Rank of `* / %`.
const PRODUCT: u8 = 2;

fn binary_op(kind: Kind) -> Option<(BinaryOp, u8)> {
    Some(match kind {
        Kind::Plus => (BinaryOp::Add, SUM),
        Kind::Minus => (BinaryOp::Sub, SUM),
        Kind::Amp => (BinaryOp::BitAnd, SUM),
        Kind::Bar => (BinaryOp::BitOr, SUM),
        Kind::Caret => (BinaryOp::BitXor, SUM),
        Kind::Star => (BinaryOp::Mul, PRODUCT),
        Kind::Slash => (BinaryOp::Div, PRODUCT),
        Kind::Percent => (BinaryOp::Mod, PRODUCT),
        _ => return None,
    })
}

impl Parser<'_> {
    /// A value.
    pub(super) fn expr(&mut self) -> Parsed<Expr> {
        self.value(0)
    }

    fn value(&mut self, rank: u8) -> Parsed<Expr> {
        self.nested(|p| {
            let first = p.unary()?;
            p.operators(first, rank)
        })
    }

    /// What follows a value: operators of at least this rank.
    fn operators(&mut self, first: Expr, rank: u8) -> Parsed<Expr> {
        let mut left = first;
        while let Some((op, of)) = binary_op(self.kind()).filter(|(_, of)| *of >= rank) {
            self.bump();
            let right = self.value(of + 1)?;
            self.grow()?;
            let span = left.span.to(right.span);
            let kind = ExprKind::Binary(Box::new(left), op, Box::new(right));
            left = Expr { kind, span };
        }
        Ok(left)
    }

    /// Continues a value whose first operand, in parentheses, has been read.
    pub(super) fn value_after(&mut self, first: Expr) -> Parsed<Expr> {
        let first = self.postfix(first)?;
        self.operators(first, 0)
    }

    fn unary(&mut self) -> Parsed<Expr> {
        let start = self.token().span;
        let op = match self.kind() {
            Kind::Minus => UnaryOp::Minus,
            Kind::Plus => UnaryOp::Plus,
            Kind::Tilde => UnaryOp::BitNot,
            _ => {
                let first = self.primary()?;
                return self.postfix(first);
            }
        };
        self.bump();
        let operand = match op {
            UnaryOp::BitNot => self.nested(Self::unary)?,
            _ => self.value(PRODUCT)?,
        };
        self.grow()?;
        let kind = ExprKind::Unary(op, Box::new(operand));
        let span = self.span_from(start);
        Ok(Expr { kind, span })
    }

    fn postfix(&mut self, first: Expr) -> Parsed<Expr> {
        let mut expr = first;
        loop {
            let start = expr.span;
            let kind = if self.eat_keyword(Keyword::COLLATE) {
                ExprKind::Collate(Box::new(expr), self.collation()?)
            } else if self.at_words(&["AT", "TIME", "ZONE"]) {
                self.expect_words("AT TIME ZONE")?;
                let zone = self.nested(|p| {
                    let zone = p.primary()?;
                    p.grow()?;
                    Ok(zone)
                })?;
                ExprKind::AtTimeZone(Box::new(expr), Box::new(zone))
            } else if self.kind() == Kind::Dot && self.is_ident(self.peek(1)) {
                self.bump();
                let method = self.ident()?;
                ExprKind::Method(Box::new(expr), method, self.arguments()?)
            } else {
                return Ok(expr);
            };
            self.grow()?;
            let span = self.span_from(start);
            expr = Expr { kind, span };
        }
    }

    /// A collation; `database_default` is a plain word, like the others.
    pub(super) fn collation(&mut self) -> Parsed<Ident> {
        self.ident()
    }

    fn primary(&mut self) -> Parsed<Expr> {
        let start = self.token().span;
        let kind = match self.kind() {
            Kind::Open => return self.parenthesised_value(),
            Kind::Variable => ExprKind::Variable(self.variable()?),
            Kind::Global => {
                let token = self.bump();
                ExprKind::Global(self.to_ident(token)?)
            }
            Kind::Keyword(keyword) => self.keyword_value(keyword)?,
            _ if self.at_words(&["NEXT", "VALUE", "FOR"]) => self.next_value()?,
            _ if self.at_ident() || self.at_leading_dot() => self.named_value()?,
            _ => match self.literal() {
                Some(literal) => ExprKind::Literal(literal),
                None => return Err(self.unexpected()),
            },
        };
        let span = self.span_from(start);
        Ok(Expr { kind, span })
    }

    fn at_leading_dot(&self) -> bool {
        self.kind() == Kind::Dot && (self.peek(1).kind == Kind::Dot || self.is_ident(self.peek(1)))
    }

    /// `(value)` or `(SELECT ..)`.
    fn parenthesised_value(&mut self) -> Parsed<Expr> {
        let open = self.expect(Kind::Open)?;
        let inner = if self.at_keyword(Keyword::SELECT) {
            self.subquery_value(open.span)?
        } else {
            let inner = self.expr()?;
            self.query_after(inner)?
        };
        self.expect(Kind::Close)?;
        Ok(inner)
    }

    /// A query used as a value; its parenthesis is open and closed by the caller.
    pub(super) fn subquery_value(&mut self, start: Span) -> Parsed<Expr> {
        let query = self.subquery()?;
        Ok(Expr {
            span: start.to(query.span),
            kind: ExprKind::Subquery(Box::new(query)),
        })
    }

    /// A query in parentheses may turn out to be the first of several, joined by set operators.
    pub(super) fn query_after(&mut self, inner: Expr) -> Parsed<Expr> {
        if !self.at_set_operator() {
            return Ok(inner);
        }
        match inner.kind {
            ExprKind::Subquery(query)
                if query.order_by.is_empty() && query.for_clause.is_none() =>
            {
                let body: QueryBody = query.body;
                let query: Query = self.nested(|p| p.query_from(body, query.span))?;
                Ok(Expr {
                    span: inner.span.to(query.span),
                    kind: ExprKind::Subquery(Box::new(query)),
                })
            }
            _ => Err(self.unexpected()),
        }
    }

    /// A constant, if one comes next.
    pub(super) fn literal(&mut self) -> Option<Literal> {
        let token = self.token();
        let text = self.slice(token);
        let literal = match token.kind {
            Kind::Integer => Literal::Integer(text.into()),
            Kind::Decimal => Literal::Decimal(text.into()),
            Kind::Float => Literal::Float(text.into()),
            Kind::Money => Literal::Money(text.into()),
            Kind::Binary => Literal::Binary(text.into()),
            Kind::String => Literal::String(undouble(text, 1, '\'')),
            Kind::National => Literal::National(undouble(text, 2, '\'')),
            Kind::DoubleQuoted if !self.options.quoted_identifier => {
                Literal::String(undouble(text, 1, '"'))
            }
            Kind::Keyword(Keyword::NULL) => Literal::Null,
            _ => return None,
        };
        self.bump();
        Some(literal)
    }

    /// A constant with its sign, or a variable: what options and arguments of EXEC take.
    pub(super) fn constant(&mut self) -> Parsed<Expr> {
        let start = self.token().span;
        let sign = match self.kind() {
            Kind::Minus => Some(UnaryOp::Minus),
            Kind::Plus => Some(UnaryOp::Plus),
            _ => None,
        };
        if sign.is_some() {
            self.bump();
        }
        let inner = self.token().span;
        let kind = match self.kind() {
            Kind::Variable if sign.is_none() => ExprKind::Variable(self.variable()?),
            Kind::Global if sign.is_none() => {
                let token = self.bump();
                ExprKind::Global(self.to_ident(token)?)
            }
            Kind::String | Kind::National | Kind::Keyword(_) if sign.is_some() => {
                return Err(self.unexpected());
            }
            _ => match self.literal() {
                Some(literal) => ExprKind::Literal(literal),
                None => return Err(self.unexpected()),
            },
        };
        let operand = Expr { kind, span: inner };
        Ok(match sign {
            None => operand,
            Some(op) => Expr {
                kind: ExprKind::Unary(op, Box::new(operand)),
                span: self.span_from(start),
            },
        })
    }

    /// A string or a variable.
    pub(super) fn text_or_variable(&mut self) -> Parsed<Expr> {
        match self.kind() {
            Kind::String | Kind::National | Kind::Variable => self.constant(),
            Kind::DoubleQuoted if !self.options.quoted_identifier => self.constant(),
            _ => Err(self.unexpected()),
        }
    }

    /// The value of a string token.
    pub(super) fn string(&mut self) -> Parsed<Box<str>> {
        match self.literal() {
            Some(Literal::String(text) | Literal::National(text)) => Ok(text),
            _ => Err(self.unexpected()),
        }
    }

    /// A column named by one token.
    pub(super) fn column_of(&self, token: Token) -> Parsed<ExprKind> {
        Ok(ExprKind::Column(ObjectName::single(self.to_ident(token)?)))
    }
}
