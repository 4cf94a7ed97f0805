//! Expressions that give a value, and conditions that are true, false or unknown.
//!
//! T-SQL keeps the two apart: a condition is no value (`SELECT a > 1` is refused), a value is no condition
//! (`WHERE a` is refused), so they are two types here as well. Parentheses leave no node behind: the tree's
//! shape says what they said, and the printer puts them back where they are needed.

use super::name::{DataType, Ident, ObjectName, Variable};
use super::query::{OrderItem, Query};
use crate::span::Span;
use std::fmt;

/// A value.
#[derive(Clone, PartialEq, Eq)]
pub struct Expr {
    /// What it is.
    pub kind: ExprKind,
    /// Where it stands.
    pub span: Span,
}

impl fmt::Debug for Expr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.kind.fmt(f)
    }
}

/// The kinds of values.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ExprKind {
    /// A constant.
    Literal(Literal),
    /// A column, `[[[database.]schema.]table.]column`; also `$ROWGUID`, `$IDENTITY`, `IDENTITYCOL`.
    Column(ObjectName),
    /// `@x`.
    Variable(Variable),
    /// `@@ROWCOUNT` and the like.
    Global(Variable),
    /// `DEFAULT` in VALUES, SET and EXEC.
    Default,
    /// `-a`, `+a`, `~a`.
    Unary(UnaryOp, Box<Expr>),
    /// `a + b` and the like.
    Binary(Box<Expr>, BinaryOp, Box<Expr>),
    /// `a COLLATE c`.
    Collate(Box<Expr>, Ident),
    /// `a AT TIME ZONE b`.
    AtTimeZone(Box<Expr>, Box<Expr>),
    /// `CASE [a] WHEN ..`.
    Case(Box<Case>),
    /// `IIF(condition, a, b)`.
    Iif(Box<Condition>, Box<Expr>, Box<Expr>),
    /// `CAST(a AS t)`, `TRY_CAST`, `PARSE`, `TRY_PARSE`.
    Cast(Box<Cast>),
    /// `CONVERT(t, a [, style])`, `TRY_CONVERT`.
    Convert(Box<Convert>),
    /// A function or aggregate; `COALESCE`, `NULLIF`, `LEFT`, `RIGHT` too.
    Call(Box<Call>),
    /// A function without parentheses: `CURRENT_TIMESTAMP`, `CURRENT_USER`, `SESSION_USER`, `SYSTEM_USER`,
    /// `USER`.
    Niladic(Box<str>),
    /// `(SELECT ..)` used as a value.
    Subquery(Box<Query>),
    /// `NEXT VALUE FOR s [OVER (ORDER BY ..)]`.
    NextValue(ObjectName, Option<Box<Over>>),
    /// `a.method(..)` of a variable or another value that is no plain name.
    Method(Box<Expr>, Ident, Vec<Expr>),
    /// `type::method(..)`.
    StaticMethod(ObjectName, Ident, Vec<Expr>),
}

/// A constant. Numbers are kept as written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Literal {
    /// `NULL`.
    Null,
    /// Digits only.
    Integer(Box<str>),
    /// Digits with a point.
    Decimal(Box<str>),
    /// With an exponent.
    Float(Box<str>),
    /// With a currency sign, which is kept.
    Money(Box<str>),
    /// `0x..`, with its prefix.
    Binary(Box<str>),
    /// `'..'`, doubled quotes undone.
    String(Box<str>),
    /// `N'..'`, doubled quotes undone.
    National(Box<str>),
}

/// Operators before a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum UnaryOp {
    /// `-`
    Minus,
    /// `+`
    Plus,
    /// `~`
    BitNot,
}

/// Operators between values.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BinaryOp {
    /// `+`: addition, or concatenation.
    Add,
    /// `-`
    Sub,
    /// `*`
    Mul,
    /// `/`
    Div,
    /// `%`
    Mod,
    /// `&`
    BitAnd,
    /// `|`
    BitOr,
    /// `^`
    BitXor,
}

/// `CASE`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Case {
    /// The branches.
    pub arms: CaseArms,
    /// `ELSE`.
    pub otherwise: Option<Expr>,
}

/// The branches of a `CASE`; never empty.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum CaseArms {
    /// `CASE operand WHEN value THEN result ..`.
    Simple(Expr, Vec<(Expr, Expr)>),
    /// `CASE WHEN condition THEN result ..`.
    Searched(Vec<(Condition, Expr)>),
}

/// Conversion written with `AS`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Cast {
    /// Which of the four functions.
    pub function: CastFunction,
    /// What is converted.
    pub expr: Expr,
    /// To what.
    pub data_type: DataType,
    /// `USING culture`, for PARSE.
    pub culture: Option<Expr>,
}

/// Functions written with `AS`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CastFunction {
    /// `CAST`
    Cast,
    /// `TRY_CAST`
    TryCast,
    /// `PARSE`
    Parse,
    /// `TRY_PARSE`
    TryParse,
}

/// `CONVERT` and `TRY_CONVERT`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Convert {
    /// Whether a failure gives NULL.
    pub try_: bool,
    /// To what.
    pub data_type: DataType,
    /// What is converted.
    pub expr: Expr,
    /// The style.
    pub style: Option<Expr>,
}

