//! Queries: common table expressions, set operations, ORDER BY of them.

use super::assign::Assign;
use super::constancy::Constancy;
use super::expr::operands;
use super::scope::{AGGREGATES, Binder, Level};
use super::select::Ordering;
use super::{Bound, shift};
use furrow_context::error::{Result, refuse, unsupported};
use furrow_context::sink::ResultColumn;
use furrow_exec::set::{SetKind, SetPlan};
use furrow_exec::sort::{SortKey, SortPlan, TopPlan};
use furrow_exec::{Expr, Plan};
use furrow_scalar::types;
use furrow_tsql::ast::expr::{Expr as Written, ExprKind, Literal};
use furrow_tsql::ast::query::{OrderItem, Query, QueryBody, QueryHint, SetOp};
use furrow_types::{Family, TypeId, Value};

/// A query that can be run.
#[derive(Debug)]
pub struct BoundQuery {
    /// What gives the rows. Their values are those of `columns`, or what `assigns` computes its values from.
    pub plan: Plan,
    /// The columns of the result.
    pub columns: Vec<ResultColumn>,
    /// What SELECT @x = ... sets, in the order of its list. A query within another one has none.
    pub assigns: Vec<Assign>,
    /// How many of the last columns are only for the statement that changes rows through the query.
    pub(crate) hidden: usize,
}

impl BoundQuery {
    pub(super) fn of(plan: Plan, columns: Vec<ResultColumn>, assigns: Vec<Assign>) -> BoundQuery {
        BoundQuery {
            plan,
            columns,
            assigns,
            hidden: 0,
        }
    }

    /// Whether a column is NULL as written, which takes any type; an int until then. NULL that was cast to
    /// another type keeps it.
    pub fn is_null(&self, at: usize) -> bool {
        let is_int = |c: &ResultColumn| c.data_type.id == TypeId::Int;
        match &self.plan {
            _ if !self.columns.get(at).is_some_and(is_int) => false,
            Plan::Project(_, exprs) => matches!(exprs.get(at), Some(Expr::Const(Value::Null))),
            _ => false,
        }
    }
}

/// A query and what it takes from the row around it.
pub(crate) type Nested = (BoundQuery, Vec<(usize, Expr)>);

/// A key of ORDER BY.
pub(super) struct OrderKey {
    pub(super) sort: SortKey,
    /// The place of the entry of the select list that the key names, by alias or by number.
    pub(super) item: Option<usize>,
}

impl OrderKey {
    /// Whether both name one entry of the select list, or one column.
    fn is_same_column(&self, other: &OrderKey) -> bool {
        match (self.item, other.item) {
            (Some(at), Some(other)) => at == other,
            _ => {
                let of_source = |at: &usize| *at < AGGREGATES;
                matches!(&self.sort.expr, Expr::Column(at) if of_source(at))
                    && self.sort.expr == other.sort.expr
            }
        }
    }
}

