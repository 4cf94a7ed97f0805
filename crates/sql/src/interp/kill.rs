//! KILL: ends another connection, or reports the progress of its rollback.

use furrow_context::error::{Result, refuse};
use furrow_context::run::Run;
use furrow_messages::Message;
use furrow_tsql::ast::admin::Kill;
use furrow_types::{DataType, TypeId};

/// Numbers up to this one are the system's own.
const LAST_SYSTEM_SESSION: i32 = 50;

/// Runs KILL.
pub(super) fn run(run: &mut Run<'_>, written: &Kill) -> Result<()> {
    let int = DataType::simple(TypeId::Int);
    let value = furrow_bind::evaluate_as(run, &written.session, int)?;
    let id = value.as_i64().and_then(|n| i32::try_from(n).ok());
    let Some(id) = id.filter(|id| *id > 0) else {
        return refuse(6101, &[value.as_i64().unwrap_or(0).into()]);
    };
    if id == run.cx.sessions.id() {
        return refuse(6104, &[]);
    }
    if written.status_only {
        return status(run, id);
    }
    let tasks = &run.cx.server.instance().instruments().tasks;
    let is_system = |t: &std::sync::Arc<furrow_observe::task::Task>| t.session_id() == id;
    if id <= LAST_SYSTEM_SESSION && tasks.tasks().iter().any(is_system) {
        return refuse(6107, &[]);
    }
    if !run.cx.server.kill(id) {
        return refuse(6106, &[id.into()]);
    }
    run.done(None);
    Ok(())
}

/// WITH STATUSONLY: 6109 while a rollback is under way, 6120 if there is none.
fn status(run: &mut Run<'_>, id: i32) -> Result<()> {
    let Some(activity) = run.cx.server.connection(id) else {
        return refuse(6106, &[id.into()]);
    };
    if !activity.view().rolling_back {
        return refuse(6120, &[id.into()]);
    }
    // The remaining work of a rollback is not known in advance.
    run.inform(Message::new(6109, &[id.into(), 0.into(), 0.into()]));
    run.done(None);
    Ok(())
}
