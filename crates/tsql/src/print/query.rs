//! Queries.

use super::Printer;
use crate::ast::expr::{Expr, ExprKind};
use crate::ast::query::{
    Cte, ForClause, ForOption, GroupBy, GroupItem, GroupWith, IndexRef, Join, JoinKind, Query,
    QueryBody, QueryHint, Select, SelectItem, SetOp, SystemTime, TableAlias, TableFunction,
    TableHint, TableRef, TableSource, Top,
};
use crate::parse::hints::TABLE_HINTS;

fn set_rank(op: SetOp) -> u8 {
    match op {
        SetOp::Union | SetOp::Except => 0,
        SetOp::Intersect => 1,
    }
}

impl Printer {
    /// `(query)`
    pub(super) fn subquery(&mut self, query: &Query) {
        self.put("(");
        self.query(query);
        self.put(")");
    }

    pub(super) fn ctes(&mut self, ctes: &[Cte]) {
        self.clause("WITH ", ctes, |p, cte| {
            p.ident(&cte.name);
            p.columns(&cte.columns);
            p.put(" AS ");
            p.subquery(&cte.query);
        });
        self.flag(!ctes.is_empty(), " ");
    }

    pub(super) fn query(&mut self, query: &Query) {
        self.ctes(&query.ctes);
        self.body(&query.body, 0);
        self.clause(" ORDER BY ", &query.order_by, Self::order_item);
        if let Some(offset) = &query.offset {
            self.put(" OFFSET ");
            self.expr(offset);
            self.put(" ROWS");
        }
        if let Some(fetch) = &query.fetch {
            self.put(" FETCH NEXT ");
            self.expr(fetch);
            self.put(" ROWS ONLY");
        }
        match &query.for_clause {
            Some(ForClause::Browse) => self.put(" FOR BROWSE"),
            Some(ForClause::Xml(options)) => self.clause(" FOR XML ", options, Self::for_option),
            Some(ForClause::Json(options)) => self.clause(" FOR JSON ", options, Self::for_option),
            None => {}
        }
        self.query_options(&query.options);
    }

    fn for_option(&mut self, option: &ForOption) {
        self.put(&option.name);
        if let Some(arg) = &option.arg {
            self.put("(");
            self.expr(arg);
            self.put(")");
        }
    }

    fn body(&mut self, body: &QueryBody, rank: u8) {
        match body {
            QueryBody::Select(select) => self.select(select),
            QueryBody::Values(rows) => self.clause("VALUES ", rows, |p, row| p.row(row)),
            QueryBody::Set {
                op,
                all,
                left,
                right,
            } => {
                let own = set_rank(*op);
                self.flag(own < rank, "(");
                self.body(left, own);
                self.put(match op {
                    SetOp::Union => " UNION ",
                    SetOp::Except => " EXCEPT ",
                    SetOp::Intersect => " INTERSECT ",
                });
                self.flag(*all, "ALL ");
                self.body(right, own + 1);
                self.flag(own < rank, ")");
            }
        }
    }

    pub(super) fn row(&mut self, row: &[Expr]) {
        self.parens(row, Self::expr);
    }

    pub(super) fn top(&mut self, top: &Top) {
        self.put("TOP (");
        match &top.count.kind {
            ExprKind::Subquery(query) => self.query(query),
            _ => self.expr(&top.count),
        }
        self.put(")");
        self.flag(top.percent, " PERCENT");
        self.flag(top.with_ties, " WITH TIES");
    }

    fn select(&mut self, select: &Select) {
        self.put("SELECT ");
        self.flag(select.distinct, "DISTINCT ");
        if let Some(top) = &select.top {
            self.top(top);
            self.put(" ");
        }
        self.list(&select.items, Self::select_item);
        self.maybe(" INTO ", select.into.as_ref(), Self::name);
        self.maybe(" ON ", select.into_filegroup.as_ref(), Self::ident);
        self.clause(" FROM ", &select.from, Self::table_ref);
        self.maybe(" WHERE ", select.filter.as_ref(), Self::condition);
        self.maybe(" GROUP BY ", select.group_by.as_ref(), Self::group_by);
        self.maybe(" HAVING ", select.having.as_ref(), Self::condition);
    }

    pub(super) fn select_item(&mut self, item: &SelectItem) {
        match item {
            SelectItem::Star(_) => self.put("*"),
            SelectItem::QualifiedStar(name) => {
                self.name(name);
                self.put(".*");
            }
            SelectItem::Expr { expr, alias } => {
                self.expr(expr);
                self.maybe(" AS ", alias.as_ref(), Self::ident);
            }
            SelectItem::Assign { variable, op, expr } => {
                self.ident(variable);
                self.assign(*op);
                self.expr(expr);
            }
        }
    }

