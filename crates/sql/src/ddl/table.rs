//! CREATE TABLE, DROP TABLE.

use crate::bind::{Binder, data_type};
use crate::error::{Result, unsupported};
use crate::exec::Expr;
use crate::interp::Run;
use furrow_engine::{ColumnSpec, ConstraintSpec, DefaultValue, KeyColumnSpec, TableSpec};
use furrow_tsql::ast::database::Drop;
use furrow_tsql::ast::table::{
    ColumnAttribute, ColumnDef, ColumnKind, Constraint, ConstraintKind, CreateTable, KeyConstraint,
    TableElement,
};

fn key(written: &KeyConstraint, name: Option<&str>, column: Option<&str>) -> ConstraintSpec {
    let key = match column {
        Some(column) => vec![KeyColumnSpec::from(column)],
        None => written
            .columns
            .iter()
            .map(|c| KeyColumnSpec {
                name: c.name.value.to_string(),
                descending: c.descending,
            })
            .collect(),
    };
    ConstraintSpec {
        name: name.map(str::to_owned),
        primary: written.primary,
        clustered: written.clustered.unwrap_or(written.primary),
        key,
        filegroup: None,
    }
}

fn integer(binder: &mut Binder<'_>, written: &furrow_tsql::ast::expr::Expr) -> Result<i64> {
    match binder.expr(written)?.expr {
        Expr::Const(value) => Ok(value.as_i64().unwrap_or(0)),
        _ => Err(unsupported("an identity range that is no constant")),
    }
}

fn column(binder: &mut Binder<'_>, written: &ColumnDef, spec: &mut TableSpec) -> Result<()> {
    let ColumnKind::Stored(of) = &written.kind else {
        return Err(unsupported("a computed column"));
    };
    let mut made = ColumnSpec::new(&written.name.value, data_type(of, false)?);
    for attribute in &written.attributes {
        match attribute {
            ColumnAttribute::Null(nullable) => made.nullable = *nullable,
            ColumnAttribute::Identity { range, .. } => {
                let (seed, step) = match range {
                    Some((seed, step)) => (integer(binder, seed)?, integer(binder, step)?),
                    None => (1, 1),
                };
                made = made.identity(seed, step);
            }
            ColumnAttribute::Constraint(constraint) => {
                let name = constraint.name.as_ref().map(|n| &*n.value);
                match &constraint.kind {
                    ConstraintKind::Key(written_key) => {
                        made.nullable &= !written_key.primary;
                        let key = key(written_key, name, Some(&written.name.value));
                        spec.constraints.push(key);
                    }
                    ConstraintKind::Default { value, .. } => {
                        let text = furrow_tsql::expression_text(value);
                        let default = DefaultValue::parse(&text, &made.data_type);
                        let Some(default) = default else {
                            return Err(unsupported("this DEFAULT"));
                        };
                        made.default = Some(default);
                    }
                    _ => return Err(unsupported("this constraint")),
                }
            }
            _ => return Err(unsupported("this column attribute")),
        }
    }
    spec.columns.push(made);
    Ok(())
}

/// CREATE TABLE.
pub(super) fn create(run: &mut Run<'_>, written: &CreateTable) -> Result<()> {
    run.cx.statement(|cx| {
        let mut binder = Binder::new(cx);
        let db = binder.database_of(&written.name)?;
        let mut spec = TableSpec::new(written.name.name());
        if let Some(schema) = written.name.schema() {
            spec.schema = schema.value.to_string();
        }
        spec.filegroup = written.on.as_ref().map(|on| on.name.value.to_string());
        for element in &written.elements {
            match element {
                TableElement::Column(written) => column(&mut binder, written, &mut spec)?,
                TableElement::Constraint(constraint) => constraint_of(constraint, &mut spec)?,
                TableElement::Index(_) => return Err(unsupported("INDEX in CREATE TABLE")),
            }
        }
        for constraint in spec.constraints.iter().filter(|c| c.primary) {
            for key in &constraint.key {
                let of = spec
                    .columns
                    .iter_mut()
                    .find(|c| c.name.eq_ignore_ascii_case(&key.name));
                if let Some(of) = of {
                    of.nullable = false;
                }
            }
        }
        cx.sessions.of(&db)?.create_table(&spec)?;
        Ok(())
    })?;
    run.done(None);
    Ok(())
}

fn constraint_of(written: &Constraint, spec: &mut TableSpec) -> Result<()> {
    let name = written.name.as_ref().map(|n| &*n.value);
    match &written.kind {
        ConstraintKind::Key(written) => spec.constraints.push(key(written, name, None)),
        _ => return Err(unsupported("this constraint")),
    }
    Ok(())
}

/// DROP TABLE.
pub(super) fn drop(run: &mut Run<'_>, written: &Drop) -> Result<()> {
    run.cx.statement(|cx| {
        for name in &written.names {
            let db = Binder::new(cx).database_of(name)?;
            let session = cx.sessions.of(&db)?;
            match session.drop_table(name.name()) {
                Err(e) if e.number() == 3701 && written.if_exists => {}
                Err(e) => return Err(e.into()),
                Ok(()) => {}
            }
        }
        Ok(())
    })?;
    run.done(None);
    Ok(())
}
