//! Table functions whose columns depend on their arguments: STRING_SPLIT, GENERATE_SERIES, OPENJSON. And
//! expressions that are constants, where only a constant will do.

use super::bound_function::{BoundTableFunction, not_of, result};
use super::expr::Bound;
use super::from::{Node, renamed};
use super::scope::Binder;
use furrow_context::error::{Result, refuse};
use furrow_exec::table_function::TableFunctionPlan;
use furrow_exec::visit::Part;
use furrow_exec::{Expr, Plan};
use furrow_scalar::Operand;
use furrow_scalar::types::{string_type, unify};
use furrow_tsql::ast::query::{RowsetColumn, TableFunction};
use furrow_types::{DataType, TypeId, Value};

/// A function of that kind.
#[derive(Debug)]
pub struct TableFunctionInfo {
    /// Its name.
    pub name: &'static str,
    /// Its arguments, as documentation writes them.
    pub arguments: &'static str,
    /// Its columns with their types.
    pub columns: &'static str,
    /// What it gives, in one sentence.
    pub text: &'static str,
    least: usize,
    most: usize,
    bind: Bind,
}

/// Makes the plan and the columns of the result from the arguments.
type Bind = fn(&mut Binder<'_>, Vec<Bound>, &[RowsetColumn]) -> Result<BoundTableFunction>;

/// All of them, by name.
pub static TABLE_FUNCTIONS: &[TableFunctionInfo] = &[
    TableFunctionInfo {
        name: "GENERATE_SERIES",
        arguments: "start, stop [, step]",
        columns: "value: the arguments' type",
        text: "The numbers from one to another; error 5373 for arguments of several types, \
               4199 for a step of 0.",
        least: 2,
        most: 3,
        bind: series,
    },
    TableFunctionInfo {
        name: "OPENJSON",
        arguments: "json [, path]",
        columns: "key: nvarchar(4000); value: nvarchar(max); type: tinyint; or those of its WITH clause",
        text: "The members of an object, or the elements of an array; with a WITH clause what their own \
               paths lead to, in the types that it says.",
        least: 1,
        most: 2,
        bind: super::openjson::open,
    },
    TableFunctionInfo {
        name: "STRING_SPLIT",
        arguments: "text, separator [, enable_ordinal]",
        columns: "value: varchar or nvarchar; ordinal: bigint, where the third argument is 1",
        text: "The parts of a text between separators of one character, with their places.",
        least: 2,
        most: 3,
        bind: split,
    },
];

impl Binder<'_> {
    /// Binds such a function; `None` for any other name.
    pub(super) fn built_in_table_function(
        &mut self,
        written: &TableFunction,
    ) -> Result<Option<Node>> {
        let name = written.name.name();
        let Some(info) = TABLE_FUNCTIONS
            .iter()
            .find(|m| m.name.eq_ignore_ascii_case(name))
        else {
            return Ok(None);
        };
        if written.args.len() < info.least {
            return refuse(313, &[name.into()]);
        }
        if written.args.len() > info.most {
            return refuse(8144, &[name.into()]);
        }
        let mut arguments = Vec::new();
        for argument in &written.args {
            arguments.push(self.expr(argument)?);
        }
        let (mut plan, columns) = (info.bind)(self, arguments, &written.schema)?;
        let mut takes = Vec::new();
        for part in parts(&mut plan) {
            takes.extend(self.taken(std::slice::from_mut(part)));
        }
        let alias = written.alias.as_ref();
        let named = alias.map_or(name, |a| &a.name.value).to_owned();
        let columns = renamed(columns, alias.map_or(&[], |a| a.columns.as_slice()), &named)?;
        let node = self.rows(
            Plan::TableFunction(Box::new(plan)),
            takes,
            &named,
            None,
            &columns,
        )?;
        Ok(Some(node))
    }

    /// A constant in the place of a constant expression.
    pub(super) fn folded(&mut self, expr: Expr) -> Result<Expr> {
        match is_constant(&expr) {
            true => Ok(Expr::Const(expr.eval(&[], self.cx)?.into_owned())),
            false => Ok(expr),
        }
    }
}

/// Whether an expression always has the same value: it has constants alone.
fn is_constant(expr: &Expr) -> bool {
    let mut constant = true;
    expr.visit(&mut |part| {
        constant &= match part {
            Part::Expr(Expr::Const(_) | Expr::Binary(_) | Expr::Unary(..) | Expr::Convert(_)) => {
                true
            }
            Part::Expr(Expr::Call(bound, _)) => bound.function.deterministic,
            _ => false,
        };
        constant
    });
    constant
}

