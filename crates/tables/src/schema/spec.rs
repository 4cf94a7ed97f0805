//! Requests of DDL.

use super::DefaultValue;
use furrow_format::catalog::{index_status, object_status};
use furrow_types::DataType;

/// A column to be created.
#[derive(Debug, Clone, PartialEq)]
pub struct ColumnSpec {
    /// Its name.
    pub name: String,
    /// Its type.
    pub data_type: DataType,
    /// Whether it takes NULL.
    pub nullable: bool,
    /// Seed and increment of an identity column.
    pub identity: Option<(i64, i64)>,
    /// What it gets when an insert does not name it.
    pub default: Option<DefaultValue>,
    /// The text of a default that is an expression, in parentheses, for a layer that can evaluate it.
    /// Takes precedence over `default`.
    pub default_text: Option<String>,
    /// Name of the default's object; the system makes one if none is given.
    pub default_name: Option<String>,
}

impl ColumnSpec {
    /// A column that takes NULL and has neither identity nor default.
    pub fn new(name: &str, data_type: DataType) -> ColumnSpec {
        ColumnSpec {
            name: name.to_owned(),
            data_type,
            nullable: true,
            identity: None,
            default: None,
            default_text: None,
            default_name: None,
        }
    }

    /// NOT NULL.
    #[must_use]
    pub fn not_null(mut self) -> ColumnSpec {
        self.nullable = false;
        self
    }

    /// IDENTITY(seed, increment), which means NOT NULL too.
    #[must_use]
    pub fn identity(mut self, seed: i64, increment: i64) -> ColumnSpec {
        self.identity = Some((seed, increment));
        self.nullable = false;
        self
    }

    /// DEFAULT.
    #[must_use]
    pub fn default_value(mut self, value: impl Into<DefaultValue>) -> ColumnSpec {
        self.default = Some(value.into());
        self
    }

    /// DEFAULT with an expression, as the catalog keeps it: `(suser_sname())`.
    #[must_use]
    pub fn default_expression(mut self, text: &str) -> ColumnSpec {
        self.default_text = Some(text.to_owned());
        self
    }
}

/// A key column of an index to be created.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyColumnSpec {
    /// The column's name.
    pub name: String,
    /// Descending.
    pub descending: bool,
}

impl From<&str> for KeyColumnSpec {
    fn from(name: &str) -> KeyColumnSpec {
        KeyColumnSpec {
            name: name.to_owned(),
            descending: false,
        }
    }
}

impl KeyColumnSpec {
    /// A descending key column.
    pub fn descending(name: &str) -> KeyColumnSpec {
        KeyColumnSpec {
            name: name.to_owned(),
            descending: true,
        }
    }
}

fn keys<K: Into<KeyColumnSpec>>(columns: impl IntoIterator<Item = K>) -> Vec<KeyColumnSpec> {
    columns.into_iter().map(Into::into).collect()
}

/// Options of an index. Without row locks its pages are locked, without both the table is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IndexOptions {
    /// ALLOW_ROW_LOCKS.
    pub rows: bool,
    /// ALLOW_PAGE_LOCKS.
    pub pages: bool,
    /// FILLFACTOR in percent, 0 for none: stored and shown. Pages are filled.
    pub fill_factor: u8,
    /// PAD_INDEX, likewise.
    pub padded: bool,
}

impl Default for IndexOptions {
    /// Both kinds of locks, and full pages.
    fn default() -> IndexOptions {
        IndexOptions {
            rows: true,
            pages: true,
            fill_factor: 0,
            padded: false,
        }
    }
}

impl IndexOptions {
    /// Its bits in `sysidxstats.status`.
    pub(crate) fn bits(self) -> i32 {
        let bit = |allowed: bool, bit: i32| if allowed { 0 } else { bit };
        bit(self.rows, index_status::NO_ROW_LOCKS)
            | bit(self.pages, index_status::NO_PAGE_LOCKS)
            | bit(!self.padded, index_status::PADDED)
    }
}

