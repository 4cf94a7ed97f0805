//! A batch or body is compiled as a whole before it runs: an error in a later statement prevents the earlier
//! ones from running.
//!
//! A statement that names an object that does not exist yet, such as a table that the batch creates, is
//! compiled when its turn comes. Names of tables are resolved late; names of columns are not, if their table
//! exists. Statements behind a USE are not compiled ahead. The plans are stored for the execution.

use super::{error_scope, flow, set, statement};
use crate::{ddl, dml};
use furrow_bind::{Binder, data_type, planned};
use furrow_context::error::{Origin, Result, SqlError};
use furrow_context::plans::Plans;
use furrow_context::run::Run;
use furrow_context::scope::Scope;
use furrow_tsql::ast::expr::Condition;
use furrow_tsql::ast::flow::{Declare, DeclareKind, Set};
use furrow_tsql::ast::module::Procedure;
use furrow_tsql::ast::table::TableAction;
use furrow_tsql::ast::{Statement, Stmt};
use furrow_types::Value;

/// Whether the following statements are compiled, too.
#[derive(PartialEq, Eq)]
enum Ahead {
    GoesOn,
    Ends,
}

/// Compiles the statements of a text, unless that has been done.
pub(super) fn compile(run: &mut Run<'_>, statements: &[Stmt]) -> Result<()> {
    let Some(plans) = run.plans else {
        return Ok(());
    };
    let one = match statements {
        [] => true,
        [one] => !is_compound(one),
        _ => false,
    };
    // A statement that does not run under SET NOEXEC is compiled nevertheless.
    let one = one && !run.cx.set.no_exec;
    if one || plans.is_compiled() {
        return Ok(());
    }
    let (scope, set) = (run.cx.scope.clone(), run.cx.set.clone());
    let compiled = all(run, statements, plans);
    (run.cx.scope, run.cx.set) = (scope, set);
    // Names were looked up in each database that the text uses: the session must not stay there.
    run.cx.sessions.rest();
    compiled?;
    plans.note_compiled();
    Ok(())
}

/// Compiles the body of a procedure before it is stored, and discards the plans: errors are reported now, not
/// at execution, if all names exist. The temporary tables that exist now are not those of its executions.
pub(crate) fn check_procedure(run: &mut Run<'_>, written: &Procedure) -> Result<()> {
    let mut scope = Scope::default();
    for parameter in &written.parameters {
        let to = data_type(&parameter.data_type, false)?;
        scope.declare(&parameter.name.value, to, Value::Null);
    }
    let outer = std::mem::replace(&mut run.cx.scope, scope);
    let set = run.cx.set.clone();
    let temp = run.cx.hide_temp_tables();
    let schema = written.name.schema().map(|s| s.value.to_string());
    let outer_schema = std::mem::replace(&mut run.cx.module_schema, schema);
    run.cx.procedures.push(written.name.name().to_owned());
    let compiled = all(run, &written.body, &Plans::default());
    run.cx.procedures.pop();
    let depth = run.cx.procedures.len();
    run.cx.cursors.leave(depth + 1);
    run.cx.module_schema = outer_schema;
    run.cx.restore_temp_tables(temp);
    (run.cx.scope, run.cx.set) = (outer, set);
    compiled.map(|_| ())
}

fn is_compound(stmt: &Stmt) -> bool {
    matches!(
        stmt.kind,
        Statement::Block(_) | Statement::If(_) | Statement::While(_) | Statement::TryCatch(_)
    )
}

fn all(run: &mut Run<'_>, statements: &[Stmt], plans: &Plans) -> Result<Ahead> {
    furrow_context::depth::check()?;
    for stmt in statements {
        match one(run, stmt, plans) {
            Ok(Ahead::GoesOn) => {}
            Ok(Ahead::Ends) => return Ok(Ahead::Ends),
            Err(error) if waits(&error) => {}
            Err(error) => return Err(error.at(stmt.line.0, run.procedure())),
        }
    }
    Ok(Ahead::GoesOn)
}

/// A feature that this engine does not have is refused at compilation.
fn refused(mut error: Box<SqlError>) -> Box<SqlError> {
    error.origin = Origin::Inner;
    error
}

/// Whether an error is raised only when the statement runs.
fn waits(error: &SqlError) -> bool {
    error.origin != Origin::Inner
        && (!error_scope::is_compilation(error)
            || matches!(error.number(), 208 | 911 | 1087 | 2812 | 4121 | 40_514))
}

