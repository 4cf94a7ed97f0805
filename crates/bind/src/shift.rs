//! Moving expressions from one row to another.

use furrow_exec::aggregate::AggregateCall;
use furrow_exec::visit::Part;
use furrow_exec::window::WindowCall;
use furrow_exec::{Cond, Expr};

/// Visits an expression and its parts, from the outside in; where `visit` returns `true`, it goes no deeper.
/// Columns of the row that subqueries use are parts of the expression.
pub(crate) fn walk(expr: &mut Expr, visit: &mut dyn FnMut(&mut Expr) -> bool) {
    if visit(expr) {
        return;
    }
    match expr {
        Expr::Const(_) | Expr::Outer(_) | Expr::Variable(_) | Expr::Column(_) => {}
        Expr::Binary(parts) => {
            walk(&mut parts.1, visit);
            walk(&mut parts.2, visit);
        }
        Expr::Unary(_, operand) | Expr::Grouping(operand, _) | Expr::Once(_, operand) => {
            walk(operand, visit);
        }
        Expr::Convert(parts) => walk(&mut parts.1, visit),
        Expr::Call(_, arguments) | Expr::Metadata(_, arguments) | Expr::Coalesce(arguments) => {
            for argument in arguments {
                walk(argument, visit);
            }
        }
        Expr::Case(arms, otherwise) => {
            for (when, then) in arms {
                walk_cond(when, visit);
                walk(then, visit);
            }
            if let Some(otherwise) = otherwise {
                walk(otherwise, visit);
            }
        }
        Expr::Subquery(query) => {
            for (_, from) in &mut query.takes {
                walk(from, visit);
            }
        }
    }
}

/// [`walk`] of a condition.
pub(crate) fn walk_cond(cond: &mut Cond, visit: &mut dyn FnMut(&mut Expr) -> bool) {
    match cond {
        Cond::And(parts) | Cond::Or(parts) => {
            for part in parts {
                walk_cond(part, visit);
            }
        }
        Cond::Not(part) => walk_cond(part, visit),
        Cond::Compare(parts) | Cond::Distinct(parts, _) => {
            walk(&mut parts.1, visit);
            walk(&mut parts.2, visit);
        }
        // The values of the list are the same for all rows.
        Cond::In(list) => walk(&mut list.expr, visit),
        Cond::IsNull(expr, _) => walk(expr, visit),
        Cond::Like(like) => {
            walk(&mut like.text, visit);
            walk(&mut like.pattern, visit);
            if let Some(escape) = &mut like.escape {
                walk(escape, visit);
            }
        }
        Cond::Exists(query) => {
            for (_, from) in &mut query.takes {
                walk(from, visit);
            }
        }
        Cond::Quantified(parts) => {
            walk(&mut parts.expr, visit);
            for (_, from) in &mut parts.query.takes {
                walk(from, visit);
            }
        }
    }
}

/// Puts what `each` gives in the place of every column of the row.
pub(crate) fn map_columns(expr: &mut Expr, each: &mut dyn FnMut(usize) -> Expr) {
    walk(expr, &mut |part| replace(part, each));
}

/// [`map_columns`] of a condition.
pub(crate) fn map_cond(cond: &mut Cond, each: &mut dyn FnMut(usize) -> Expr) {
    walk_cond(cond, &mut |part| replace(part, each));
}

fn replace(part: &mut Expr, each: &mut dyn FnMut(usize) -> Expr) -> bool {
    match part {
        Expr::Column(at) => {
            *part = each(*at);
            true
        }
        _ => false,
    }
}

/// A visitor that notes whether there is a function that may give another value each time.
fn noting_volatile(found: &mut bool) -> impl FnMut(Part<'_>) -> bool {
    |part| {
        if let Part::Expr(Expr::Call(bound, _)) = part {
            *found |= matches!(bound.function.name, "NEWID" | "RAND" | "CRYPT_GEN_RANDOM");
        }
        !*found && !matches!(part, Part::Plan(_))
    }
}

/// Whether an expression may give another value each time.
pub(crate) fn is_volatile(expr: &Expr) -> bool {
    let mut found = false;
    expr.visit(&mut noting_volatile(&mut found));
    found
}

/// Puts the call of an aggregate among those of its query; gives its number. Calls that are written the same
/// are one call, unless each evaluation of its argument may give another value.
pub(crate) fn aggregate_number(calls: &mut Vec<AggregateCall>, call: AggregateCall) -> usize {
    let mut volatile = false;
    call.visit(&mut noting_volatile(&mut volatile));
    number_of(calls, call, volatile)
}

/// [`aggregate_number`] of a call of a window function.
pub(crate) fn window_number(calls: &mut Vec<WindowCall>, call: WindowCall) -> usize {
    let mut volatile = false;
    call.visit(&mut noting_volatile(&mut volatile));
    number_of(calls, call, volatile)
}

fn number_of<C: PartialEq>(calls: &mut Vec<C>, call: C, volatile: bool) -> usize {
    let same = calls.iter().position(|other| !volatile && *other == call);
    same.unwrap_or_else(|| {
        calls.push(call);
        calls.len() - 1
    })
}

/// A visitor that notes the columns of one row.
fn noting(found: &mut Vec<usize>) -> impl FnMut(Part<'_>) -> bool {
    |part| {
        if let Part::Expr(Expr::Column(at)) = part {
            found.push(*at);
        }
        !matches!(part, Part::Plan(_))
    }
}

/// The columns that an expression looks at.
pub(crate) fn columns_of(expr: &Expr) -> Vec<usize> {
    let mut found = Vec::new();
    expr.visit(&mut noting(&mut found));
    found
}

/// The columns that a condition looks at.
pub(crate) fn columns_of_cond(cond: &Cond) -> Vec<usize> {
    let mut found = Vec::new();
    cond.visit(&mut noting(&mut found));
    found
}

/// Onto a row that begins at `start` of the one it was bound to.
pub(crate) fn rebase(cond: &mut Cond, start: usize) {
    if start > 0 {
        map_cond(cond, &mut |at| Expr::Column(at.saturating_sub(start)));
    }
}
