//! FROM: tables, functions, derived tables, joins, pivots.

use super::cursor::Parser;
use crate::ast::name::Ident;
use crate::ast::query::{
    BulkRowset, Join, JoinKind, Pivot, Query, QueryBody, RowsetColumn, SystemTime, TableAlias,
    TableFunction, TableRef, TableSample, TableSource, Unpivot,
};
use crate::error::Parsed;
use crate::lex::{Keyword, Kind};

/// What parentheses in FROM turn out to hold.
enum Inside {
    Query(Box<Query>),
    Table(TableRef),
}

impl Parser<'_> {
    /// A source with all that is joined to it.
    pub(super) fn table_ref(&mut self) -> Parsed<TableRef> {
        self.nested(|p| {
            let first = p.table_primary()?;
            p.joins(first)
        })
    }

    fn joins(&mut self, first: TableRef) -> Parsed<TableRef> {
        let mut left = first;
        loop {
            if self.at_keyword(Keyword::PIVOT) {
                left = self.pivot(left)?;
            } else if self.at_keyword(Keyword::UNPIVOT) {
                left = self.unpivot(left)?;
            } else if let Some((kind, hint)) = self.join_kind()? {
                let on_follows = matches!(
                    kind,
                    JoinKind::Inner | JoinKind::Left | JoinKind::Right | JoinKind::Full
                );
                let (right, on) = if on_follows {
                    // The right side may hold joins of its own, each closed by its ON.
                    let right = self.table_ref()?;
                    self.expect_keyword(Keyword::ON)?;
                    (right, Some(self.condition()?))
                } else {
                    (self.nested(Self::table_primary)?, None)
                };
                left = TableRef::Join(Box::new(Join {
                    left,
                    kind,
                    hint,
                    right,
                    on,
                }));
            } else {
                return Ok(left);
            }
            self.grow()?;
        }
    }

    fn join_kind(&mut self) -> Parsed<Option<(JoinKind, Option<Box<str>>)>> {
        let kind = match self.kind() {
            Kind::Keyword(Keyword::JOIN) => {
                self.bump();
                return Ok(Some((JoinKind::Inner, None)));
            }
            Kind::Keyword(Keyword::CROSS) => {
                self.bump();
                if self.eat_word("APPLY") {
                    return Ok(Some((JoinKind::CrossApply, None)));
                }
                self.expect_keyword(Keyword::JOIN)?;
                return Ok(Some((JoinKind::Cross, None)));
            }
            Kind::Keyword(Keyword::OUTER) => {
                self.bump();
                self.expect_word("APPLY")?;
                return Ok(Some((JoinKind::OuterApply, None)));
            }
            Kind::Keyword(Keyword::INNER) => JoinKind::Inner,
            Kind::Keyword(Keyword::LEFT) => JoinKind::Left,
            Kind::Keyword(Keyword::RIGHT) => JoinKind::Right,
            Kind::Keyword(Keyword::FULL) => JoinKind::Full,
            _ => return Ok(None),
        };
        self.bump();
        if kind != JoinKind::Inner {
            self.eat_keyword(Keyword::OUTER);
        }
        let hint = self.eat_one_of(&["LOOP", "HASH", "MERGE", "REMOTE"]);
        self.expect_keyword(Keyword::JOIN)?;
        Ok(Some((kind, hint.map(Into::into))))
    }

    fn table_primary(&mut self) -> Parsed<TableRef> {
        use Keyword as K;
        match self.kind() {
            Kind::Open => match self.inside_parens()? {
                Inside::Table(table) => Ok(table),
                Inside::Query(query) => self.derived(query),
            },
            Kind::Variable => self.variable_source(),
            Kind::Keyword(K::OPENROWSET) if self.peek(2).kind == Kind::Keyword(K::BULK) => {
                self.bulk_rowset()
            }
            Kind::Keyword(
                word @ (K::OPENROWSET
                | K::OPENQUERY
                | K::OPENXML
                | K::CONTAINSTABLE
                | K::FREETEXTTABLE),
            ) => {
                self.bump();
                let args = self.arguments()?;
                let alias = self.source_alias()?;
                Ok(TableRef::Rowset(word.text().into(), args, alias))
            }
            _ => self.named_source(),
        }
    }

    /// Parentheses hold a query, or a join.
    fn inside_parens(&mut self) -> Parsed<Inside> {
        self.expect(Kind::Open)?;
        let inside = match self.kind() {
            Kind::Keyword(Keyword::SELECT) => Inside::Query(Box::new(self.subquery()?)),
            Kind::Keyword(Keyword::VALUES) => Inside::Query(Box::new(self.values_query()?)),
            Kind::Open => match self.nested(Self::inside_parens)? {
                Inside::Query(query) if self.at_set_operator() => {
                    let start = query.span;
                    let joined = self.nested(|p| p.query_from(query.body, start))?;
                    Inside::Query(Box::new(joined))
                }
                Inside::Query(query) if self.kind() == Kind::Close => Inside::Query(query),
                Inside::Query(query) => {
                    let first = self.derived(query)?;
                    Inside::Table(self.joins(first)?)
                }
                Inside::Table(table) => Inside::Table(self.joins(table)?),
            },
            _ => Inside::Table(self.table_ref()?),
        };
        self.expect(Kind::Close)?;
        Ok(inside)
    }

    fn values_query(&mut self) -> Parsed<Query> {
        let start = self.expect_keyword(Keyword::VALUES)?.span;
        let rows = self.list(|p| p.parens(Self::argument))?;
        self.query_tail(QueryBody::Values(rows), start)
    }

    fn derived(&mut self, query: Box<Query>) -> Parsed<TableRef> {
        match self.table_alias()? {
            Some(alias) => Ok(TableRef::Derived { query, alias }),
            None => Err(self.unexpected()),
        }
    }

    /// `[AS] a`
    pub(super) fn source_alias(&mut self) -> Parsed<Option<Ident>> {
        if self.eat_keyword(Keyword::AS) {
            return self.ident_or_string().map(Some);
        }
        if self.at_word("USING") {
            return Ok(None);
        }
        self.bare_alias()
    }

    /// `[AS] a [(columns)]`
    fn table_alias(&mut self) -> Parsed<Option<TableAlias>> {
        let Some(name) = self.source_alias()? else {
            return Ok(None);
        };
        let columns = self.optional_columns()?;
        Ok(Some(TableAlias { name, columns }))
    }

    fn variable_source(&mut self) -> Parsed<TableRef> {
        let variable = self.variable()?;
        if self.kind() != Kind::Dot {
            let alias = self.source_alias()?;
            return Ok(TableRef::Variable { variable, alias });
        }
        let (method, args) = self.method()?;
        Ok(TableRef::Function(Box::new(TableFunction {
            variable: Some(variable),
            name: crate::ast::name::ObjectName::single(method),
            args,
            schema: Vec::new(),
            alias: self.table_alias()?,
        })))
    }

    /// A table, view or function by name.
    fn named_source(&mut self) -> Parsed<TableRef> {
        let name = self.object_name()?;
        let mut hints = Vec::new();
        if self.kind() == Kind::Open {
            match self.old_hint()? {
                Some(hint) => hints.push(hint),
                None => {
                    let args = self.arguments()?;
                    let mut schema = Vec::new();
                    if name.is_word("OPENJSON") && self.eat_keyword(Keyword::WITH) {
                        schema = self.parens(Self::rowset_column)?;
                    }
                    return Ok(TableRef::Function(Box::new(TableFunction {
                        variable: None,
                        name,
                        args,
                        schema,
                        alias: self.table_alias()?,
                    })));
                }
            }
        }
        let system_time = self.system_time()?;
        let alias = self.source_alias()?;
        let sample = self.table_sample()?;
        if hints.is_empty() {
            if self.at_keyword(Keyword::WITH) && !self.is_word(1, "CHECK") {
                hints = self.table_hints()?;
            } else if self.kind() == Kind::Open
                && let Some(hint) = self.old_hint()?
            {
                hints.push(hint);
            }
        }
        Ok(TableRef::Table(Box::new(TableSource {
            name,
            system_time,
            alias,
            sample,
            hints,
        })))
    }

    fn rowset_column(&mut self) -> Parsed<RowsetColumn> {
        let name = self.ident()?;
        let data_type = self.data_type()?;
        let path = match self.kind() {
            Kind::String | Kind::National => Some(self.constant()?),
            _ => None,
        };
        let as_json = self.eat_words(&["AS", "JSON"]);
        Ok(RowsetColumn {
            name,
            data_type,
            path,
            as_json,
        })
    }

    fn system_time(&mut self) -> Parsed<Option<SystemTime>> {
        if !self.eat_words(&["FOR", "SYSTEM_TIME"]) {
            return Ok(None);
        }
        let found = if self.eat_keyword(Keyword::ALL) {
            SystemTime::All
        } else if self.eat_words(&["AS", "OF"]) {
            SystemTime::AsOf(self.constant()?)
        } else if self.eat_keyword(Keyword::FROM) {
            let from = self.constant()?;
            self.expect_keyword(Keyword::TO)?;
            SystemTime::FromTo(from, self.constant()?)
        } else if self.eat_keyword(Keyword::BETWEEN) {
            let from = self.constant()?;
            self.expect_keyword(Keyword::AND)?;
            SystemTime::Between(from, self.constant()?)
        } else {
            self.expect_words("CONTAINED IN")?;
            self.expect(Kind::Open)?;
            let from = self.constant()?;
            self.expect(Kind::Comma)?;
            let to = self.constant()?;
            self.expect(Kind::Close)?;
            SystemTime::ContainedIn(from, to)
        };
        Ok(Some(found))
    }

    fn table_sample(&mut self) -> Parsed<Option<TableSample>> {
        if !self.eat_keyword(Keyword::TABLESAMPLE) {
            return Ok(None);
        }
        self.eat_word("SYSTEM");
        self.expect(Kind::Open)?;
        let amount = self.constant()?;
        let rows = self.eat_word("ROWS");
        if !rows {
            self.eat_keyword(Keyword::PERCENT);
        }
        self.expect(Kind::Close)?;
        let mut seed = None;
        if self.eat_word("REPEATABLE") {
            self.expect(Kind::Open)?;
            seed = Some(self.constant()?);
            self.expect(Kind::Close)?;
        }
        Ok(Some(TableSample { amount, rows, seed }))
    }

    fn bulk_rowset(&mut self) -> Parsed<TableRef> {
        self.bump();
        self.expect(Kind::Open)?;
        self.expect_keyword(Keyword::BULK)?;
        let files = if self.kind() == Kind::Open {
            self.parens(Self::constant)?
        } else {
            vec![self.constant()?]
        };
        let mut options = Vec::new();
        while self.eat(Kind::Comma) {
            options.push(self.option(super::options::BULK)?);
        }
        self.expect(Kind::Close)?;
        Ok(TableRef::BulkRowset(Box::new(BulkRowset {
            files,
            options,
            alias: self.table_alias()?,
        })))
    }

    fn pivot(&mut self, source: TableRef) -> Parsed<TableRef> {
        self.expect_keyword(Keyword::PIVOT)?;
        self.expect(Kind::Open)?;
        let aggregate = self.object_name()?;
        self.expect(Kind::Open)?;
        let args = if self.eat(Kind::Star) {
            Vec::new()
        } else {
            self.list(Self::expr)?
        };
        self.expect(Kind::Close)?;
        self.expect_keyword(Keyword::FOR)?;
        let column = self.object_name()?;
        self.expect_keyword(Keyword::IN)?;
        let values = self.column_list()?;
        self.expect(Kind::Close)?;
        let alias = self.required_alias()?;
        Ok(TableRef::Pivot(Box::new(Pivot {
            source,
            aggregate,
            args,
            column,
            values,
            alias,
        })))
    }

    fn unpivot(&mut self, source: TableRef) -> Parsed<TableRef> {
        self.expect_keyword(Keyword::UNPIVOT)?;
        self.expect(Kind::Open)?;
        let value = self.ident()?;
        self.expect_keyword(Keyword::FOR)?;
        let column = self.ident()?;
        self.expect_keyword(Keyword::IN)?;
        let columns = self.column_list()?;
        self.expect(Kind::Close)?;
        let alias = self.required_alias()?;
        Ok(TableRef::Unpivot(Box::new(Unpivot {
            source,
            value,
            column,
            columns,
            alias,
        })))
    }

    fn required_alias(&mut self) -> Parsed<Ident> {
        match self.source_alias()? {
            Some(alias) => Ok(alias),
            None => Err(self.unexpected()),
        }
    }
}
