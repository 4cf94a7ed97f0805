//! ALTER TABLE: columns, defaults and checks that come, change and go; other names.

use super::indexes::Changed;
use super::{Catalog, DdlChanges, name_key};
use crate::error::EngineError;
use crate::schema::{
    CheckSpec, ColumnSpec, IndexOptions, LockEscalation, MAX_COLUMNS, check_column, check_name,
    same_name, too_many_columns,
};
use crate::table::{Index, Table, TableRows};
use furrow_access::By;
use furrow_format::ObjectId;
use furrow_format::catalog::{column_row, column_status, index_status, object_status, object_type};
use furrow_messages::Message;
use furrow_types::DataType;
use std::sync::Arc;

/// 4922 after what keeps a column: `ALTER TABLE DROP COLUMN a failed because ...`.
fn kept(verb: &str, column: &str, by: &[(&str, String)]) -> EngineError {
    let messages = by.iter().map(|(kind, name)| {
        let args = [
            (*kind).into(),
            name.as_str().into(),
            "column".into(),
            column.into(),
        ];
        Message::new(5074, &args)
    });
    let statement = format!("ALTER TABLE {verb} COLUMN");
    let args = [statement.into(), column.into(), "column".into()];
    EngineError::Refused(messages.collect()).followed_by(Message::new(4922, &args))
}

impl Catalog {
    /// ADD columns and checks. All rows are rewritten when there are new columns.
    pub(crate) fn add_columns(
        &self,
        by: &mut By<'_>,
        changes: &mut DdlChanges,
        table: &Table,
        (columns, checks): (&[ColumnSpec], &[CheckSpec]),
    ) -> Result<Changed, EngineError> {
        let mut rows = table.rows.clone();
        for column in columns {
            if rows.columns.len() >= MAX_COLUMNS {
                return Err(too_many_columns(&table.name, &column.name));
            }
            check_column(&table.name, column)?;
            let taken = |c: &furrow_format::catalog::Column| {
                c.name
                    .as_deref()
                    .is_some_and(|n| same_name(n, &column.name))
            };
            if rows.columns.iter().any(taken) {
                let args = [column.name.as_str().into(), table.full_name().into()];
                let twice = EngineError::refused(2705, &args);
                return Err(EngineError::Refused(
                    twice
                        .messages()
                        .into_iter()
                        .map(|m| m.with_state(4))
                        .collect(),
                ));
            }
            let identities = rows
                .columns
                .iter()
                .filter(|c| c.status & column_status::IDENTITY != 0);
            if column.identity.is_some() && identities.count() > 0 {
                return Err(EngineError::refused(2744, &[table.name.as_str().into()]));
            }
            let last = rows.columns.iter().map(|c| c.colid).max().unwrap_or(0);
            rows.object.intprop = rows.object.intprop.max(last) + 1;
            self.add_column_row(rows.object.intprop, column, &mut rows, changes)?;
        }
        for check in checks {
            self.add_check(&mut rows, check, changes)?;
        }
        self.enter(by, changes, (table, rows), !columns.is_empty())
    }

    fn enter(
        &self,
        by: &mut By<'_>,
        changes: &mut DdlChanges,
        (table, rows): (&Table, TableRows),
        rewritten: bool,
    ) -> Result<Changed, EngineError> {
        let table = match rewritten {
            true => {
                let plans = Self::plans_of(table);
                self.rewrite(by, changes, (table, rows), plans)?
            }
            false => self.redefine(by, changes, table, rows)?,
        };
        Ok(Changed { table, rewritten })
    }

    fn place(table: &Table, column: &str, verb: &str) -> Result<usize, EngineError> {
        table.column(column).ok_or_else(|| {
            let statement = format!("ALTER TABLE {verb} COLUMN");
            let args = [statement.into(), column.into(), table.name.as_str().into()];
            EngineError::refused(4924, &args)
        })
    }

