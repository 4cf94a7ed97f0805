//! ALTER TABLE, rebuilds and other names, as statements.

use super::copy::{NewValues, Source, source_of};
use crate::catalog::{Catalog, Changed};
use crate::error::{EngineError, refuse};
use crate::schema::{
    CheckSpec, ColumnSpec, ConstraintSpec, ForeignKeySpec, IndexOptions, LockEscalation,
};
use crate::session::Session;
use crate::table::{ForeignKey, Index, Table};
use furrow_messages::Message;
use furrow_txn::lock::LockMode;
use furrow_types::{DataType, Value};
use std::sync::Arc;

/// A column to be added.
#[derive(Debug, Clone, PartialEq)]
pub struct NewColumn {
    /// The column.
    pub column: ColumnSpec,
    /// What the rows get that there are.
    pub values: NewValues,
}

/// 1088 or 4902 and the like: the table is not there.
fn no_table(number: u32, state: u8, name: &str) -> EngineError {
    let text = format!(
        "Cannot find the object \"{name}\" because it does not exist or you do not have permissions."
    );
    refuse(number, 16, state, &text)
}

/// Adds 1750 behind the error for which a constraint was not created.
fn not_created(error: EngineError) -> EngineError {
    error.followed_by(Message::new(1750, &[]))
}

/// The index of this name (7999).
fn named_index<'t>(table: &'t Table, name: &str) -> Result<&'t Index, EngineError> {
    let found = table.index_named(name).filter(|i| i.id() != 0);
    let missing = || {
        let text = format!(
            "Cannot find index '{name}'. The index does not exist or you do not have permissions."
        );
        refuse(7999, 16, 9, &text)
    };
    found.ok_or_else(missing)
}

impl Session {
    /// The table under Sch-M (4902 when it is not there).
    fn table_to_alter(&mut self, schema: &str, name: &str) -> Result<Arc<Table>, EngineError> {
        let table = self.own_table(schema, name);
        let table = table.map_err(|e| match e.number() {
            208 => no_table(4902, 1, name),
            _ => e,
        })?;
        self.db.check_filegroups(&table)?;
        Ok(table)
    }

    /// A change of a table that leaves its columns as they are.
    fn alter_alike(
        &mut self,
        (schema, name): (&str, &str),
        change: impl FnOnce(
            &Catalog,
            &mut furrow_access::By<'_>,
            &mut crate::catalog::DdlChanges,
            &Table,
        ) -> Result<Changed, EngineError>,
    ) -> Result<Arc<Table>, EngineError> {
        self.statement(|session| {
            let before = session.table_to_alter(schema, name)?;
            let changed = session
                .with_changes(|catalog, by, changes| change(catalog, by, changes, &before))?;
            session.finish_alike(&before, changed)
        })
    }

    /// ALTER TABLE ADD columns and checks. Rows are not held against the checks.
    pub fn add_columns(
        &mut self,
        schema: &str,
        name: &str,
        columns: &[NewColumn],
        checks: &[CheckSpec],
    ) -> Result<Arc<Table>, EngineError> {
        self.statement(|session| {
            let before = session.table_to_alter(schema, name)?;
            for new in columns {
                let column = &new.column;
                let filled = column.identity.is_some() || new.values != NewValues::Null;
                if !column.nullable && !filled && before.row_count() > 0 {
                    let text = format!(
                        "ALTER TABLE only allows columns to be added that can contain nulls, or have a \
                        DEFAULT definition specified, or the column being added is an identity or \
                        timestamp column, or alternatively if none of the previous conditions are \
                        satisfied the table must be empty to allow addition of this column. Column \
                        '{}' cannot be added to non-empty table '{}' because it does not satisfy these \
                        conditions.",
                        column.name, before.name
                    );
                    return Err(refuse(4901, 16, 1, &text));
                }
            }
            let specs: Vec<ColumnSpec> = columns.iter().map(|c| c.column.clone()).collect();
            let changed = session.with_changes(|catalog, by, changes| {
                catalog.add_columns(by, changes, &before, (&specs, checks))
            })?;
            let old = before.columns.len();
            let mut sources: Vec<Source> = (0..old).map(Source::Old).collect();
            let added = changed.table.columns.iter().skip(old);
            sources.extend(added.zip(columns).map(|(c, new)| source_of(c, &new.values)));
            session.finish(&before, changed, &sources, &mut Ok)
        })
    }

