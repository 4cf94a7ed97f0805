//! Window functions: `f(..) OVER (PARTITION BY .. ORDER BY .. ROWS ..)`.

use super::constancy::Constancy;
use super::scope::{Binder, WINDOWS};
use super::select::scan_in_order;
use super::{Bound, shift};
use furrow_context::error::{Result, refuse, unsupported};
use furrow_exec::sort::SortKey;
use furrow_exec::visit::Part;
use furrow_exec::window::{FrameEnd, WindowCall, WindowFrame, WindowFunction};
use furrow_exec::{Expr, Plan};
use furrow_scalar::aggregate;
use furrow_tsql::ast::expr::{Call, Expr as Written, ExprKind, Frame, FrameBound, Over};
use furrow_types::{DataType, TypeId};

/// Functions that need OVER and are no aggregates.
const RANKING: &[&str] = &[
    "ROW_NUMBER",
    "RANK",
    "DENSE_RANK",
    "NTILE",
    "PERCENT_RANK",
    "CUME_DIST",
];
const ANALYTIC: &[&str] = &["LAG", "LEAD", "FIRST_VALUE", "LAST_VALUE"];

/// Whether a function can't be without OVER.
pub(super) fn needs_over(name: &str) -> bool {
    let is = |known: &&str| known.eq_ignore_ascii_case(name);
    RANKING.iter().any(is) || ANALYTIC.iter().any(is)
}

fn end_of(bound: &FrameBound, binder: &mut Binder<'_>) -> Result<FrameEnd> {
    let count = |e: &Written, binder: &mut Binder<'_>| {
        let int = DataType::simple(TypeId::BigInt);
        let bound = binder.expr(e)?;
        binder.coerce(bound, int)
    };
    Ok(match bound {
        FrameBound::UnboundedPreceding | FrameBound::UnboundedFollowing => FrameEnd::Unbounded,
        FrameBound::CurrentRow => FrameEnd::Current,
        FrameBound::Preceding(n) => FrameEnd::Preceding(count(n, binder)?),
        FrameBound::Following(n) => FrameEnd::Following(count(n, binder)?),
    })
}

/// The place of a frame's end among all: a frame must not end before it begins.
fn rank_of(bound: &FrameBound) -> u8 {
    match bound {
        FrameBound::UnboundedPreceding => 0,
        FrameBound::Preceding(_) => 1,
        FrameBound::CurrentRow => 2,
        FrameBound::Following(_) => 3,
        FrameBound::UnboundedFollowing => 4,
    }
}

fn words(bound: &FrameBound) -> &'static str {
    match bound {
        FrameBound::UnboundedPreceding => "UNBOUNDED PRECEDING",
        FrameBound::Preceding(_) => "PRECEDING",
        FrameBound::CurrentRow => "CURRENT ROW",
        FrameBound::Following(_) => "FOLLOWING",
        FrameBound::UnboundedFollowing => "UNBOUNDED FOLLOWING",
    }
}