/// LOCK_ESCALATION of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LockEscalation {
    /// To the table.
    #[default]
    Table,
    /// Not at all.
    Disable,
    /// To the partition, where a table has several; none has.
    Auto,
}

impl LockEscalation {
    /// As `sys.tables` numbers it.
    pub fn number(self) -> u8 {
        self as u8
    }

    /// Its name in T-SQL.
    pub fn name(self) -> &'static str {
        match self {
            LockEscalation::Table => "TABLE",
            LockEscalation::Disable => "DISABLE",
            LockEscalation::Auto => "AUTO",
        }
    }

    pub(crate) fn of_status(status: i32) -> LockEscalation {
        match status & object_status::ESCALATION {
            object_status::NO_ESCALATION => LockEscalation::Disable,
            object_status::AUTO_ESCALATION => LockEscalation::Auto,
            _ => LockEscalation::Table,
        }
    }

    /// A table's status with it.
    pub(crate) fn put_in(self, status: i32) -> i32 {
        let bits = match self {
            LockEscalation::Table => 0,
            LockEscalation::Disable => object_status::NO_ESCALATION,
            LockEscalation::Auto => object_status::AUTO_ESCALATION,
        };
        status & !object_status::ESCALATION | bits
    }
}

/// An index to be created.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexSpec {
    /// Its name.
    pub name: String,
    /// Whether its key is unique.
    pub unique: bool,
    /// Whether it is the table itself.
    pub clustered: bool,
    /// Its key.
    pub key: Vec<KeyColumnSpec>,
    /// Further columns of its leaf rows.
    pub included: Vec<String>,
    /// Filegroup; the table's if none is named.
    pub filegroup: Option<String>,
    /// Which locks its rows and pages may have, and the like.
    pub options: IndexOptions,
}

impl IndexSpec {
    /// A nonclustered index that is not unique.
    pub fn new<K: Into<KeyColumnSpec>>(name: &str, key: impl IntoIterator<Item = K>) -> IndexSpec {
        IndexSpec {
            name: name.to_owned(),
            unique: false,
            clustered: false,
            key: keys(key),
            included: Vec::new(),
            filegroup: None,
            options: IndexOptions::default(),
        }
    }

    /// ALLOW_ROW_LOCKS and the like.
    #[must_use]
    pub fn options(mut self, options: IndexOptions) -> IndexSpec {
        self.options = options;
        self
    }

    /// UNIQUE.
    #[must_use]
    pub fn unique(mut self) -> IndexSpec {
        self.unique = true;
        self
    }

    /// CLUSTERED.
    #[must_use]
    pub fn clustered(mut self) -> IndexSpec {
        self.clustered = true;
        self
    }

    /// INCLUDE.
    #[must_use]
    pub fn include(mut self, columns: &[&str]) -> IndexSpec {
        self.included.extend(columns.iter().map(|&c| c.to_owned()));
        self
    }

    /// ON filegroup.
    #[must_use]
    pub fn on(mut self, filegroup: &str) -> IndexSpec {
        self.filegroup = Some(filegroup.to_owned());
        self
    }
}

/// A PRIMARY KEY or UNIQUE constraint to be created.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConstraintSpec {
    /// Its name; the system makes one if none is given.
    pub name: Option<String>,
    /// PRIMARY KEY, otherwise UNIQUE.
    pub primary: bool,
    /// CLUSTERED.
    pub clustered: bool,
    /// Its key.
    pub key: Vec<KeyColumnSpec>,
    /// Filegroup; the table's if none is named.
    pub filegroup: Option<String>,
    /// Which locks the rows and pages of its index may have, and the like.
    pub options: IndexOptions,
}

