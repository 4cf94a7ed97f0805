//! Tables, constraints, indexes, statistics, partitions, types, sequences.

use super::expr::{Condition, Expr};
use super::name::{DataType, Ident, ObjectName};
use super::option::Opt;

/// `CREATE TABLE`
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CreateTable {
    /// Its name.
    pub name: ObjectName,
    /// Columns, constraints and indexes in order.
    pub elements: Vec<TableElement>,
    /// `ON filegroup`
    pub on: Option<DataSpace>,
    /// `TEXTIMAGE_ON filegroup`
    pub text_on: Option<Ident>,
    /// `WITH (..)`
    pub options: Vec<Opt>,
}

/// A filegroup, or a partition scheme with its column.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DataSpace {
    /// Its name; `[PRIMARY]`, `"default"`.
    pub name: Ident,
    /// The partitioning column.
    pub column: Option<Ident>,
}

/// What stands between a table's parentheses.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum TableElement {
    /// A column.
    Column(Box<ColumnDef>),
    /// A constraint of the table.
    Constraint(Box<Constraint>),
    /// `INDEX ix (..)`
    Index(Box<InlineIndex>),
}

/// A column.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ColumnDef {
    /// Its name.
    pub name: Ident,
    /// Its type, or what it is computed from.
    pub kind: ColumnKind,
    /// What follows, in order.
    pub attributes: Vec<ColumnAttribute>,
}

/// How a column gets its values.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ColumnKind {
    /// It is stored.
    Stored(DataType),
    /// `timestamp` written without a type.
    Timestamp,
    /// `AS (..) [PERSISTED]`
    Computed {
        /// From what.
        expr: Expr,
        /// Whether it is stored.
        persisted: bool,
    },
}

/// What may follow a column's type.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ColumnAttribute {
    /// `NULL` (true) or `NOT NULL` (false).
    Null(bool),
    /// `IDENTITY [(seed, increment)] [NOT FOR REPLICATION]`
    Identity {
        /// Seed and increment.
        range: Option<(Expr, Expr)>,
        /// `NOT FOR REPLICATION`
        not_for_replication: bool,
    },
    /// `COLLATE c`
    Collate(Ident),
    /// `ROWGUIDCOL`
    RowGuidCol,
    /// `SPARSE`
    Sparse,
    /// `INDEX ix`
    Index(Box<InlineIndex>),
    /// A constraint.
    Constraint(Box<Constraint>),
}

/// A constraint of a column or table.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Constraint {
    /// `CONSTRAINT name`
    pub name: Option<Ident>,
    /// What it demands.
    pub kind: ConstraintKind,
}

/// Kinds of constraints.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ConstraintKind {
    /// `PRIMARY KEY` or `UNIQUE`
    Key(KeyConstraint),
    /// `FOREIGN KEY (..) REFERENCES ..`, or `REFERENCES` after a column.
    References(ForeignKey),
    /// `CHECK (..)`
    Check {
        /// What must not be false.
        condition: Condition,
        /// `NOT FOR REPLICATION`
        not_for_replication: bool,
    },
    /// `DEFAULT value [FOR column] [WITH VALUES]`
    Default {
        /// The value.
        value: Expr,
        /// For which column, when it stands apart.
        column: Option<Ident>,
        /// `WITH VALUES`
        with_values: bool,
    },
}

/// `PRIMARY KEY` or `UNIQUE`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KeyConstraint {
    /// `PRIMARY KEY` rather than `UNIQUE`.
    pub primary: bool,
    /// `CLUSTERED` (true) or `NONCLUSTERED` (false).
    pub clustered: Option<bool>,
    /// The columns; empty after a column.
    pub columns: Vec<IndexColumn>,
    /// `WITH (..)`
    pub options: Vec<Opt>,
    /// `ON filegroup`
    pub on: Option<DataSpace>,
}

/// A foreign key.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ForeignKey {
    /// Its columns; empty after a column.
    pub columns: Vec<Ident>,
    /// The table referred to.
    pub table: ObjectName,
    /// The columns referred to; empty when not given.
    pub referenced: Vec<Ident>,
    /// `ON DELETE`
    pub on_delete: Option<KeyAction>,
    /// `ON UPDATE`
    pub on_update: Option<KeyAction>,
    /// `NOT FOR REPLICATION`
    pub not_for_replication: bool,
}

/// What happens to rows that refer to a row that goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum KeyAction {
    /// `NO ACTION`
    NoAction,
    /// `CASCADE`
    Cascade,
    /// `SET NULL`
    SetNull,
    /// `SET DEFAULT`
    SetDefault,
}

/// A key column of an index.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct IndexColumn {
    /// The column.
    pub name: Ident,
    /// `DESC`.
    pub descending: bool,
}

/// `INDEX ix ..` within CREATE TABLE.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct InlineIndex {
    /// Its name.
    pub name: Ident,
    /// The rest.
    pub index: IndexBody,
}

/// What indexes have in common.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct IndexBody {
    /// `UNIQUE`
    pub unique: bool,
    /// `CLUSTERED` (true) or `NONCLUSTERED` (false).
    pub clustered: Option<bool>,
    /// `COLUMNSTORE`
    pub columnstore: bool,
    /// Key columns.
    pub columns: Vec<IndexColumn>,
    /// `INCLUDE (..)`
    pub include: Vec<Ident>,
    /// `WHERE ..`
    pub filter: Option<Condition>,
    /// `WITH (..)`
    pub options: Vec<Opt>,
    /// `ON filegroup`
    pub on: Option<DataSpace>,
}