impl Binder<'_> {
    /// Binds a call with OVER; it takes a place behind the columns of the row.
    pub(super) fn windowed(&mut self, call: &Call, over: &Over) -> Result<Bound> {
        let level = self.level();
        if level.in_window || level.in_aggregate {
            return refuse(4109, &[]);
        }
        if level.windows.is_none() {
            return refuse(4108, &[]);
        }
        level.in_window = true;
        let bound = self.window_call(call, over);
        self.level().in_window = false;
        let (call, data_type) = bound?;
        let windows = self.level().windows.get_or_insert_default();
        let place = WINDOWS + shift::window_number(windows, call);
        Ok(Bound::of(Expr::Column(place), data_type))
    }

    fn window_call(&mut self, call: &Call, over: &Over) -> Result<(WindowCall, DataType)> {
        let name = call.name.name();
        if call.distinct {
            return refuse(10759, &[]);
        }
        if call.ignore_nulls == Some(true) {
            return Err(unsupported("IGNORE NULLS"));
        }
        if !call.within_group.is_empty() {
            return Err(unsupported(&format!(
                "{} WITHIN GROUP",
                name.to_uppercase()
            )));
        }
        let ranking = RANKING.iter().any(|r| r.eq_ignore_ascii_case(name));
        if needs_over(name) && over.order_by.is_empty() {
            return refuse(4112, &[name.into()]);
        }
        if over.frame.is_some() {
            let shifted = ["LAG", "LEAD"].iter().any(|f| f.eq_ignore_ascii_case(name));
            if ranking || shifted {
                return refuse(10752, &[name.into()]);
            }
            if over.order_by.is_empty() {
                return refuse(10756, &[]);
            }
        }
        let (function, data_type) = self.window_function(call)?;
        let mut partition = Vec::new();
        for by in &over.partition_by {
            partition.push(self.window_key(by, false)?);
        }
        let mut order = Vec::new();
        for by in &over.order_by {
            if let ExprKind::Literal(furrow_tsql::ast::expr::Literal::Integer(_)) = &by.expr.kind {
                return refuse(5308, &[]);
            }
            if Constancy::of(&by.expr) == Constancy::Constant {
                return refuse(5309, &[]);
            }
            order.push(self.window_key(&by.expr, by.descending)?);
        }
        let frame = match &over.frame {
            Some(frame) => self.window_frame(frame)?,
            None => WindowFrame {
                rows: false,
                start: FrameEnd::Unbounded,
                end: match over.order_by.is_empty() {
                    true => FrameEnd::Unbounded,
                    false => FrameEnd::Current,
                },
            },
        };
        let call = WindowCall {
            function,
            partition,
            order,
            frame,
        };
        Ok((call, data_type))
    }

    fn window_key(&mut self, by: &Written, descending: bool) -> Result<SortKey> {
        let bound = self.expr(by)?;
        Ok(SortKey {
            expr: bound.expr,
            data_type: bound.data_type,
            descending,
        })
    }

    fn window_frame(&mut self, frame: &Frame) -> Result<WindowFrame> {
        let end = frame.end.as_ref().unwrap_or(&FrameBound::CurrentRow);
        let backwards = rank_of(&frame.start) > rank_of(end)
            || matches!(frame.start, FrameBound::UnboundedFollowing)
            || matches!(end, FrameBound::UnboundedPreceding);
        if backwards {
            return refuse(4193, &[words(&frame.start).into(), words(end).into()]);
        }
        let counted = |b: &FrameBound| matches!(rank_of(b), 1 | 3);
        if !frame.rows && (counted(&frame.start) || counted(end)) {
            return refuse(4194, &[]);
        }
        Ok(WindowFrame {
            rows: frame.rows,
            start: end_of(&frame.start, self)?,
            end: end_of(end, self)?,
        })
    }

    fn window_function(&mut self, call: &Call) -> Result<(WindowFunction, DataType)> {
        let name = call.name.name().to_ascii_uppercase();
        let big = DataType::simple(TypeId::BigInt);
        let float = DataType::simple(TypeId::Float);
        let wanted = match name.as_str() {
            "NTILE" | "FIRST_VALUE" | "LAST_VALUE" => 1..=1,
            "LAG" | "LEAD" => 1..=3,
            _ if needs_over(&name) => 0..=0,
            _ => 0..=usize::MAX,
        };
        if !wanted.contains(&call.args.len()) {
            let count = (*wanted.end()).into();
            return refuse(174, &[name.to_ascii_lowercase().into(), count]);
        }
        Ok(match name.as_str() {
            "ROW_NUMBER" => (WindowFunction::RowNumber, big),
            "RANK" => (WindowFunction::Rank, big),
            "DENSE_RANK" => (WindowFunction::DenseRank, big),
            "PERCENT_RANK" => (WindowFunction::PercentRank, float),
            "CUME_DIST" => (WindowFunction::CumeDist, float),
            "NTILE" => {
                let count = self.window_argument(call, 0)?;
                let count = self.coerce(count, big)?;
                (WindowFunction::Ntile(count), big)
            }
            "LAG" | "LEAD" => self.neighbour(call, name == "LAG")?,
            "FIRST_VALUE" => {
                let value = self.window_argument(call, 0)?;
                (WindowFunction::First(value.expr), value.data_type)
            }
            "LAST_VALUE" => {
                let value = self.window_argument(call, 0)?;
                (WindowFunction::Last(value.expr), value.data_type)
            }
            _ => self.window_aggregate(call)?,
        })
    }

    fn window_argument(&mut self, call: &Call, at: usize) -> Result<Bound> {
        match call.args.get(at) {
            Some(argument) => self.expr(argument),
            None => refuse(174, &[call.name.name().into(), (at + 1).into()]),
        }
    }

    fn neighbour(&mut self, call: &Call, back: bool) -> Result<(WindowFunction, DataType)> {
        let value = self.window_argument(call, 0)?;
        let to = value.data_type;
        let big = DataType::simple(TypeId::BigInt);
        let mut rest = Vec::new();
        for (at, to) in [(1, big), (2, to)] {
            rest.push(match call.args.get(at) {
                Some(argument) => {
                    let bound = self.expr(argument)?;
                    Some(self.coerce(bound, to)?)
                }
                None => None,
            });
        }
        let default = rest.pop().flatten();
        let offset = rest.pop().flatten();
        let function = WindowFunction::Neighbour {
            back,
            value: value.expr,
            offset,
            default,
        };
        Ok((function, to))
    }

    fn window_aggregate(&mut self, call: &Call) -> Result<(WindowFunction, DataType)> {
        let name = call.name.name();
        let Some(which) = aggregate::find(name) else {
            return refuse(195, &[name.into(), "built-in function name".into()]);
        };
        if which == aggregate::Aggregate::StringAgg {
            return Err(unsupported("STRING_AGG OVER"));
        }
        let argument = match call.star {
            true => None,
            false => Some(self.window_argument(call, 0)?),
        };
        let operand = argument.as_ref().map(Bound::operand);
        let bound = aggregate::resolve(which, operand.as_ref())?;
        let result = bound.result;
        let function = WindowFunction::Aggregate(bound, argument.map(|a| a.expr));
        Ok((function, result))
    }
}