    fn group_by(&mut self, group: &GroupBy) {
        self.flag(group.all, "ALL ");
        self.list(&group.items, Self::group_item);
        match group.with {
            Some(GroupWith::Rollup) => self.put(" WITH ROLLUP"),
            Some(GroupWith::Cube) => self.put(" WITH CUBE"),
            None => {}
        }
    }

    fn group_item(&mut self, item: &GroupItem) {
        let (word, items) = match item {
            GroupItem::Expr(expr) => return self.expr(expr),
            GroupItem::Set(exprs) => return self.parens(exprs, Self::expr),
            GroupItem::Rollup(items) => ("ROLLUP ", items),
            GroupItem::Cube(items) => ("CUBE ", items),
            GroupItem::Sets(items) => ("GROUPING SETS ", items),
        };
        self.put(word);
        self.parens(items, Self::group_item);
    }

    pub(super) fn table_ref(&mut self, table: &TableRef) {
        match table {
            TableRef::Table(source) => self.table_source(source),
            TableRef::Variable { variable, alias } => {
                self.ident(variable);
                self.maybe(" AS ", alias.as_ref(), Self::ident);
            }
            TableRef::Function(function) => self.table_function(function),
            TableRef::Derived { query, alias } => {
                self.subquery(query);
                self.table_alias(Some(alias));
            }
            TableRef::Join(join) => self.join(join),
            TableRef::Pivot(pivot) => {
                self.table_ref(&pivot.source);
                self.put(" PIVOT (");
                self.name(&pivot.aggregate);
                self.put("(");
                self.flag(pivot.args.is_empty(), "*");
                self.list(&pivot.args, Self::expr);
                self.put(") FOR ");
                self.name(&pivot.column);
                self.put(" IN ");
                self.parens(&pivot.values, Self::ident);
                self.put(") AS ");
                self.ident(&pivot.alias);
            }
            TableRef::Unpivot(unpivot) => {
                self.table_ref(&unpivot.source);
                self.put(" UNPIVOT (");
                self.ident(&unpivot.value);
                self.put(" FOR ");
                self.ident(&unpivot.column);
                self.put(" IN ");
                self.parens(&unpivot.columns, Self::ident);
                self.put(") AS ");
                self.ident(&unpivot.alias);
            }
            TableRef::BulkRowset(rowset) => {
                self.put("OPENROWSET(BULK ");
                match rowset.files.as_slice() {
                    [file] => self.expr(file),
                    files => self.parens(files, Self::expr),
                }
                self.clause(", ", &rowset.options, Self::opt);
                self.put(")");
                self.table_alias(rowset.alias.as_ref());
            }
            TableRef::Rowset(word, args, alias) => {
                self.put(word);
                self.parens(args, Self::expr);
                self.maybe(" AS ", alias.as_ref(), Self::ident);
            }
        }
    }

    fn table_alias(&mut self, alias: Option<&TableAlias>) {
        self.maybe(" AS ", alias, |p, alias| {
            p.ident(&alias.name);
            p.columns(&alias.columns);
        });
    }

    fn table_function(&mut self, function: &TableFunction) {
        if let Some(variable) = &function.variable {
            self.ident(variable);
            self.put(".");
        }
        self.name(&function.name);
        match function.args.as_slice() {
            // A second pair of parentheses marks it as a column, and not as a hint for a table of that name.
            [arg] if is_hint(arg) => {
                self.put("(");
                self.parens(&function.args, Self::expr);
                self.put(")");
            }
            args => self.parens(args, Self::expr),
        }
        if !function.schema.is_empty() {
            self.put(" WITH ");
            self.parens(&function.schema, |p, column| {
                p.ident(&column.name);
                p.put(" ");
                p.data_type(&column.data_type);
                p.maybe(" ", column.path.as_ref(), Self::expr);
                p.flag(column.as_json, " AS JSON");
            });
        }
        self.table_alias(function.alias.as_ref());
    }

    fn table_source(&mut self, source: &TableSource) {
        self.name(&source.name);
        self.maybe(
            " FOR SYSTEM_TIME ",
            source.system_time.as_ref(),
            Self::system_time,
        );
        self.maybe(" AS ", source.alias.as_ref(), Self::ident);
        if let Some(sample) = &source.sample {
            self.put(" TABLESAMPLE (");
            self.expr(&sample.amount);
            self.put(if sample.rows { " ROWS)" } else { " PERCENT)" });
            if let Some(seed) = &sample.seed {
                self.put(" REPEATABLE (");
                self.expr(seed);
                self.put(")");
            }
        }
        self.table_hints(&source.hints);
    }

