//! Control of flow.

use super::Flow;
use super::error_scope::{ErrorScope, dooms, error_scope};
use super::{exec, raise, statement};
use crate::ddl;
use furrow_bind::{Bound, Declared, declared_type, evaluate_planned, evaluate_planned_as, ready};
use furrow_context::context::Caught;
use furrow_context::error::{Origin, Result, SqlError, refuse, unsupported};
use furrow_context::run::Run;
use furrow_exec::Expr;
use furrow_messages::Message;
use furrow_tsql::Span;
use furrow_tsql::ast::expr::{AssignOp, Expr as Written};
use furrow_tsql::ast::flow::{Declare, DeclareKind, Set, TryCatch};
use furrow_tsql::ast::name::ObjectName;
use furrow_tsql::ast::query::QueryBody;
use furrow_tsql::ast::table::CreateTable;
use furrow_tsql::ast::{Line, Statement, Stmt};
use furrow_types::{DataType, TypeId, Value};

/// Whether SQL Server reports a failed statement of this kind as terminated: statements that change rows.
fn is_change(stmt: &Stmt) -> bool {
    match &stmt.kind {
        Statement::Insert(_)
        | Statement::Update(_)
        | Statement::Delete(_)
        | Statement::Merge(_) => true,
        Statement::Select(query) => match &query.body {
            QueryBody::Select(select) => select.into.is_some(),
            _ => false,
        },
        _ => false,
    }
}

/// Whether it reports so for an error in a row from which a statement builds a table or an index.
fn is_of_rows(stmt: &Stmt, number: u32) -> bool {
    let builds = matches!(
        stmt.kind,
        Statement::AlterTable(_) | Statement::CreateIndex(_) | Statement::AlterIndex(_)
    );
    builds
        && matches!(
            number,
            220 | 232 | 241..=248 | 295 | 515 | 1505 | 2628 | 8114 | 8115 | 8152
        )
}

/// Errors that are found before a statement changes anything, after which SQL Server continues the batch.
fn is_before(number: u32) -> bool {
    matches!(number, 468 | 544 | 545 | 2714 | 2812)
}

/// Runs statements in order.
pub(crate) fn run_statements(run: &mut Run<'_>, statements: &[Stmt]) -> Result<Flow> {
    furrow_context::depth::check()?;
    for stmt in statements {
        run.cx.check_cancel()?;
        match run_one(run, stmt) {
            Ok(Flow::Next) => {}
            Ok(flow) => return Ok(flow),
            Err(error) => go_on(run, stmt, error)?,
        }
    }
    Ok(Flow::Next)
}

/// Reports an error after which the batch continues; returns any other error.
fn go_on(run: &mut Run<'_>, stmt: &Stmt, error: Box<SqlError>) -> Result<()> {
    let mut error = error.at(stmt.line.0, run.procedure());
    let aborts = run.cx.set.aborts(&error) && error.origin != Origin::Raised;
    if run.tries > 0 || aborts || error_scope(&error) != ErrorScope::Statement {
        return Err(error);
    }
    let terminated = is_change(stmt) && !is_before(error.number());
    let terminated = terminated || is_of_rows(stmt, error.number());
    if terminated && error.origin == Origin::Statement {
        let line = error.first().line;
        error.messages.push(Message::new(3621, &[]).at_line(line));
    }
    run.cx.last.error = error.number();
    run.cx.last.rows = 0;
    run.send_error(&error);
    Ok(())
}

fn run_one(run: &mut Run<'_>, stmt: &Stmt) -> Result<Flow> {
    run.cx.line = stmt.line.0;
    if run.cx.set.no_exec && !is_noexec(stmt) {
        return Ok(Flow::Next);
    }
    match &stmt.kind {
        Statement::Block(statements) => run_statements(run, statements),
        Statement::If(written) => {
            hoist(run, std::slice::from_ref(&written.then))?;
            hoist(run, written.otherwise.as_slice())?;
            let holds = condition(run, &written.condition)?;
            let branch = match holds {
                true => Some(&written.then),
                false => written.otherwise.as_ref(),
            };
            match branch {
                Some(stmt) => run_statements(run, std::slice::from_ref(stmt)),
                None => Ok(Flow::Next),
            }
        }
        Statement::While(written) => {
            hoist(run, std::slice::from_ref(&written.body))?;
            while condition(run, &written.condition)? {
                run.cx.check_cancel()?;
                match run_statements(run, std::slice::from_ref(&written.body))? {
                    Flow::Next | Flow::Continue => {}
                    Flow::Break => break,
                    flow => return Ok(flow),
                }
            }
            Ok(Flow::Next)
        }
        Statement::Break => Ok(Flow::Break),
        Statement::Continue => Ok(Flow::Continue),
        Statement::Return(value) => {
            let value = match value {
                Some(value) => evaluate_planned(run, value)?.0,
                None => Value::Int(0),
            };
            Ok(Flow::Return(value))
        }
        Statement::Throw(written) => raise::throw(run, written.as_deref()).map(|()| Flow::Next),
        Statement::Raiserror(written) => raise::raiserror(run, written).map(|()| Flow::Next),
        Statement::Execute(written) => {
            run.cx.tick();
            exec::execute(run, written).map(|()| Flow::Next)
        }
        Statement::TryCatch(written) => try_catch(run, written),
        Statement::Goto(_) | Statement::Label(_) => Err(unsupported("GOTO")),
        Statement::Declare(all) => {
            for (place, one) in (1..).zip(all) {
                declare(run, one, place)?;
            }
            Ok(Flow::Next)
        }
        _ => {
            run.cx.tick();
            statement::run(run, stmt)?;
            Ok(Flow::Next)
        }
    }
}

