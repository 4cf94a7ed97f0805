//! CREATE, ALTER and DROP of procedures and views; CREATE and DROP SCHEMA.
//!
//! A module is stored as its text, which is parsed at each execution, a view with its columns besides.
//! Functions and triggers are refused.

use super::columns::custom;
use super::named;
use furrow_bind::{Binder, Declared, Home, declared_type, shown};
use furrow_context::error::{Result, SqlError, refuse, unsupported};
use furrow_context::run::Run;
use furrow_engine::{ColumnSpec, ModuleDefinition, ModuleKind, ModuleSet};
use furrow_messages::Message;
use furrow_scalar::Switches;
use furrow_tsql::ast::admin::CreateSchema;
use furrow_tsql::ast::database::Drop;
use furrow_tsql::ast::module::{ModuleAction, ModuleOption, Procedure, View};
use furrow_tsql::ast::name::ObjectName;
use furrow_tsql::ast::{Statement, Stmt};

/// Most parameters of a procedure.
pub(crate) const MOST_PARAMETERS: usize = 2100;

/// Stores a module: its text, and the columns of a view.
fn keep(
    run: &mut Run<'_>,
    (name, action): (&ObjectName, ModuleAction),
    (kind, text, columns): (ModuleKind, &str, &[ColumnSpec]),
) -> Result<()> {
    if name.database().is_some() {
        let what = kind.noun().to_uppercase();
        let text = format!(
            "'CREATE/ALTER {what}' does not allow specifying the database name as a prefix to the \
            object name."
        );
        return custom(166, 15, 1, &text);
    }
    run.cx.statement(|cx| {
        let db = Binder::new(cx).database_of(name)?;
        let (schema, object) = named(name);
        let definition = ModuleDefinition {
            kind,
            text,
            set: ModuleSet {
                ansi_nulls: cx.set.has(Switches::ANSI_NULLS),
                quoted_identifier: cx.set.has(Switches::QUOTED_IDENTIFIER),
            },
            columns,
        };
        let session = cx.sessions.of(&db)?;
        let there = session.module(&schema, &object).is_some();
        let made = match (action, there) {
            (ModuleAction::Create, _) | (ModuleAction::CreateOrAlter, false) => {
                session.create_module(&schema, &object, &definition)
            }
            _ => session.alter_module(&schema, &object, &definition),
        };
        match made {
            // A table has the name.
            Err(e) if e.number() == 208 && session.table_in(&schema, &object).is_ok() => {
                let text = format!(
                    "Cannot perform alter on '{schema}.{object}' because it is an incompatible object type."
                );
                custom(2010, 16, 1, &text)
            }
            Err(e) if e.number() == 208 => {
                let text = format!("Invalid object name '{}'.", shown(name));
                custom(208, 16, 6, &text)
            }
            Err(e) if e.number() == 2714 => {
                let taken = Message::new(2714, &[object.as_str().into()]);
                Err(taken.with_state(3).into())
            }
            other => other.map(|_| ()).map_err(Into::into),
        }
    })?;
    run.done(None);
    Ok(())
}

fn options(all: &[ModuleOption]) -> Result<()> {
    for option in all {
        match option {
            ModuleOption::Words(words) if &**words == "RECOMPILE" => {}
            ModuleOption::Words(words) => return Err(unsupported(&format!("WITH {words}"))),
            ModuleOption::ExecuteAs(_) => return Err(unsupported("EXECUTE AS")),
        }
    }
    Ok(())
}

/// CREATE or ALTER PROCEDURE.
pub(super) fn procedure(run: &mut Run<'_>, written: &Procedure) -> Result<()> {
    if written.number.is_some() {
        return Err(unsupported("a procedure's number"));
    }
    if written.for_replication {
        return Err(unsupported("FOR REPLICATION"));
    }
    options(&written.options)?;
    for (place, parameter) in (1..).zip(&written.parameters) {
        let in_line = |error: Box<SqlError>| {
            let before = run.text.get(..parameter.name.span.start as usize);
            let line = before.map_or(1, |text| 1 + text.matches('\n').count());
            error.at(line as u32, Some(written.name.name().to_owned()))
        };
        if place > MOST_PARAMETERS {
            let args = [
                "CREATE/ALTER PROCEDURE".into(),
                (MOST_PARAMETERS as i32).into(),
            ];
            return refuse(180, &args).map_err(in_line);
        }
        if parameter.varying || parameter.data_type.name.is_word("cursor") {
            return Err(unsupported("a cursor parameter"));
        }
        if parameter.read_only {
            return Err(unsupported("a table-valued parameter"));
        }
        let of = Declared::Parameter(&parameter.name.value);
        declared_type(&parameter.data_type, of, place).map_err(in_line)?;
    }
    run.interpreter.check_procedure(run, written)?;
    // Stored with the comments before it, as in SQL Server: lines are counted from the top of the batch.
    let text = run.text.trim_end().to_owned();
    let content = (ModuleKind::Procedure, text.as_str(), &[][..]);
    keep(run, (&written.name, written.action), content)
}