    /// The objects that forbid dropping a column.
    fn dependents(
        &self,
        changes: &DdlChanges,
        table: &Table,
        place: usize,
    ) -> Vec<(&'static str, String)> {
        let Some(column) = table.columns.get(place) else {
            return Vec::new();
        };
        let mut all = Vec::new();
        if let Some(name) = &column.default_name {
            all.push(("object", name.clone()));
        }
        let quoted = format!("[{}]", column.name.replace(']', "]]")).to_lowercase();
        for check in table.checks() {
            if check.text.to_lowercase().contains(&quoted) {
                all.push(("object", check.name.clone()));
            }
        }
        let keys = self.keys_of_column(changes, table, column.id);
        all.extend(keys.into_iter().map(|name| ("object", name)));
        for index in &table.indexes {
            let uses =
                index.key.iter().any(|k| k.column == place) || index.included.contains(&place);
            if uses {
                let key = index.is_primary_key() || index.is_unique_constraint();
                all.push((if key { "object" } else { "index" }, index.name.clone()));
            }
        }
        all
    }

    /// DROP COLUMN: nothing may depend on them. All rows are rewritten.
    pub(crate) fn drop_columns(
        &self,
        by: &mut By<'_>,
        changes: &mut DdlChanges,
        table: &Table,
        columns: &[String],
    ) -> Result<Changed, EngineError> {
        let mut rows = table.rows.clone();
        for column in columns {
            let place = Self::place(table, column, "DROP")?;
            let kept_by = self.dependents(changes, table, place);
            if !kept_by.is_empty() {
                return Err(kept("DROP", column, &kept_by));
            }
            let colid = table.columns.get(place).map_or(0, |c| c.id);
            rows.columns.retain(|c| c.colid != colid);
        }
        if rows.columns.is_empty() {
            let column = columns.last().map_or("", String::as_str);
            let args = [column.into(), table.name.as_str().into()];
            return Err(EngineError::refused(4923, &args));
        }
        self.enter(by, changes, (table, rows), true)
    }

    /// ALTER COLUMN: another type, or another answer to NULL. All rows are rewritten.
    pub(crate) fn alter_column(
        &self,
        by: &mut By<'_>,
        changes: &mut DdlChanges,
        table: &Table,
        (column, data_type, nullable): (&str, DataType, bool),
    ) -> Result<Changed, EngineError> {
        let place = Self::place(table, column, "ALTER")?;
        let Some(old) = table.columns.get(place) else {
            return Err(EngineError::Damaged("a column is not there".to_owned()));
        };
        let spec = ColumnSpec {
            nullable,
            ..ColumnSpec::new(&old.name, data_type)
        };
        check_column(&table.name, &spec)?;
        let wider = old.data_type.id == data_type.id
            && old.data_type.collation == data_type.collation
            && old.data_type.length <= data_type.length
            && old.data_type.fixed_len().is_none();
        let same_null = old.nullable == nullable;
        let keys = |i: &&Index| i.key.iter().any(|k| k.column == place);
        let named = |i: &Index| {
            let key = i.is_primary_key() || i.is_unique_constraint();
            (if key { "object" } else { "index" }, i.name.clone())
        };
        let mut kept_by: Vec<_> = match wider && same_null {
            true => Vec::new(),
            false => table.indexes.iter().filter(keys).map(named).collect(),
        };
        if let Some(name) = old
            .default_name
            .as_ref()
            .filter(|_| old.data_type.id != data_type.id)
        {
            kept_by.push(("object", name.clone()));
        }
        if old.data_type != data_type {
            let keys = self.keys_of_column(changes, table, old.id);
            kept_by.extend(keys.into_iter().map(|name| ("object", name)));
        }
        if !kept_by.is_empty() {
            return Err(kept("ALTER", column, &kept_by));
        }
        let integer = furrow_format::catalog::Identity::new(1, 1).encode(&data_type);
        if old.identity && (nullable || integer.is_none() || old.data_type.id != data_type.id) {
            return Err(EngineError::refused(2749, &[column.into()]));
        }
        let mut rows = table.rows.clone();
        for row in rows.columns.iter_mut().filter(|c| c.colid == old.id) {
            let made = column_row(row.id, row.colid, &old.name, &data_type, nullable);
            *row = furrow_format::catalog::Column {
                dflt: row.dflt,
                chk: row.chk,
                idtval: row.idtval.clone(),
                status: made.status | row.status & column_status::IDENTITY,
                ..made
            };
        }
        self.enter(by, changes, (table, rows), true)
    }

