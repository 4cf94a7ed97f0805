//! PIVOT and UNPIVOT, rewritten as queries.
//!
//! `PIVOT (f(x) FOR c IN (a, b))` is a grouping by all other columns with `f` of `CASE WHEN c = 'a' THEN x
//! END` and so on; `UNPIVOT (v FOR c IN (a, b))` applies a row `(a, 'a'), (b, 'b')` to each row and keeps
//! what is not NULL. The source's columns are asked for first; then the query is put together and bound
//! like any other.

use super::from::Node;
use super::query::Nested;
use super::scope::Binder;
use furrow_context::error::{Result, refuse, unsupported};
use furrow_context::sink::ResultColumn;
use furrow_tsql::ast::Statement;
use furrow_tsql::ast::expr::ExprKind;
use furrow_tsql::ast::query::{Pivot, Query, QueryBody, TableAlias, TableRef, Unpivot};

/// A name in brackets.
fn quoted(name: &str) -> String {
    format!("[{}]", name.replace(']', "]]"))
}

/// A constant with a name as its text.
fn text(name: &str) -> String {
    format!("N'{}'", name.replace('\'', "''"))
}

/// A query from its text, with `source` where the text has its first table.
fn query_of(written: &str, source: &TableRef) -> Result<Query> {
    let parsed = furrow_tsql::parse(written, furrow_tsql::Options::default());
    let statement = parsed.ok().and_then(|mut b| b.statements.pop());
    let Some(Statement::Select(query)) = statement.map(|s| s.kind) else {
        return Err(unsupported("PIVOT"));
    };
    let mut query: Query = *query;
    if let QueryBody::Select(select) = &mut query.body {
        match select.from.first_mut() {
            Some(TableRef::Join(join)) => join.left = source.clone(),
            Some(table) => *table = source.clone(),
            None => {}
        }
    }
    Ok(query)
}

impl Binder<'_> {
    fn columns_of_source(&mut self, source: &TableRef) -> Result<Vec<ResultColumn>> {
        let star = query_of("SELECT * FROM x", source)?;
        let (bound, _): Nested = self.alone(|binder| binder.nested_query(&star))?;
        Ok(bound.columns)
    }

    /// Binds what does not see the sources to its left.
    fn alone<T>(&mut self, bind: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        let aside = std::mem::take(&mut self.level().sources);
        let bound = bind(self);
        self.level().sources = aside;
        bound
    }

    fn stands_for(&mut self, query: Query, alias: &furrow_tsql::ast::name::Ident) -> Result<Node> {
        self.table_ref(&TableRef::Derived {
            query: Box::new(query),
            alias: TableAlias {
                name: alias.clone(),
                columns: Vec::new(),
            },
        })
    }

    /// Binds PIVOT.
    pub(super) fn pivot(&mut self, pivot: &Pivot) -> Result<Node> {
        let columns = self.columns_of_source(&pivot.source)?;
        let Some(ExprKind::Column(argument)) = pivot.args.first().map(|a| &a.kind) else {
            return Err(unsupported("PIVOT of what is no column"));
        };
        let aggregate = pivot.aggregate.name();
        let (argument, by) = (argument.name(), pivot.column.name());
        for name in [argument, by] {
            if !columns.iter().any(|c| c.name.eq_ignore_ascii_case(name)) {
                return refuse(207, &[name.into()]);
            }
        }
        let is_other = |c: &&ResultColumn| {
            !c.name.eq_ignore_ascii_case(argument) && !c.name.eq_ignore_ascii_case(by)
        };
        let others: Vec<String> = columns
            .iter()
            .filter(is_other)
            .map(|c| quoted(&c.name))
            .collect();
        let mut list = others.clone();
        for value in &pivot.values {
            list.push(format!(
                "{aggregate}(CASE WHEN {} = {} THEN {} END) AS {}",
                quoted(by),
                text(&value.value),
                quoted(argument),
                quoted(&value.value)
            ));
        }
        let grouped = match others.is_empty() {
            true => String::new(),
            false => format!(" GROUP BY {}", others.join(", ")),
        };
        let written = format!("SELECT {} FROM x{grouped}", list.join(", "));
        let query = query_of(&written, &pivot.source)?;
        // What is of another column is NULL here: that is no news.
        let outside = std::mem::replace(&mut self.quiet_level, self.levels.len() + 1);
        let bound = self.stands_for(query, &pivot.alias);
        self.quiet_level = outside;
        bound
    }

    /// Binds UNPIVOT.
    pub(super) fn unpivot(&mut self, unpivot: &Unpivot) -> Result<Node> {
        let columns = self.columns_of_source(&unpivot.source)?;
        let mut turned: Vec<&ResultColumn> = Vec::new();
        for name in &unpivot.columns {
            let found = columns
                .iter()
                .find(|c| c.name.eq_ignore_ascii_case(&name.value));
            let Some(column) = found else {
                return refuse(207, &[(*name.value).into()]);
            };
            if turned
                .first()
                .is_some_and(|f| f.data_type != column.data_type)
            {
                return refuse(8167, &[(*name.value).into()]);
            }
            turned.push(column);
        }
        let (value, name) = (quoted(&unpivot.value.value), quoted(&unpivot.column.value));
        let is_other =
            |c: &&ResultColumn| !turned.iter().any(|t| t.name.eq_ignore_ascii_case(&c.name));
        let mut list: Vec<String> = columns
            .iter()
            .filter(is_other)
            .map(|c| quoted(&c.name))
            .collect();
        list.extend([format!("[ u ].{value}"), format!("[ u ].{name}")]);
        let rows: Vec<String> = turned
            .iter()
            .map(|c| format!("({}, {})", quoted(&c.name), text(&c.name)))
            .collect();
        let written = format!(
            "SELECT {} FROM x CROSS APPLY (VALUES {}) [ u ] ({value}, {name}) \
             WHERE [ u ].{value} IS NOT NULL",
            list.join(", "),
            rows.join(", ")
        );
        let query = query_of(&written, &unpivot.source)?;
        self.stands_for(query, &unpivot.alias)
    }
}