/// The arguments of a function.
fn parts(plan: &mut TableFunctionPlan) -> Vec<&mut Expr> {
    match plan {
        TableFunctionPlan::Split {
            text, separator, ..
        } => vec![text, separator],
        TableFunctionPlan::Series {
            start, stop, step, ..
        } => [Some(start), Some(stop), step.as_mut()]
            .into_iter()
            .flatten()
            .collect(),
        TableFunctionPlan::Json(open) => [Some(&mut open.text), open.path.as_mut()]
            .into_iter()
            .flatten()
            .collect(),
    }
}

fn split(
    binder: &mut Binder<'_>,
    arguments: Vec<Bound>,
    _: &[RowsetColumn],
) -> Result<BoundTableFunction> {
    const NAME: &str = "string_split";
    let ordinal = match arguments.get(2) {
        Some(flag) => with_ordinal(binder, flag)?,
        None => false,
    };
    let mut texts = arguments.into_iter();
    let (Some(text), Some(separator)) = (texts.next(), texts.next()) else {
        return refuse(313, &[NAME.into()]);
    };
    for (place, argument) in [(1, &text), (2, &separator)] {
        let takes = argument.data_type.id.has_collation() || argument.is_null_literal;
        if !takes {
            return not_of(argument, place, NAME);
        }
    }
    let unicode = text.data_type.id.is_unicode() || separator.data_type.id.is_unicode();
    let id = match unicode {
        true => TypeId::NVarChar,
        false => TypeId::VarChar,
    };
    let of = text.data_type;
    let large = of.is_max() || matches!(of.id, TypeId::Text | TypeId::NText);
    let bytes = u32::from(of.length.max(0).unsigned_abs());
    let units = match of.id.is_unicode() {
        true => bytes / 2,
        false => bytes,
    };
    let value = match text.is_null_literal {
        true => string_type(id, 1, false),
        false => string_type(id, units, large).with_collation(of.collation),
    };
    let mut columns = vec![result("value", value)];
    if ordinal {
        columns.push(result("ordinal", DataType::simple(TypeId::BigInt)));
    }
    let wide = string_type(id, 1, true);
    let plan = TableFunctionPlan::Split {
        text: binder.coerce(text, wide)?,
        separator: binder.coerce(separator, wide)?,
        ordinal,
        unicode,
    };
    Ok((plan, columns))
}

/// The third argument of STRING_SPLIT: a constant 0 or 1, because it decides which columns there are.
fn with_ordinal(binder: &mut Binder<'_>, flag: &Bound) -> Result<bool> {
    if flag.is_null_literal {
        return Ok(false);
    }
    if !matches!(flag.data_type.id, TypeId::Int | TypeId::Bit) {
        return not_of(flag, 3, "string_split");
    }
    let Expr::Const(value) = binder.folded(flag.expr.clone())? else {
        return refuse(8748, &["string_split".into()]);
    };
    match (&value, value.as_i64()) {
        (Value::Null, _) => Ok(false),
        (_, Some(flag @ (0 | 1))) => Ok(flag == 1),
        (_, other) => {
            let shown = other.unwrap_or_default().into();
            refuse(4199, &[shown, 3.into(), "string_split".into()])
        }
    }
}

fn series(
    binder: &mut Binder<'_>,
    arguments: Vec<Bound>,
    _: &[RowsetColumn],
) -> Result<BoundTableFunction> {
    const NAME: &str = "generate_series";
    let mut first: Option<TypeId> = None;
    for (place, argument) in (1..).zip(&arguments) {
        if argument.is_null_literal {
            continue;
        }
        let id = match argument.data_type.id {
            TypeId::Decimal | TypeId::Numeric => TypeId::Numeric,
            id @ (TypeId::TinyInt | TypeId::SmallInt | TypeId::Int | TypeId::BigInt) => id,
            _ => return not_of(argument, place, NAME),
        };
        if first.is_some_and(|first| first != id) {
            return refuse(5373, &[]);
        }
        first = Some(id);
    }
    let operands: Vec<Operand<'_>> = arguments.iter().map(Bound::operand).collect();
    let data_type = match first {
        Some(_) => unify(&operands)?,
        None => DataType::simple(TypeId::Int),
    };
    let mut exprs = Vec::new();
    for argument in arguments {
        exprs.push(binder.coerce(argument, data_type)?);
    }
    let mut exprs = exprs.into_iter();
    let (Some(start), Some(stop)) = (exprs.next(), exprs.next()) else {
        return refuse(313, &[NAME.into()]);
    };
    let plan = TableFunctionPlan::Series {
        start,
        stop,
        step: exprs.next(),
        data_type,
    };
    Ok((plan, vec![result("value", data_type)]))
}