    /// ALTER TABLE DROP COLUMN.
    pub fn drop_columns(
        &mut self,
        schema: &str,
        name: &str,
        columns: &[String],
    ) -> Result<Arc<Table>, EngineError> {
        self.statement(|session| {
            let before = session.table_to_alter(schema, name)?;
            let changed = session.with_changes(|catalog, by, changes| {
                catalog.drop_columns(by, changes, &before, columns)
            })?;
            let place = |id: i32| before.columns.iter().position(|c| c.id == id);
            let kept = changed.table.columns.iter();
            let sources: Vec<Source> = kept.filter_map(|c| place(c.id)).map(Source::Old).collect();
            session.finish(&before, changed, &sources, &mut Ok)
        })
    }

    /// ALTER TABLE ALTER COLUMN: `convert` makes values of the new type.
    pub fn alter_column(
        &mut self,
        (schema, name): (&str, &str),
        column: &str,
        (data_type, nullable): (DataType, bool),
        convert: &mut dyn FnMut(Value) -> Result<Value, EngineError>,
    ) -> Result<Arc<Table>, EngineError> {
        self.statement(|session| {
            let before = session.table_to_alter(schema, name)?;
            let changed = session.with_changes(|catalog, by, changes| {
                catalog.alter_column(by, changes, &before, (column, data_type, nullable))
            })?;
            let place = before.column(column);
            let same = place
                .and_then(|at| before.columns.get(at))
                .is_some_and(|c| c.data_type == data_type);
            let source = |at: usize| match Some(at) == place && !same {
                true => Source::Converted(at),
                false => Source::Old(at),
            };
            let sources: Vec<Source> = (0..before.columns.len()).map(source).collect();
            session.finish(&before, changed, &sources, convert)
        })
    }

    /// ALTER TABLE ADD CONSTRAINT PRIMARY KEY or UNIQUE (1505, then 1750).
    pub fn add_key(
        &mut self,
        schema: &str,
        name: &str,
        spec: &ConstraintSpec,
    ) -> Result<Arc<Table>, EngineError> {
        let added = self.alter_alike((schema, name), |catalog, by, changes, table| {
            catalog.add_key(by, changes, table, spec)
        });
        added.map_err(|e| match e.number() {
            1505 | 1902 | 1909 | 1911 | 1919 | 1904 | 1779 | 2714 | 8111 => not_created(e),
            _ => e,
        })
    }

    /// ALTER TABLE ADD DEFAULT .. FOR a column.
    pub fn bind_default(
        &mut self,
        (schema, name): (&str, &str),
        column: &str,
        constraint: Option<&str>,
        text: &str,
    ) -> Result<Arc<Table>, EngineError> {
        let bound = self.alter_alike((schema, name), |catalog, by, changes, table| {
            catalog.bind_default(by, changes, table, (column, constraint, text))
        });
        bound.map_err(|e| match e.number() {
            1781 | 1752 | 1754 | 2714 => not_created(e),
            _ => e,
        })
    }

    /// ALTER TABLE ADD CONSTRAINT FOREIGN KEY (1767 and others, then 1750). Rows are not held against it.
    pub fn add_foreign_key(
        &mut self,
        schema: &str,
        name: &str,
        spec: &ForeignKeySpec,
    ) -> Result<Arc<Table>, EngineError> {
        let (to_schema, to) = &spec.referenced;
        let added = self.statement(|session| {
            let table = session.table_to_alter(schema, name)?;
            let target = match session.own_table(to_schema, to) {
                Err(e) if e.number() == 208 => {
                    return session.with_changes(|catalog, _, changes| {
                        Err(catalog.no_target(changes, &table, spec)?)
                    });
                }
                target => target?,
            };
            session.with_changes(|catalog, by, changes| {
                catalog.add_foreign_key(by, changes, (&table, &target), spec)
            })
        });
        added.map_err(|e| match e.number() {
            1753 | 1761 | 1762 | 1767 | 1769 | 1770 | 1773 | 1776 | 1778 | 1785 | 2714 | 8139 => {
                not_created(e)
            }
            _ => e,
        })
    }

    /// The foreign keys that refer to a table, with the tables that they belong to.
    pub fn referencing(&self, table: &Table) -> Vec<(Arc<Table>, ForeignKey)> {
        self.db.catalog.referencing(&self.ddl, table.id)
    }

