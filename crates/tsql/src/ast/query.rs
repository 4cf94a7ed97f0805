//! Queries: the parts of SELECT, from common table expressions to OPTION.

use super::expr::{AssignOp, Condition, Expr};
use super::name::{DataType, Ident, ObjectName, Variable};
use crate::span::Span;

/// A query with what may stand around it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Query {
    /// `WITH a AS (..), ..`; empty inside other queries.
    pub ctes: Vec<Cte>,
    /// SELECT, or several of them joined by set operators.
    pub body: QueryBody,
    /// `ORDER BY`.
    pub order_by: Vec<OrderItem>,
    /// `OFFSET n ROWS`.
    pub offset: Option<Expr>,
    /// `FETCH NEXT n ROWS ONLY`.
    pub fetch: Option<Expr>,
    /// `FOR XML`, `FOR JSON`, `FOR BROWSE`.
    pub for_clause: Option<ForClause>,
    /// `OPTION (..)`; empty inside other queries.
    pub options: Vec<QueryHint>,
    /// Where it stands.
    pub span: Span,
}

/// A common table expression.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Cte {
    /// Its name.
    pub name: Ident,
    /// Its columns' names; empty when not given.
    pub columns: Vec<Ident>,
    /// What it stands for.
    pub query: Query,
}

/// What produces the rows.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum QueryBody {
    /// One SELECT.
    Select(Box<Select>),
    /// Two bodies and a set operator. INTERSECT binds tighter than the other two.
    Set {
        /// The operator.
        op: SetOp,
        /// `ALL`, of UNION only.
        all: bool,
        /// Left operand.
        left: Box<QueryBody>,
        /// Right operand.
        right: Box<QueryBody>,
    },
    /// `VALUES (..), (..)`, as a derived table or MERGE source.
    Values(Vec<Vec<Expr>>),
}

/// Set operators.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SetOp {
    /// `UNION`
    Union,
    /// `EXCEPT`
    Except,
    /// `INTERSECT`
    Intersect,
}

/// One SELECT.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Select {
    /// `DISTINCT`.
    pub distinct: bool,
    /// `TOP`.
    pub top: Option<Top>,
    /// The select list.
    pub items: Vec<SelectItem>,
    /// `INTO t`.
    pub into: Option<ObjectName>,
    /// `ON filegroup` of INTO.
    pub into_filegroup: Option<Ident>,
    /// `FROM`; empty when absent.
    pub from: Vec<TableRef>,
    /// `WHERE`.
    pub filter: Option<Condition>,
    /// `GROUP BY`.
    pub group_by: Option<GroupBy>,
    /// `HAVING`.
    pub having: Option<Condition>,
    /// Where it stands.
    pub span: Span,
}

/// `TOP (n) [PERCENT] [WITH TIES]`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Top {
    /// How many.
    pub count: Expr,
    /// `PERCENT`.
    pub percent: bool,
    /// `WITH TIES`.
    pub with_ties: bool,
}

/// An entry of a select list.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SelectItem {
    /// `*`, at this place.
    Star(Span),
    /// `t.*`
    QualifiedStar(ObjectName),
    /// `a`, `a AS b`, `b = a`.
    Expr {
        /// The value.
        expr: Expr,
        /// The column's name.
        alias: Option<Ident>,
    },
    /// `@x = a`
    Assign {
        /// The variable.
        variable: Variable,
        /// `=`, `+=` and so on.
        op: AssignOp,
        /// The value.
        expr: Expr,
    },
}

/// A source of rows in FROM.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum TableRef {
    /// A table or view by name.
    Table(Box<TableSource>),
    /// A table variable.
    Variable {
        /// The variable.
        variable: Variable,
        /// What it is called here.
        alias: Option<Ident>,
    },
    /// A table-valued function, `@x.nodes(..)` included.
    Function(Box<TableFunction>),
    /// `(SELECT ..) AS t (a, b)` or `(VALUES ..) AS t (a, b)`.
    Derived {
        /// The rows.
        query: Box<Query>,
        /// What it is called here.
        alias: TableAlias,
    },
    /// `a JOIN b ON ..`
    Join(Box<Join>),
    /// `a PIVOT (..) AS p`
    Pivot(Box<Pivot>),
    /// `a UNPIVOT (..) AS p`
    Unpivot(Box<Unpivot>),
    /// `OPENROWSET(BULK ..)`
    BulkRowset(Box<BulkRowset>),
    /// `OPENQUERY(server, 'text')` and the like: function, arguments, what it is called here.
    Rowset(Box<str>, Vec<Expr>, Option<Ident>),
}

/// A table or view by name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TableSource {
    /// The table.
    pub name: ObjectName,
    /// `FOR SYSTEM_TIME ..`
    pub system_time: Option<SystemTime>,
    /// What it is called here.
    pub alias: Option<Ident>,
    /// `TABLESAMPLE`
    pub sample: Option<TableSample>,
    /// `WITH (..)`, or the old forms without WITH.
    pub hints: Vec<TableHint>,
}

/// The alias of a derived table.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TableAlias {
    /// Its name.
    pub name: Ident,
    /// Its columns' names; empty when not given.
    pub columns: Vec<Ident>,
}

/// A table-valued function.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TableFunction {
    /// The variable whose method this is.
    pub variable: Option<Variable>,
    /// The function.
    pub name: ObjectName,
    /// Its arguments.
    pub args: Vec<Expr>,
    /// `WITH (name type 'path', ..)` of OPENJSON.
    pub schema: Vec<RowsetColumn>,
    /// What it is called here.
    pub alias: Option<TableAlias>,
}

