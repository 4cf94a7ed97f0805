//! Values: names, operators, functions, CASE, conversions.

use super::literal::literal;
use super::markup::is_json;
use super::metadata;
use super::scope::Binder;
use super::types::data_type;
use furrow_context::error::{Result, refuse, unsupported};
use furrow_exec::{Cond, Expr, SubPlan};
use furrow_messages::Message;
use furrow_scalar::convert::Conversion;
use furrow_scalar::ops::{self, CompareOp};
use furrow_scalar::{Coercibility, Operand, aggregate, functions, types};
use furrow_tsql::ast::expr::{
    BinaryOp, Call, Case, CaseArms, CastFunction, Expr as Written, ExprKind, UnaryOp,
};
use furrow_types::{Collation, DataType, TypeId, Value};

/// A function that neither table has: it looks at types.
const VARIANT: &str = "SQL_VARIANT_PROPERTY";

/// A bound expression and its properties that operators need.
#[derive(Debug, Clone)]
pub struct Bound {
    /// The expression.
    pub expr: Expr,
    /// The type of its value.
    pub data_type: DataType,
    /// Whether it is the word NULL, which takes any type.
    pub is_null_literal: bool,
    /// Where its collation comes from.
    pub coercibility: Coercibility,
    /// Whether its value can be NULL.
    pub nullable: bool,
    /// Whether it is JSON by what makes it.
    pub is_json: bool,
}

impl Bound {
    /// A result of a type, of the database's collation.
    pub fn of(expr: Expr, data_type: DataType) -> Bound {
        Bound {
            expr,
            data_type,
            is_null_literal: false,
            coercibility: Coercibility::Default,
            nullable: true,
            is_json: false,
        }
    }

    pub(crate) fn operand(&self) -> Operand<'_> {
        Operand {
            data_type: self.data_type,
            is_null_literal: self.is_null_literal,
            constant: match &self.expr {
                Expr::Const(value) => Some(value),
                _ => None,
            },
            coercibility: self.coercibility,
            nullable: self.nullable,
            is_json: self.is_json,
        }
    }
}

pub(super) fn operands(all: &[Bound]) -> Vec<Operand<'_>> {
    all.iter().map(Bound::operand).collect()
}

fn binary_op(op: BinaryOp) -> ops::BinaryOp {
    match op {
        BinaryOp::Add => ops::BinaryOp::Add,
        BinaryOp::Sub => ops::BinaryOp::Subtract,
        BinaryOp::Mul => ops::BinaryOp::Multiply,
        BinaryOp::Div => ops::BinaryOp::Divide,
        BinaryOp::Mod => ops::BinaryOp::Modulo,
        BinaryOp::BitAnd => ops::BinaryOp::BitAnd,
        BinaryOp::BitOr => ops::BinaryOp::BitOr,
        BinaryOp::BitXor => ops::BinaryOp::BitXor,
    }
}