    /// ADD CONSTRAINT DEFAULT .. FOR a column (1781 when it has one).
    pub(crate) fn bind_default(
        &self,
        by: &mut By<'_>,
        changes: &mut DdlChanges,
        table: &Table,
        (column, name, text): (&str, Option<&str>, &str),
    ) -> Result<Changed, EngineError> {
        let place = table.column(column);
        let found = place.and_then(|at| table.columns.get(at));
        let found = found.ok_or_else(|| {
            let args = [column.into(), table.name.as_str().into()];
            EngineError::refused(1752, &args)
        })?;
        if found.has_default() {
            return Err(EngineError::refused(1781, &[]));
        }
        if found.identity {
            let args = [table.name.as_str().into(), column.into()];
            return Err(EngineError::refused(1754, &args));
        }
        let mut rows = table.rows.clone();
        self.add_default(&mut rows, found.id, (name, text), changes)?;
        self.enter(by, changes, (table, rows), false)
    }

    /// DROP CONSTRAINT: a key with its index, a check or a default.
    pub(crate) fn drop_constraint(
        &self,
        by: &mut By<'_>,
        changes: &mut DdlChanges,
        table: &Table,
        name: &str,
    ) -> Result<Changed, EngineError> {
        let found = table
            .rows
            .children
            .iter()
            .find(|c| same_name(&c.name, name));
        let Some(child) = found else {
            return Err(EngineError::refused(3728, &[name.into()]));
        };
        if child.kind == object_type::PRIMARY_KEY || child.kind == object_type::UNIQUE_CONSTRAINT {
            let index = table.index_named(&child.name);
            let none = || EngineError::Damaged(format!("the key '{name}' has no index"));
            return self.drop_key(by, changes, table, index.ok_or_else(none)?);
        }
        let id = child.id;
        let mut rows = table.rows.clone();
        rows.children.retain(|c| c.id != id);
        rows.values.retain(|v| v.objid != id);
        rows.references.retain(|r| r.depid != id);
        for column in rows.columns.iter_mut().filter(|c| c.dflt == id) {
            column.dflt = 0;
        }
        self.enter(by, changes, (table, rows), false)
    }

    /// CHECK or NOCHECK CONSTRAINT: all checks when none is named (4917).
    pub(crate) fn enable_checks(
        &self,
        by: &mut By<'_>,
        changes: &mut DdlChanges,
        table: &Table,
        (names, enabled, trusted): (&[String], bool, bool),
    ) -> Result<Changed, EngineError> {
        let mut rows = table.rows.clone();
        for name in names {
            let found = rows.children.iter().find(|c| same_name(&c.name, name));
            match found.map(|c| c.kind) {
                Some(object_type::CHECK | object_type::FOREIGN_KEY) => {}
                Some(_) => {
                    return Err(EngineError::refused(11_415, &[name.as_str().into()]));
                }
                None => {
                    return Err(EngineError::refused(4917, &[name.as_str().into()]));
                }
            }
        }
        let asked = |name: &str| names.is_empty() || names.iter().any(|n| same_name(n, name));
        for child in rows.children.iter_mut() {
            let kinds = [object_type::CHECK, object_type::FOREIGN_KEY];
            if !kinds.contains(&child.kind) || !asked(&child.name) {
                continue;
            }
            child.status &= !object_status::DISABLED;
            if !enabled {
                child.status |= object_status::DISABLED | object_status::NOT_TRUSTED;
            } else if trusted {
                child.status &= !object_status::NOT_TRUSTED;
            }
        }
        self.enter(by, changes, (table, rows), false)
    }

    /// Another name for a table. The caller holds X on both names.
    pub(crate) fn rename_table(
        &self,
        by: &mut By<'_>,
        changes: &mut DdlChanges,
        table: &Table,
        name: &str,
    ) -> Result<Arc<Table>, EngineError> {
        check_name(name)?;
        if name_key(&table.schema, name) != name_key(&table.schema, &table.name) {
            self.check_object_name(&table.schema, name, changes)?;
        }
        let mut rows = table.rows.clone();
        name.clone_into(&mut rows.object.name);
        self.redefine(by, changes, table, rows)
    }

