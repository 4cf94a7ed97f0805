//! A connection: batches in, results out.

use crate::context::Context;
use crate::error::Result;
use crate::interp;
use crate::server::{MASTER, Server};
use crate::sessions::Sessions;
use crate::sink::Sink;
use furrow_engine::Database;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

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
    flag: Arc<AtomicBool>,
    locks: furrow_engine::Canceller,
}

impl Cancel {
    /// Ends the batch under way at its next row or wait.
    pub fn cancel(&self) {
        self.flag.store(true, Ordering::Relaxed);
        self.locks.cancel();
    }
}

/// A client's connection. One thread at a time works with it.
#[derive(Debug)]
pub struct Connection {
    pub(crate) cx: Context,
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
    pub fn canceller(&mut self) -> Cancel {
        Cancel {
            flag: Arc::clone(&self.cx.cancel),
            locks: self.cx.sessions.session().canceller(),
        }
    }

    /// Runs a batch. Errors go to the sink like everything else.
    pub fn execute(&mut self, batch: &str, sink: &mut dyn Sink) -> BatchEnd {
        self.cx.cancel.store(false, Ordering::Relaxed);
        interp::run_batch(&mut self.cx, batch, sink)
    }
}
