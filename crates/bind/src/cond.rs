//! Search conditions.

use super::Bound;
use super::expr::custom;
use super::scope::Binder;
use furrow_context::error::{Result, refuse, unsupported};
use furrow_exec::expr::{Like, Quantified};
use furrow_exec::in_list::InListBuilder;
use furrow_exec::{Cond, Expr};
use furrow_scalar::Switches;
use furrow_scalar::ops::{self, CompareOp, LikePattern};
use furrow_tsql::ast::expr::{self as ast, Condition, ConditionKind};

pub(crate) fn compare_op(op: ast::CompareOp) -> CompareOp {
    match op {
        ast::CompareOp::Eq => CompareOp::Equal,
        ast::CompareOp::Ne => CompareOp::NotEqual,
        ast::CompareOp::Lt => CompareOp::Less,
        ast::CompareOp::Le => CompareOp::LessOrEqual,
        ast::CompareOp::Gt => CompareOp::Greater,
        ast::CompareOp::Ge => CompareOp::GreaterOrEqual,
    }
}

fn negated(cond: Cond, not: bool) -> Cond {
    match not {
        true => Cond::Not(Box::new(cond)),
        false => cond,
    }
}

/// Values of an IN list up to which comparing them one by one costs less than a look-up.
const SHORT_LIST: usize = 15;