impl Binder<'_> {
    /// Binds a value.
    pub fn expr(&mut self, written: &Written) -> Result<Bound> {
        furrow_context::depth::check()?;
        match &written.kind {
            ExprKind::Literal(constant) => literal(constant),
            ExprKind::Column(name) => self.column(name),
            ExprKind::Variable(name) => self.value_of_variable(&name.value),
            ExprKind::Global(name) => metadata::global(self.cx, &name.value),
            ExprKind::Default => Err(unsupported("DEFAULT")),
            ExprKind::Unary(op, operand) => self.unary(*op, operand),
            ExprKind::Binary(left, op, right) => {
                let (left, right) = (self.expr(left)?, self.expr(right)?);
                self.binary(left, *op, right)
            }
            ExprKind::Collate(of, name) => self.collate(of, &name.value),
            ExprKind::AtTimeZone(..) => Err(unsupported("AT TIME ZONE")),
            ExprKind::Case(case) => self.case(case),
            ExprKind::Iif(when, then, otherwise) => {
                let when = self.cond(when)?;
                let results = vec![self.expr(then)?, self.expr(otherwise)?];
                self.choice(vec![when], results)
            }
            ExprKind::Cast(cast) => {
                let bound = self.expr(&cast.expr)?;
                let to = data_type(&cast.data_type, true)?;
                match cast.function {
                    CastFunction::Cast => self.convert(bound, to, None, false),
                    CastFunction::TryCast => self.convert(bound, to, None, true),
                    CastFunction::Parse | CastFunction::TryParse => Err(unsupported("PARSE")),
                }
            }
            ExprKind::Convert(convert) => {
                let bound = self.expr(&convert.expr)?;
                let to = data_type(&convert.data_type, true)?;
                let style = match &convert.style {
                    Some(style) => match self.constant(style)? {
                        Expr::Const(value) => value.as_i64().map(|n| n as i32),
                        _ => return Err(unsupported("CONVERT with a style that is no constant")),
                    },
                    None => None,
                };
                self.convert(bound, to, style, convert.try_)
            }
            ExprKind::Call(call) => self.call(call),
            ExprKind::Niladic(name) => self.niladic(name),
            ExprKind::Subquery(query) => {
                let (sub, columns) = self.subquery(query)?;
                let [column] = columns.as_slice() else {
                    return refuse(116, &[]);
                };
                let data_type = column.data_type;
                Ok(Bound {
                    is_json: is_json(query),
                    ..Bound::of(Expr::Subquery(Box::new(sub)), data_type)
                })
            }
            ExprKind::NextValue(..) => Err(unsupported("NEXT VALUE FOR")),
            ExprKind::Method(of, name, arguments) => self.xml_method(of, &name.value, arguments),
            ExprKind::StaticMethod(_, name, _) => Err(unsupported(&name.value)),
        }
    }

    fn collate(&mut self, of: &Written, name: &str) -> Result<Bound> {
        let mut bound = self.expr(of)?;
        let collation = match name.eq_ignore_ascii_case("database_default") {
            true => Some(Collation::DEFAULT),
            false => Collation::from_name(name),
        };
        let Some(collation) = collation else {
            return refuse(448, &[name.into()]);
        };
        let collated = bound.operand().collate(collation)?;
        (bound.data_type, bound.coercibility) = (collated.data_type, Coercibility::Explicit);
        Ok(bound)
    }

    fn unary(&mut self, op: UnaryOp, operand: &Written) -> Result<Bound> {
        let op = match op {
            UnaryOp::Minus => ops::UnaryOp::Minus,
            UnaryOp::Plus => ops::UnaryOp::Plus,
            UnaryOp::BitNot => ops::UnaryOp::BitNot,
        };
        let bound = self.expr(operand)?;
        let unary = ops::bind_unary(op, &bound.operand())?;
        let data_type = unary.result;
        if let Expr::Const(value) = &bound.expr
            && let Ok(value) = unary.eval(value)
        {
            return Ok(Bound::constant(value, data_type));
        }
        Ok(Bound {
            nullable: bound.nullable,
            ..Bound::of(Expr::Unary(unary, Box::new(bound.expr)), data_type)
        })
    }

    /// Binds an operator to two values.
    pub fn binary(&mut self, left: Bound, op: BinaryOp, right: Bound) -> Result<Bound> {
        let bound = ops::bind_binary(binary_op(op), &left.operand(), &right.operand())?;
        let nullable = left.nullable || right.nullable;
        let (data_type, coercibility) = (bound.result, bound.coercibility);
        Ok(Bound {
            nullable,
            coercibility,
            ..Bound::of(
                Expr::Binary(Box::new((bound, left.expr, right.expr))),
                data_type,
            )
        })
    }

    /// A value converted by CAST.
    pub(super) fn cast_to(&mut self, bound: Bound, to: DataType) -> Result<Bound> {
        self.convert(bound, to, None, false)
    }

    /// A value converted by CAST or CONVERT.
    fn convert(
        &mut self,
        bound: Bound,
        to: DataType,
        style: Option<i32>,
        or_null: bool,
    ) -> Result<Bound> {
        if bound.is_null_literal {
            return Ok(Bound::constant(Value::Null, to));
        }
        let to = match (to.id.has_collation(), bound.data_type.id.has_collation()) {
            (true, true) => to.with_collation(bound.data_type.collation),
            _ => to,
        };
        let conversion = match or_null {
            true => Conversion::try_explicit(bound.data_type, to, style)?,
            false => Conversion::explicit(bound.data_type, to, style)?,
        };
        Ok(Bound {
            nullable: bound.nullable || or_null,
            coercibility: bound.coercibility,
            ..Bound::of(Expr::Convert(Box::new((conversion, bound.expr))), to)
        })
    }

    /// A value as an assignment or operator makes it one of another type by itself: 257, 206.
    pub fn coerce(&mut self, bound: Bound, to: DataType) -> Result<Expr> {
        if bound.is_null_literal {
            return Ok(bound.expr);
        }
        match Conversion::implicit(bound.data_type, to)? {
            None => Ok(bound.expr),
            Some(conversion) => {
                if let Expr::Const(value) = &bound.expr
                    && let Ok(value) = conversion.apply(value, &self.cx.settings())
                {
                    return Ok(Expr::Const(value));
                }
                Ok(Expr::Convert(Box::new((conversion, bound.expr))))
            }
        }
    }

    fn case(&mut self, case: &Case) -> Result<Bound> {
        let mut whens = Vec::new();
        let mut results = Vec::new();
        match &case.arms {
            CaseArms::Simple(of, arms) => {
                for (value, then) in arms {
                    // Bound again for each arm: it is evaluated for each, as SQL Server does.
                    let (of, value) = (self.expr(of)?, self.expr(value)?);
                    whens.push(self.compare(of, CompareOp::Equal, value)?);
                    results.push(self.expr(then)?);
                }
            }
            CaseArms::Searched(arms) => {
                for (when, then) in arms {
                    whens.push(self.cond(when)?);
                    results.push(self.expr(then)?);
                }
            }
        }
        results.push(match &case.otherwise {
            Some(otherwise) => self.expr(otherwise)?,
            None => literal(&furrow_tsql::ast::expr::Literal::Null)?,
        });
        self.choice(whens, results)
    }

    /// CASE: a condition for each result but the last.
    fn choice(&mut self, whens: Vec<Cond>, results: Vec<Bound>) -> Result<Bound> {
        let to = types::unify(&operands(&results))?;
        let nullable = results.iter().any(|r| r.nullable);
        let mut exprs = Vec::new();
        for result in results {
            exprs.push(self.coerce(result, to)?);
        }
        let otherwise = exprs.pop().map(Box::new);
        let arms = whens.into_iter().zip(exprs).collect();
        Ok(Bound {
            nullable,
            ..Bound::of(Expr::Case(arms, otherwise), to)
        })
    }

    fn niladic(&mut self, name: &str) -> Result<Bound> {
        match name.to_ascii_uppercase().as_str() {
            "CURRENT_TIMESTAMP" => self.function("GETDATE", Vec::new()),
            _ => match metadata::find(self.cx, name) {
                Some(function) => metadata::bind(function, Vec::new()),
                None => Err(unsupported(name)),
            },
        }
    }

    fn call(&mut self, call: &Call) -> Result<Bound> {
        let name = call.name.name();
        if call.name.parts.len() > 1 {
            if let Some(result) = self.method_of_column(call)? {
                return Ok(result);
            }
            let shown = call
                .name
                .parts
                .iter()
                .map(|p| &*p.value)
                .collect::<Vec<_>>()
                .join(".");
            return refuse(4121, &["dbo".into(), shown.into()]);
        }
        if let Some(over) = &call.over {
            return self.windowed(call, over);
        }
        if super::window::needs_over(name) {
            return refuse(10753, &[name.into()]);
        }
        if let Some(which) = aggregate::find(name) {
            return self.aggregate(which, call);
        }
        if name.eq_ignore_ascii_case("GROUPING") || name.eq_ignore_ascii_case("GROUPING_ID") {
            return self.grouping(call);
        }
        let mut arguments = Vec::new();
        let known = functions::find(name);
        if name.eq_ignore_ascii_case("IDENTITY") {
            return refuse(177, &[]);
        }
        if known.is_none()
            && metadata::find(self.cx, name).is_none()
            && !name.eq_ignore_ascii_case(VARIANT)
        {
            return refuse(195, &[name.into(), "built-in function name".into()]);
        }
        let takes_date_part = known.is_some_and(|f| f.takes_date_part);
        for (at, argument) in call.args.iter().enumerate() {
            match &argument.kind {
                ExprKind::Column(word) if at == 0 && takes_date_part && word.parts.len() == 1 => {
                    let text = word.name().to_owned();
                    let data_type = DataType::sized(TypeId::VarChar, 30);
                    arguments.push(Bound::constant(Value::VarChar(text), data_type));
                }
                _ => arguments.push(self.expr(argument)?),
            }
        }
        self.function(name, arguments)
    }

    /// Binds what has to be a constant, in the end.
    pub(super) fn constant(&mut self, written: &Written) -> Result<Expr> {
        let bound = self.expr(written)?;
        self.folded(bound.expr)
    }

    /// Binds a function's call.
    fn function(&mut self, name: &str, arguments: Vec<Bound>) -> Result<Bound> {
        if let Some(function) = metadata::find(self.cx, name) {
            return metadata::bind(function, arguments);
        }
        if name.eq_ignore_ascii_case(VARIANT) {
            return self.variant_property(arguments);
        }
        let bound = functions::resolve(name, &operands(&arguments))?;
        let result = bound.result;
        if bound.function.lazy {
            return self.lazy(bound.function.name, result, arguments);
        }
        let nullable = !bound.null_in_null_out || arguments.iter().any(|a| a.nullable);
        let exprs: Vec<Expr> = arguments.into_iter().map(|a| a.expr).collect();
        // RAND() is evaluated once for all rows, unless its seed depends on the row.
        let same = |expr: &Expr| matches!(expr, Expr::Const(_) | Expr::Variable(_));
        let once = bound.function.name == "RAND" && exprs.iter().all(same);
        let is_json = matches!(bound.function.name, "JSON_QUERY" | "JSON_MODIFY");
        let call = Expr::Call(Box::new(bound), exprs);
        let expr = match once {
            true => Expr::Once(furrow_exec::once::fresh(), Box::new(call)),
            false => call,
        };
        Ok(Bound {
            nullable,
            is_json,
            ..Bound::of(expr, result)
        })
    }

    /// Functions that evaluate no more of their arguments than they need.
    fn lazy(&mut self, name: &str, result: DataType, mut arguments: Vec<Bound>) -> Result<Bound> {
        match name {
            "NULLIF" => {
                let second = arguments.pop();
                let first = arguments.pop();
                let (Some(first), Some(second)) = (first, second) else {
                    return refuse(174, &["nullif".into(), 2.into()]);
                };
                let same = self.compare(first.clone(), CompareOp::Equal, second)?;
                let arms = vec![(same, Expr::Const(Value::Null))];
                Ok(Bound::of(
                    Expr::Case(arms, Some(Box::new(first.expr))),
                    result,
                ))
            }
            "CHOOSE" => {
                let mut rest = arguments.into_iter();
                let Some(index) = rest.next() else {
                    return refuse(174, &["choose".into(), 2.into()]);
                };
                let int = DataType::simple(TypeId::Int);
                let index = Bound::of(self.coerce(index, int)?, int);
                let mut arms = Vec::new();
                for (n, option) in rest.enumerate() {
                    let number = Bound::constant(Value::Int(n as i32 + 1), int);
                    let when = self.compare(index.clone(), CompareOp::Equal, number)?;
                    arms.push((when, self.coerce(option, result)?));
                }
                Ok(Bound::of(Expr::Case(arms, None), result))
            }
            _ => {
                let nullable = arguments.iter().all(|a| a.nullable);
                let mut options = Vec::new();
                for argument in arguments {
                    options.push(self.coerce(argument, result)?);
                }
                Ok(Bound {
                    nullable,
                    ..Bound::of(Expr::Coalesce(options), result)
                })
            }
        }
    }

    /// Binds a query within an expression, with what it takes from the row around it.
    pub(crate) fn subquery(
        &mut self,
        query: &furrow_tsql::ast::query::Query,
    ) -> Result<(SubPlan, Vec<furrow_context::sink::ResultColumn>)> {
        let in_aggregate = self.levels.last().is_some_and(|l| l.in_aggregate);
        let depth = self.levels.len();
        let before = std::mem::replace(&mut self.reaches, usize::MAX);
        let bound = self.nested_query(query);
        let once = (self.reaches >= depth).then(furrow_exec::once::fresh);
        self.reaches = self.reaches.min(before);
        let (bound, takes) = bound?;
        if in_aggregate {
            return refuse(130, &[]);
        }
        let plan = bound.plan;
        Ok((SubPlan { plan, takes, once }, bound.columns))
    }
}

/// A message for a clause that is known but has a form that is not.
pub(super) fn custom<T>(number: u32, level: u8, text: &str) -> Result<T> {
    Err(Message::custom(number, level, 1, text).into())
}