/// A CHECK constraint to be created. The engine stores its text; the T-SQL layer evaluates it for each
/// insert.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckSpec {
    /// Its name; the system makes one if none is given.
    pub name: Option<String>,
    /// The condition in parentheses: `([price]>(0))`.
    pub text: String,
    /// The column it was written behind, if it was.
    pub column: Option<String>,
    /// Whether the existing rows were checked against it.
    pub trusted: bool,
}

impl CheckSpec {
    /// A check named by the system.
    pub fn new(text: &str) -> CheckSpec {
        CheckSpec {
            name: None,
            text: text.to_owned(),
            column: None,
            trusted: true,
        }
    }

    /// CONSTRAINT name.
    #[must_use]
    pub fn named(mut self, name: &str) -> CheckSpec {
        self.name = Some(name.to_owned());
        self
    }
}

/// A table to be created.
#[derive(Debug, Clone, PartialEq)]
pub struct TableSpec {
    /// Its schema.
    pub schema: String,
    /// Its name.
    pub name: String,
    /// Its columns.
    pub columns: Vec<ColumnSpec>,
    /// Its constraints.
    pub constraints: Vec<ConstraintSpec>,
    /// Its checks.
    pub checks: Vec<CheckSpec>,
    /// Indexes created along with it.
    pub indexes: Vec<IndexSpec>,
    /// Its filegroup; the default one if none is named.
    pub filegroup: Option<String>,
}

impl TableSpec {
    /// A table of schema `dbo` without columns.
    pub fn new(name: &str) -> TableSpec {
        TableSpec {
            schema: "dbo".to_owned(),
            name: name.to_owned(),
            columns: Vec::new(),
            constraints: Vec::new(),
            checks: Vec::new(),
            indexes: Vec::new(),
            filegroup: None,
        }
    }

    /// Adds a column.
    #[must_use]
    pub fn column(mut self, column: ColumnSpec) -> TableSpec {
        self.columns.push(column);
        self
    }

    /// PRIMARY KEY CLUSTERED, named by the system.
    #[must_use]
    pub fn primary_key<K: Into<KeyColumnSpec>>(
        self,
        key: impl IntoIterator<Item = K>,
    ) -> TableSpec {
        let key = keys(key);
        self.constraint(ConstraintSpec {
            name: None,
            primary: true,
            clustered: true,
            key,
            filegroup: None,
            options: IndexOptions::default(),
        })
    }

    /// PRIMARY KEY NONCLUSTERED, named by the system: the table is a heap unless something else is clustered.
    #[must_use]
    pub fn primary_key_nonclustered<K: Into<KeyColumnSpec>>(
        self,
        key: impl IntoIterator<Item = K>,
    ) -> TableSpec {
        let key = keys(key);
        self.constraint(ConstraintSpec {
            name: None,
            primary: true,
            clustered: false,
            key,
            filegroup: None,
            options: IndexOptions::default(),
        })
    }

    /// UNIQUE NONCLUSTERED.
    #[must_use]
    pub fn unique<K: Into<KeyColumnSpec>>(
        self,
        name: &str,
        key: impl IntoIterator<Item = K>,
    ) -> TableSpec {
        let (name, key) = (Some(name.to_owned()), keys(key));
        self.constraint(ConstraintSpec {
            name,
            primary: false,
            clustered: false,
            key,
            filegroup: None,
            options: IndexOptions::default(),
        })
    }

    /// Adds a constraint.
    #[must_use]
    pub fn constraint(mut self, constraint: ConstraintSpec) -> TableSpec {
        self.constraints.push(constraint);
        self
    }

    /// Adds a check.
    #[must_use]
    pub fn check(mut self, check: CheckSpec) -> TableSpec {
        self.checks.push(check);
        self
    }

    /// Adds an index.
    #[must_use]
    pub fn index(mut self, index: IndexSpec) -> TableSpec {
        self.indexes.push(index);
        self
    }

    /// ON filegroup.
    #[must_use]
    pub fn on(mut self, filegroup: &str) -> TableSpec {
        self.filegroup = Some(filegroup.to_owned());
        self
    }
}