/// A column named by OPENJSON's WITH.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RowsetColumn {
    /// Its name.
    pub name: Ident,
    /// Its type.
    pub data_type: DataType,
    /// The path to it.
    pub path: Option<Expr>,
    /// `AS JSON`.
    pub as_json: bool,
}

/// `FOR SYSTEM_TIME ..`
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SystemTime {
    /// `ALL`
    All,
    /// `AS OF a`
    AsOf(Expr),
    /// `FROM a TO b`
    FromTo(Expr, Expr),
    /// `BETWEEN a AND b`
    Between(Expr, Expr),
    /// `CONTAINED IN (a, b)`
    ContainedIn(Expr, Expr),
}

/// `TABLESAMPLE [SYSTEM] (n [PERCENT | ROWS]) [REPEATABLE (seed)]`
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TableSample {
    /// How much.
    pub amount: Expr,
    /// `ROWS` rather than percent.
    pub rows: bool,
    /// The seed.
    pub seed: Option<Expr>,
}

/// Two sources joined.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Join {
    /// Left side.
    pub left: TableRef,
    /// How.
    pub kind: JoinKind,
    /// `LOOP`, `HASH`, `MERGE` or `REMOTE` before JOIN.
    pub hint: Option<Box<str>>,
    /// Right side.
    pub right: TableRef,
    /// `ON`; none for CROSS and APPLY.
    pub on: Option<Condition>,
}

/// Ways to join.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum JoinKind {
    /// `[INNER] JOIN`
    Inner,
    /// `LEFT [OUTER] JOIN`
    Left,
    /// `RIGHT [OUTER] JOIN`
    Right,
    /// `FULL [OUTER] JOIN`
    Full,
    /// `CROSS JOIN`
    Cross,
    /// `CROSS APPLY`
    CrossApply,
    /// `OUTER APPLY`
    OuterApply,
}

/// `PIVOT`
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Pivot {
    /// What is turned.
    pub source: TableRef,
    /// The aggregate.
    pub aggregate: ObjectName,
    /// Its arguments; empty for `*`.
    pub args: Vec<Expr>,
    /// The column whose values become columns.
    pub column: ObjectName,
    /// The values.
    pub values: Vec<Ident>,
    /// What it is called here.
    pub alias: Ident,
}

/// `UNPIVOT`
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Unpivot {
    /// What is turned.
    pub source: TableRef,
    /// The column that takes the values.
    pub value: Ident,
    /// The column that takes the names.
    pub column: Ident,
    /// The columns turned into rows.
    pub columns: Vec<Ident>,
    /// What it is called here.
    pub alias: Ident,
}

/// `OPENROWSET(BULK ..)`
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BulkRowset {
    /// The files.
    pub files: Vec<Expr>,
    /// `SINGLE_BLOB`, `FORMATFILE = ..` and the like.
    pub options: Vec<super::option::Opt>,
    /// What it is called here.
    pub alias: Option<TableAlias>,
}

/// A table hint.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum TableHint {
    /// A word such as `NOLOCK`, in upper case.
    Word(Box<str>),
    /// `INDEX (..)` or `INDEX = ..`
    Index(Vec<IndexRef>),
    /// `FORCESEEK (index (columns))`
    ForceSeek(IndexRef, Vec<Ident>),
}

/// An index by name or id.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum IndexRef {
    /// By name.
    Name(Ident),
    /// By id, in digits.
    Id(Box<str>),
}

/// `GROUP BY`
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GroupBy {
    /// `GROUP BY ALL`
    pub all: bool,
    /// The entries.
    pub items: Vec<GroupItem>,
    /// `WITH ROLLUP` or `WITH CUBE`, the old forms.
    pub with: Option<GroupWith>,
}

/// The old syntax for subtotals.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum GroupWith {
    /// `WITH ROLLUP`
    Rollup,
    /// `WITH CUBE`
    Cube,
}

/// An entry of GROUP BY.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum GroupItem {
    /// A value.
    Expr(Expr),
    /// `()`, or `(a, b)` within ROLLUP, CUBE or GROUPING SETS.
    Set(Vec<Expr>),
    /// `ROLLUP (..)`
    Rollup(Vec<GroupItem>),
    /// `CUBE (..)`
    Cube(Vec<GroupItem>),
    /// `GROUPING SETS (..)`
    Sets(Vec<GroupItem>),
}

/// An entry of ORDER BY.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OrderItem {
    /// By what.
    pub expr: Expr,
    /// `DESC`.
    pub descending: bool,
}

/// `FOR ..` at the end of a query.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ForClause {
    /// `FOR BROWSE`
    Browse,
    /// `FOR XML`: mode with its options.
    Xml(Vec<ForOption>),
    /// `FOR JSON`: mode with its options.
    Json(Vec<ForOption>),
}

/// A mode or option of FOR XML and FOR JSON, such as `PATH('row')` or `BINARY BASE64`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ForOption {
    /// Its words, in upper case, with single blanks.
    pub name: Box<str>,
    /// What stands in its parentheses.
    pub arg: Option<Expr>,
}

/// A query hint in `OPTION (..)`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum QueryHint {
    /// Words alone, such as `RECOMPILE` or `HASH JOIN`, in upper case with single blanks.
    Words(Box<str>),
    /// A word with a value, such as `MAXDOP 4`.
    Value(Box<str>, Expr),
    /// `LABEL = 'text'`
    Label(Expr),
    /// `USE HINT ('name', ..)`
    UseHint(Vec<Expr>),
    /// `USE PLAN N'xml'`
    UsePlan(Expr),
    /// `OPTIMIZE FOR (@x = 1, @y UNKNOWN)`
    OptimizeFor(Vec<(Variable, Option<Expr>)>),
    /// `TABLE HINT (t, ..)`
    TableHint(ObjectName, Vec<TableHint>),
}