impl Binder<'_> {
    /// Whether the value of an expression is the same for all rows of a statement.
    fn is_settled(&self, expr: &Expr) -> bool {
        match expr {
            Expr::Const(_) => true,
            Expr::Variable(_) => !self.is_assigned(expr),
            Expr::Unary(_, of) => self.is_settled(of),
            Expr::Convert(parts) => self.is_settled(&parts.1),
            Expr::Binary(parts) => self.is_settled(&parts.1) && self.is_settled(&parts.2),
            _ => false,
        }
    }

    /// Binds a condition.
    pub fn cond(&mut self, written: &Condition) -> Result<Cond> {
        furrow_context::depth::check()?;
        match &written.kind {
            ConditionKind::And(parts) => Ok(Cond::And(self.conds(parts)?)),
            ConditionKind::Or(parts) => Ok(Cond::Or(self.conds(parts)?)),
            ConditionKind::Not(part) => Ok(Cond::Not(Box::new(self.cond(part)?))),
            ConditionKind::Compare(left, op, right) => {
                let (left, right) = (self.expr(left)?, self.expr(right)?);
                self.compare_written(left, compare_op(*op), right)
            }
            ConditionKind::Quantified {
                expr,
                op,
                all,
                query,
            } => {
                let expr = self.expr(expr)?;
                self.quantified(expr, compare_op(*op), *all, query)
            }
            ConditionKind::Between {
                expr,
                not,
                low,
                high,
            } => Ok(negated(self.between(expr, low, high)?, *not)),
            ConditionKind::Like {
                expr,
                not,
                pattern,
                escape,
            } => Ok(negated(self.like(expr, pattern, escape.as_ref())?, *not)),
            ConditionKind::IsNull { expr, not } => {
                Ok(Cond::IsNull(Box::new(self.expr(expr)?.expr), *not))
            }
            ConditionKind::IsDistinct { expr, not, other } => {
                let (left, right) = (self.expr(expr)?, self.expr(other)?);
                let bound = ops::bind_compare(CompareOp::Equal, &left.operand(), &right.operand())?;
                Ok(Cond::Distinct(
                    Box::new((bound, left.expr, right.expr)),
                    *not,
                ))
            }
            ConditionKind::InList { expr, not, list } => {
                Ok(negated(self.in_list(expr, list)?, *not))
            }
            ConditionKind::InQuery { expr, not, query } => {
                let expr = self.expr(expr)?;
                let cond = self.quantified(expr, CompareOp::Equal, false, query)?;
                Ok(negated(cond, *not))
            }
            ConditionKind::Exists(query) => {
                self.only_exists = query.for_clause.is_none();
                let (sub, _) = self.subquery(query)?;
                Ok(Cond::Exists(Box::new(sub)))
            }
            ConditionKind::Updated(_) => Err(unsupported("UPDATE()")),
            ConditionKind::FullText(name, _) => Err(unsupported(name)),
            ConditionKind::CurrentOf(_) => Err(unsupported("CURRENT OF")),
        }
    }

    fn in_list(&mut self, expr: &ast::Expr, list: &[ast::Expr]) -> Result<Cond> {
        if list.len() > SHORT_LIST {
            return self.long_in_list(expr, list);
        }
        let mut any = Vec::with_capacity(list.len());
        for value in list {
            let (left, right) = (self.expr(expr)?, self.expr(value)?);
            any.push(self.compare_written(left, CompareOp::Equal, right)?);
        }
        Ok(match any.len() {
            1 => any.remove(0),
            _ => Cond::Or(any),
        })
    }

    /// Binds IN of a long list: values that are the same for all rows are looked up, not compared one by one.
    fn long_in_list(&mut self, expr: &ast::Expr, list: &[ast::Expr]) -> Result<Cond> {
        let left = self.expr(expr)?;
        let (mut values, mut any) = (InListBuilder::default(), Vec::new());
        for value in list {
            let right = self.expr(value)?;
            if self.is_settled(&right.expr) && !self.has_value_null(&left, &right) {
                let (a, b) = (left.operand(), right.operand());
                values.add(ops::bind_compare(CompareOp::Equal, &a, &b)?, right.expr);
            } else {
                let left = self.expr(expr)?;
                any.push(self.compare_written(left, CompareOp::Equal, right)?);
            }
        }
        let Some(list) = values.finish(left.expr) else {
            return Ok(Cond::Or(any));
        };
        let list = Cond::In(Box::new(list));
        if any.is_empty() {
            return Ok(list);
        }
        any.insert(0, list);
        Ok(Cond::Or(any))
    }

    fn conds(&mut self, parts: &[Condition]) -> Result<Vec<Cond>> {
        parts.iter().map(|part| self.cond(part)).collect()
    }

    /// Binds BETWEEN: two comparisons.
    fn between(&mut self, of: &ast::Expr, low: &ast::Expr, high: &ast::Expr) -> Result<Cond> {
        let (first, second) = (self.expr(of)?, self.expr(of)?);
        let (low, high) = (self.expr(low)?, self.expr(high)?);
        let low = self.compare(first, CompareOp::GreaterOrEqual, low)?;
        let high = self.compare(second, CompareOp::LessOrEqual, high)?;
        Ok(Cond::And(vec![low, high]))
    }

    /// Whether `=` takes NULL for a value: with ANSI_NULLS OFF, where one side is the constant NULL or a
    /// variable.
    fn has_value_null(&self, left: &Bound, right: &Bound) -> bool {
        let may_be_null =
            |side: &Bound| side.is_null_literal || matches!(side.expr, Expr::Variable(_));
        let ansi = self.cx.set.has(Switches::ANSI_NULLS);
        !ansi && (may_be_null(left) || may_be_null(right))
    }

    /// Binds `=` and its like as they are written: NULL may be a value for `=` and `<>`.
    fn compare_written(&mut self, left: Bound, op: CompareOp, right: Bound) -> Result<Cond> {
        let differ = match op {
            _ if !self.has_value_null(&left, &right) => return self.compare(left, op, right),
            CompareOp::Equal => false,
            CompareOp::NotEqual => true,
            _ => return self.compare(left, op, right),
        };
        let bound = ops::bind_compare(CompareOp::Equal, &left.operand(), &right.operand())?;
        let sides = Box::new((bound, left.expr, right.expr));
        Ok(Cond::Distinct(sides, !differ))
    }

    /// Binds a comparison of two values.
    pub fn compare(&mut self, left: Bound, op: CompareOp, right: Bound) -> Result<Cond> {
        let bound = ops::bind_compare(op, &left.operand(), &right.operand())?;
        Ok(Cond::Compare(Box::new((bound, left.expr, right.expr))))
    }

    fn quantified(
        &mut self,
        expr: Bound,
        op: CompareOp,
        all: bool,
        query: &furrow_tsql::ast::query::Query,
    ) -> Result<Cond> {
        let (query, columns) = self.subquery(query)?;
        let [column] = columns.as_slice() else {
            return refuse(116, &[]);
        };
        let other = Bound {
            coercibility: furrow_scalar::Coercibility::Implicit,
            ..Bound::of(Expr::Column(0), column.data_type)
        };
        let compare = ops::bind_compare(op, &expr.operand(), &other.operand())?;
        Ok(Cond::Quantified(Box::new(Quantified {
            expr: expr.expr,
            compare,
            all,
            query,
        })))
    }

    fn like(
        &mut self,
        text: &ast::Expr,
        pattern: &ast::Expr,
        escape: Option<&ast::Expr>,
    ) -> Result<Cond> {
        let (text, pattern) = (self.expr(text)?, self.expr(pattern)?);
        let escape = escape.map(|e| self.expr(e)).transpose()?;
        let (collation, unicode) = ops::bind_like(&text.operand(), &pattern.operand())?;
        let text = self.as_text(text)?;
        let pattern = self.as_text(pattern)?;
        let escape = escape.map(|e| self.as_text(e)).transpose()?;
        let compiled = match (&pattern, &escape) {
            (Expr::Const(pattern), None) => match pattern.as_str() {
                Some(pattern) => Some(LikePattern::new(pattern, None, collation, unicode)?),
                None => None,
            },
            (Expr::Const(pattern), Some(Expr::Const(escape))) => {
                match (pattern.as_str(), escape.as_str()) {
                    (Some(pattern), Some(escape)) => {
                        Some(LikePattern::new(pattern, Some(escape), collation, unicode)?)
                    }
                    _ => None,
                }
            }
            _ => None,
        };
        Ok(Cond::Like(Box::new(Like {
            text,
            pattern,
            escape,
            collation,
            unicode,
            compiled,
        })))
    }

    /// A value as text, where it is none.
    fn as_text(&mut self, bound: Bound) -> Result<Expr> {
        if bound.data_type.id.has_collation() || bound.is_null_literal {
            return Ok(bound.expr);
        }
        let to = furrow_scalar::types::string_type(furrow_types::TypeId::VarChar, 8000, false);
        match self.coerce(bound, to) {
            Ok(expr) => Ok(expr),
            Err(_) => custom(
                8116,
                16,
                "Argument data type is invalid for argument 1 of like function.",
            ),
        }
    }
}