    /// ALTER TABLE DROP CONSTRAINT (3728, then 3727).
    pub fn drop_constraint(
        &mut self,
        schema: &str,
        name: &str,
        constraint: &str,
    ) -> Result<Arc<Table>, EngineError> {
        let dropped = self.alter_alike((schema, name), |catalog, by, changes, table| {
            catalog.drop_constraint(by, changes, table, constraint)
        });
        dropped.map_err(|e| match e.number() {
            3728 => e.followed_by(Message::new(3727, &[])),
            _ => e,
        })
    }

    /// ALTER TABLE CHECK or NOCHECK CONSTRAINT; `trusted`: all rows were held against them.
    pub fn enable_checks(
        &mut self,
        (schema, name): (&str, &str),
        checks: &[String],
        enabled: bool,
        trusted: bool,
    ) -> Result<Arc<Table>, EngineError> {
        self.alter_alike((schema, name), |catalog, by, changes, table| {
            catalog.enable_checks(by, changes, table, (checks, enabled, trusted))
        })
    }

    /// ALTER TABLE REBUILD, ALTER INDEX ALL REBUILD; of one index when it is named.
    pub fn rebuild(
        &mut self,
        schema: &str,
        name: &str,
        index: Option<&str>,
    ) -> Result<Arc<Table>, EngineError> {
        self.alter_alike((schema, name), |catalog, by, changes, table| {
            let Some(wanted) = index else {
                let table = catalog.rebuild_table(by, changes, table)?;
                let rewritten = true;
                return Ok(Changed { table, rewritten });
            };
            catalog.rebuild_index(by, changes, table, named_index(table, wanted)?)
        })
    }

    /// ALTER INDEX SET (ALLOW_ROW_LOCKS, ALLOW_PAGE_LOCKS); what is `None` stays.
    pub fn set_index_options(
        &mut self,
        (schema, name): (&str, &str),
        index: &str,
        change: impl Fn(&mut IndexOptions),
    ) -> Result<Arc<Table>, EngineError> {
        self.alter_alike((schema, name), |catalog, by, changes, table| {
            let found = named_index(table, index)?;
            let mut options = found.options();
            change(&mut options);
            catalog.set_index_options(by, changes, table, (found, options))
        })
    }

    /// ALTER TABLE SET (LOCK_ESCALATION = ...).
    pub fn set_lock_escalation(
        &mut self,
        table: (&str, &str),
        escalation: LockEscalation,
    ) -> Result<Arc<Table>, EngineError> {
        self.alter_alike(table, |catalog, by, changes, table| {
            catalog.set_lock_escalation(by, changes, table, escalation)
        })
    }

    /// sp_rename of a table.
    pub fn rename_table(
        &mut self,
        schema: &str,
        name: &str,
        new: &str,
    ) -> Result<Arc<Table>, EngineError> {
        self.statement(|session| {
            session.lock_name(schema, new)?;
            let before = session.table_to_alter(schema, name)?;
            session.with_changes(|catalog, by, changes| {
                catalog.rename_table(by, changes, &before, new)
            })
        })
    }

    /// sp_rename of a column.
    pub fn rename_column(
        &mut self,
        (schema, name): (&str, &str),
        column: &str,
        new: &str,
    ) -> Result<Arc<Table>, EngineError> {
        self.statement(|session| {
            let before = session.table_to_alter(schema, name)?;
            let at = before.column(column);
            let at = at.ok_or_else(|| EngineError::refused(207, &[column.into()]))?;
            session.with_changes(|catalog, by, changes| {
                catalog.rename_column(by, changes, &before, (at, new))
            })
        })
    }

    /// sp_rename of an index, or of a key, check or default.
    pub fn rename_part(
        &mut self,
        (schema, name): (&str, &str),
        old: &str,
        new: &str,
    ) -> Result<Arc<Table>, EngineError> {
        self.statement(|session| {
            session.lock_name(schema, new)?;
            let before = session.table_to_alter(schema, name)?;
            session.with_changes(|catalog, by, changes| {
                catalog.rename_part(by, changes, &before, (old, new))
            })
        })
    }

    /// The table, as this session sees it, that has a key, check or default of this name.
    pub fn table_of_constraint(&self, schema: &str, name: &str) -> Option<Arc<Table>> {
        self.db.catalog.parent_seen(&self.ddl, schema, name)
    }

    /// Sch-M on a table for the rest of the transaction, and the table as it is then.
    pub fn lock_definition(&mut self, schema: &str, name: &str) -> Result<Arc<Table>, EngineError> {
        self.statement(|session| {
            let table = session.table_to_alter(schema, name)?;
            session.lock_table(&table, LockMode::SchM)?;
            Ok(table)
        })
    }
}
