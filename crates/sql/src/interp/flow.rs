//! Control of flow.

use super::{Flow, Run, statement};
use crate::bind::{Binder, Bound};
use crate::context::Caught;
use crate::error::{Result, SqlError, refuse, unsupported};
use crate::exec::Expr;
use furrow_format::types::{DataType, TypeId, Value};
use furrow_tsql::ast::expr::{AssignOp, Expr as Written};
use furrow_tsql::ast::flow::{Declare, DeclareKind, TryCatch};
use furrow_tsql::ast::{Statement, Stmt};

/// Errors that end the statement but not the batch, outside of TRY: what the product lets a batch go on
/// after.
fn goes_on(error: &SqlError) -> bool {
    matches!(
        error.number(),
        515 | 547
            | 1222
            | 2601
            | 2627
            | 8134
            | 8115
            | 8152
            | 2628
            | 512
            | 220
            | 232
            | 544
            | 8101
            | 3902
            | 3903
            | 50_000..|911| 1801 | 2714 | 3701 | 3702 | 4902 | 15_000..=15_999
    ) || (error.first().level <= 16 && matches!(error.number(), 1911..=1913 | 5000..=5199))
}

/// Runs statements in order.
pub(crate) fn run_statements(run: &mut Run<'_>, statements: &[Stmt]) -> Result<Flow> {
    for stmt in statements {
        run.cx.check_cancel()?;
        match run_one(run, stmt) {
            Ok(Flow::Next) => {}
            Ok(flow) => return Ok(flow),
            Err(error) => {
                let error = error.at(stmt.line.0);
                let ends =
                    error.cancelled || run.tries > 0 || run.cx.set.xact_abort || !goes_on(&error);
                if ends && run.tries == 0 && run.cx.set.xact_abort && !error.cancelled {
                    let _ = run.cx.sessions.roll_back_all();
                }
                if ends {
                    return Err(error);
                }
                run.cx.last.error = error.number();
                run.cx.last.rows = 0;
                run.tell(&error);
            }
        }
    }
    Ok(Flow::Next)
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
        Err(error) => error,
    };
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
        DeclareKind::Table(_) => Err(unsupported("a table variable")),
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