/// `CREATE INDEX`
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CreateIndex {
    /// Its name.
    pub name: Ident,
    /// The table.
    pub table: ObjectName,
    /// The rest.
    pub index: IndexBody,
}

/// `ALTER INDEX`
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AlterIndex {
    /// Its name; `None` for `ALL`.
    pub name: Option<Ident>,
    /// The table.
    pub table: ObjectName,
    /// What is done.
    pub action: IndexAction,
}

/// What ALTER INDEX does.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum IndexAction {
    /// `REBUILD [PARTITION = n] [WITH (..)]`
    Rebuild(Option<OnePartition>, Vec<Opt>),
    /// `REORGANIZE [PARTITION = n] [WITH (..)]`
    Reorganize(Option<OnePartition>, Vec<Opt>),
    /// `DISABLE`
    Disable,
    /// `SET (..)`
    Set(Vec<Opt>),
    /// `RESUME`, `PAUSE`, `ABORT`: the word.
    Resumable(Box<str>),
}

/// `PARTITION = ..`
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum OnePartition {
    /// `ALL`
    All,
    /// One by number.
    Number(Expr),
}

/// `DROP INDEX`
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DropIndex {
    /// `IF EXISTS`
    pub if_exists: bool,
    /// Index and table; the old form `table.index` has no table of its own and a name of two parts.
    pub indexes: Vec<(ObjectName, Option<ObjectName>)>,
    /// `WITH (..)`
    pub options: Vec<Opt>,
}

/// `ALTER TABLE`
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AlterTable {
    /// The table.
    pub table: ObjectName,
    /// What is done.
    pub action: TableAction,
}

/// What ALTER TABLE does.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum TableAction {
    /// `[WITH CHECK | NOCHECK] ADD ..`
    Add {
        /// `WITH CHECK` (true) or `WITH NOCHECK` (false).
        check: Option<bool>,
        /// What is added.
        elements: Vec<TableElement>,
    },
    /// `ALTER COLUMN a type ..`
    AlterColumn(Box<ColumnDef>, Vec<Opt>),
    /// `ALTER COLUMN a ADD | DROP word`: column, ADD or DROP, and the word.
    ColumnProperty(Ident, bool, Box<str>),
    /// `DROP ..`
    Drop(Vec<TableDrop>),
    /// `[WITH CHECK | NOCHECK] CHECK | NOCHECK CONSTRAINT ..`
    CheckConstraint {
        /// `WITH CHECK` (true) or `WITH NOCHECK` (false).
        with_check: Option<bool>,
        /// `CHECK` rather than `NOCHECK`.
        enable: bool,
        /// Which; empty for ALL.
        names: Vec<Ident>,
    },
    /// `ENABLE | DISABLE TRIGGER ..`; empty names for ALL.
    Trigger(bool, Vec<Ident>),
    /// `REBUILD [PARTITION = n] [WITH (..)]`
    Rebuild(Option<OnePartition>, Vec<Opt>),
    /// `SWITCH [PARTITION a] TO t [PARTITION b]`
    Switch(Option<Expr>, ObjectName, Option<Expr>),
    /// `SET (..)`
    Set(Vec<Opt>),
}

/// One entry of ALTER TABLE .. DROP.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TableDrop {
    /// `COLUMN` rather than `CONSTRAINT`.
    pub column: bool,
    /// `IF EXISTS`
    pub if_exists: bool,
    /// Its name.
    pub name: Ident,
    /// `WITH (..)`
    pub options: Vec<Opt>,
}

/// `CREATE STATISTICS`
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CreateStatistics {
    /// Its name.
    pub name: Ident,
    /// The table.
    pub table: ObjectName,
    /// The columns.
    pub columns: Vec<Ident>,
    /// `WHERE ..`
    pub filter: Option<Condition>,
    /// `WITH ..`
    pub options: Vec<Opt>,
}

/// `UPDATE STATISTICS`
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UpdateStatistics {
    /// The table.
    pub table: ObjectName,
    /// Indexes or statistics; empty for all.
    pub names: Vec<Ident>,
    /// `WITH ..`
    pub options: Vec<Opt>,
}

/// `CREATE PARTITION FUNCTION`
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CreatePartitionFunction {
    /// Its name.
    pub name: Ident,
    /// The type of its argument.
    pub data_type: DataType,
    /// `RANGE RIGHT` rather than `LEFT`.
    pub right: bool,
    /// `FOR VALUES (..)`
    pub values: Vec<Expr>,
}

/// `CREATE PARTITION SCHEME`
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CreatePartitionScheme {
    /// Its name.
    pub name: Ident,
    /// The partition function.
    pub function: Ident,
    /// `ALL TO`
    pub all: bool,
    /// The filegroups.
    pub filegroups: Vec<Ident>,
}

/// `CREATE TYPE`
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CreateType {
    /// Its name.
    pub name: ObjectName,
    /// What it is.
    pub kind: TypeKind,
}

/// Kinds of types.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum TypeKind {
    /// `FROM base [NULL | NOT NULL]`
    Alias(DataType, Option<bool>),
    /// `AS TABLE (..) [WITH (..)]`
    Table(Vec<TableElement>, Vec<Opt>),
}

/// `CREATE SEQUENCE` or `ALTER SEQUENCE`
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Sequence {
    /// Its name.
    pub name: ObjectName,
    /// `ALTER` rather than `CREATE`.
    pub alter: bool,
    /// `AS type`
    pub data_type: Option<DataType>,
    /// `START WITH`, `INCREMENT BY`, `MINVALUE`, `CYCLE` and so on.
    pub options: Vec<Opt>,
}
