//! Statements that are not control of flow: the function that runs each of them.

use super::{cursor, kill, set, transaction, wait};
use crate::{ddl, dml, msdb};
use furrow_bind::{Binder, BoundQuery, planned, ready};
use furrow_context::activity::CommandKind;
use furrow_context::context::Context;
use furrow_context::error::{Result, refuse};
use furrow_context::plans::Plans;
use furrow_context::run::Run;
use furrow_context::{query_stats, statistics};
use furrow_exec::parallel::{self, RowOrder};
use furrow_messages::Message;
use furrow_scalar::Switches;
use furrow_sysviews::dbcc;
use furrow_tsql::ast::database::RestoreKind;
use furrow_tsql::ast::expr::AssignOp;
use furrow_tsql::ast::flow::{Set, Transaction};
use furrow_tsql::ast::name::Ident;
use furrow_tsql::ast::query::{Query, QueryBody, SelectItem};
use furrow_tsql::ast::{Statement, Stmt};
use furrow_types::{DataType, TypeId};
use std::sync::Arc;

/// Runs a statement.
pub(super) fn run(run: &mut Run<'_>, stmt: &Stmt) -> Result<()> {
    let nest_level = run.cx.procedures.len();
    let activity = run.cx.sessions.activity();
    activity.statement(kind_of(stmt), nest_level);
    run.cx.note();
    if !reads_only(stmt) {
        run.cx.sessions.writable()?;
    }
    if run.cx.set.has(Switches::IMPLICIT_TRANSACTIONS)
        && run.cx.sessions.count() == 0
        && begins(stmt)
    {
        run.cx.sessions.begin(None)?;
    }
    let renamed = match stmt.kind {
        Statement::CreateTable(_)
        | Statement::Truncate(_)
        | Statement::AlterTable(_)
        | Statement::CreateIndex(_)
        | Statement::AlterIndex(_)
        | Statement::DropIndex(_)
        | Statement::Drop(_) => run.cx.with_temp_names(stmt)?,
        _ => None,
    };
    let measure = statistics::begin(run);
    let measured = run.plans.filter(|_| is_measured(stmt));
    let text = measured.and_then(|plans| plans.stats(run.cx.server.query_stats()));
    let began = run.cx.began;
    let running = text.map(|text| (query_stats::begin(&mut run.cx.clock, began), text));
    let result = dispatch(run, renamed.as_ref().unwrap_or(stmt));
    match &running {
        Some((running, text)) if result.is_ok() => {
            let rows = run.cx.last.rows;
            query_stats::end(&mut run.cx.clock, text, stmt.span, running, rows);
        }
        Some(_) => {}
        None if matches!(stmt.kind, Statement::Set(_) | Statement::Transaction(_)) => {}
        None => run.cx.clock = None,
    }
    statistics::end(run, measure);
    msdb::write_suspects(run.cx);
    if result.is_ok() {
        run.report_nulls();
        run.cx.last.error = 0;
        match stmt.kind {
            Statement::Set(Set::Variable(..)) => run.cx.last.rows = 1,
            Statement::Select(_)
            | Statement::Insert(_)
            | Statement::Update(_)
            | Statement::Delete(_)
            | Statement::Merge(_)
            | Statement::Fetch(_)
            | Statement::Dbcc(_) => {}
            _ => run.cx.last.rows = 0,
        }
    }
    result
}

/// Whether a statement may run if the session cannot write.
fn reads_only(stmt: &Stmt) -> bool {
    matches!(
        stmt.kind,
        Statement::Select(_)
            | Statement::Print(_)
            | Statement::Set(_)
            | Statement::Use(_)
            | Statement::Transaction(_)
            | Statement::Waitfor(_)
            | Statement::Dbcc(_)
            | Statement::Kill(_)
            | Statement::Reconfigure(_)
            | Statement::Backup(_)
            | Statement::Restore(_)
            | Statement::DeclareCursor(_)
            | Statement::Open(_)
            | Statement::Fetch(_)
            | Statement::Close(_)
            | Statement::Deallocate(_)
    )
}