fn one(run: &mut Run<'_>, stmt: &Stmt, plans: &Plans) -> Result<Ahead> {
    match &stmt.kind {
        Statement::Block(statements) => return all(run, statements, plans),
        Statement::If(written) => {
            condition(run, &written.condition, plans)?;
            let branches = std::iter::once(&written.then).chain(&written.otherwise);
            return each(run, branches, plans);
        }
        Statement::While(written) => {
            condition(run, &written.condition, plans)?;
            return all(run, std::slice::from_ref(&written.body), plans);
        }
        Statement::TryCatch(written) => {
            return match all(run, &written.body, plans)? {
                Ahead::GoesOn => all(run, &written.catch, plans),
                Ahead::Ends => Ok(Ahead::Ends),
            };
        }
        Statement::Declare(declared) => {
            for (place, one) in (1..).zip(declared) {
                declare(run, one, place)?;
            }
        }
        Statement::Set(Set::Variable(name, ..)) if statement::is_cursor(run, name) => {}
        Statement::Set(Set::Variable(name, _, expr)) => {
            let mut binder = Binder::new(run.cx);
            binder.variable(&name.value)?;
            binder.expr(expr)?;
        }
        Statement::CreateTable(table) => {
            ddl::check_padding(run.cx, &table.elements).map_err(refused)?;
        }
        Statement::AlterTable(altered) => {
            if let TableAction::Add { elements, .. } = &altered.action {
                ddl::check_padding(run.cx, elements).map_err(refused)?;
            }
        }
        Statement::Set(Set::Options(names, on)) => {
            // The statements that follow are bound under this setting.
            for name in names {
                set::option(run, name, *on).map_err(refused)?;
            }
        }
        Statement::Select(query) => statement::plan_select(Some(plans), query, run.cx)?,
        Statement::Insert(insert) => dml::plan_insert(Some(plans), insert, run.cx)?,
        Statement::Update(update) => dml::plan_update(Some(plans), update, run.cx)?,
        Statement::Delete(delete) => dml::plan_delete(Some(plans), delete, run.cx)?,
        Statement::Print(expr) => {
            let mut binder = Binder::new(run.cx);
            let bound = binder.expr(expr)?;
            binder.coerce(bound, statement::PRINTED)?;
        }
        Statement::Use(_) => return Ok(Ahead::Ends),
        _ => {}
    }
    Ok(Ahead::GoesOn)
}

fn condition(run: &mut Run<'_>, written: &Condition, plans: &Plans) -> Result<()> {
    let bound = planned(Some(plans), written, run.cx, |b| b.cond(written));
    bound.map(Some).or_else(unless_it_waits)?;
    Ok(())
}

fn each<'s>(
    run: &mut Run<'_>,
    branches: impl Iterator<Item = &'s Stmt>,
    plans: &Plans,
) -> Result<Ahead> {
    for branch in branches {
        if all(run, std::slice::from_ref(branch), plans)? == Ahead::Ends {
            return Ok(Ahead::Ends);
        }
    }
    Ok(Ahead::GoesOn)
}

/// If a condition cannot be compiled yet, the statements that depend on it are compiled nevertheless.
fn unless_it_waits<T>(error: Box<SqlError>) -> Result<Option<T>> {
    match waits(&error) {
        true => Ok(None),
        false => Err(error),
    }
}

fn declare(run: &mut Run<'_>, declared: &Declare, place: usize) -> Result<()> {
    if let DeclareKind::Cursor = &declared.kind {
        let depth = run.cx.procedures.len();
        let name = &declared.variable.value;
        run.cx.cursors.declare_variable(name, depth);
    }
    if let DeclareKind::Table(elements) = &declared.kind {
        ddl::check_padding(run.cx, elements).map_err(refused)?;
    }
    if let DeclareKind::Scalar(written, initial) = &declared.kind {
        let to = flow::variable_type(written, &declared.variable.value, place)?;
        if let Some(initial) = initial {
            let bound = Binder::new(run.cx).expr(initial);
            bound.map(Some).or_else(unless_it_waits)?;
        }
        run.cx
            .scope
            .declare(&declared.variable.value, to, Value::Null);
    }
    Ok(())
}