/// A function call.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Call {
    /// The function.
    pub name: ObjectName,
    /// `DISTINCT` before the arguments.
    pub distinct: bool,
    /// `COUNT(*)`: no arguments but a star.
    pub star: bool,
    /// The arguments.
    pub args: Vec<Expr>,
    /// `WITHIN GROUP (ORDER BY ..)`; empty when absent.
    pub within_group: Vec<OrderItem>,
    /// `IGNORE NULLS` (true) or `RESPECT NULLS` (false).
    pub ignore_nulls: Option<bool>,
    /// `OVER (..)`.
    pub over: Option<Over>,
}

/// `OVER (..)`.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Over {
    /// `PARTITION BY`.
    pub partition_by: Vec<Expr>,
    /// `ORDER BY`.
    pub order_by: Vec<OrderItem>,
    /// `ROWS` or `RANGE`.
    pub frame: Option<Frame>,
}

/// The frame of a window.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Frame {
    /// `ROWS` rather than `RANGE`.
    pub rows: bool,
    /// Where it begins.
    pub start: FrameBound,
    /// `AND ..`: where it ends; `None` without `BETWEEN`.
    pub end: Option<FrameBound>,
}

/// One end of a frame.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum FrameBound {
    /// `UNBOUNDED PRECEDING`
    UnboundedPreceding,
    /// `n PRECEDING`
    Preceding(Expr),
    /// `CURRENT ROW`
    CurrentRow,
    /// `n FOLLOWING`
    Following(Expr),
    /// `UNBOUNDED FOLLOWING`
    UnboundedFollowing,
}

/// A search condition.
#[derive(Clone, PartialEq, Eq)]
pub struct Condition {
    /// What it is.
    pub kind: ConditionKind,
    /// Where it stands.
    pub span: Span,
}

impl fmt::Debug for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.kind.fmt(f)
    }
}

/// The kinds of conditions.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ConditionKind {
    /// `a AND b AND ..`: two or more, none of them an `And` unless it stood in parentheses.
    And(Vec<Condition>),
    /// `a OR b OR ..`: two or more, none of them an `Or` unless it stood in parentheses.
    Or(Vec<Condition>),
    /// `NOT a`
    Not(Box<Condition>),
    /// `a = b` and the like.
    Compare(Expr, CompareOp, Expr),
    /// `a = ANY (SELECT ..)`; `SOME` is `ANY`; `all` is set for `ALL`.
    Quantified {
        /// The value.
        expr: Expr,
        /// The comparison.
        op: CompareOp,
        /// `ALL` rather than `ANY`.
        all: bool,
        /// The rows compared with.
        query: Box<Query>,
    },
    /// `a [NOT] BETWEEN low AND high`
    Between {
        /// The value.
        expr: Expr,
        /// `NOT`.
        not: bool,
        /// Lower end.
        low: Expr,
        /// Upper end.
        high: Expr,
    },
    /// `a [NOT] LIKE pattern [ESCAPE e]`
    Like {
        /// The value.
        expr: Expr,
        /// `NOT`.
        not: bool,
        /// The pattern.
        pattern: Expr,
        /// The escape character.
        escape: Option<Expr>,
    },
    /// `a IS [NOT] NULL`
    IsNull {
        /// The value.
        expr: Expr,
        /// `NOT`.
        not: bool,
    },
    /// `a IS [NOT] DISTINCT FROM b`
    IsDistinct {
        /// The value.
        expr: Expr,
        /// `NOT`.
        not: bool,
        /// The other value.
        other: Expr,
    },
    /// `a [NOT] IN (b, ..)`
    InList {
        /// The value.
        expr: Expr,
        /// `NOT`.
        not: bool,
        /// The values; never empty.
        list: Vec<Expr>,
    },
    /// `a [NOT] IN (SELECT ..)`
    InQuery {
        /// The value.
        expr: Expr,
        /// `NOT`.
        not: bool,
        /// The rows.
        query: Box<Query>,
    },
    /// `EXISTS (SELECT ..)`
    Exists(Box<Query>),
    /// `UPDATE(column)` in a trigger.
    Updated(Ident),
    /// `CONTAINS(..)` or `FREETEXT(..)`: name of the predicate and its arguments.
    FullText(Box<str>, Vec<Expr>),
    /// `CURRENT OF cursor`, in UPDATE and DELETE only.
    CurrentOf(CursorName),
}

/// Comparisons.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CompareOp {
    /// `=`
    Eq,
    /// `<>` or `!=`
    Ne,
    /// `<`
    Lt,
    /// `<=` or `!>`
    Le,
    /// `>`
    Gt,
    /// `>=` or `!<`
    Ge,
}

/// `=`, `+=` and the like, in SET, SELECT and UPDATE.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AssignOp {
    /// `=`
    Set,
    /// `+=` and the like.
    With(BinaryOp),
}

/// A cursor: `[GLOBAL] c` or `@c`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CursorName {
    /// `GLOBAL`.
    pub global: bool,
    /// Whether it is named by a variable.
    pub is_variable: bool,
    /// Its name, or the variable's with its `@`.
    pub name: Ident,
}