/// Whether the cost of a statement is recorded: of those that read or change rows.
fn is_measured(stmt: &Stmt) -> bool {
    matches!(
        stmt.kind,
        Statement::Select(_)
            | Statement::Insert(_)
            | Statement::Update(_)
            | Statement::Delete(_)
            | Statement::Merge(_)
    )
}

/// Whether a variable is a cursor variable.
pub(super) fn is_cursor(run: &Run<'_>, variable: &Ident) -> bool {
    let depth = run.cx.procedures.len();
    run.cx.cursors.is_variable(&variable.value, depth)
}

fn dispatch(run: &mut Run<'_>, stmt: &Stmt) -> Result<()> {
    match &stmt.kind {
        Statement::Select(query) => select(run, query),
        Statement::Insert(insert) => dml::insert(run, insert),
        Statement::Update(update) => dml::update(run, update),
        Statement::Delete(delete) => dml::delete(run, delete),
        Statement::Merge(merge) => dml::merge(run, merge),
        Statement::Set(Set::Variable(name, AssignOp::Set, value)) if is_cursor(run, name) => {
            cursor::set_same(run, &name.value, value)
        }
        Statement::DeclareCursor(written) => cursor::declare(run, written),
        Statement::Open(name) => cursor::open(run, name),
        Statement::Fetch(written) => cursor::fetch(run, written),
        Statement::Close(name) => cursor::close(run, name),
        Statement::Deallocate(name) => cursor::deallocate(run, name),
        Statement::Set(written) => {
            set::run(run, written)?;
            if !matches!(written, Set::Variable(..)) {
                run.cx.report_settings();
            }
            Ok(())
        }
        Statement::Print(expr) => print(run, expr),
        Statement::Use(name) => {
            run.cx.change_database(&name.value)?;
            let text = format!("Changed database context to '{}'.", name.value);
            run.inform(Message::custom(5701, 0, 2, &text));
            run.done(None);
            Ok(())
        }
        Statement::Transaction(written) => transaction::run(run, written),
        Statement::Dbcc(written) => dbcc::run(run, written),
        Statement::Checkpoint(_) => {
            let db = Arc::clone(run.cx.sessions.database());
            db.checkpoint()?;
            run.done(None);
            Ok(())
        }
        Statement::Waitfor(written) => wait::waitfor(run, written),
        Statement::Kill(written) => kill::run(run, written),
        Statement::Reconfigure(_) => furrow_sysviews::procs::reconfigure(run),
        _ => ddl::run(run, stmt),
    }
}

fn bind_select(binder: &mut Binder<'_>, query: &Query) -> Result<BoundQuery> {
    let mut bound = binder.query(query)?;
    bound.plan = dml::limited(binder, bound.plan);
    // The last row decides about a variable.
    let order = match bound.assigns.is_empty() {
        true => RowOrder::Any,
        false => RowOrder::AsSerial,
    };
    bound.plan = parallel::place(bound.plan, order, binder.max_dop);
    Ok(bound)
}

/// Binds a SELECT at compilation. SELECT INTO is bound when it runs.
pub(super) fn plan_select(plans: Option<&Plans>, query: &Query, cx: &mut Context) -> Result<()> {
    match &query.body {
        QueryBody::Select(select) if select.into.is_some() => {
            let assigns = |item: &SelectItem| matches!(item, SelectItem::Assign { .. });
            match select.items.iter().any(assigns) {
                true => refuse(194, &[]),
                false => Ok(()),
            }
        }
        _ => planned(plans, query, cx, |binder| bind_select(binder, query)).map(|_| ()),
    }
}

fn select(run: &mut Run<'_>, query: &Query) -> Result<()> {
    if let QueryBody::Select(select) = &query.body
        && select.into.is_some()
    {
        return dml::select_into(run, query);
    }
    let sink = &mut *run.sink;
    let plans = run.plans;
    let rows = run.cx.statement(|cx| {
        let bound = ready(plans, query, cx, |binder| bind_select(binder, query))?;
        let mut rows = 0_u64;
        if !bound.assigns.is_empty() {
            bound.plan.for_each(cx, &mut |cx, row| {
                rows += 1;
                for assign in &bound.assigns {
                    let value = assign.value.eval(row, cx)?.into_owned();
                    cx.set_variable(assign.variable, value)?;
                }
                Ok(())
            })?;
            return Ok(rows);
        }
        sink.columns(&bound.columns);
        bound.plan.for_each(cx, &mut |_, row| {
            rows += 1;
            sink.row(row);
            Ok(())
        })?;
        Ok(rows)
    })?;
    run.done(Some(rows));
    Ok(())
}

