//! Bound expressions: columns are places in a row, types are settled, what is left is values.

use super::once::{List, SubqueryResult};
use super::operator::{Cursor, Plan};
use furrow_context::context::Context;
use furrow_context::error::Result;
use furrow_context::memory::check_long;
use furrow_context::system::MetadataFunction;
use furrow_scalar::convert::Conversion;
use furrow_scalar::functions::BoundFn;
use furrow_scalar::ops::{self, BoundBinary, BoundCompare, BoundUnary, LikePattern, Truth};
use furrow_scalar::types;
use furrow_types::Value;
use smallvec::SmallVec;
use std::borrow::Cow;
use std::sync::Arc;

/// A value.
#[derive(Debug, Clone)]
pub enum Expr {
    /// A constant.
    Const(Value),
    /// A column of the row.
    Column(usize),
    /// A column of an outer row: its place in the frame.
    Outer(usize),
    /// A variable: its place in the scope.
    Variable(usize),
    /// An operator on two values.
    Binary(Box<(BoundBinary, Expr, Expr)>),
    /// An operator on one value.
    Unary(BoundUnary, Box<Expr>),
    /// A value converted to another type.
    Convert(Box<(Conversion, Expr)>),
    /// A scalar function.
    Call(Box<BoundFn>, Vec<Expr>),
    /// A metadata function.
    Metadata(&'static MetadataFunction, Vec<Expr>),
    /// CASE, IIF, NULLIF, CHOOSE.
    Case(Vec<(Cond, Expr)>, Option<Box<Expr>>),
    /// COALESCE and ISNULL: the first that is not NULL.
    Coalesce(Vec<Expr>),
    /// What has one value for all of a statement, by a number of its own: RAND().
    Once(u64, Box<Expr>),
    /// A subquery of one value: error 512 for more rows.
    Subquery(Box<SubPlan>),
    /// GROUPING and GROUPING_ID: bits of the number of a grouping set, the first of the result the highest.
    Grouping(Box<Expr>, Vec<u32>),
}

/// A subquery, and which columns of the outer row it takes.
#[derive(Debug, Clone)]
pub struct SubPlan {
    /// What gives the rows.
    pub plan: Plan,
    /// Outer values it needs: where each goes in the frame, and where it comes from.
    pub takes: Vec<(usize, Expr)>,
    /// Its number among those that look at nothing around them and at no variable that the statement assigns:
    /// it is run once in a statement.
    pub once: Option<u64>,
}

impl SubPlan {
    /// Puts the outer row's values in the frame.
    pub fn bring(&self, row: &[Value], cx: &mut Context) -> Result<()> {
        for (place, from) in &self.takes {
            let value = from.eval(row, cx)?.into_owned();
            if cx.frame.len() <= *place {
                cx.frame.resize(place + 1, Value::Null);
            }
            cx.frame[*place] = value;
        }
        Ok(())
    }
}

/// A condition.
#[derive(Debug, Clone)]
pub enum Cond {
    /// All of them hold.
    And(Vec<Cond>),
    /// One of them holds.
    Or(Vec<Cond>),
    /// The condition is false.
    Not(Box<Cond>),
    /// A comparison of two values.
    Compare(Box<(BoundCompare, Expr, Expr)>),
    /// IS NULL; with `true`, IS NOT NULL.
    IsNull(Box<Expr>, bool),
    /// IS [NOT] DISTINCT FROM.
    Distinct(Box<(BoundCompare, Expr, Expr)>, bool),
    /// LIKE.
    Like(Box<Like>),
    /// IN of a long list of values.
    In(Box<InList>),
    /// EXISTS.
    Exists(Box<SubPlan>),
    /// `expr op ANY|ALL (query)`, IN (query) too.
    Quantified(Box<Quantified>),
}

/// `text LIKE pattern ESCAPE escape`.
#[derive(Debug, Clone)]
pub struct Like {
    /// The text that is matched.
    pub text: Expr,
    /// The pattern.
    pub pattern: Expr,
    /// The character of ESCAPE.
    pub escape: Option<Expr>,
    /// The collation that characters are compared by.
    pub collation: furrow_types::Collation,
    /// Whether trailing blanks of the text count, as in Unicode types.
    pub unicode: bool,
    /// The pattern compiled, where it is constant.
    pub compiled: Option<LikePattern>,
}

/// `expr IN (value, ...)` of values that no row changes.
#[derive(Debug, Clone, PartialEq)]
pub struct InList {
    /// The value that is looked up.
    pub expr: Expr,
    /// The values of the list, by how they are compared.
    pub groups: Vec<InGroup>,
    /// The values of the list that are neither constants nor variables, before they are converted.
    pub(crate) computed: Vec<Expr>,
}

/// Values of a list that are compared in the same way.
#[derive(Debug, Clone)]
pub struct InGroup {
    /// The comparison with each of them: they need no conversion any more.
    pub compare: BoundCompare,
    /// The values.
    pub values: Arc<[Expr]>,
    /// The number of the stored values in a statement.
    pub(crate) number: u64,
}

/// A comparison with the rows of a query.
#[derive(Debug, Clone)]
pub struct Quantified {
    /// The value that is compared.
    pub expr: Expr,
    /// The comparison with each value of the query.
    pub compare: BoundCompare,
    /// Whether it must hold for all values (ALL), not for one (ANY, IN).
    pub all: bool,
    /// The query, of one column.
    pub query: SubPlan,
}

impl Expr {
    /// The value for a row.
    pub fn eval<'r>(&'r self, row: &'r [Value], cx: &mut Context) -> Result<Cow<'r, Value>> {
        Ok(match self {
            Expr::Const(value) => Cow::Borrowed(value),
            Expr::Column(at) => row.get(*at).map_or(Cow::Owned(Value::Null), Cow::Borrowed),
            Expr::Outer(at) => Cow::Owned(cx.frame.get(*at).cloned().unwrap_or(Value::Null)),
            Expr::Variable(at) => {
                let Some(variable) = cx.scope.get(*at) else {
                    return Ok(Cow::Owned(Value::Null));
                };
                check_long(&variable.value)?;
                Cow::Owned(variable.value.clone())
            }
            Expr::Binary(parts) => {
                let (op, left, right) = &**parts;
                let left = left.eval(row, cx)?;
                let right = right.eval(row, cx)?;
                let result = op.eval(&left, &right, &cx.settings());
                let value = cx.or_null(result)?;
                check_long(&value)?;
                Cow::Owned(value)
            }
            Expr::Unary(op, operand) => {
                let result = op.eval(&*operand.eval(row, cx)?);
                Cow::Owned(cx.or_null(result)?)
            }
            Expr::Convert(parts) => {
                let value = parts.1.eval(row, cx)?;
                check_long(&value)?;
                let result = parts.0.apply(&value, &cx.settings());
                Cow::Owned(cx.or_null(result)?)
            }
            Expr::Call(function, arguments) => Cow::Owned(call(function, arguments, row, cx)?),
            Expr::Metadata(function, arguments) => {
                let values = eval_all(arguments, row, cx)?;
                Cow::Owned((function.call)(cx, &values)?)
            }
            Expr::Case(arms, otherwise) => {
                for (when, then) in arms {
                    if when.eval(row, cx)? == Some(true) {
                        return then.eval(row, cx);
                    }
                }
                match otherwise {
                    Some(otherwise) => return otherwise.eval(row, cx),
                    None => Cow::Owned(Value::Null),
                }
            }
            Expr::Coalesce(options) => {
                for option in options {
                    let value = option.eval(row, cx)?;
                    if !value.is_null() {
                        return Ok(value);
                    }
                }
                Cow::Owned(Value::Null)
            }
            Expr::Once(number, expr) => Cow::Owned(once(*number, expr, cx)?),
            Expr::Subquery(query) => Cow::Owned(scalar_subquery(query, row, cx)?),
            Expr::Grouping(of, bits) => {
                let set = of.eval(row, cx)?.as_i64().unwrap_or(0);
                let of_bit = |number: i32, bit: &u32| number << 1 | (set >> bit & 1) as i32;
                Cow::Owned(Value::Int(bits.iter().fold(0, of_bit)))
            }
        })
    }
}

/// The value that an expression has for all of a statement.
fn once(number: u64, expr: &Expr, cx: &mut Context) -> Result<Value> {
    if let Some(SubqueryResult::Value(value)) = cx.subqueries.get::<SubqueryResult>(&number) {
        return Ok(value.clone());
    }
    let value = expr.eval(&[], cx)?.into_owned();
    cx.subqueries
        .insert(number, SubqueryResult::Value(value.clone()));
    Ok(value)
}

/// The value of a function. One that takes long gives up, with any answer, when the statement is cancelled.
fn call(function: &BoundFn, arguments: &[Expr], row: &[Value], cx: &mut Context) -> Result<Value> {
    let values = eval_all(arguments, row, cx)?;
    let borrowed: SmallVec<[&Value; 4]> = values.iter().map(AsRef::as_ref).collect();
    let result = cx.with_env(|env| function.eval(env, &borrowed));
    cx.check_cancel()?;
    let value = cx.or_null(result)?;
    check_long(&value)?;
    Ok(value)
}

fn eval_all<'r>(
    arguments: &'r [Expr],
    row: &'r [Value],
    cx: &mut Context,
) -> Result<SmallVec<[Cow<'r, Value>; 4]>> {
    let mut values = SmallVec::new();
    for argument in arguments {
        values.push(argument.eval(row, cx)?);
    }
    Ok(values)
}

