//! Statements that change rows: INSERT, UPDATE, DELETE, MERGE, TRUNCATE, BULK INSERT.

use super::expr::{AssignOp, Condition, Expr};
use super::flow::Execute;
use super::name::{Ident, ObjectName, Variable};
use super::option::Opt;
use super::query::{Cte, Query, QueryHint, SelectItem, TableHint, TableRef, Top};
use super::table::ColumnDef;

/// The table that a statement changes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Target {
    /// Which.
    pub table: TargetTable,
    /// `WITH (..)`
    pub hints: Vec<TableHint>,
}

/// What may be changed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum TargetTable {
    /// A table or view, or an alias from FROM.
    Name(ObjectName),
    /// A table variable.
    Variable(Variable),
    /// `OPENQUERY(..)`, `OPENROWSET(..)`: function and arguments.
    Rowset(Box<str>, Vec<Expr>),
}

/// `OUTPUT ..`
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Output {
    /// What is put out.
    pub items: Vec<SelectItem>,
    /// `INTO t (a, b)`; without it rows go to the client.
    pub into: Option<(TargetTable, Vec<Ident>)>,
}

/// `INSERT`
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Insert {
    /// `WITH a AS (..)`
    pub ctes: Vec<Cte>,
    /// `TOP (n)`
    pub top: Option<Top>,
    /// Where to.
    pub target: Target,
    /// The columns; empty when not given.
    pub columns: Vec<ObjectName>,
    /// `OUTPUT`, at most one with INTO and one without.
    pub output: Vec<Output>,
    /// The rows.
    pub source: InsertSource,
    /// `OPTION (..)` of a source that is no query.
    pub options: Vec<QueryHint>,
}

/// Where inserted rows come from.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum InsertSource {
    /// `VALUES (..), (..)`
    Values(Vec<Vec<Expr>>),
    /// `DEFAULT VALUES`
    DefaultValues,
    /// A query.
    Query(Box<Query>),
    /// `EXEC ..`
    Execute(Box<Execute>),
}

/// `UPDATE`
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Update {
    /// `WITH a AS (..)`
    pub ctes: Vec<Cte>,
    /// `TOP (n)`
    pub top: Option<Top>,
    /// What is changed.
    pub target: Target,
    /// `SET ..`
    pub sets: Vec<SetClause>,
    /// `OUTPUT`
    pub output: Vec<Output>,
    /// `FROM ..`
    pub from: Vec<TableRef>,
    /// `WHERE ..`
    pub filter: Option<Condition>,
    /// `OPTION (..)`
    pub options: Vec<QueryHint>,
}

/// One assignment of UPDATE.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SetClause {
    /// `a = 1`, `a += 1`
    Column(ObjectName, AssignOp, Expr),
    /// `@x = 1`
    Variable(Variable, AssignOp, Expr),
    /// `@x = a = a + 1`
    Both(Variable, ObjectName, AssignOp, Expr),
    /// `a.WRITE(..)`: column, method and arguments.
    Method(ObjectName, Ident, Vec<Expr>),
}

/// `DELETE`
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Delete {
    /// `WITH a AS (..)`
    pub ctes: Vec<Cte>,
    /// `TOP (n)`
    pub top: Option<Top>,
    /// From where.
    pub target: Target,
    /// `OUTPUT`
    pub output: Vec<Output>,
    /// The second `FROM`.
    pub from: Vec<TableRef>,
    /// `WHERE ..`
    pub filter: Option<Condition>,
    /// `OPTION (..)`
    pub options: Vec<QueryHint>,
}

/// `MERGE`
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Merge {
    /// `WITH a AS (..)`
    pub ctes: Vec<Cte>,
    /// `TOP (n)`
    pub top: Option<Top>,
    /// What is changed.
    pub target: Target,
    /// What the target is called here.
    pub alias: Option<Ident>,
    /// `USING ..`
    pub source: TableRef,
    /// `ON ..`
    pub on: Condition,
    /// `WHEN ..`; never empty.
    pub clauses: Vec<MergeClause>,
    /// `OUTPUT`
    pub output: Vec<Output>,
    /// `OPTION (..)`
    pub options: Vec<QueryHint>,
}

/// One `WHEN`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MergeClause {
    /// For which rows.
    pub when: MergeWhen,
    /// `AND ..`
    pub condition: Option<Condition>,
    /// `THEN ..`
    pub action: MergeAction,
}

/// The rows of a `WHEN`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MergeWhen {
    /// `MATCHED`
    Matched,
    /// `NOT MATCHED [BY TARGET]`
    NotMatchedByTarget,
    /// `NOT MATCHED BY SOURCE`
    NotMatchedBySource,
}

/// What a `WHEN` does.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum MergeAction {
    /// `UPDATE SET ..`
    Update(Vec<SetClause>),
    /// `DELETE`
    Delete,
    /// `INSERT (columns) VALUES (..)`
    Insert(Vec<Ident>, Vec<Expr>),
    /// `INSERT DEFAULT VALUES`
    InsertDefaults,
}

/// `TRUNCATE TABLE`
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Truncate {
    /// The table.
    pub table: ObjectName,
    /// `WITH (PARTITIONS (..))`
    pub options: Vec<Opt>,
}

/// `BULK INSERT t FROM 'file'`
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BulkInsert {
    /// Where to.
    pub table: ObjectName,
    /// The file.
    pub file: Expr,
    /// `WITH (..)`
    pub options: Vec<Opt>,
}

/// `INSERT BULK t (columns)`, which bulk-copy clients send before their rows.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct InsertBulk {
    /// Where to.
    pub table: ObjectName,
    /// The columns that will be sent.
    pub columns: Vec<ColumnDef>,
    /// `WITH (..)`
    pub options: Vec<Opt>,
}
