//! Keys of ORDER BY that are the same for all rows by their text.

use furrow_tsql::ast::expr::{BinaryOp, Expr as Written, ExprKind};

/// What an expression is computed from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Constancy {
    /// Constants alone.
    Constant,
    /// Variables, and constants.
    OfVariables,
    /// Anything else: columns, subqueries, functions. Also what may fail, because SQL Server does not compute
    /// it at compilation: `ORDER BY 1 / 0` is a known way to ask for no order.
    Other,
}

impl Constancy {
    pub(super) fn of(written: &Written) -> Constancy {
        match &written.kind {
            ExprKind::Literal(_) => Constancy::Constant,
            ExprKind::Variable(_) => Constancy::OfVariables,
            ExprKind::Unary(_, of) | ExprKind::Collate(of, _) => Constancy::of(of),
            ExprKind::Binary(_, BinaryOp::Div | BinaryOp::Mod, _) => Constancy::Other,
            ExprKind::Binary(left, _, right) => Constancy::of(left).max(Constancy::of(right)),
            ExprKind::Cast(cast) => Constancy::of(&cast.expr),
            ExprKind::Convert(convert) => Constancy::of(&convert.expr),
            _ => Constancy::Other,
        }
    }
}