fn scalar_subquery(query: &SubPlan, row: &[Value], cx: &mut Context) -> Result<Value> {
    let Some(number) = query.once else {
        return run_scalar(query, row, cx);
    };
    if let Some(SubqueryResult::Value(value)) = cx.subqueries.get::<SubqueryResult>(&number) {
        return Ok(value.clone());
    }
    let value = run_scalar(query, row, cx)?;
    cx.subqueries
        .insert(number, SubqueryResult::Value(value.clone()));
    Ok(value)
}

fn run_scalar(query: &SubPlan, row: &[Value], cx: &mut Context) -> Result<Value> {
    query.bring(row, cx)?;
    let mut cursor = query.plan.open(cx)?;
    let found = one_value(&mut cursor, cx);
    cursor.close(cx);
    found
}

fn one_value(cursor: &mut Cursor<'_>, cx: &mut Context) -> Result<Value> {
    let mut found = Vec::new();
    if !cursor.next(cx, &mut found)? {
        return Ok(Value::Null);
    }
    let value = found.first().cloned().unwrap_or(Value::Null);
    match cursor.next(cx, &mut found)? {
        true => furrow_context::error::refuse(512, &[]),
        false => Ok(value),
    }
}

impl Cond {
    /// Whether it holds for a row; `None` is unknown.
    pub fn eval(&self, row: &[Value], cx: &mut Context) -> Result<Truth> {
        Ok(match self {
            Cond::And(parts) => {
                let mut all = Some(true);
                for part in parts {
                    all = ops::and(all, part.eval(row, cx)?);
                    if all == Some(false) {
                        break;
                    }
                }
                all
            }
            Cond::Or(parts) => {
                let mut any = Some(false);
                for part in parts {
                    any = ops::or(any, part.eval(row, cx)?);
                    if any == Some(true) {
                        break;
                    }
                }
                any
            }
            Cond::Not(part) => ops::not(part.eval(row, cx)?),
            Cond::Compare(parts) => {
                let (compare, left, right) = &**parts;
                let left = left.eval(row, cx)?;
                let right = right.eval(row, cx)?;
                compare.eval(&left, &right, &cx.settings())?
            }
            Cond::IsNull(expr, not) => Some(expr.eval(row, cx)?.is_null() != *not),
            Cond::Distinct(parts, not) => {
                let (compare, left, right) = &**parts;
                let left = left.eval(row, cx)?;
                let right = right.eval(row, cx)?;
                let same = match (left.is_null(), right.is_null()) {
                    (true, true) => true,
                    (false, false) => compare.eval(&left, &right, &cx.settings())? == Some(true),
                    _ => false,
                };
                Some(same == *not)
            }
            Cond::Like(like) => like.eval(row, cx)?,
            Cond::In(list) => list.eval(row, cx)?,
            Cond::Exists(query) => Some(exists(query, row, cx)?),
            Cond::Quantified(parts) => parts.eval(row, cx)?,
        })
    }