impl Binder<'_> {
    /// Binds a query that stands by itself.
    pub fn query(&mut self, query: &Query) -> Result<BoundQuery> {
        self.hints(&query.options)?;
        let before = self.ctes.len();
        self.define(&query.ctes)?;
        let bound = self.ordered(query);
        self.ctes.truncate(before);
        Ok(bound?.0)
    }

    /// Binds a query within another one.
    pub(super) fn nested_query(&mut self, query: &Query) -> Result<Nested> {
        let limited = query.offset.is_some() || top_of(&query.body);
        if !query.order_by.is_empty() && !limited && query.for_clause.is_none() {
            return refuse(1033, &[]);
        }
        self.ordered(query)
    }

    /// Query hints: those that only affect how the query runs are accepted; others are refused.
    pub fn hints(&mut self, hints: &[QueryHint]) -> Result<()> {
        for hint in hints {
            match hint {
                QueryHint::UsePlan(_) => return Err(unsupported("USE PLAN")),
                QueryHint::TableHint(..) => return Err(unsupported("TABLE HINT")),
                QueryHint::Value(name, value) if &**name == "MAXRECURSION" => {
                    self.max_recursion = self.recursion_limit(value)?;
                }
                QueryHint::Value(name, value) if &**name == "MAXDOP" => {
                    self.max_dop = Some(max_dop(value)?);
                }
                QueryHint::Words(words) if &**words == "FORCE ORDER" => self.force_order = true,
                _ => {}
            }
        }
        Ok(())
    }

    fn ordered(&mut self, query: &Query) -> Result<Nested> {
        furrow_context::depth::check()?;
        if let Some(clause) = &query.for_clause {
            let (bound, takes) = self.rows_of(query)?;
            return Ok((self.marked_up(query, clause, bound)?, takes));
        }
        self.rows_of(query)
    }

    /// The rows of a query, in order.
    fn rows_of(&mut self, query: &Query) -> Result<Nested> {
        let ordering = Ordering {
            by: &query.order_by,
            offset: query.offset.as_ref(),
            fetch: query.fetch.as_ref(),
        };
        match &query.body {
            QueryBody::Select(select) => self.select(select, &ordering),
            body => {
                // Which rows OFFSET leaves of distinct ones depends on their values.
                self.only_exists &= ordering.offset.is_none();
                let (mut bound, takes) = self.body(body)?;
                bound.plan = self.order_output(bound.plan, &bound.columns, &ordering)?;
                Ok((bound, takes))
            }
        }
    }

    pub(super) fn body(&mut self, body: &QueryBody) -> Result<Nested> {
        furrow_context::depth::check()?;
        match body {
            QueryBody::Select(select) => self.select(select, &Ordering::default()),
            QueryBody::Values(rows) => self.values(rows),
            QueryBody::Set {
                op,
                all,
                left,
                right,
            } => self.set(*op, *all, left, right),
        }
    }

    fn values(&mut self, rows: &[Vec<furrow_tsql::ast::expr::Expr>]) -> Result<Nested> {
        self.only_exists = false;
        self.levels.push(Level::default());
        let bound = self.values_rows(rows);
        let takes = self.levels.pop().map(|l| l.takes).unwrap_or_default();
        let (rows, columns) = bound?;
        Ok((
            BoundQuery {
                plan: Plan::Values(rows),
                columns,
                assigns: Vec::new(),
                hidden: 0,
            },
            takes,
        ))
    }

    fn values_rows(
        &mut self,
        rows: &[Vec<furrow_tsql::ast::expr::Expr>],
    ) -> Result<(Vec<Vec<Expr>>, Vec<ResultColumn>)> {
        let mut bound: Vec<Vec<Bound>> = Vec::new();
        for row in rows {
            let row = row.iter().map(|e| self.expr(e)).collect::<Result<_>>()?;
            bound.push(row);
        }
        let width = bound.first().map_or(0, Vec::len);
        if bound.iter().any(|row| row.len() != width) {
            return refuse(10709, &[]);
        }
        let mut columns = Vec::new();
        for at in 0..width {
            let column: Vec<Bound> = bound.iter().filter_map(|r| r.get(at).cloned()).collect();
            let all_null = column.iter().all(|b| b.is_null_literal);
            let data_type = match all_null {
                true => furrow_types::DataType::simple(TypeId::Int),
                false => types::unify(&operands(&column))?,
            };
            columns.push(ResultColumn {
                name: String::new(),
                data_type,
                nullable: column.iter().any(|b| b.nullable),
            });
        }
        let mut exprs = Vec::new();
        for row in bound {
            let mut values = Vec::new();
            for (value, column) in row.into_iter().zip(&columns) {
                values.push(self.coerce(value, column.data_type)?);
            }
            exprs.push(values);
        }
        Ok((exprs, columns))
    }

    fn set(&mut self, op: SetOp, all: bool, left: &QueryBody, right: &QueryBody) -> Result<Nested> {
        // Which rows EXCEPT and INTERSECT give depends on their values.
        let only_exists = std::mem::take(&mut self.only_exists) && op == SetOp::Union;
        self.only_exists = only_exists;
        let (left, mut takes) = self.body(left)?;
        self.only_exists = only_exists;
        let (right, more) = self.body(right)?;
        takes.extend(more);
        Ok((self.joined(op, all, left, right)?, takes))
    }

    /// A set operation on two queries.
    pub(super) fn joined(
        &mut self,
        op: SetOp,
        all: bool,
        left: BoundQuery,
        right: BoundQuery,
    ) -> Result<BoundQuery> {
        if !left.assigns.is_empty() || !right.assigns.is_empty() {
            return refuse(141, &[]);
        }
        if left.columns.len() != right.columns.len() {
            return refuse(205, &[]);
        }
        let mut columns = Vec::new();
        for (at, (a, b)) in left.columns.iter().zip(&right.columns).enumerate() {
            columns.push(ResultColumn {
                name: a.name.clone(),
                data_type: match (left.is_null(at), right.is_null(at)) {
                    (true, false) => b.data_type,
                    (false, true) => a.data_type,
                    _ => types::unify_two(&a.data_type, &b.data_type)?,
                },
                nullable: a.nullable || b.nullable,
            });
        }
        let left = self.retyped(left, &columns)?;
        let right = self.retyped(right, &columns)?;
        let types: Vec<_> = columns.iter().map(|c| c.data_type).collect();
        let kind = match op {
            SetOp::Union => SetKind::UnionAll,
            SetOp::Except => SetKind::Except,
            SetOp::Intersect => SetKind::Intersect,
        };
        let plan = Plan::Set(Box::new(SetPlan {
            kind,
            left,
            right,
            types: types.clone(),
        }));
        let plan = match (op, all) {
            (SetOp::Union, false) => Plan::Distinct(Box::new(plan), types),
            _ => plan,
        };
        Ok(BoundQuery {
            plan,
            columns,
            assigns: Vec::new(),
            hidden: 0,
        })
    }

    /// A query's rows with columns of these types.
    pub(crate) fn retyped(&mut self, query: BoundQuery, to: &[ResultColumn]) -> Result<Plan> {
        let same = query
            .columns
            .iter()
            .zip(to)
            .all(|(a, b)| a.data_type == b.data_type);
        if same {
            return Ok(query.plan);
        }
        let mut exprs = Vec::new();
        for (at, (from, to)) in query.columns.iter().zip(to).enumerate() {
            let column = Bound {
                is_null_literal: query.is_null(at),
                ..Bound::of(Expr::Column(at), from.data_type)
            };
            exprs.push(self.coerce(column, to.data_type)?);
        }
        Ok(Plan::Project(Box::new(query.plan), exprs))
    }

    /// ORDER BY, OFFSET and FETCH of rows whose columns are the output's.
    pub(crate) fn order_output(
        &mut self,
        plan: Plan,
        columns: &[ResultColumn],
        ordering: &Ordering<'_>,
    ) -> Result<Plan> {
        let mut plan = plan;
        if !ordering.by.is_empty() {
            let mut keys: Vec<SortKey> = Vec::new();
            for item in ordering.by {
                let at = output_column(item, columns)?;
                let data_type = columns.get(at).map(|c| c.data_type);
                let Some(data_type) = data_type else { continue };
                if keys.iter().any(|key| key.expr == Expr::Column(at)) {
                    return refuse(169, &[]);
                }
                keys.push(SortKey {
                    expr: Expr::Column(at),
                    data_type,
                    descending: item.descending,
                });
            }
            plan = Plan::Sort(Box::new(SortPlan {
                input: plan,
                keys,
                width: columns.len(),
            }));
        }
        self.limited(plan, ordering)
    }

    /// Binds the keys of ORDER BY. A number is a position in the select list (108). A name is that of an
    /// entry of the list, and if none has it, that of a column. No two keys are the same (169).
    pub(super) fn order_keys(
        &mut self,
        by: &[OrderItem],
        list: &[(&str, &Bound)],
    ) -> Result<Vec<OrderKey>> {
        let columns: Vec<ResultColumn> = list
            .iter()
            .map(|(name, bound)| ResultColumn {
                name: (*name).to_owned(),
                data_type: bound.data_type,
                nullable: true,
            })
            .collect();
        let mut keys: Vec<OrderKey> = Vec::new();
        for (number, item) in (1_u64..).zip(by) {
            let of_list = match &item.expr.kind {
                ExprKind::Literal(Literal::Integer(_)) => Some(output_column(item, &columns)?),
                ExprKind::Column(name) if name.parts.len() == 1 => named(name.name(), &columns)?,
                _ => None,
            };
            let bound = match of_list.and_then(|at| list.get(at)) {
                Some((_, bound)) => (*bound).clone(),
                None => {
                    let bound = self.expr(&item.expr)?;
                    check_key(&item.expr, number)?;
                    bound
                }
            };
            let id = bound.data_type.id;
            if id == TypeId::Xml {
                return refuse(305, &[]);
            }
            if id.family() == Family::Lob {
                return refuse(306, &[]);
            }
            let sort = SortKey {
                expr: bound.expr,
                data_type: bound.data_type,
                descending: item.descending,
            };
            let key = OrderKey {
                sort,
                item: of_list,
            };
            if keys.iter().any(|before| before.is_same_column(&key)) {
                return refuse(169, &[]);
            }
            keys.push(key);
        }
        Ok(keys)
    }

    /// OFFSET and FETCH.
    pub fn limited(&mut self, plan: Plan, ordering: &Ordering<'_>) -> Result<Plan> {
        if ordering.offset.is_none() && ordering.fetch.is_none() {
            return Ok(plan);
        }
        let offset = ordering.offset.map(|e| self.expr(e)).transpose()?;
        let count = ordering.fetch.map(|e| self.expr(e)).transpose()?;
        Ok(Plan::Top(Box::new(TopPlan {
            input: plan,
            count: count.map(|b| b.expr),
            percent: false,
            ties: None,
            offset: offset.map(|b| b.expr),
            is_fetch: true,
        })))
    }
}