/// CREATE or ALTER VIEW: its query must bind, and every column must have a name. The columns are stored. An
/// error of the query names the view, and has the line of the statement.
pub(super) fn view(run: &mut Run<'_>, written: &View, line: u32) -> Result<()> {
    options(&written.options)?;
    if written.check_option {
        return Err(unsupported("WITH CHECK OPTION"));
    }
    let columns = run.cx.statement(|cx| {
        let mut binder = Binder::new(cx);
        let home = Home {
            db: binder.database_of(&written.name)?,
            schema: named(&written.name).0,
        };
        binder.view_columns(home, written)
    });
    let columns = columns.map_err(|error| error.at(line, Some(written.name.name().to_owned())))?;
    // Stored with the comments before it, as in SQL Server: lines are counted from the top of the batch.
    let text = run.text.trim_end().to_owned();
    let content = (ModuleKind::View, text.as_str(), columns.as_slice());
    keep(run, (&written.name, written.action), content)
}

/// DROP PROCEDURE, DROP VIEW: a module that does not exist is reported, and the others are dropped.
pub(super) fn drop(run: &mut Run<'_>, written: &Drop, kind: ModuleKind) -> Result<()> {
    let mut missing: Option<Box<SqlError>> = None;
    for name in &written.names {
        let gone = run.cx.statement(|cx| {
            super::of_kind(cx, name, kind.noun())?;
            let db = Binder::new(cx).database_of(name)?;
            let (schema, object) = named(name);
            cx.sessions.of(&db)?.drop_module(kind, &schema, &object)?;
            Ok(())
        });
        match gone {
            Err(e) if e.number() == 3701 && written.if_exists => {}
            Err(e) if e.number() == 3701 => {
                let args = ["drop".into(), kind.noun().into(), shown(name).into()];
                let message = Message::new(3701, &args);
                match &mut missing {
                    Some(error) => error.messages.push(message),
                    None => missing = Some(message.into()),
                }
            }
            other => other?,
        }
    }
    run.done(None);
    missing.map_or(Ok(()), Err)
}

/// CREATE SCHEMA, with the objects that it creates.
pub(super) fn create_schema(run: &mut Run<'_>, written: &CreateSchema) -> Result<()> {
    let Some(name) = &written.name else {
        return Err(unsupported("CREATE SCHEMA without a name"));
    };
    if written
        .owner
        .as_ref()
        .is_some_and(|o| !o.value.eq_ignore_ascii_case("dbo"))
    {
        return Err(unsupported("AUTHORIZATION"));
    }
    if !written.elements.is_empty() {
        return Err(unsupported("what follows CREATE SCHEMA"));
    }
    run.cx
        .statement(|cx| {
            let session = cx.sessions.session();
            session.create_schema(&name.value)?;
            Ok(())
        })
        .map_err(|mut e: Box<SqlError>| {
            e.messages.push(Message::new(2759, &[]));
            e
        })?;
    run.done(None);
    Ok(())
}

/// DROP SCHEMA.
pub(super) fn drop_schema(run: &mut Run<'_>, written: &Drop) -> Result<()> {
    for name in &written.names {
        let gone = run.cx.statement(|cx| {
            let session = cx.sessions.session();
            Ok(session.drop_schema(name.name())?)
        });
        match gone {
            Err(e) if e.number() == 3701 && written.if_exists => {}
            Err(e) if e.number() == 3701 => {
                let text = format!(
                    "Cannot drop the schema '{}', because it does not exist or you do not have permission.",
                    name.name()
                );
                return custom(15_151, 16, 1, &text);
            }
            other => other?,
        }
    }
    run.done(None);
    Ok(())
}

/// The name of a module kind that is refused.
pub(super) fn refused(stmt: &Stmt) -> Option<&'static str> {
    match &stmt.kind {
        Statement::Function(_) => Some("a user-defined function"),
        Statement::Trigger(_) | Statement::EnableTrigger(..) => Some("a trigger"),
        _ => None,
    }
}