    /// Another name for a column; texts of checks and modules keep the old one.
    pub(crate) fn rename_column(
        &self,
        by: &mut By<'_>,
        changes: &mut DdlChanges,
        table: &Table,
        (column, name): (usize, &str),
    ) -> Result<Arc<Table>, EngineError> {
        check_name(name)?;
        if table.column(name).is_some_and(|at| at != column) {
            let args = [name.into(), table.full_name().into()];
            return Err(EngineError::refused(2705, &args));
        }
        let mut rows = table.rows.clone();
        if let Some(row) = rows.columns.get_mut(column) {
            row.name = Some(name.to_owned());
        }
        self.redefine(by, changes, table, rows)
    }

    /// Another name for an index, or a key, check or default.
    pub(crate) fn rename_part(
        &self,
        by: &mut By<'_>,
        changes: &mut DdlChanges,
        table: &Table,
        (old, name): (&str, &str),
    ) -> Result<Arc<Table>, EngineError> {
        check_name(name)?;
        let mut rows = table.rows.clone();
        if rows.children.iter().any(|c| same_name(&c.name, old)) && !same_name(old, name) {
            self.check_child_name(name, &rows, changes)?;
        }
        if table.index_named(name).is_some() && !same_name(old, name) {
            let args = [name.into(), "table".into(), table.full_name().into()];
            return Err(EngineError::refused(1913, &args));
        }
        for child in rows.children.iter_mut().filter(|c| same_name(&c.name, old)) {
            name.clone_into(&mut child.name);
        }
        let own = |n: &Option<String>| n.as_deref().is_some_and(|n| same_name(n, old));
        for index in rows.indexes.iter_mut().filter(|i| own(&i.name)) {
            index.name = Some(name.to_owned());
            self.bases.replace(by, index)?;
        }
        self.redefine(by, changes, table, rows)
    }

    /// ALTER INDEX SET: which locks the rows and pages of an index may have, and the like.
    /// The caller holds Sch-M on the table.
    pub(crate) fn set_index_options(
        &self,
        by: &mut By<'_>,
        changes: &mut DdlChanges,
        table: &Table,
        (index, options): (&Index, IndexOptions),
    ) -> Result<Changed, EngineError> {
        let mut rows = table.rows.clone();
        let all = index_status::NO_ROW_LOCKS | index_status::NO_PAGE_LOCKS | index_status::PADDED;
        for stat in rows
            .indexes
            .iter_mut()
            .filter(|i| i.indid == index.id as i32)
        {
            stat.status = stat.status & !all | options.bits();
            stat.fillfact = options.fill_factor;
            self.bases.replace(by, stat)?;
        }
        self.enter(by, changes, (table, rows), false)
    }

    /// ALTER TABLE SET (LOCK_ESCALATION = ...). The caller holds Sch-M on the table.
    pub(crate) fn set_lock_escalation(
        &self,
        by: &mut By<'_>,
        changes: &mut DdlChanges,
        table: &Table,
        escalation: LockEscalation,
    ) -> Result<Changed, EngineError> {
        let mut rows = table.rows.clone();
        rows.object.status = escalation.put_in(rows.object.status);
        self.bases.replace(by, &rows.object)?;
        self.enter(by, changes, (table, rows), false)
    }

    /// The table as a session sees it that has this key, check or default.
    pub(crate) fn parent_seen(
        &self,
        changes: &DdlChanges,
        schema: &str,
        name: &str,
    ) -> Option<Arc<Table>> {
        let own = |t: &Table| {
            same_name(&t.schema, schema) && t.rows.children.iter().any(|c| same_name(&c.name, name))
        };
        let mine = changes.objects().filter_map(|c| c.table.as_ref());
        if let Some(table) = mine.into_iter().find(|t| own(t)) {
            return Some(Arc::clone(table));
        }
        let id: ObjectId = self.named.read().parent_of(&name_key(schema, name))?;
        match changes.object(id) {
            Some(_) => None,
            None => self.table_by_id(id),
        }
    }
}
