//! Objects that belong to a table: its keys, checks and defaults, and the names that the system gives them.

use super::create::created_now;
use super::{Catalog, DdlChanges};
use crate::error::EngineError;
use crate::schema::{CheckSpec, ColumnSpec, DefaultValue, KeyColumnSpec, same_name};
use crate::table::{TableRows, text_rows};
use furrow_format::ObjectId;
use furrow_format::catalog::{
    Code, Identity, SchemaObject, column_row, column_status, object_status, object_type,
};
use twox_hash::XxHash3_64;

/// A row of `sysschobjs`.
pub(super) fn object(
    id: ObjectId,
    name: &str,
    schema: i32,
    kind: Code<2>,
    parent: i32,
) -> SchemaObject {
    let created = created_now();
    SchemaObject {
        id: id.0,
        name: name.to_owned(),
        nsid: schema,
        nsclass: 0,
        status: 0,
        kind,
        pid: parent,
        pclass: 1,
        intprop: 0,
        created,
        modified: created,
        status2: 0,
    }
}

/// 2714 of a constraint has another state.
fn of_constraint(error: EngineError) -> EngineError {
    match error {
        EngineError::Refused(messages) => {
            EngineError::Refused(messages.into_iter().map(|m| m.with_state(5)).collect())
        }
        other => other,
    }
}

fn start(text: &str, characters: usize) -> String {
    text.chars().take(characters).collect()
}

/// The name of a key that its owner did not name: `PK__orders__` or `UQ__`, a number of the key's
/// columns, and the object's.
pub(super) fn key_name(prefix: &str, table: &str, key: &[KeyColumnSpec], id: ObjectId) -> String {
    let bytes: Vec<u8> = key.iter().flat_map(|k| k.name.bytes().chain([0])).collect();
    let hash = XxHash3_64::oneshot(&bytes) as u32;
    format!("{prefix}__{}__{hash:08X}{:08X}", start(table, 8), id.0)
}

/// The name of a check or default that its owner did not name: `DF__orders__state__` and the object's number.
pub(super) fn child_name(prefix: &str, table: &str, column: Option<&str>, id: ObjectId) -> String {
    let table = start(table, 9);
    match column {
        Some(column) => format!("{prefix}__{table}__{}__{:08X}", start(column, 5), id.0),
        None => format!("{prefix}__{table}__{:08X}", id.0),
    }
}

impl Catalog {
    /// The row of a column, with the object of its default.
    pub(super) fn add_column_row(
        &self,
        colid: i32,
        column: &ColumnSpec,
        rows: &mut TableRows,
        changes: &DdlChanges,
    ) -> Result<(), EngineError> {
        let mut row = column_row(
            rows.object.id,
            colid,
            &column.name,
            &column.data_type,
            column.nullable,
        );
        if let Some((seed, increment)) = column.identity {
            row.status |= column_status::IDENTITY;
            row.idtval = Identity::new(seed.into(), increment.into()).encode(&column.data_type);
        }
        let constant = column.default.as_ref().map(DefaultValue::text);
        rows.columns.push(row);
        if let Some(text) = column.default_text.clone().or(constant) {
            let name = column.default_name.as_deref();
            self.add_default(rows, colid, (name, &text), changes)?;
        }
        Ok(())
    }

    /// The object of a column's default, and its text.
    pub(super) fn add_default(
        &self,
        rows: &mut TableRows,
        colid: i32,
        (name, text): (Option<&str>, &str),
        changes: &DdlChanges,
    ) -> Result<(), EngineError> {
        let id = self.new_child_id(rows, changes)?;
        let Some(column) = rows.columns.iter_mut().find(|c| c.colid == colid) else {
            return Ok(());
        };
        column.dflt = id.0;
        let of = column.name.clone();
        let made = || child_name("DF", &rows.object.name, of.as_deref(), id);
        let given = name.map(str::to_owned);
        let given_one = given.is_some();
        let name = given.unwrap_or_else(made);
        self.check_child_name(&name, rows, changes)?;
        let (schema, parent) = (rows.object.nsid, rows.object.id);
        let mut child = object(id, &name, schema, object_type::DEFAULT, parent);
        child.intprop = colid;
        child.status = if given_one {
            0
        } else {
            object_status::SYSTEM_NAMED
        };
        rows.children.push(child);
        rows.values.extend(text_rows(id.0, text));
        Ok(())
    }

    /// The object of a check, and its text.
    pub(super) fn add_check(
        &self,
        rows: &mut TableRows,
        check: &CheckSpec,
        changes: &DdlChanges,
    ) -> Result<(), EngineError> {
        let id = self.new_child_id(rows, changes)?;
        let made = || child_name("CK", &rows.object.name, check.column.as_deref(), id);
        let name = check.name.clone().unwrap_or_else(made);
        self.check_child_name(&name, rows, changes)?;
        let (schema, parent) = (rows.object.nsid, rows.object.id);
        let mut child = object(id, &name, schema, object_type::CHECK, parent);
        let of = |c: &&furrow_format::catalog::Column| {
            let column = check.column.as_deref().zip(c.name.as_deref());
            column.is_some_and(|(a, b)| same_name(a, b))
        };
        child.intprop = rows.columns.iter().find(of).map_or(0, |c| c.colid);
        if check.name.is_none() {
            child.status |= object_status::SYSTEM_NAMED;
        }
        if !check.trusted {
            child.status |= object_status::NOT_TRUSTED;
        }
        rows.children.push(child);
        rows.values.extend(text_rows(id.0, &check.text));
        Ok(())
    }

    /// A number for an object of a table that is being created.
    pub(super) fn new_child_id(
        &self,
        rows: &TableRows,
        changes: &DdlChanges,
    ) -> Result<ObjectId, EngineError> {
        loop {
            let id = self.new_object_id(changes)?;
            if rows.children.iter().all(|c| c.id != id.0) && rows.object.id != id.0 {
                return Ok(id);
            }
        }
    }

    /// 2714 when an object of the table's schema, or another one of the table, has this name.
    pub(super) fn check_child_name(
        &self,
        name: &str,
        rows: &TableRows,
        changes: &DdlChanges,
    ) -> Result<(), EngineError> {
        let own = rows.children.iter().any(|c| same_name(&c.name, name));
        if own || same_name(&rows.object.name, name) {
            return Err(of_constraint(EngineError::refused(2714, &[name.into()])));
        }
        let checked = self.check_object_name(&rows.schema, name, changes);
        checked.map_err(of_constraint)
    }
}
