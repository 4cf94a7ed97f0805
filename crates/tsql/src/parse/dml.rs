//! INSERT, UPDATE, DELETE, TRUNCATE, and bulk loads.

use super::cursor::Parser;
use super::options;
use crate::ast::Statement;
use crate::ast::dml::{
    BulkInsert, Delete, Insert, InsertBulk, InsertSource, Output, SetClause, Target, TargetTable,
    Truncate, Update,
};
use crate::ast::expr::Expr;
use crate::ast::option::Opt;
use crate::ast::query::Cte;
use crate::error::{Parsed, TOO_MANY_ROWS};
use crate::lex::{Keyword, Kind};

/// Most rows of one VALUES in INSERT.
const MOST_ROWS: usize = 1_000;

impl Parser<'_> {
    pub(super) fn insert(&mut self, ctes: Vec<Cte>) -> Parsed<Insert> {
        self.bump();
        let top = self.top()?;
        self.eat_keyword(Keyword::INTO);
        let target = self.target()?;
        let mut columns = Vec::new();
        if self.at_list() {
            columns = self.parens(Self::object_name)?;
        }
        let output = self.outputs()?;
        let source = self.insert_source()?;
        let options = self.option_clause()?;
        Ok(Insert {
            ctes,
            top,
            target,
            columns,
            output,
            source,
            options,
        })
    }

    /// Whether what is in parentheses here are names of columns, and not a query.
    fn at_list(&self) -> bool {
        let query = matches!(
            self.peek(1).kind,
            Kind::Keyword(Keyword::SELECT) | Kind::Open
        );
        self.kind() == Kind::Open && !query
    }

    fn insert_source(&mut self) -> Parsed<InsertSource> {
        match self.kind() {
            Kind::Keyword(Keyword::VALUES) => {
                self.bump();
                let rows = self.list(Self::row)?;
                if rows.len() > MOST_ROWS {
                    return Err(self.error(TOO_MANY_ROWS, &[]));
                }
                Ok(InsertSource::Values(rows))
            }
            Kind::Keyword(Keyword::DEFAULT) => {
                self.bump();
                self.expect_keyword(Keyword::VALUES)?;
                Ok(InsertSource::DefaultValues)
            }
            Kind::Keyword(Keyword::EXEC | Keyword::EXECUTE) => {
                Ok(InsertSource::Execute(Box::new(self.execute()?)))
            }
            Kind::Keyword(Keyword::SELECT) | Kind::Open => {
                Ok(InsertSource::Query(Box::new(self.subquery()?)))
            }
            _ => Err(self.unexpected()),
        }
    }

    /// `(a, DEFAULT, ..)`
    pub(super) fn row(&mut self) -> Parsed<Vec<Expr>> {
        self.parens(Self::argument)
    }

    /// The table that is changed.
    pub(super) fn target(&mut self) -> Parsed<Target> {
        let table = self.target_table()?;
        let hints = self.optional_hints()?;
        Ok(Target { table, hints })
    }

    fn target_table(&mut self) -> Parsed<TargetTable> {
        match self.kind() {
            Kind::Variable => Ok(TargetTable::Variable(self.variable()?)),
            Kind::Keyword(word @ (Keyword::OPENQUERY | Keyword::OPENROWSET)) => {
                self.bump();
                Ok(TargetTable::Rowset(word.text().into(), self.arguments()?))
            }
            _ => Ok(TargetTable::Name(self.object_name()?)),
        }
    }

    /// `OUTPUT items [INTO t]`, twice at most: once into a table, once to the client.
    pub(super) fn outputs(&mut self) -> Parsed<Vec<Output>> {
        let mut outputs = Vec::new();
        while outputs.len() < 2 && self.eat_word("OUTPUT") {
            self.scope.subqueries += 1;
            let items = self.list(Self::select_item)?;
            self.scope.subqueries -= 1;
            let mut into = None;
            if self.eat_keyword(Keyword::INTO) {
                let table = self.target_table()?;
                let columns = match self.at_list() {
                    true => self.column_list()?,
                    false => Vec::new(),
                };
                into = Some((table, columns));
            }
            outputs.push(Output { items, into });
        }
        Ok(outputs)
    }

    pub(super) fn update(&mut self, ctes: Vec<Cte>) -> Parsed<Update> {
        self.bump();
        let top = self.top()?;
        let target = self.target()?;
        self.expect_keyword(Keyword::SET)?;
        let sets = self.list(Self::set_clause)?;
        let output = self.outputs()?;
        let mut from = Vec::new();
        if self.eat_keyword(Keyword::FROM) {
            from = self.list(Self::table_ref)?;
        }
        Ok(Update {
            ctes,
            top,
            target,
            sets,
            output,
            from,
            filter: self.where_clause()?,
            options: self.option_clause()?,
        })
    }

    pub(super) fn set_clause(&mut self) -> Parsed<SetClause> {
        if self.kind() == Kind::Variable {
            let variable = self.variable()?;
            let op = self.assign_op()?;
            // `@x = a = value`: the column takes the value as well.
            let mut ahead = 0;
            while self.is_ident(self.peek(ahead)) && self.peek(ahead + 1).kind == Kind::Dot {
                ahead += 2;
            }
            let both = self.is_ident(self.peek(ahead)) && self.assign_op_at(ahead + 1).is_some();
            if both {
                let column = self.object_name()?;
                let op = self.assign_op()?;
                return Ok(SetClause::Both(variable, column, op, self.argument()?));
            }
            return Ok(SetClause::Variable(variable, op, self.expr()?));
        }
        let mut column = self.object_name()?;
        if self.kind() == Kind::Open {
            let method = match column.parts.pop() {
                Some(method) if !column.parts.is_empty() => method,
                _ => return Err(self.unexpected()),
            };
            let args = self.arguments()?;
            return Ok(SetClause::Method(column, method, args));
        }
        let op = self.assign_op()?;
        Ok(SetClause::Column(column, op, self.argument()?))
    }

    pub(super) fn delete(&mut self, ctes: Vec<Cte>) -> Parsed<Delete> {
        self.bump();
        let top = self.top()?;
        self.eat_keyword(Keyword::FROM);
        let target = self.target()?;
        let output = self.outputs()?;
        let mut from = Vec::new();
        if self.eat_keyword(Keyword::FROM) {
            from = self.list(Self::table_ref)?;
        }
        Ok(Delete {
            ctes,
            top,
            target,
            output,
            from,
            filter: self.where_clause()?,
            options: self.option_clause()?,
        })
    }

    pub(super) fn truncate(&mut self) -> Parsed<Statement> {
        self.bump();
        self.expect_keyword(Keyword::TABLE)?;
        let table = self.object_name()?;
        let options = self.with_parens(options::TRUNCATE)?;
        Ok(Statement::Truncate(Truncate { table, options }))
    }

    pub(super) fn bulk_insert(&mut self) -> Parsed<Statement> {
        self.bump();
        self.expect_keyword(Keyword::INSERT)?;
        let table = self.object_name()?;
        self.expect_keyword(Keyword::FROM)?;
        let file = self.constant()?;
        let options = self.bulk_options()?;
        Ok(Statement::BulkInsert(Box::new(BulkInsert {
            table,
            file,
            options,
        })))
    }

    pub(super) fn insert_bulk(&mut self) -> Parsed<Statement> {
        self.bump();
        self.bump();
        let table = self.object_name()?;
        let columns = self.parens(Self::column_def)?;
        let options = self.bulk_options()?;
        Ok(Statement::InsertBulk(Box::new(InsertBulk {
            table,
            columns,
            options,
        })))
    }

    /// `WITH (..)`: the options of bulk loads, and `ORDER (column, ..)`.
    fn bulk_options(&mut self) -> Parsed<Vec<Opt>> {
        if self.kind() != Kind::Keyword(Keyword::WITH) {
            return Ok(Vec::new());
        }
        self.bump();
        self.parens(|p| {
            if p.at_keyword(Keyword::ORDER) {
                return p.option(options::BULK_ORDER);
            }
            p.option(options::BULK)
        })
    }
}
