//! The syntax tree: a batch of statements.
//!
//! Names are stored as written, numbers in their digits, keywords of options in upper case. Every statement
//! and expression has its place in the text; places do not count when trees are compared.

pub mod admin;
pub mod database;
pub mod dml;
pub mod expr;
pub mod flow;
pub mod module;
pub mod name;
pub mod option;
pub mod query;
pub mod table;

use crate::span::Span;
use admin::{CreateSchema, Dbcc, Kill, Permission, Principal};
use database::{AlterDatabase, Backup, CreateDatabase, Drop, Restore};
use dml::{BulkInsert, Delete, Insert, InsertBulk, Merge, Truncate, Update};
use expr::{CursorName, Expr};
use flow::{
    Declare, DeclareCursor, Execute, Fetch, If, Raiserror, Set, Transaction, TryCatch, Waitfor,
    While,
};
use module::{Function, Procedure, Trigger, View};
use name::{Ident, ObjectName};
use query::Query;
use std::fmt;
use table::{
    AlterIndex, AlterTable, CreateIndex, CreatePartitionFunction, CreatePartitionScheme,
    CreateStatistics, CreateTable, CreateType, DropIndex, Sequence, UpdateStatistics,
};

/// What one call of the parser gives: the statements of a batch.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Batch {
    /// The statements in order.
    pub statements: Vec<Stmt>,
}

/// A statement and its place.
#[derive(Clone, PartialEq, Eq)]
pub struct Stmt {
    /// What it says.
    pub kind: Statement,
    /// Its text in the batch, without a closing semicolon.
    pub span: Span,
    /// The line of its first token, from 1: what errors at run time report.
    pub line: Line,
}

/// A line number, which like a place does not count when trees are compared.
#[derive(Clone, Copy, Debug, Default)]
pub struct Line(pub u32);

impl PartialEq for Line {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Line {}

impl fmt::Debug for Stmt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.kind.fmt(f)
    }
}

/// The kinds of statements.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Statement {
    /// `SELECT`
    Select(Box<Query>),
    /// `INSERT`
    Insert(Box<Insert>),
    /// `UPDATE`
    Update(Box<Update>),
    /// `DELETE`
    Delete(Box<Delete>),
    /// `MERGE`
    Merge(Box<Merge>),
    /// `TRUNCATE TABLE`
    Truncate(Truncate),
    /// `BULK INSERT`
    BulkInsert(Box<BulkInsert>),
    /// `INSERT BULK`
    InsertBulk(Box<InsertBulk>),
    /// `CREATE TABLE`
    CreateTable(Box<CreateTable>),
    /// `ALTER TABLE`
    AlterTable(Box<AlterTable>),
    /// `CREATE INDEX`
    CreateIndex(Box<CreateIndex>),
    /// `ALTER INDEX`
    AlterIndex(Box<AlterIndex>),
    /// `DROP INDEX`
    DropIndex(DropIndex),
    /// `CREATE STATISTICS`
    CreateStatistics(Box<CreateStatistics>),
    /// `UPDATE STATISTICS`
    UpdateStatistics(Box<UpdateStatistics>),
    /// `CREATE PARTITION FUNCTION`
    CreatePartitionFunction(Box<CreatePartitionFunction>),
    /// `CREATE PARTITION SCHEME`
    CreatePartitionScheme(Box<CreatePartitionScheme>),
    /// `CREATE TYPE`
    CreateType(Box<CreateType>),
    /// `CREATE SEQUENCE`, `ALTER SEQUENCE`
    Sequence(Box<Sequence>),
    /// `CREATE SYNONYM a FOR b`
    CreateSynonym(ObjectName, ObjectName),
    /// `DROP` of anything but indexes.
    Drop(Drop),
    /// `CREATE DATABASE`
    CreateDatabase(Box<CreateDatabase>),
    /// `ALTER DATABASE`
    AlterDatabase(Box<AlterDatabase>),
    /// `BACKUP`
    Backup(Box<Backup>),
    /// `RESTORE`
    Restore(Box<Restore>),
    /// `DBCC`
    Dbcc(Box<Dbcc>),
    /// `CHECKPOINT [seconds]`
    Checkpoint(Option<Expr>),
    /// `KILL`
    Kill(Box<Kill>),
    /// `USE db`
    Use(Ident),
    /// `SHUTDOWN [WITH NOWAIT]`: whether NOWAIT.
    Shutdown(bool),
    /// `RECONFIGURE [WITH OVERRIDE]`: whether OVERRIDE.
    Reconfigure(bool),
    /// `GRANT`, `DENY`, `REVOKE`
    Permission(Box<Permission>),
    /// Logins, users, roles.
    Principal(Box<Principal>),
    /// `CREATE SCHEMA`
    CreateSchema(Box<CreateSchema>),
    /// `ALTER SCHEMA s TRANSFER [class ::] name`
    AlterSchema(Ident, admin::Securable),
    /// `EXECUTE AS USER = 'u'`: the word (`USER`, `LOGIN`, `CALLER`) and the name.
    ExecuteAs(Box<str>, Option<Expr>),
    /// `REVERT`
    Revert,
    /// `DECLARE @a int, ..`
    Declare(Vec<Declare>),
    /// `DECLARE c CURSOR ..`
    DeclareCursor(Box<DeclareCursor>),
    /// `OPEN c`
    Open(CursorName),
    /// `FETCH`
    Fetch(Box<Fetch>),
    /// `CLOSE c`
    Close(CursorName),
    /// `DEALLOCATE c`
    Deallocate(CursorName),
    /// `SET`
    Set(Set),
    /// `IF`
    If(Box<If>),
    /// `WHILE`
    While(Box<While>),
    /// `BEGIN .. END`
    Block(Vec<Stmt>),
    /// `BREAK`
    Break,
    /// `CONTINUE`
    Continue,
    /// `RETURN [n]`
    Return(Option<Expr>),
    /// `BEGIN TRY ..`
    TryCatch(Box<TryCatch>),
    /// `THROW [number, message, state]`
    Throw(Option<Box<[Expr; 3]>>),
    /// `RAISERROR`
    Raiserror(Box<Raiserror>),
    /// `PRINT`
    Print(Expr),
    /// `WAITFOR`
    Waitfor(Waitfor),
    /// `GOTO label`
    Goto(Ident),
    /// `label:`
    Label(Ident),
    /// `EXEC`
    Execute(Box<Execute>),
    /// `BEGIN TRAN`, `COMMIT`, `ROLLBACK`, `SAVE TRAN`
    Transaction(Transaction),
    /// `CREATE PROCEDURE`
    Procedure(Box<Procedure>),
    /// `CREATE FUNCTION`
    Function(Box<Function>),
    /// `CREATE VIEW`
    View(Box<View>),
    /// `CREATE TRIGGER`
    Trigger(Box<Trigger>),
    /// `ENABLE | DISABLE TRIGGER names ON ..`: whether enabled, names (empty for ALL), on what.
    EnableTrigger(bool, Vec<ObjectName>, module::TriggerOn),
}