/// The type of the text of PRINT.
pub(super) const PRINTED: DataType = DataType::sized(TypeId::NVarChar, 8000);

fn print(run: &mut Run<'_>, expr: &furrow_tsql::ast::expr::Expr) -> Result<()> {
    let value = furrow_bind::evaluate_as(run, expr, PRINTED)?;
    let message = Message::custom(0, 0, 1, value.as_str().unwrap_or(" "));
    run.inform(message);
    run.done(None);
    Ok(())
}

/// Whether a statement begins a transaction under SET IMPLICIT_TRANSACTIONS ON.
fn begins(stmt: &Stmt) -> bool {
    match &stmt.kind {
        Statement::Select(query) => match &query.body {
            QueryBody::Select(select) => !select.from.is_empty(),
            _ => true,
        },
        Statement::Transaction(Transaction::Begin { .. })
        | Statement::Insert(_)
        | Statement::Update(_)
        | Statement::Delete(_)
        | Statement::Merge(_)
        | Statement::Truncate(_)
        | Statement::CreateTable(_)
        | Statement::CreateIndex(_)
        | Statement::Procedure(_)
        | Statement::View(_)
        | Statement::AlterTable(_)
        | Statement::Drop(_) => true,
        _ => false,
    }
}

/// The kind of statement that other connections see.
fn kind_of(stmt: &Stmt) -> CommandKind {
    match &stmt.kind {
        Statement::Select(query) => match &query.body {
            QueryBody::Select(select) if select.into.is_some() => CommandKind::SelectInto,
            _ => CommandKind::Select,
        },
        Statement::Insert(_) => CommandKind::Insert,
        Statement::Update(_) => CommandKind::Update,
        Statement::Delete(_) => CommandKind::Delete,
        Statement::Merge(_) => CommandKind::Merge,
        Statement::Set(_) => CommandKind::Set,
        Statement::Print(_) => CommandKind::Print,
        Statement::Use(_) => CommandKind::Use,
        Statement::Transaction(written) => match written {
            Transaction::Begin { .. } => CommandKind::Begin,
            Transaction::Commit { .. } => CommandKind::Commit,
            Transaction::Rollback(_) => CommandKind::Rollback,
            Transaction::Save(_) => CommandKind::Save,
        },
        Statement::Dbcc(_) => CommandKind::Dbcc,
        Statement::Checkpoint(_) => CommandKind::Checkpoint,
        Statement::Waitfor(_) => CommandKind::Waitfor,
        Statement::Kill(_) => CommandKind::Kill,
        Statement::CreateTable(_) => CommandKind::CreateTable,
        Statement::AlterTable(_) => CommandKind::AlterTable,
        Statement::Truncate(_) => CommandKind::TruncateTable,
        Statement::CreateIndex(_) => CommandKind::CreateIndex,
        Statement::AlterIndex(_) => CommandKind::AlterIndex,
        Statement::DropIndex(_) => CommandKind::DropIndex,
        Statement::Procedure(_) => CommandKind::CreateProcedure,
        Statement::View(_) => CommandKind::CreateView,
        Statement::CreateSchema(_) => CommandKind::CreateSchema,
        Statement::CreateDatabase(_) => CommandKind::CreateDatabase,
        Statement::AlterDatabase(_) => CommandKind::AlterDatabase,
        Statement::Drop(_) => CommandKind::Drop,
        Statement::Reconfigure(_) => CommandKind::Reconfigure,
        Statement::Backup(written) if written.log => CommandKind::BackupLog,
        Statement::Backup(_) => CommandKind::BackupDatabase,
        Statement::Restore(written) => match written.kind {
            RestoreKind::Database => CommandKind::RestoreDatabase,
            RestoreKind::Log => CommandKind::RestoreLog,
            RestoreKind::VerifyOnly => CommandKind::RestoreVerify,
            _ => CommandKind::RestoreHeader,
        },
        _ => CommandKind::Other,
    }
}