    fn system_time(&mut self, time: &SystemTime) {
        let (word, from, middle, to) = match time {
            SystemTime::All => return self.put("ALL"),
            SystemTime::AsOf(at) => {
                self.put("AS OF ");
                return self.expr(at);
            }
            SystemTime::FromTo(from, to) => ("FROM ", from, " TO ", to),
            SystemTime::Between(from, to) => ("BETWEEN ", from, " AND ", to),
            SystemTime::ContainedIn(from, to) => ("CONTAINED IN (", from, ", ", to),
        };
        self.put(word);
        self.expr(from);
        self.put(middle);
        self.expr(to);
        self.flag(matches!(time, SystemTime::ContainedIn(..)), ")");
    }

    /// The right side of a join that is a join itself is written in parentheses.
    fn join(&mut self, join: &Join) {
        self.table_ref(&join.left);
        let hint = join.hint.as_deref().unwrap_or("");
        let (before, after) = match join.kind {
            JoinKind::Inner => (" INNER ", "JOIN "),
            JoinKind::Left => (" LEFT ", "JOIN "),
            JoinKind::Right => (" RIGHT ", "JOIN "),
            JoinKind::Full => (" FULL ", "JOIN "),
            JoinKind::Cross => (" CROSS ", "JOIN "),
            JoinKind::CrossApply => (" CROSS ", "APPLY "),
            JoinKind::OuterApply => (" OUTER ", "APPLY "),
        };
        self.put(before);
        self.put(hint);
        self.flag(!hint.is_empty(), " ");
        self.put(after);
        let composite = matches!(
            join.right,
            TableRef::Join(_) | TableRef::Pivot(_) | TableRef::Unpivot(_)
        );
        self.flag(composite, "(");
        self.table_ref(&join.right);
        self.flag(composite, ")");
        self.maybe(" ON ", join.on.as_ref(), Self::condition);
    }

    pub(super) fn table_hints(&mut self, hints: &[TableHint]) {
        if !hints.is_empty() {
            self.put(" WITH ");
            self.parens(hints, Self::table_hint);
        }
    }

    fn table_hint(&mut self, hint: &TableHint) {
        match hint {
            TableHint::Word(word) => self.put(word),
            TableHint::Index(indexes) => {
                self.put("INDEX");
                self.parens(indexes, Self::index_ref);
            }
            TableHint::ForceSeek(index, columns) => {
                self.put("FORCESEEK(");
                self.index_ref(index);
                self.put(" ");
                self.parens(columns, Self::ident);
                self.put(")");
            }
        }
    }

    fn index_ref(&mut self, index: &IndexRef) {
        match index {
            IndexRef::Name(name) => self.ident(name),
            IndexRef::Id(id) => self.put(id),
        }
    }

    pub(super) fn query_options(&mut self, options: &[QueryHint]) {
        if !options.is_empty() {
            self.put(" OPTION ");
            self.parens(options, Self::query_hint);
        }
    }

    fn query_hint(&mut self, hint: &QueryHint) {
        match hint {
            QueryHint::Words(words) => self.put(words),
            QueryHint::Value(word, value) => {
                self.put(word);
                self.put(if word.ends_with("_PERCENT") {
                    " = "
                } else {
                    " "
                });
                self.expr(value);
            }
            QueryHint::Label(text) => {
                self.put("LABEL = ");
                self.expr(text);
            }
            QueryHint::UseHint(names) => {
                self.put("USE HINT ");
                self.parens(names, Self::expr);
            }
            QueryHint::UsePlan(plan) => {
                self.put("USE PLAN ");
                self.expr(plan);
            }
            QueryHint::OptimizeFor(values) => {
                self.put("OPTIMIZE FOR ");
                self.parens(values, |p, (variable, value)| {
                    p.ident(variable);
                    match value {
                        Some(value) => {
                            p.put(" = ");
                            p.expr(value);
                        }
                        None => p.put(" UNKNOWN"),
                    }
                });
            }
            QueryHint::TableHint(table, hints) => {
                self.put("TABLE HINT (");
                self.name(table);
                self.clause(", ", hints, Self::table_hint);
                self.put(")");
            }
        }
    }
}

/// Whether the argument is a column that bears the name of a table hint.
fn is_hint(arg: &Expr) -> bool {
    match &arg.kind {
        ExprKind::Column(name) => TABLE_HINTS.iter().any(|hint| name.is_word(hint)),
        _ => false,
    }
}