    /// Whether it is true for a row: what WHERE, ON and HAVING keep.
    #[inline]
    pub fn holds(&self, row: &[Value], cx: &mut Context) -> Result<bool> {
        Ok(self.eval(row, cx)? == Some(true))
    }
}

fn exists(query: &SubPlan, row: &[Value], cx: &mut Context) -> Result<bool> {
    if let Some(SubqueryResult::Exists(found)) = query
        .once
        .and_then(|number| cx.subqueries.get::<SubqueryResult>(&number))
    {
        return Ok(*found);
    }
    query.bring(row, cx)?;
    // Only the existence of a row is used, so NULLs in its aggregates cause no warning.
    let reported = cx.null_eliminated;
    let mut cursor = query.plan.open(cx)?;
    let found = cursor.next(cx, &mut Vec::new());
    cursor.close(cx);
    cx.null_eliminated = reported;
    let found = found?;
    if let Some(number) = query.once {
        cx.subqueries.insert(number, SubqueryResult::Exists(found));
    }
    Ok(found)
}

impl Like {
    fn eval(&self, row: &[Value], cx: &mut Context) -> Result<Truth> {
        let text = self.text.eval(row, cx)?;
        if let Some(pattern) = &self.compiled {
            let truth = pattern.eval(text.as_str());
            cx.check_cancel()?;
            return Ok(truth);
        }
        let pattern = self.pattern.eval(row, cx)?;
        let escape = match &self.escape {
            Some(escape) => Some(escape.eval(row, cx)?),
            None => None,
        };
        if escape.as_ref().is_some_and(|e| e.is_null()) {
            return Ok(None);
        }
        let Some(pattern) = pattern.as_str() else {
            return Ok(None);
        };
        let escape = escape.as_ref().and_then(|e| e.as_str());
        let pattern = LikePattern::new(pattern, escape, self.collation, self.unicode)?;
        let truth = pattern.eval(text.as_str());
        cx.check_cancel()?;
        Ok(truth)
    }
}

