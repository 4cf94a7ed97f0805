//! Queries: common table expressions, set operators, SELECT and its clauses.

use super::cursor::Parser;
use crate::ast::expr::{AssignOp, BinaryOp};
use crate::ast::name::{Ident, ObjectName};
use crate::ast::query::{
    Cte, GroupBy, GroupItem, GroupWith, OrderItem, Query, QueryBody, Select, SelectItem, SetOp, Top,
};
use crate::error::{NO_SUBQUERY, Parsed};
use crate::lex::{Keyword, Kind};
use crate::span::Span;

impl Parser<'_> {
    /// `WITH a [(columns)] AS (query), ..`
    pub(super) fn ctes(&mut self) -> Parsed<Vec<Cte>> {
        self.expect_keyword(Keyword::WITH)?;
        self.list(|p| {
            let name = p.ident()?;
            let columns = p.optional_columns()?;
            p.expect_keyword(Keyword::AS)?;
            let query = p.parenthesised_query()?;
            Ok(Cte {
                name,
                columns,
                query,
            })
        })
    }

    /// A query as a statement, after its common table expressions.
    pub(super) fn query_statement(&mut self, ctes: Vec<Cte>, start: Span) -> Parsed<Query> {
        let body = self.query_body()?;
        let mut query = self.query_tail(body, start)?;
        query.ctes = ctes;
        query.options = self.option_clause()?;
        query.span = self.span_from(start);
        Ok(query)
    }

    /// A query inside another statement, without parentheses.
    pub(super) fn subquery(&mut self) -> Parsed<Query> {
        if self.scope.scalars_only {
            return Err(self.error(NO_SUBQUERY, &[]));
        }
        self.nested(|p| {
            p.scope.subqueries += 1;
            let start = p.token().span;
            let body = p.query_body()?;
            let query = p.query_tail(body, start)?;
            p.scope.subqueries -= 1;
            Ok(query)
        })
    }

    /// `(query)`
    pub(super) fn parenthesised_query(&mut self) -> Parsed<Query> {
        self.expect(Kind::Open)?;
        let query = self.subquery()?;
        self.expect(Kind::Close)?;
        Ok(query)
    }

    /// Continues a query whose first operand, in parentheses, has been read.
    pub(super) fn query_from(&mut self, first: QueryBody, start: Span) -> Parsed<Query> {
        self.scope.subqueries += 1;
        let first = self.intersections(first)?;
        let body = self.unions(first)?;
        let query = self.query_tail(body, start)?;
        self.scope.subqueries -= 1;
        Ok(query)
    }

    pub(super) fn at_set_operator(&self) -> bool {
        self.at_keyword(Keyword::UNION)
            || self.at_keyword(Keyword::EXCEPT)
            || self.at_keyword(Keyword::INTERSECT)
    }

    pub(super) fn query_body(&mut self) -> Parsed<QueryBody> {
        let first = self.query_term()?;
        let first = self.intersections(first)?;
        self.unions(first)
    }

    fn unions(&mut self, first: QueryBody) -> Parsed<QueryBody> {
        let mut left = first;
        loop {
            let op = match self.kind() {
                Kind::Keyword(Keyword::UNION) => SetOp::Union,
                Kind::Keyword(Keyword::EXCEPT) => SetOp::Except,
                _ => return Ok(left),
            };
            self.bump();
            let all = op == SetOp::Union && self.eat_keyword(Keyword::ALL);
            let right = self.query_term()?;
            let right = self.intersections(right)?;
            left = self.joined_bodies(op, all, left, right)?;
        }
    }

    fn intersections(&mut self, first: QueryBody) -> Parsed<QueryBody> {
        let mut left = first;
        while self.eat_keyword(Keyword::INTERSECT) {
            let right = self.query_term()?;
            left = self.joined_bodies(SetOp::Intersect, false, left, right)?;
        }
        Ok(left)
    }

    fn joined_bodies(
        &mut self,
        op: SetOp,
        all: bool,
        left: QueryBody,
        right: QueryBody,
    ) -> Parsed<QueryBody> {
        self.grow()?;
        let (left, right) = (Box::new(left), Box::new(right));
        Ok(QueryBody::Set {
            op,
            all,
            left,
            right,
        })
    }

    /// One SELECT, or a query in parentheses.
    fn query_term(&mut self) -> Parsed<QueryBody> {
        if self.eat(Kind::Open) {
            let body = self.nested(Self::query_body)?;
            self.expect(Kind::Close)?;
            return Ok(body);
        }
        let select = self.nested(Self::select)?;
        Ok(QueryBody::Select(Box::new(select)))
    }

    /// ORDER BY and what follows it.
    pub(super) fn query_tail(&mut self, body: QueryBody, start: Span) -> Parsed<Query> {
        let mut query = Query {
            ctes: Vec::new(),
            body,
            order_by: Vec::new(),
            offset: None,
            fetch: None,
            for_clause: None,
            options: Vec::new(),
            span: start,
        };
        if self.at_keyword(Keyword::ORDER) {
            query.order_by = self.order_by()?;
            if self.eat_word("OFFSET") {
                query.offset = Some(self.expr()?);
                self.one_of(&["ROWS", "ROW"])?;
                let fetches =
                    self.at_words(&["FETCH", "NEXT"]) || self.at_words(&["FETCH", "FIRST"]);
                // FETCH NEXT FROM begins the next statement.
                if fetches && self.peek(2).kind != Kind::Keyword(Keyword::FROM) {
                    self.bump();
                    self.bump();
                    query.fetch = Some(self.expr()?);
                    self.one_of(&["ROWS", "ROW"])?;
                    self.expect_word("ONLY")?;
                }
            }
        }
        query.for_clause = self.for_clause()?;
        query.span = self.span_from(start);
        Ok(query)
    }

    /// `ORDER BY a [ASC | DESC], ..`
    pub(super) fn order_by(&mut self) -> Parsed<Vec<OrderItem>> {
        self.expect_words("ORDER BY")?;
        self.list(|p| {
            let expr = p.expr()?;
            let descending = p.direction();
            Ok(OrderItem { expr, descending })
        })
    }

    /// `ASC` or `DESC`: whether DESC.
    pub(super) fn direction(&mut self) -> bool {
        if self.eat_keyword(Keyword::DESC) {
            return true;
        }
        self.eat_keyword(Keyword::ASC);
        false
    }

    fn select(&mut self) -> Parsed<Select> {
        let start = self.expect_keyword(Keyword::SELECT)?.span;
        let distinct = self.eat_keyword(Keyword::DISTINCT);
        if !distinct {
            self.eat_keyword(Keyword::ALL);
        }
        let mut select = Select {
            distinct,
            top: self.top()?,
            items: self.list(Self::select_item)?,
            into: None,
            into_filegroup: None,
            from: Vec::new(),
            filter: None,
            group_by: None,
            having: None,
            span: start,
        };
        if self.at_keyword(Keyword::INTO) && self.scope.subqueries == 0 {
            self.bump();
            select.into = Some(self.object_name()?);
            if self.eat_keyword(Keyword::ON) {
                select.into_filegroup = Some(self.ident_or_string()?);
            }
        }
        if self.eat_keyword(Keyword::FROM) {
            select.from = self.list(Self::table_ref)?;
        }
        if self.eat_keyword(Keyword::WHERE) {
            select.filter = Some(self.condition()?);
        }
        if self.eat_keyword(Keyword::GROUP) {
            select.group_by = Some(self.group_by()?);
        }
        if self.eat_keyword(Keyword::HAVING) {
            select.having = Some(self.condition()?);
        }
        select.span = self.span_from(start);
        Ok(select)
    }

    /// `TOP n [PERCENT] [WITH TIES]`
    pub(super) fn top(&mut self) -> Parsed<Option<Top>> {
        if !self.eat_keyword(Keyword::TOP) {
            return Ok(None);
        }
        let count = if self.eat(Kind::Open) {
            let count = if self.at_keyword(Keyword::SELECT) {
                let start = self.token().span;
                self.subquery_value(start)?
            } else {
                self.expr()?
            };
            self.expect(Kind::Close)?;
            count
        } else if matches!(self.kind(), Kind::Integer | Kind::Decimal | Kind::Float) {
            self.constant()?
        } else {
            return Err(self.unexpected());
        };
        let percent = self.eat_keyword(Keyword::PERCENT);
        let with_ties = self.eat_words(&["WITH", "TIES"]);
        Ok(Some(Top {
            count,
            percent,
            with_ties,
        }))
    }

    pub(super) fn select_item(&mut self) -> Parsed<SelectItem> {
        let token = self.token();
        let next = self.peek(1).kind;
        match token.kind {
            Kind::Star => {
                self.bump();
                return Ok(SelectItem::Star(token.span));
            }
            Kind::Variable if self.scope.subqueries == 0 => {
                if let Some(op) = self.assign_op_at(1) {
                    let variable = self.variable()?;
                    self.pass_assign_op();
                    let expr = self.expr()?;
                    return Ok(SelectItem::Assign { variable, op, expr });
                }
            }
            Kind::Word | Kind::Bracketed | Kind::DoubleQuoted | Kind::String | Kind::National
                if next == Kind::Eq =>
            {
                let alias = Some(self.ident_or_string()?);
                self.bump();
                let expr = self.expr()?;
                return Ok(SelectItem::Expr { expr, alias });
            }
            _ if next == Kind::Dot => {
                if let Some(name) = self.star_prefix()? {
                    return Ok(SelectItem::QualifiedStar(name));
                }
            }
            _ => {}
        }
        let expr = self.expr()?;
        let alias = self.column_alias()?;
        Ok(SelectItem::Expr { expr, alias })
    }

    /// `a.b.` before a star; nothing is passed unless the star comes.
    fn star_prefix(&mut self) -> Parsed<Option<ObjectName>> {
        let mut ahead = 0;
        loop {
            if self.is_ident(self.peek(ahead)) {
                ahead += 1;
            }
            if self.peek(ahead).kind != Kind::Dot {
                return Ok(None);
            }
            ahead += 1;
            if self.peek(ahead).kind == Kind::Star {
                break;
            }
        }
        let mut parts = Vec::new();
        while self.kind() != Kind::Star {
            if self.at_ident() {
                parts.push(self.ident()?);
            } else {
                let at = self.token().span.start;
                let span = Span::new(at, at);
                let value = "".into();
                let quoted = false;
                parts.push(Ident {
                    value,
                    quoted,
                    span,
                });
            }
            self.expect(Kind::Dot)?;
        }
        self.expect(Kind::Star)?;
        let name = ObjectName { parts };
        self.limit_parts(&name, 4, "column prefix")?;
        Ok(Some(name))
    }

    fn column_alias(&mut self) -> Parsed<Option<Ident>> {
        if self.eat_keyword(Keyword::AS) {
            return self.ident_or_string().map(Some);
        }
        match self.kind() {
            Kind::String | Kind::National => self.ident_or_string().map(Some),
            Kind::DoubleQuoted => self.ident_or_string().map(Some),
            _ => self.bare_alias(),
        }
    }

    /// An identifier that is an alias: not the label of the next statement.
    pub(super) fn bare_alias(&mut self) -> Parsed<Option<Ident>> {
        if self.at_ident() && self.peek(1).kind != Kind::Colon {
            return self.ident().map(Some);
        }
        Ok(None)
    }

    /// The assignment `ahead`, if there is one.
    pub(super) fn assign_op_at(&self, ahead: usize) -> Option<AssignOp> {
        let token = self.peek(ahead);
        let op = match token.kind {
            Kind::Eq => return Some(AssignOp::Set),
            Kind::PlusEq => BinaryOp::Add,
            Kind::MinusEq => BinaryOp::Sub,
            Kind::StarEq => BinaryOp::Mul,
            Kind::SlashEq => BinaryOp::Div,
            Kind::PercentEq => BinaryOp::Mod,
            Kind::AmpEq => BinaryOp::BitAnd,
            Kind::BarEq => BinaryOp::BitOr,
            Kind::CaretEq => BinaryOp::BitXor,
            _ => return None,
        };
        Some(AssignOp::With(op))
    }

    /// Passes an assignment that has been seen.
    pub(super) fn pass_assign_op(&mut self) {
        self.bump();
    }

    /// `=`, `+=` and so on, at this place.
    pub(super) fn assign_op(&mut self) -> Parsed<AssignOp> {
        match self.assign_op_at(0) {
            Some(op) => {
                self.pass_assign_op();
                Ok(op)
            }
            None => Err(self.unexpected()),
        }
    }

    fn group_by(&mut self) -> Parsed<GroupBy> {
        self.expect_keyword(Keyword::BY)?;
        let all = self.eat_keyword(Keyword::ALL);
        let items = self.list(|p| p.group_item(false))?;
        let with = if self.eat_words(&["WITH", "ROLLUP"]) {
            Some(GroupWith::Rollup)
        } else if self.eat_words(&["WITH", "CUBE"]) {
            Some(GroupWith::Cube)
        } else {
            None
        };
        Ok(GroupBy { all, items, with })
    }

    /// An entry of GROUP BY; `inside` ROLLUP and its like, parentheses hold lists.
    fn group_item(&mut self, inside: bool) -> Parsed<GroupItem> {
        if self.is_word(1, "SETS") && self.eat_words(&["GROUPING", "SETS"]) {
            let items = self.nested(|p| p.parens(|p| p.group_item(true)))?;
            return Ok(GroupItem::Sets(items));
        }
        if self.peek(1).kind == Kind::Open && (self.at_word("ROLLUP") || self.at_word("CUBE")) {
            let rollup = self.at_word("ROLLUP");
            self.bump();
            let items = self.nested(|p| p.parens(|p| p.group_item(true)))?;
            return Ok(if rollup {
                GroupItem::Rollup(items)
            } else {
                GroupItem::Cube(items)
            });
        }
        if self.kind() == Kind::Open && (inside || self.peek(1).kind == Kind::Close) {
            return Ok(GroupItem::Set(self.arguments()?));
        }
        Ok(GroupItem::Expr(self.expr()?))
    }
}
