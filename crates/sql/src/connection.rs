//! A connection: batches in, results out.

use crate::interp;
use crate::output::Output;
use furrow_context::activity::Activity;
use furrow_context::context::Context;
use furrow_context::error::Result;
use furrow_context::server::ServerState;
use furrow_context::sessions::Sessions;
use furrow_context::sink::{BatchEnd, Notice, Sink};
use furrow_context::system_databases::MASTER;
use furrow_engine::Database;
use furrow_messages::Message;
use furrow_observe::counters::Counter;
use furrow_sysviews::SYSTEM_OBJECTS;
use parking_lot::Mutex;
use std::sync::{Arc, Weak};

/// Cancels the batch of a connection, from another thread.
#[derive(Debug, Clone)]
pub struct Cancel {
    activity: Arc<Activity>,
}

impl Cancel {
    /// Ends the batch under way at its next row or wait.
    pub fn cancel(&self) {
        self.activity.cancel();
    }
}

/// A client's connection. One thread at a time works with it.
///
/// Its state is behind a lock that a batch holds from its beginning to its end. KILL tries this lock: if the
/// connection is idle, KILL gets it and rolls back for the connection.
#[derive(Debug)]
pub struct Connection {
    pub(crate) cx: Arc<Mutex<Context>>,
    activity: Arc<Activity>,
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.cx.lock().end_temp();
    }
}

impl Connection {
    pub(crate) fn new(server: &Arc<ServerState>) -> Result<Connection> {
        let sessions = Sessions::new(server, MASTER)?;
        let activity = Arc::clone(sessions.activity());
        let cx = Arc::new(Mutex::new(Context::new(server, sessions, &SYSTEM_OBJECTS)));
        let context: Weak<Mutex<Context>> = Arc::downgrade(&cx);
        activity.belongs_to(context);
        Ok(Connection { cx, activity })
    }

    /// Its number: @@SPID.
    pub fn id(&self) -> i32 {
        self.cx.lock().sessions.id()
    }

    /// The current database.
    pub fn database(&self) -> Arc<Database> {
        Arc::clone(self.cx.lock().sessions.database())
    }

    /// Number of open transactions: @@TRANCOUNT.
    pub fn transactions(&self) -> u32 {
        self.cx.lock().sessions.count()
    }

    /// Limits the memory that a statement may use for sorts, hash tables and similar from now on. Rows beyond
    /// that go to files beside `tempdb`'s, and an operator that cannot use files fails (701). The default is
    /// a quarter of the machine's memory.
    pub fn limit_query_memory(&mut self, most_bytes: usize) {
        self.cx.lock().memory.limit(most_bytes);
    }

    /// A handle that cancels the batch under way, from another thread.
    pub fn canceller(&self) -> Cancel {
        Cancel {
            activity: Arc::clone(&self.activity),
        }
    }

    /// Runs a batch. Errors go to the sink like everything else.
    pub fn execute(&mut self, batch: &str, sink: &mut dyn Sink) -> BatchEnd {
        self.within(batch, sink, |cx, sink| interp::run_batch(cx, batch, sink))
    }

    /// Begins a batch with this text; gives whether it may run, which a batch of a killed connection may not.
    ///
    /// The mark of KILL is looked at after the cancellation is reset. KILL sets the mark before it cancels:
    /// where the reset has cleared the cancellation, the mark is seen here.
    pub(crate) fn begins(&self, cx: &mut Context, batch: &str) -> bool {
        cx.meter = self.activity.begin(batch, || cx.sessions.rearm());
        !self.activity.is_killed()
    }

    /// Runs a function as a batch with this text, unless the connection has been killed.
    pub(crate) fn within(
        &mut self,
        batch: &str,
        sink: &mut dyn Sink,
        body: impl FnOnce(&mut Context, &mut dyn Sink) -> BatchEnd,
    ) -> BatchEnd {
        let mut end = BatchEnd {
            worst_level: 21,
            cancelled: true,
        };
        let mut cx = self.cx.lock();
        if self.begins(&mut cx, batch) {
            let task = Arc::clone(cx.sessions.task());
            let began = cx.meter.began_at();
            let admitted = (cx.sessions.count() == 0).then(|| task.admit(began));
            let counters = &cx.sessions.task().instruments().counters;
            counters.add(Counter::BatchRequests, 1);
            let mut output = Output::new(sink, cx.sessions.followed());
            end = body(&mut cx, &mut output);
            output.finish(&mut end);
            cx.report_settings();
            cx.note();
            drop(admitted);
        }
        self.activity.end(&cx.meter);
        drop(cx);
        if self.activity.is_killed() {
            self.activity.retire();
            let message = Message::new(596, &[]);
            end.worst_level = message.level;
            sink.notice(&Notice {
                message,
                procedure: None,
            });
        }
        end
    }
}
