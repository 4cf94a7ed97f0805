//! A connection: batches in, results out.

use crate::activity::Activity;
use crate::context::Context;
use crate::error::Result;
use crate::interp;
use crate::server::{MASTER, Server};
use crate::sessions::Sessions;
use crate::sink::{Notice, Sink};
use furrow_engine::Database;
use furrow_observe::messages::Message;
use std::sync::Arc;

/// How a batch ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BatchEnd {
    /// The highest level of an error in it; 0 for none.
    pub worst_level: u8,
    /// Whether the client ended it.
    pub cancelled: bool,
}

/// Ends what a connection is doing, from another thread.
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
#[derive(Debug)]
pub struct Connection {
    pub(crate) cx: Context,
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.cx.end_temp();
    }
}

impl Connection {
    pub(crate) fn new(server: &Arc<Server>) -> Result<Connection> {
        let sessions = Sessions::new(server, MASTER)?;
        Ok(Connection {
            cx: Context::new(server, sessions),
        })
    }

    /// Its number: @@SPID.
    pub fn id(&self) -> i32 {
        self.cx.sessions.id()
    }

    /// The database it works in.
    pub fn database(&self) -> &Arc<Database> {
        self.cx.sessions.database()
    }

    /// Transactions that are open: @@TRANCOUNT.
    pub fn transactions(&self) -> u32 {
        self.cx.sessions.count()
    }

    /// Ends the batch under way, from another thread.
    pub fn canceller(&self) -> Cancel {
        Cancel {
            activity: Arc::clone(self.cx.sessions.activity()),
        }
    }

    /// Runs a batch. Errors go to the sink like everything else.
    pub fn execute(&mut self, batch: &str, sink: &mut dyn Sink) -> BatchEnd {
        let activity = Arc::clone(self.cx.sessions.activity());
        let mut end = BatchEnd {
            worst_level: 21,
            cancelled: true,
        };
        if !activity.is_killed() {
            activity.begin(batch);
            end = interp::run_batch(&mut self.cx, batch, sink);
            activity.end();
        }
        if activity.is_killed() {
            let _ = self.cx.sessions.roll_back_all();
            let message = Message::new(596, &[]).at_line(1);
            end.worst_level = message.level;
            sink.notice(&Notice {
                message,
                procedure: None,
            });
        }
        end
    }
}
