//! Control of flow.

use super::fate::{Fate, dooms, fate};
use super::{Flow, Run, exec, raise, statement};
use crate::bind::{Binder, Bound};
use crate::context::Caught;
use crate::ddl;
use crate::error::{Origin, Result, SqlError, refuse, unsupported};
use crate::exec::Expr;
use furrow_format::types::{DataType, TypeId, Value};
use furrow_observe::messages::Message;
use furrow_tsql::Span;
use furrow_tsql::ast::expr::{AssignOp, Expr as Written};
use furrow_tsql::ast::flow::{Declare, DeclareKind, TryCatch};
use furrow_tsql::ast::name::ObjectName;
use furrow_tsql::ast::table::CreateTable;
use furrow_tsql::ast::{Line, Statement, Stmt};

/// Whether the product says of a statement that failed that it has been terminated: those that change rows.
fn is_change(stmt: &Stmt) -> bool {
    matches!(
        stmt.kind,
        Statement::Insert(_) | Statement::Update(_) | Statement::Delete(_) | Statement::Merge(_)
    )
}

/// Runs statements in order.
pub(crate) fn run_statements(run: &mut Run<'_>, statements: &[Stmt]) -> Result<Flow> {
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

/// Tells of an error after which the next statement runs; gives the others back.
fn go_on(run: &mut Run<'_>, stmt: &Stmt, error: Box<SqlError>) -> Result<()> {
    let mut error = error.at(stmt.line.0, run.procedure());
    let aborts = run.cx.set.xact_abort && error.origin != Origin::Raised;
    if run.tries > 0 || aborts || fate(&error) != Fate::Statement {
        return Err(error);
    }
    if is_change(stmt) && error.origin == Origin::Statement && error.number() != 3621 {
        let line = error.first().line;
        error.messages.push(Message::new(3621, &[]).at_line(line));
    }
    run.cx.last.error = error.number();
    run.cx.last.rows = 0;
    run.tell(&error);
    Ok(())
}

fn run_one(run: &mut Run<'_>, stmt: &Stmt) -> Result<Flow> {
    match &stmt.kind {
        Statement::Block(statements) => run_statements(run, statements),
        Statement::If(written) => {
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
                Some(value) => evaluate(run, value)?.0,
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
            for one in all {
                declare(run, one)?;
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

fn try_catch(run: &mut Run<'_>, written: &TryCatch) -> Result<Flow> {
    run.tries += 1;
    let tried = run_statements(run, &written.body);
    run.tries -= 1;
    let error = match tried {
        Ok(flow) => return Ok(flow),
        Err(error) if error.cancelled || error.first().level >= 20 => return Err(error),
        // What can't be compiled is for the caller of the procedure or text to catch.
        Err(error) if fate(&error) == Fate::Scope => return Err(error),
        Err(error) => error,
    };
    if dooms(&error, run.cx.set.xact_abort) {
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
    run.cx.statement(|cx| {
        let cond = Binder::new(cx).cond(written)?;
        cond.holds(&[], cx)
    })
}

/// The value of an expression outside of a query, and its type.
pub(crate) fn evaluate(run: &mut Run<'_>, written: &Written) -> Result<(Value, DataType)> {
    run.cx.tick();
    run.cx.statement(|cx| {
        let bound = Binder::new(cx).expr(written)?;
        Ok((bound.expr.eval(&[], cx)?.into_owned(), bound.data_type))
    })
}

/// The value of an expression as one of a type.
pub(crate) fn evaluate_as(run: &mut Run<'_>, written: &Written, to: DataType) -> Result<Value> {
    run.cx.statement(|cx| {
        let mut binder = Binder::new(cx);
        let bound = binder.expr(written)?;
        let expr = binder.coerce(bound, to)?;
        Ok(expr.eval(&[], cx)?.into_owned())
    })
}

fn declare(run: &mut Run<'_>, declared: &Declare) -> Result<()> {
    match &declared.kind {
        DeclareKind::Scalar(written, initial) => {
            let to = crate::bind::data_type(written, false)?;
            if matches!(to.id, TypeId::Text | TypeId::NText | TypeId::Image) {
                return refuse(2739, &[]);
            }
            let value = match initial {
                Some(initial) => evaluate_as(run, initial, to)?,
                None => Value::Null,
            };
            run.cx.scope.declare(&declared.variable.value, to, value);
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
        DeclareKind::Cursor => Err(unsupported("a cursor")),
    }
}

/// SET @x = value.
pub(crate) fn set_variable(
    run: &mut Run<'_>,
    name: &str,
    op: AssignOp,
    written: &Written,
) -> Result<()> {
    let (place, value) = run.cx.statement(|cx| {
        let mut binder = Binder::new(cx);
        let target = binder.variable(name)?;
        let (place, to) = match target.expr {
            Expr::Variable(place) => (place, target.data_type),
            _ => return refuse(137, &[name.into()]),
        };
        let mut bound: Bound = binder.expr(written)?;
        if let AssignOp::With(op) = op {
            bound = binder.binary(target, op, bound)?;
        }
        let expr = binder.coerce(bound, to)?;
        Ok((place, expr.eval(&[], cx)?.into_owned()))
    })?;
    run.cx.scope.set(place, value);
    Ok(())
}