/// Whether an expression has one value for all rows of a query that runs.
fn is_constant(expr: &Expr) -> bool {
    let mut constant = true;
    expr.visit(&mut |part| {
        constant &= match part {
            Part::Plan(_) | Part::Expr(Expr::Column(_)) => false,
            Part::Expr(Expr::Subquery(query)) => query.once.is_some(),
            Part::Expr(_) => true,
        };
        constant && !matches!(part, Part::Expr(Expr::Subquery(_)))
    });
    constant && !shift::is_volatile(expr)
}

/// Takes keys out of windows that have one value for all rows: they order nothing. Gives the plan of the rows
/// where they come in the order of all windows then, and no call looks ahead.
pub(super) fn in_order(plan: &Plan, calls: &mut [WindowCall]) -> Option<Plan> {
    for call in calls.iter_mut() {
        call.partition.retain(|key| !is_constant(&key.expr));
        call.order.retain(|key| !is_constant(&key.expr));
    }
    if !calls.iter().all(WindowCall::looks_back_only) {
        return None;
    }
    let keys = |call: &WindowCall| -> Vec<SortKey> {
        call.partition.iter().chain(&call.order).cloned().collect()
    };
    let wanted = calls.iter().map(keys).max_by_key(Vec::len)?;
    let begins = |call: &WindowCall| {
        let own = keys(call);
        own.iter()
            .zip(&wanted)
            .all(|(a, b)| a.descending == b.descending && a.expr == b.expr)
    };
    match calls.iter().all(begins) {
        true => scan_in_order(plan, &wanted),
        false => None,
    }
}

/// The expressions of a call.
pub(super) fn exprs(call: &mut WindowCall) -> Vec<&mut Expr> {
    let mut exprs = Vec::new();
    match &mut call.function {
        WindowFunction::Ntile(e) | WindowFunction::First(e) | WindowFunction::Last(e) => {
            exprs.push(e);
        }
        WindowFunction::Neighbour {
            value,
            offset,
            default,
            ..
        } => {
            exprs.push(value);
            exprs.extend([offset, default].into_iter().flatten());
        }
        WindowFunction::Aggregate(_, Some(e)) => exprs.push(e),
        _ => {}
    }
    let keys = call.partition.iter_mut().chain(&mut call.order);
    exprs.extend(keys.map(|key| &mut key.expr));
    for end in [&mut call.frame.start, &mut call.frame.end] {
        if let FrameEnd::Preceding(e) | FrameEnd::Following(e) = end {
            exprs.push(e);
        }
    }
    exprs
}
