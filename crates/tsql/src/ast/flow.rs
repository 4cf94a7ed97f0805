//! Procedural statements: variables, control of flow, errors, execution, cursors, transactions, SET.

use super::Stmt;
use super::expr::{AssignOp, Condition, CursorName, Expr};
use super::name::{DataType, Ident, ObjectName, Variable};
use super::option::Opt;
use super::query::Query;
use super::table::TableElement;

/// One variable of DECLARE.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Declare {
    /// The variable.
    pub variable: Variable,
    /// What it holds.
    pub kind: DeclareKind,
}

/// What a variable holds.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum DeclareKind {
    /// A value, with what it is set to at first.
    Scalar(DataType, Option<Expr>),
    /// `TABLE (..)`
    Table(Vec<TableElement>),
    /// `CURSOR`
    Cursor,
}

/// `DECLARE c CURSOR ..` or `SET @c = CURSOR ..`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DeclareCursor {
    /// The cursor, or the variable with its `@`.
    pub name: Ident,
    /// Options in upper case: `INSENSITIVE`, `LOCAL`, `FAST_FORWARD` and so on.
    pub options: Vec<Box<str>>,
    /// `FOR SELECT ..`
    pub query: Query,
    /// `FOR READ ONLY` or `FOR UPDATE [OF ..]`
    pub access: Option<CursorAccess>,
}

/// What a cursor may do to its rows.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum CursorAccess {
    /// `FOR READ ONLY`
    ReadOnly,
    /// `FOR UPDATE [OF columns]`
    Update(Vec<Ident>),
}

/// `FETCH ..`
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fetch {
    /// Which row.
    pub direction: FetchDirection,
    /// The cursor.
    pub cursor: CursorName,
    /// `INTO ..`
    pub into: Vec<Variable>,
}

/// The row to be fetched.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum FetchDirection {
    /// `NEXT`, or nothing.
    Next,
    /// `PRIOR`
    Prior,
    /// `FIRST`
    First,
    /// `LAST`
    Last,
    /// `ABSOLUTE n`
    Absolute(Expr),
    /// `RELATIVE n`
    Relative(Expr),
}

/// `SET ..`
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Set {
    /// `SET @x = value`, also `+=` and so on.
    Variable(Variable, AssignOp, Expr),
    /// `SET @c = CURSOR ..`
    Cursor(Box<DeclareCursor>),
    /// `SET @x.method(..)`
    Method(Variable, Ident, Vec<Expr>),
    /// `SET a, b ON`: options in upper case.
    Options(Vec<Box<str>>, bool),
    /// `SET STATISTICS IO, TIME ON`
    Statistics(Vec<Box<str>>, bool),
    /// `SET IDENTITY_INSERT t ON`
    IdentityInsert(ObjectName, bool),
    /// `SET TRANSACTION ISOLATION LEVEL ..`
    Isolation(IsolationLevel),
    /// `SET ROWCOUNT 10` and the like: name in upper case and value.
    Value(Box<str>, Expr),
}

/// Isolation levels.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum IsolationLevel {
    /// `READ UNCOMMITTED`
    ReadUncommitted,
    /// `READ COMMITTED`
    ReadCommitted,
    /// `REPEATABLE READ`
    RepeatableRead,
    /// `SNAPSHOT`
    Snapshot,
    /// `SERIALIZABLE`
    Serializable,
}

/// `IF`
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct If {
    /// The condition.
    pub condition: Condition,
    /// What is done when it is true.
    pub then: Stmt,
    /// What is done otherwise.
    pub otherwise: Option<Stmt>,
}

/// `WHILE`
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct While {
    /// The condition.
    pub condition: Condition,
    /// What is repeated.
    pub body: Stmt,
}

/// `BEGIN TRY .. END TRY BEGIN CATCH .. END CATCH`
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TryCatch {
    /// What is tried.
    pub body: Vec<Stmt>,
    /// What is done after an error.
    pub catch: Vec<Stmt>,
}

/// `RAISERROR`
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Raiserror {
    /// Message, severity, state and what is filled in.
    pub args: Vec<Expr>,
    /// `WITH LOG, NOWAIT, SETERROR`
    pub options: Vec<Box<str>>,
}

/// `WAITFOR`
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Waitfor {
    /// `DELAY 'time'`
    Delay(Expr),
    /// `TIME 'time'`
    Time(Expr),
}

/// `EXEC ..`
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Execute {
    /// `@rc =`
    pub result: Option<Variable>,
    /// What is run.
    pub what: ExecuteWhat,
    /// `WITH RECOMPILE`, `RESULT SETS NONE` and the like: words in upper case with single blanks.
    pub options: Vec<Box<str>>,
}

/// What EXEC runs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ExecuteWhat {
    /// A procedure.
    Procedure {
        /// Its name, or a variable that holds it.
        name: ProcedureName,
        /// Its arguments.
        args: Vec<ExecuteArg>,
    },
    /// `(@a + N'..' + ..) [AT server]`: a text, in its parts.
    Text {
        /// Constants and variables, joined.
        parts: Vec<Expr>,
        /// Arguments for its `?`.
        args: Vec<ExecuteArg>,
        /// `AS USER = 'u'` or `AS LOGIN = 'l'`: the word and the name.
        run_as: Option<(Box<str>, Expr)>,
        /// `AT server`
        at: Option<Ident>,
    },
}

/// The procedure that EXEC names.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ProcedureName {
    /// By name, and `;n` of old procedure groups.
    Name(ObjectName, Option<Box<str>>),
    /// `EXEC @name`
    Variable(Variable),
}

/// An argument of EXEC.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ExecuteArg {
    /// `@name =`
    pub name: Option<Variable>,
    /// A constant, variable, DEFAULT, or a bare name, which is its own text (as a column).
    pub value: Expr,
    /// `OUTPUT`
    pub output: bool,
}

/// Transaction statements.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Transaction {
    /// `BEGIN [DISTRIBUTED] TRAN [name] [WITH MARK ['text']]`
    Begin {
        /// `DISTRIBUTED`
        distributed: bool,
        /// Its name.
        name: Option<super::database::NameOrVariable>,
        /// `WITH MARK`, with its text.
        mark: Option<Option<Expr>>,
    },
    /// `COMMIT [TRAN [name]] [WITH (DELAYED_DURABILITY = ..)]`
    Commit {
        /// Its name.
        name: Option<super::database::NameOrVariable>,
        /// `WITH (..)`
        options: Vec<Opt>,
    },
    /// `ROLLBACK [TRAN [name or savepoint]]`
    Rollback(Option<super::database::NameOrVariable>),
    /// `SAVE TRAN name`
    Save(super::database::NameOrVariable),
}