impl Quantified {
    fn eval(&self, row: &[Value], cx: &mut Context) -> Result<Truth> {
        let value = self.expr.eval(row, cx)?;
        if let Some(number) = self.query.once
            && let Some(list) = self.list(number, cx)?
        {
            return self.eval_list(&value, &list, cx);
        }
        self.query.bring(row, cx)?;
        let mut cursor = self.query.plan.open(cx)?;
        let mut found = Vec::new();
        let mut result = Some(self.all);
        let done: Result<()> = loop {
            match cursor.next(cx, &mut found) {
                Ok(true) => {}
                Ok(false) => break Ok(()),
                Err(e) => break Err(e),
            }
            let other = found.first().unwrap_or(&Value::Null);
            let truth = match self.compare.eval(&value, other, &cx.settings()) {
                Ok(truth) => truth,
                Err(e) => break Err(e.into()),
            };
            result = match self.all {
                true => ops::and(result, truth),
                false => ops::or(result, truth),
            };
            if result == Some(!self.all) {
                break Ok(());
            }
        };
        cursor.close(cx);
        done.map(|()| result)
    }

    fn eval_list(&self, value: &Value, list: &List, cx: &mut Context) -> Result<Truth> {
        if let Some(truth) = list.among(value, &self.compare, cx)? {
            return Ok(truth);
        }
        let mut result = Some(self.all);
        for other in &list.values {
            cx.check_cancel()?;
            let truth = self.compare.eval(value, other, &cx.settings())?;
            result = match self.all {
                true => ops::and(result, truth),
                false => ops::or(result, truth),
            };
            if result == Some(!self.all) {
                break;
            }
        }
        Ok(result)
    }
}

/// A value of any type as the number of a TOP, FETCH or the like.
pub(crate) fn as_count(value: &Value, cx: &Context) -> Result<Option<i64>> {
    if value.is_null() {
        return Ok(None);
    }
    let from = value.type_id().map(furrow_types::DataType::simple);
    let big = furrow_types::DataType::simple(furrow_types::TypeId::BigInt);
    let Some(from) = from else { return Ok(None) };
    types::require_implicit(from.id, big.id)?;
    let conversion = Conversion::explicit(from, big, None)?;
    Ok(conversion.apply(value, &cx.settings())?.as_i64())
}
