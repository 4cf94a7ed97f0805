//! Procedures, functions, views, triggers.

use super::Stmt;
use super::expr::Expr;
use super::name::{DataType, Ident, ObjectName, Variable};
use super::query::Query;
use super::table::TableElement;

/// Whether a module is made or replaced.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ModuleAction {
    /// `CREATE`
    Create,
    /// `ALTER`
    Alter,
    /// `CREATE OR ALTER`
    CreateOrAlter,
}

/// `CREATE PROCEDURE` and its like. The module's own text is the statement's span.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Procedure {
    /// Made or replaced.
    pub action: ModuleAction,
    /// Its name.
    pub name: ObjectName,
    /// `;n`
    pub number: Option<Box<str>>,
    /// Its parameters.
    pub parameters: Vec<Parameter>,
    /// `WITH ..`
    pub options: Vec<ModuleOption>,
    /// `FOR REPLICATION`
    pub for_replication: bool,
    /// Its statements.
    pub body: Vec<Stmt>,
}

/// A parameter of a procedure or function.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Parameter {
    /// Its name with `@`.
    pub name: Variable,
    /// Its type; `cursor` for cursors.
    pub data_type: DataType,
    /// `VARYING`
    pub varying: bool,
    /// `NULL` (true) or `NOT NULL` (false).
    pub nullable: Option<bool>,
    /// `= value`
    pub default: Option<Expr>,
    /// `OUTPUT`
    pub output: bool,
    /// `READONLY`
    pub read_only: bool,
}

/// An option of a module.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ModuleOption {
    /// Words, in upper case with single blanks: `RECOMPILE`, `SCHEMABINDING`, `RETURNS NULL ON NULL INPUT`.
    Words(Box<str>),
    /// `EXECUTE AS ..`
    ExecuteAs(ExecuteAs),
}

/// The principal whose rights a module runs with.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ExecuteAs {
    /// `CALLER`, `SELF` or `OWNER`.
    Word(Box<str>),
    /// A user by name.
    User(Expr),
}

/// `CREATE FUNCTION` and its like.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Function {
    /// Made or replaced.
    pub action: ModuleAction,
    /// Its name.
    pub name: ObjectName,
    /// Its parameters.
    pub parameters: Vec<Parameter>,
    /// `WITH ..`
    pub options: Vec<ModuleOption>,
    /// What it gives and how.
    pub body: FunctionBody,
}

/// What a function gives and how.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum FunctionBody {
    /// `RETURNS type AS BEGIN .. END`
    Scalar(DataType, Vec<Stmt>),
    /// `RETURNS TABLE AS RETURN (SELECT ..)`
    Inline(Box<Query>),
    /// `RETURNS @t TABLE (..) AS BEGIN .. END`
    Table(Variable, Vec<TableElement>, Vec<Stmt>),
}

/// `CREATE VIEW` and its like.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct View {
    /// Made or replaced.
    pub action: ModuleAction,
    /// Its name.
    pub name: ObjectName,
    /// Its columns' names; empty when not given.
    pub columns: Vec<Ident>,
    /// `WITH ..`
    pub options: Vec<ModuleOption>,
    /// What it stands for.
    pub query: Query,
    /// `WITH CHECK OPTION`
    pub check_option: bool,
}

/// `CREATE TRIGGER` and its like.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Trigger {
    /// Made or replaced.
    pub action: ModuleAction,
    /// Its name.
    pub name: ObjectName,
    /// On what.
    pub on: TriggerOn,
    /// `WITH ..`
    pub options: Vec<ModuleOption>,
    /// `INSTEAD OF` rather than `AFTER` or `FOR`.
    pub instead_of: bool,
    /// `INSERT`, `UPDATE`, `DELETE`, or events of the data definition language; in upper case.
    pub events: Vec<Box<str>>,
    /// `NOT FOR REPLICATION`
    pub not_for_replication: bool,
    /// Its statements.
    pub body: Vec<Stmt>,
}

/// What a trigger watches.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum TriggerOn {
    /// A table or view.
    Table(ObjectName),
    /// `DATABASE`
    Database,
    /// `ALL SERVER`
    Server,
}