/// A key of ORDER BY that names no entry of the select list is not computed from constants alone (408), or
/// from variables and constants (1008).
fn check_key(written: &Written, number: u64) -> Result<()> {
    match Constancy::of(written) {
        Constancy::Constant => refuse(408, &[number.into()]),
        Constancy::OfVariables => refuse(1008, &[number.into()]),
        Constancy::Other => Ok(()),
    }
}

/// The place of the output column that an ORDER BY item names.
pub(crate) fn output_column(item: &OrderItem, columns: &[ResultColumn]) -> Result<usize> {
    match &item.expr.kind {
        ExprKind::Literal(Literal::Integer(digits)) => match digits.parse::<usize>() {
            Ok(n) if (1..=columns.len()).contains(&n) => Ok(n - 1),
            _ => {
                let n: i64 = digits.parse().unwrap_or(i64::MAX);
                refuse(108, &[n.into()])
            }
        },
        ExprKind::Column(name) if name.parts.len() == 1 => match named(name.name(), columns)? {
            Some(at) => Ok(at),
            None => refuse(207, &[name.name().into()]),
        },
        _ => refuse(104, &[]),
    }
}

/// The column of the output with this name; 209 if two have it.
pub(crate) fn named(name: &str, columns: &[ResultColumn]) -> Result<Option<usize>> {
    let is_it = |column: &&ResultColumn| column.name.eq_ignore_ascii_case(name);
    match columns.iter().filter(is_it).count() {
        0 | 1 => Ok(columns.iter().position(|column| is_it(&column))),
        _ => refuse(209, &[name.into()]),
    }
}

/// The value of MAXDOP: 0 to 32,767, as of the option of `sp_configure`.
fn max_dop(value: &furrow_tsql::ast::expr::Expr) -> Result<u32> {
    let number = match &value.kind {
        ExprKind::Literal(Literal::Integer(digits)) => digits.parse().ok(),
        _ => None,
    };
    match number {
        Some(number @ 0..=32_767) => Ok(number),
        _ => Err(unsupported("MAXDOP with a value above 32767")),
    }
}

fn top_of(body: &QueryBody) -> bool {
    matches!(body, QueryBody::Select(select) if select.top.is_some())
}

/// Whether nothing in a plan's expression looks at the row.
pub(crate) fn is_free(expr: &Expr) -> bool {
    shift::columns_of(expr).is_empty()
}