/// Whether a statement is SET NOEXEC, the only one that runs under NOEXEC.
fn is_noexec(stmt: &Stmt) -> bool {
    match &stmt.kind {
        Statement::Set(Set::Options(names, _)) => names.iter().any(|name| &**name == "NOEXEC"),
        _ => false,
    }
}

/// Declares the variables of statements that may never run: a DECLARE is valid for all statements below it.
/// Only its assignment is executed where it is written.
fn hoist(run: &mut Run<'_>, statements: &[Stmt]) -> Result<()> {
    furrow_context::depth::check()?;
    for stmt in statements {
        match &stmt.kind {
            Statement::Declare(all) => {
                for one in all {
                    match &one.kind {
                        DeclareKind::Scalar(written, _) => {
                            let of = variable_type(written, &one.variable.value, 1)?;
                            run.cx.scope.declare_once(&one.variable.value, of);
                        }
                        DeclareKind::Cursor => declare(run, one, 1)?,
                        DeclareKind::Table(_) => {}
                    }
                }
            }
            Statement::Block(inner) => hoist(run, inner)?,
            Statement::If(inner) => {
                hoist(run, std::slice::from_ref(&inner.then))?;
                hoist(run, inner.otherwise.as_slice())?;
            }
            Statement::While(inner) => hoist(run, std::slice::from_ref(&inner.body))?,
            Statement::TryCatch(inner) => {
                hoist(run, &inner.body)?;
                hoist(run, &inner.catch)?;
            }
            _ => {}
        }
    }
    Ok(())
}

/// The type of a variable: 2715 with its position if it does not exist, 2739 if variables cannot have it.
pub(super) fn variable_type(
    written: &furrow_tsql::ast::name::DataType,
    name: &str,
    place: usize,
) -> Result<DataType> {
    let of = declared_type(written, Declared::Variable(name), place)?;
    match of.id {
        TypeId::Text | TypeId::NText | TypeId::Image => refuse(2739, &[]),
        _ => Ok(of),
    }
}

fn try_catch(run: &mut Run<'_>, written: &TryCatch) -> Result<Flow> {
    hoist(run, &written.body)?;
    hoist(run, &written.catch)?;
    run.tries += 1;
    let tried = run_statements(run, &written.body);
    run.tries -= 1;
    let error = match tried {
        Ok(flow) => return Ok(flow),
        Err(error) if error.cancelled || error.level() >= 20 => return Err(error),
        // A compilation error is for the caller of the procedure or text to catch.
        Err(error) if error_scope(&error) == ErrorScope::Scope => return Err(error),
        Err(error) => error,
    };
    if dooms(&error, &run.cx.set) {
        run.cx.sessions.doom();
    }
    run.cx.last.error = error.number();
    run.cx.caught.push(Caught {
        message: error.first().clone(),
        procedure: error.procedure.clone(),
    });
    let caught = run_statements(run, &written.catch);
    run.cx.caught.pop();
    caught
}

fn condition(run: &mut Run<'_>, written: &furrow_tsql::ast::expr::Condition) -> Result<bool> {
    run.cx.tick();
    let plans = run.plans;
    let holds = run.cx.statement(|cx| {
        let cond = ready(plans, written, cx, |binder| binder.cond(written))?;
        cond.holds(&[], cx)
    })?;
    run.report_nulls();
    // IF and WHILE succeed and set @@ROWCOUNT to 0.
    run.cx.last.rows = 0;
    run.cx.last.error = 0;
    Ok(holds)
}

fn declare(run: &mut Run<'_>, declared: &Declare, place: usize) -> Result<()> {
    match &declared.kind {
        DeclareKind::Scalar(written, initial) => {
            let to = variable_type(written, &declared.variable.value, place)?;
            let variable = run.cx.scope.declare_once(&declared.variable.value, to);
            if let Some(initial) = initial {
                let value = evaluate_planned_as(run, initial, to)?;
                run.cx.set_variable(variable, value)?;
            }
            Ok(())
        }
        DeclareKind::Table(elements) => {
            let name = ObjectName::single(declared.variable.clone());
            let written = CreateTable {
                name,
                elements: elements.clone(),
                on: None,
                text_on: None,
                options: Vec::new(),
            };
            let stmt = Stmt {
                kind: Statement::CreateTable(Box::new(written)),
                span: Span::default(),
                line: Line::default(),
            };
            match run.cx.with_temp_names(&stmt)? {
                Some(stmt) => ddl::run(run, &stmt),
                None => Ok(()),
            }
        }
        DeclareKind::Cursor => {
            let depth = run.cx.procedures.len();
            let name = &declared.variable.value;
            run.cx.cursors.declare_variable(name, depth);
            Ok(())
        }
    }
}

/// SET @x = value.
pub(crate) fn set_variable(
    run: &mut Run<'_>,
    name: &str,
    op: AssignOp,
    written: &Written,
) -> Result<()> {
    let plans = run.plans;
    let (place, value) = run.cx.statement(|cx| {
        let set = ready(plans, written, cx, |binder| {
            let target = binder.variable(name)?;
            let (place, to) = match target.expr {
                Expr::Variable(place) => (place, target.data_type),
                _ => return refuse(137, &[name.into()]),
            };
            let mut bound: Bound = binder.expr(written)?;
            if let AssignOp::With(op) = op {
                bound = binder.binary(target, op, bound)?;
            }
            Ok((place, binder.coerce(bound, to)?))
        })?;
        Ok((set.0, set.1.eval(&[], cx)?.into_owned()))
    })?;
    run.cx.set_variable(place, value)
}
